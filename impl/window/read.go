package window

import "iter"

// Next returns the stream's first event strictly after p (R4), lent. It takes
// constant time but for finding the stream, and allocates nothing. It returns
// false where nothing follows, because p is the head, and where p is not a good
// position, for instance because the reader was overtaken: [Window.Classify]
// tells.
func (w *Window) Next(p Position) (ev Event, ok bool) {
	seq, ok := w.seqAfter(p)
	if !ok {
		return Event{}, false
	}
	return w.event(seq, p.Stream, p.Ordinal+1), true
}

// After returns the stream's events strictly after p (R4), in order, lent. It
// returns none where p is not a good position. The window must not be changed
// meanwhile.
func (w *Window) After(p Position) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		seq, ok := w.seqAfter(p)
		for ordinal := p.Ordinal + 1; ok; ordinal++ {
			if !yield(w.event(seq, p.Stream, ordinal)) {
				return
			}
			next := w.b.at(seq).next
			seq += uint64(next)
			ok = next != 0
		}
	}
}

// seqAfter returns the seq of the stream's first event strictly after p, if p is
// good and there is one.
func (w *Window) seqAfter(p Position) (seq uint64, ok bool) {
	b := w.b
	if b == nil {
		return 0, false
	}
	slot, ok := b.find(p.Stream)
	if !ok {
		return 0, false
	}
	r := b.record(slot)
	switch {
	case p.Ordinal < r.floor || p.Ordinal >= r.head:
		return 0, false
	case p.Ordinal == r.floor:
		return r.first, p.Seq == r.floorSeq
	case !w.holds(p, slot):
		return 0, false
	}
	return p.Seq + uint64(b.at(p.Seq).next), true
}

// event returns a retained event. The capacity of its payload ends with it, so
// that appending to it cannot touch its neighbour.
func (w *Window) event(seq, stream, ordinal uint64) (ev Event) {
	b := w.b
	off, end := b.at(seq).off, w.end(seq)
	ev.Seq, ev.Stream, ev.Ordinal = seq, stream, ordinal
	ev.Stamp = b.stamp(seq)
	ev.Payload = b.arena[off:end:end]
	return ev
}

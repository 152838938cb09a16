package window

import "iter"

// Next returns the stream's first event strictly after p (R4), lent. It takes
// constant time but for finding the stream, and allocates nothing. It returns
// false where nothing follows, because p is the head, and where p is not a good
// position, for instance because the reader was overtaken: [Window.Classify]
// tells.
func (w *Window) Next(p Position) (ev Event, ok bool) {
	b := w.b
	if b == nil {
		return Event{}, false
	}
	slot, ok := b.find(p.Stream)
	if !ok {
		return Event{}, false
	}
	r := b.record(slot)
	if p.Ordinal < r.floor || p.Ordinal >= r.head {
		return Event{}, false
	}
	seq := r.first
	switch {
	case p.Ordinal > r.floor && w.holds(p):
		seq = p.Seq + uint64(b.at(p.Seq).next)
	case p.Ordinal > r.floor || p.Seq != r.floorSeq:
		return Event{}, false
	}
	return w.event(Position{Seq: seq, Stream: p.Stream, Ordinal: p.Ordinal + 1}), true
}

// After returns the stream's events strictly after p, in order, each lent until
// the next change of the window. It returns none where p is not a good position,
// and ends where the reader is overtaken meanwhile.
func (w *Window) After(p Position) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for ev, ok := w.Next(p); ok; ev, ok = w.Next(p) {
			if p = ev.Position; !yield(ev) {
				return
			}
		}
	}
}

// event returns the retained event at p. The capacity of its payload ends with
// it, so that appending to it cannot touch its neighbour.
func (w *Window) event(p Position) Event {
	b := w.b
	off, end := b.at(p.Seq).off, w.end(p.Seq)
	return Event{Position: p, Stamp: b.stamp(p.Seq), Payload: b.arena[off:end:end]}
}

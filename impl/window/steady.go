package window

// AppendSteadily is append in the one case that nearly every event of a busy
// session is: the window is full, the stream is the one in slot 0 and spoke
// last, and room is made by exactly the oldest event, which is of that stream
// too. It returns the event's ordinal, or 0 if the case is another one; then it
// has changed nothing. It never evicts another number of events than one.
//
// What it may leave out, and why:
//
//	(1) the check for the last ordinal: head ≤ seq, and seq is not the last one
//	(2) the search for the slot, and the chain: the newest event is at seq, of
//	    slot 0, so the next one follows it at a distance of 1
//	(3) the index: it has room for as many entries as before
//	(4) the loop over what to evict: the second oldest event is neither too old
//	    nor, by number or bytes, one too many
//	(5) the arena, unless it is to be wrapped or resized, which append does
//
// TestSteadyAppendIsAppend holds both against each other.
func (w *Window) AppendSteadily(stream uint64, payload []byte, now int64) (ordinal uint64) {
	b, l, seq := w.b, w.lim(), w.seq
	if b == nil {
		return 0
	}
	r, n, size := &b.one, uint64(b.n), len(payload)
	if n != uint64(l.Events) || n < 2 || seq+1 == 0 || size > l.MaxEvent || size >= l.Bytes ||
		r.stream != stream || r.headSeq != seq || !b.oneUsed {
		return 0
	}
	entries := b.entries
	mask := uint64(len(entries) - 1)
	newest, oldest, second := &entries[seq&mask], &entries[(seq-n+1)&mask], &entries[(seq-n+2)&mask]

	at := uint64(now) - uint64(b.base) // huge if now lies before the base
	if at < uint64(newest.at) || at > uint64(second.at)+uint64(l.Age) || at > maxAge || oldest.slot != 0 {
		return 0
	}
	end := second.off
	if end < oldest.off {
		end = b.wrapEnd
	}
	left := b.bytes - (end - oldest.off)
	bytes := left + uint32(size)
	room := len(b.arena)
	if int(bytes) > l.Bytes || int(bytes) < room/4 {
		return 0
	}
	tail := b.tail
	if head := second.off; tail < head || tail == head && left > 0 { // wrapped
		room = int(head)
	}
	if int(tail)+size > room {
		return 0
	}

	r.floor++
	r.floorSeq = seq - n + 1
	r.first = seq - n + 1 + uint64(oldest.next)
	newest.next = 1
	seq++
	e := &entries[seq&mask]
	r.head++
	r.headSeq = seq
	w.seq = seq
	b.bytes = bytes
	b.tail = tail + uint32(size)
	e.off = tail
	e.at = uint32(at)
	e.slot = 0
	e.ord = uint32(r.head)
	e.next = 0
	copy(b.arena[tail:], payload)
	return r.head
}

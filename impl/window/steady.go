package window

// AppendSteadily is [Window.Append] in the one case that nearly every event of a
// busy session is: the window is full, and room is made by exactly the oldest
// event. It returns the event's ordinal, and one event was evicted; or 0 if the
// case is another one, and then it has changed nothing.
//
// What it may leave out, and why:
//
//	(1) the check for the last ordinal: head ≤ seq, and seq is not the last one
//	(2) a new record, and the beginning of a chain: of the stream's two or more
//	    retained events one remains, behind which the new one is chained
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
	n, size := uint64(b.n), len(payload)
	if n != uint64(l.Events) || n < 2 || seq+1 == 0 || size > l.MaxEvent || size >= l.Bytes {
		return 0
	}
	slot, r := uint32(0), &b.one
	if r.stream != stream || !b.oneUsed {
		var ok bool
		if slot, ok = b.find(stream); !ok {
			return 0
		}
		r = b.record(slot)
	}
	entries := b.entries
	mask := uint64(len(entries) - 1)
	newest, oldest, second := &entries[seq&mask], &entries[(seq-n+1)&mask], &entries[(seq-n+2)&mask]
	at := uint64(now) - uint64(b.base) // huge if now lies before the base
	if r.head-r.floor < 2 || at < uint64(newest.at) || at > uint64(second.at)+uint64(l.Age) || at > maxAge {
		return 0
	}
	end := second.off
	if end < oldest.off {
		end = b.wrapEnd
	}
	left := b.bytes - (end - oldest.off)
	bytes := left + uint32(size)
	room := len(b.arena)
	if int(bytes) > l.Bytes || int(bytes) < room/4 && room > smallArena { // too much, or oversized
		return 0
	}
	tail := b.tail
	if head := second.off; tail < head || tail == head && left > 0 { // wrapped
		room = int(head)
	}
	if int(tail)+size > room {
		return 0
	}

	switch oldest.slot {
	case 0:
		b.one.evicted(seq-n+1, oldest)
	case noSlot:
	default:
		b.record(oldest.slot).evicted(seq-n+1, oldest)
	}
	seq++
	entries[r.headSeq&mask].next = uint32(seq - r.headSeq)
	r.head++
	r.headSeq = seq
	w.seq = seq
	b.bytes = bytes
	b.tail = tail + uint32(size)
	e := &entries[seq&mask]
	e.off = tail
	e.at = uint32(at)
	e.slot = slot
	e.ord = uint32(r.head)
	e.next = 0
	if slot != 0 {
		b.hint = slot
	}
	copy(b.arena[tail:], payload)
	return r.head
}

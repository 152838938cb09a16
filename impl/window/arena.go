package window

import "math"

// How payloads are kept
//
// The arena is a ring of bytes. A payload is always one piece, so that it can
// be lent: where the rest up to the end of the arena is too short for it, the
// rest stays unused and the payload goes to offset 0. There are two shapes:
//
//	head ≤ tail:   ....[oldest ... newest]......     free at both ends
//	wrapped:       [... newest]....[oldest ...]..    free between, and the rest
//
// where head is the offset of the oldest payload. They are told apart thus:
// wrapped ⇔ tail < head, or tail = head and bytes > 0. For when not wrapped,
// bytes = tail - head; and when wrapped, the payload at offset 0 is not empty
// (an empty one fits in any rest, so it never wraps) and cannot leave before
// all those at the end of the arena have.
//
// An entry does not hold its payload's length: it ends where the next one
// begins, or, if that one lies at a lower offset, at wrapEnd, or, if it is the
// newest, at tail. One wrapEnd is enough: a second wrap needs free bytes at
// offset 0, hence that everything before the first one has left. And an equal
// offset means an empty payload, not a wrap: to wrap onto the offset of a
// retained payload, that is onto 0, a payload needs room before it.
//
// An arena of Limits.Bytes plus the largest payload always suffices: if a
// payload of size s fits nowhere, each of the two free pieces is shorter than
// s, so the arena is shorter than (Bytes - s) + 2s. So it never grows further.

const (
	smallArena = 4 << 10 // at or below this an arena is not worth shrinking
	smallIndex = 16
	firstIndex = 4
)

// at returns the entry of a retained seq, or the place for the next one.
func (b *body) at(seq uint64) *entry { return &b.entries[seq&uint64(len(b.entries)-1)] }

func (b *body) stamp(seq uint64) int64 { return b.base + int64(b.at(seq).at) }

// end returns where the payload of a retained seq ends.
func (w *Window) end(seq uint64) uint32 {
	b := w.b
	if seq == w.seq {
		return b.tail
	}
	next := b.at(seq + 1).off
	if next < b.at(seq).off {
		return b.wrapEnd
	}
	return next
}

// place finds the offset for a payload of size, and makes sure that the index
// has a place for its entry and can hold its stamp.
func (w *Window) place(l *Limits, size int, now int64) uint32 {
	b := w.b
	head := uint32(0)
	switch {
	case b.n == 0:
		b.tail, b.wrapEnd, b.base = 0, 0, now
	case uint64(now)-uint64(b.base) > math.MaxUint32:
		w.rebase()
		fallthrough
	default:
		head = b.at(w.oldest()).off
	}
	if int(b.n) == len(b.entries) {
		w.resizeIndex(max(firstIndex, 2*len(b.entries)))
	}
	switch wrapped := b.tail < head || b.tail == head && b.bytes > 0; {
	case wrapped && size <= int(head-b.tail):
		return b.tail
	case !wrapped && size <= len(b.arena)-int(b.tail):
		return b.tail
	case !wrapped && size <= int(head):
		b.wrapEnd = b.tail
		return 0
	}
	w.resizeArena(b.target(l, size))
	return b.tail
}

// rebase moves the base of the stamps up to the oldest event. After it all
// stamps up to now fit: what is older than Limits.Age < 2^32 has been evicted.
func (w *Window) rebase() {
	b := w.b
	shift := b.at(w.oldest()).at
	b.base += int64(shift)
	for seq := w.oldest(); seq-w.oldest() < uint64(b.n); seq++ {
		b.at(seq).at -= shift
	}
}

// target says how large an arena must grow to take a payload of size. While the
// window has not reached its number of events it aims, by doubling, at what
// that many events of the sizes seen so far will take; afterwards it follows
// the need with a sixteenth to spare.
func (b *body) target(l *Limits, size int) int {
	need := int64(b.bytes) + int64(size)
	want := need + need/16
	if n := int64(b.n) + 1; n < int64(l.Events) {
		full := need * int64(l.Events) / n
		want = min(full, max(want, 2*int64(len(b.arena))))
	}
	return int(min(want, int64(l.Bytes)+int64(l.MaxPayload())))
}

// resizeArena moves the payloads to the front of a new arena of at least size
// bytes. What the allocator would round up is used, so that MemoryBytes can
// tell the truth.
func (w *Window) resizeArena(size int) {
	b := w.b
	arena := append([]byte(nil), make([]byte, size)...)
	arena = arena[:cap(arena)]
	tail := 0
	for left := uint64(b.n); left > 0; left-- {
		e, end := b.at(w.seq-left+1), w.end(w.seq-left+1)
		from := e.off
		e.off = uint32(tail) // end looks at this offset and the next one, never back
		tail += copy(arena[tail:], b.arena[from:end])
	}
	b.arena, b.tail, b.wrapEnd = arena, uint32(tail), 0
}

// resizeIndex moves the entries to a new index; places is a power of two.
func (w *Window) resizeIndex(places int) {
	b := w.b
	entries := append([]entry(nil), make([]entry, places)...)[:places]
	for left := uint64(b.n); left > 0; left-- {
		seq := w.seq - left + 1
		entries[seq&uint64(places-1)] = *b.at(seq)
	}
	b.entries = entries
}

// oversized reports whether less than a quarter of the arena or of the index is
// in use. Shrinking to twice the need then leaves room both ways, so that its
// cost is paid for by the evictions that led to it.
func (b *body) oversized() bool { return b.arenaOversized() || b.indexOversized() }

func (b *body) arenaOversized() bool {
	return int(b.bytes) < len(b.arena)/4 && len(b.arena) > smallArena
}

func (b *body) indexOversized() bool {
	return int(b.n) < len(b.entries)/4 && len(b.entries) > smallIndex
}

// shrink gives back what oversized found. The window must not be empty.
func (w *Window) shrink() {
	b := w.b
	if b.arenaOversized() {
		w.resizeArena(max(2*int(b.bytes), smallArena/4))
	}
	if b.indexOversized() {
		w.resizeIndex(len(b.entries) / 2)
	}
}

// settle gives back, after evictions, what a quieter window does not need: at
// the end everything but the streams' floors and heads.
func (w *Window) settle() {
	b := w.b
	switch {
	case b.n > 0:
		if b.oversized() {
			w.shrink()
		}
	case b.count() > 0:
		b.entries, b.arena = nil, nil
	default:
		w.b = nil
	}
}

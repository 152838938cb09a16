package window

import (
	"math/bits"
	"slices"
	"sort"
)

// noSlot is the slot of no record: that of a forgotten stream's events.
const noSlot = ^uint32(0)

// record is what a window knows of one stream, from Open to Forget. The events
// floor+1 … head are retained; they are chained from first by entry.next.
type record struct {
	stream   uint64
	floor    uint64 // highest evicted ordinal, 0: none
	floorSeq uint64 // its seq
	head     uint64 // highest issued ordinal, 0: none
	headSeq  uint64 // its seq
	first    uint64 // seq of floor+1, while floor < head
}

// table holds the records in slots that do not move, because the entries name
// them. Slot 0 is in the body itself: most sessions have one stream that speaks,
// or one at a time. The others are found by binary search.
type table struct {
	one     record // slot 0
	oneUsed bool
	more    []record // slots 1, 2, …
	order   []uint32 // the used slots of more, by the number of their stream
	free    uint32   // first free slot of more, linked through record.first; 0: none
	hint    uint32   // the slot of more that was appended to last; 0: none
}

// evicted moves the floor up to the stream's oldest event, which has this seq.
func (r *record) evicted(seq uint64, e *entry) {
	r.floor++
	r.floorSeq = seq
	r.first = seq + uint64(e.next)
}

// record returns the record in a used slot.
func (t *table) record(slot uint32) *record {
	if slot == 0 {
		return &t.one
	}
	return &t.more[slot-1]
}

// find returns the slot of the stream's record.
func (t *table) find(stream uint64) (slot uint32, ok bool) {
	if t.oneUsed && t.one.stream == stream {
		return 0, true
	}
	if t.hint != 0 && t.record(t.hint).stream == stream {
		return t.hint, true
	}
	if i, ok := t.search(stream); ok {
		return t.order[i], true
	}
	return noSlot, false
}

// search returns the stream's place in order, or where it would be.
func (t *table) search(stream uint64) (i int, ok bool) {
	i = sort.Search(len(t.order), func(i int) bool { return t.record(t.order[i]).stream >= stream })
	return i, i < len(t.order) && t.record(t.order[i]).stream == stream
}

// insert adds a record for a stream that has none.
func (t *table) insert(r record) (slot uint32) {
	switch {
	case !t.oneUsed:
		t.one, t.oneUsed = r, true
		return 0
	case t.free != 0:
		slot = t.free
		t.free = uint32(t.record(slot).first)
		*t.record(slot) = r
	default:
		t.more = append(t.more, r)
		slot = uint32(len(t.more))
	}
	i, _ := t.search(r.stream)
	t.order = slices.Insert(t.order, i, slot)
	return slot
}

// remove frees a used slot.
func (t *table) remove(slot uint32) {
	if slot == 0 {
		t.one, t.oneUsed = record{}, false
		return
	}
	i, _ := t.search(t.record(slot).stream)
	t.order = slices.Delete(t.order, i, i+1)
	*t.record(slot) = record{first: uint64(t.free)}
	t.free, t.hint = slot, 0
}

// count returns the number of records.
func (t *table) count() int {
	if t.oneUsed {
		return 1 + len(t.order)
	}
	return len(t.order)
}

func (t *table) clone() table {
	c := *t
	c.more, c.order = slices.Clone(t.more), slices.Clone(t.order)
	return c
}

func (t *table) memoryBytes() int {
	return cap(t.more)*(RecordBytes-4) + cap(t.order)*4
}

// Open makes a record for a stream, with floor and head at position 0. A stream
// that has one already is a mistake of the caller and panics, for numbers of
// streams are never reused; of those that were forgotten the caller must know.
func (w *Window) Open(stream uint64) { w.OpenAt(Position{Stream: stream}) }

// OpenAt makes a record for a stream whose events up to floor were issued and
// are no longer retained, for a session that is read back: with [Resume] at the
// seq before its oldest retained event, OpenAt for each stream, and Append for
// each retained event in order, everything gets the number that it had.
func (w *Window) OpenAt(floor Position) {
	switch {
	case w.Has(floor.Stream):
		bug("stream %d is open already", floor.Stream)
	case (floor.Seq == 0) != (floor.Ordinal == 0) || floor.Ordinal > floor.Seq:
		bug("no such position: %v", floor)
	case floor.Seq > w.seq-uint64(w.Len()):
		bug("floor %v lies after the evicted seqs, the last of which is %d", floor, w.seq-uint64(w.Len()))
	}
	if floor.Ordinal == 0 && floor.Stream < 64 {
		w.fresh |= 1 << floor.Stream
		return
	}
	w.embody().insert(record{
		stream: floor.Stream,
		floor:  floor.Ordinal, floorSeq: floor.Seq,
		head: floor.Ordinal, headSeq: floor.Seq,
	})
}

// Forget drops the record of a stream, if it has one. Its retained events can
// no longer be read; they keep their place, and count, until their turn to be
// evicted comes: nothing but age and order decides that. The stream must not be
// opened again.
func (w *Window) Forget(stream uint64) {
	if w.isFresh(stream) {
		w.fresh &^= 1 << stream
		return
	}
	b := w.b
	if b == nil {
		return
	}
	slot, ok := b.find(stream)
	if !ok {
		return
	}
	r := b.record(slot)
	for seq, left := r.first, r.head-r.floor; left > 0; left-- {
		e := b.at(seq)
		e.slot = noSlot
		seq += uint64(e.next)
	}
	b.remove(slot)
	switch {
	case b.count() == 0 && b.n == 0:
		w.b = nil
	case len(b.order) == 0:
		b.more, b.order, b.free = nil, nil, 0
	case len(b.order) < len(b.more)/4 && len(b.more) > smallIndex:
		w.compact()
	}
}

// compact gives the records of more new slots, without the free ones between.
func (w *Window) compact() {
	b := w.b
	moved := make([]uint32, 1+len(b.more)) // old slot → new slot; 0 stays
	more := make([]record, 0, 2*len(b.order))
	order := make([]uint32, 0, 2*len(b.order))
	for _, slot := range b.order {
		more = append(more, *b.record(slot))
		moved[slot] = uint32(len(more))
		order = append(order, moved[slot])
	}
	for left := uint64(b.n); left > 0; left-- {
		if e := b.at(w.seq - left + 1); e.slot != noSlot {
			e.slot = moved[e.slot]
		}
	}
	b.more, b.order, b.free, b.hint = more, order, 0, 0
}

// embody returns the body, made when it is first needed.
func (w *Window) embody() *body {
	if w.b == nil {
		w.b = new(body)
	}
	return w.b
}

// slotFor returns the slot of a stream that is appended to. A fresh stream gets
// its record now.
func (w *Window) slotFor(stream uint64) uint32 {
	slot, ok := w.b.find(stream)
	if !ok {
		if !w.isFresh(stream) {
			bug("append to stream %d, which has no record", stream)
		}
		w.fresh &^= 1 << stream
		slot = w.b.insert(record{stream: stream})
	}
	w.b.hint = slot
	return slot
}

func (w *Window) isFresh(stream uint64) bool { return stream < 64 && w.fresh>>stream&1 != 0 }

// record returns what is known of a stream, and its slot if it has one, or nil.
func (w *Window) record(stream uint64) (r *record, slot uint32) {
	if w.b != nil {
		if slot, ok := w.b.find(stream); ok {
			return w.b.record(slot), slot
		}
	}
	if w.isFresh(stream) {
		return &record{stream: stream}, noSlot
	}
	return nil, noSlot
}

// Has reports whether the stream has a record.
func (w *Window) Has(stream uint64) bool {
	r, _ := w.record(stream)
	return r != nil
}

// StreamCount returns the number of streams with a record.
func (w *Window) StreamCount() int {
	n := bits.OnesCount64(w.fresh)
	if w.b != nil {
		n += w.b.count()
	}
	return n
}

// Streams returns the numbers of the streams with a record, ascending.
func (w *Window) Streams() []uint64 {
	streams := make([]uint64, 0, w.StreamCount())
	for fresh := w.fresh; fresh != 0; fresh &= fresh - 1 {
		streams = append(streams, uint64(bits.TrailingZeros64(fresh)))
	}
	if w.b != nil {
		if w.b.oneUsed {
			streams = append(streams, w.b.one.stream)
		}
		for _, slot := range w.b.order {
			streams = append(streams, w.b.record(slot).stream)
		}
	}
	slices.Sort(streams)
	return streams
}

// Floor returns the position of the stream's highest evicted event, position 0
// at first, or false if the stream has no record.
func (w *Window) Floor(stream uint64) (p Position, ok bool) {
	r, _ := w.record(stream)
	if r == nil {
		return Position{}, false
	}
	return Position{Seq: r.floorSeq, Stream: stream, Ordinal: r.floor}, true
}

// Head returns the position of the stream's highest issued event, position 0 at
// first, or false if the stream has no record.
func (w *Window) Head(stream uint64) (p Position, ok bool) {
	r, _ := w.record(stream)
	if r == nil {
		return Position{}, false
	}
	return Position{Seq: r.headSeq, Stream: stream, Ordinal: r.head}, true
}

// Retained returns the number of the stream's retained events.
func (w *Window) Retained(stream uint64) uint64 {
	r, _ := w.record(stream)
	if r == nil {
		return 0
	}
	return r.head - r.floor
}

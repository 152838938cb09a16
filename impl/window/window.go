package window

import (
	"iter"
	"math"
	"slices"
	"unsafe"
)

// A Window is the bounded run of recent events of one session. The zero value
// is an empty window with [DefaultLimits]. It is 32 bytes and meant to be a
// field: what a window holds is allocated when there is something to hold, and
// given back when it is gone. A Window must not be copied after its first use;
// [Window.Clone] copies.
type Window struct {
	limits *Limits // nil: the defaults
	seq    uint64  // last issued, 0 before the first
	// fresh has bit s set while stream s < 64 has a record but has had no
	// event: an idle session, which has opened its standalone stream and said
	// nothing on it, costs no more than this header. Such a stream is in no table.
	fresh uint64
	b     *body // nil while there is nothing to remember
}

// body is what a window has once something was appended: the index, a ring of
// entries; the arena with their payloads (arena.go); the streams (table.go).
// What an append to the first stream touches comes first, in two cache lines.
type body struct {
	// entries has a length that is a power of two: seq is at seq mod it.
	entries []entry
	arena   []byte
	n       uint32 // retained events: their seqs are Window.seq-n+1 … Window.seq
	bytes   uint32 // sum of the retained payloads
	tail    uint32 // end of the newest payload
	wrapEnd uint32 // end of the payload before the one that was put at offset 0

	base int64 // stamps are kept as differences to this one
	table
}

// entry is one retained event. Its payload ends where the next one begins.
type entry struct {
	off  uint32 // of the payload in the arena
	at   uint32 // stamp - body.base
	slot uint32 // of the stream's record; noSlot after Forget
	ord  uint32 // low half of the ordinal: a stream retains fewer than 2^32
	next uint32 // the seq of the stream's next event minus this one's; 0 at the head
}

// The parts of the memory formula: a window holds HeaderBytes, and once it has
// had an event bodyBytes, EntryBytes for each place of its index (the number of
// events, rounded up to a power of two), RecordBytes for each further stream
// with events, and its arena, each rounded up as the allocator does it.
const (
	HeaderBytes = int(unsafe.Sizeof(Window{}))
	EntryBytes  = int(unsafe.Sizeof(entry{}))
	RecordBytes = int(unsafe.Sizeof(record{}) + unsafe.Sizeof(uint32(0)))
	bodyBytes   = int(unsafe.Sizeof(body{}))
)

// New returns an empty window. With nil the limits are the defaults; limits
// that do not validate are a mistake of the caller and panic.
func New(limits *Limits) Window { return Resume(limits, 0) }

// Resume returns an empty window that has issued the numbers up to seq, for a
// session that is read back from a durable store (R2, R14): the next event gets
// seq+1. Its streams come back with [Window.OpenAt].
func Resume(limits *Limits, seq uint64) Window {
	if limits != nil {
		if err := limits.Validate(); err != nil {
			bug("%v", err)
		}
	}
	return Window{limits: limits, seq: seq}
}

// Append gives the event the next seq of the session and the next ordinal of
// its stream, and retains a copy of payload. Before that it evicts what is too
// old at now and then, oldest first, what the other limits demand; evicted says
// how many. A now before the newest retained event's stamp counts as that
// stamp: stamps follow the order of events, clocks need not.
//
// A refused event changes nothing: [*TooLargeError], [*ExhaustedError]. A
// stream without a record is a mistake of the caller and panics.
func (w *Window) Append(stream uint64, payload []byte, now int64) (p Position, evicted int, err error) {
	if ordinal := w.AppendSteadily(stream, payload, now); ordinal != 0 {
		return Position{Seq: w.seq, Stream: stream, Ordinal: ordinal}, 1, nil
	}
	return w.append(stream, payload, now)
}

// append is Append for every state of the window.
func (w *Window) append(stream uint64, payload []byte, now int64) (p Position, evicted int, err error) {
	l, size := w.lim(), len(payload)
	if size > l.MaxEvent || size >= l.Bytes || w.seq == math.MaxUint64 {
		return Position{}, 0, w.CanAppend(stream, size)
	}
	b := w.b
	if b == nil {
		b = w.embody()
	}
	slot, r := uint32(0), &b.one
	if !b.oneUsed || r.stream != stream {
		slot = w.slotFor(stream)
		r = b.record(slot)
	}
	if r.head == math.MaxUint64 {
		return Position{}, 0, w.CanAppend(stream, size)
	}
	if b.n > 0 {
		now = max(now, b.stamp(w.seq))
		evicted = w.drop(l.Events-1, l.Bytes-size, b.since(now, l.Age))
	}
	off := w.place(l, size, now)

	// From here on nothing can fail.
	seq := w.seq + 1
	if r.head == r.floor {
		r.first = seq
	} else {
		b.at(r.headSeq).next = uint32(seq - r.headSeq)
	}
	w.seq = seq
	r.head++
	r.headSeq = seq
	e := b.at(seq) // field by field: assembled and copied it would cost a third of the append
	e.off = off
	e.at = uint32(uint64(now) - uint64(b.base))
	e.slot = slot
	e.ord = uint32(r.head)
	e.next = 0
	b.n++
	b.bytes += uint32(size)
	b.tail = off + uint32(size)
	copy(b.arena[off:b.tail], payload)
	if evicted != 0 && b.oversized() {
		w.shrink()
	}
	return Position{Seq: seq, Stream: stream, Ordinal: r.head}, evicted, nil
}

// CanAppend returns the error that Append would return for a payload of this
// size on this stream, without doing anything.
func (w *Window) CanAppend(stream uint64, size int) error {
	if m := w.lim().MaxPayload(); size > m {
		return &TooLargeError{Size: size, Max: m}
	}
	head, ok := w.Head(stream)
	if !ok {
		bug("append to stream %d, which has no record", stream)
	}
	if w.seq == math.MaxUint64 || head.Ordinal == math.MaxUint64 {
		return &ExhaustedError{Position{Seq: w.seq, Stream: stream, Ordinal: head.Ordinal}}
	}
	return nil
}

// drop evicts, oldest first, until at most events and bytes are left and none
// whose at is lower than from, and says how many it evicted. There must be one.
func (w *Window) drop(events, bytes int, from uint64) (count int) {
	b := w.b
	seq, e := w.oldest(), b.at(w.oldest())
	for n := int(b.n); n > events || int(b.bytes) > bytes || uint64(e.at) < from; {
		switch e.slot {
		case 0:
			b.one.evicted(seq, e)
		case noSlot: // its stream was forgotten
		default:
			b.record(e.slot).evicted(seq, e)
		}
		b.bytes -= w.end(seq) - e.off
		b.n--
		count++
		if n--; n == 0 {
			break
		}
		seq++
		e = b.at(seq)
	}
	return count
}

// oldest returns the seq of the oldest retained event. There must be one.
func (w *Window) oldest() uint64 { return w.seq - uint64(w.b.n) + 1 }

// since returns the lowest at of an entry that is not older than age at now,
// which is not before the base.
func (b *body) since(now, age int64) uint64 {
	at := uint64(now) - uint64(b.base) // exact, whatever the signs
	return at - min(at, uint64(age))
}

// EvictOldest evicts one event and reports whether there was one.
func (w *Window) EvictOldest() bool {
	if w.Len() == 0 {
		return false
	}
	w.drop(w.Len()-1, w.Bytes(), 0)
	w.settle()
	return true
}

// EvictBefore evicts the events with a stamp before this one and says how many.
func (w *Window) EvictBefore(stamp int64) int {
	if w.Len() == 0 || stamp <= w.b.base {
		return 0
	}
	count := w.drop(w.Len(), w.Bytes(), w.b.since(stamp, 0))
	if count > 0 {
		w.settle()
	}
	return count
}

// EvictDue evicts the events that are older than Limits.Age at now and says how
// many. A now before the newest retained event's stamp counts as that stamp.
func (w *Window) EvictDue(now int64) int {
	if w.Len() == 0 {
		return 0
	}
	now = max(now, w.b.stamp(w.seq))
	count := w.drop(w.Len(), w.Bytes(), w.b.since(now, w.lim().Age))
	if count > 0 {
		w.settle()
	}
	return count
}

// OldestStamp returns the stamp of the oldest retained event.
func (w *Window) OldestStamp() (stamp int64, ok bool) {
	if w.Len() == 0 {
		return 0, false
	}
	return w.b.stamp(w.oldest()), true
}

// DueAt returns the first now at which EvictDue evicts something, or false
// while nothing is retained (or the stamp lies so near the end of int64 that
// this now does not exist).
func (w *Window) DueAt() (now int64, ok bool) {
	oldest, ok := w.OldestStamp()
	age := w.lim().Age
	if !ok || oldest > math.MaxInt64-age-1 {
		return 0, false
	}
	return oldest + age + 1, true
}

// Seq returns the last issued seq of the session, 0 before the first.
func (w *Window) Seq() uint64 { return w.seq }

// Len returns the number of retained events, those of forgotten streams too.
func (w *Window) Len() int {
	if w.b == nil {
		return 0
	}
	return int(w.b.n)
}

// Bytes returns the sum of the sizes of the retained payloads.
func (w *Window) Bytes() int {
	if w.b == nil {
		return 0
	}
	return int(w.b.bytes)
}

// MemoryBytes returns what the window holds of memory, its header included.
func (w *Window) MemoryBytes() int {
	m := HeaderBytes
	if b := w.b; b != nil {
		m += bodyBytes + cap(b.entries)*EntryBytes + cap(b.arena) + b.table.memoryBytes()
	}
	return m
}

// Limits returns the limits of the window.
func (w *Window) Limits() Limits { return *w.lim() }

// Clone returns a window that is equal to this one and shares nothing with it
// but the limits.
func (w *Window) Clone() Window {
	c := *w
	if w.b != nil {
		b := *w.b
		b.entries = slices.Clone(b.entries)
		b.arena = slices.Clone(b.arena)
		b.table = b.table.clone()
		c.b = &b
	}
	return c
}

// All returns the retained events of all streams with a record in the order of
// their seqs, for tests and proofs. The window must not be changed meanwhile.
func (w *Window) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for left := uint64(w.Len()); left > 0; left-- {
			seq := w.seq - left + 1
			e := w.b.at(seq)
			if e.slot == noSlot {
				continue
			}
			r := w.b.record(e.slot)
			ordinal := r.head - uint64(uint32(r.head)-e.ord)
			if !yield(w.event(seq, r.stream, ordinal)) {
				return
			}
		}
	}
}

func (w *Window) lim() *Limits {
	if w.limits == nil {
		return &defaultLimits
	}
	return w.limits
}

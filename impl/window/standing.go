package window

import "fmt"

// A Standing is what a window can say of a position that a client presents as
// its cursor: whether this session issued it, and what became of it (R1, R5).
type Standing uint8

const (
	// NoRecord: the stream was never opened, or was forgotten. Which of the two
	// it is, only the caller knows: cursor_unissued or cursor_evicted.
	NoRecord Standing = iota
	// Evicted: the position lies below the floor. Its seq cannot be checked any
	// more: cursor_evicted.
	Evicted
	// AtFloor: the position is the floor, seq included (or position 0 of a
	// stream that has lost nothing). Everything after it is retained.
	AtFloor
	// InWindow: the event of this position is retained, seq included.
	InWindow
	// Unissued: this session never gave that seq to that ordinal of that stream:
	// cursor_unissued.
	Unissued
	// Ahead: ordinal and seq lie beyond everything issued: cursor_ahead.
	Ahead
)

var standingNames = [...]string{"NoRecord", "Evicted", "AtFloor", "InWindow", "Unissued", "Ahead"}

// String returns the name of the constant.
func (s Standing) String() string {
	if int(s) < len(standingNames) {
		return standingNames[s]
	}
	return fmt.Sprintf("Standing(%d)", uint8(s))
}

// Good reports whether a stream can be continued strictly after the position.
func (s Standing) Good() bool { return s == AtFloor || s == InWindow }

// Classify judges a position in the order of the contract: the stream, below
// the floor, at the floor and in the window, beyond the head. It takes constant
// time but for finding the stream, and changes nothing.
//
// Ahead means: beyond the head of its stream by ordinal and beyond the last seq
// of the session. A seq that was issued, be it to another stream, was never
// issued together with an ordinal that was not, hence Unissued.
func (w *Window) Classify(p Position) Standing {
	r, slot := w.record(p.Stream)
	switch {
	case r == nil:
		return NoRecord
	case p.Ordinal < r.floor:
		return Evicted
	case p.Ordinal == r.floor:
		if p.Seq == r.floorSeq {
			return AtFloor
		}
		return Unissued
	case p.Ordinal <= r.head:
		if w.holds(p, slot) {
			return InWindow
		}
		return Unissued
	case p.Seq > w.seq:
		return Ahead
	default:
		return Unissued
	}
}

// holds reports whether the event of a position with floor < ordinal ≤ head, of
// the stream in this slot, has exactly this seq.
func (w *Window) holds(p Position, slot uint32) bool {
	if p.Seq > w.seq || w.seq-p.Seq >= uint64(w.b.n) {
		return false
	}
	// Equal low halves mean equal ordinals: both lie in floor+1 … head, which
	// are fewer than 2^32.
	e := w.b.at(p.Seq)
	return e.slot == slot && e.ord == uint32(p.Ordinal)
}

// Lookup returns the seq of the stream's event with this ordinal, if that is
// the floor (0 for ordinal 0) or a retained event. Where other streams spoke in
// between it follows the stream's chain, up to the number of its retained
// events; a cursor, which names its seq, needs no Lookup but [Window.Classify].
func (w *Window) Lookup(stream, ordinal uint64) (seq uint64, ok bool) {
	r, _ := w.record(stream)
	switch {
	case r == nil || ordinal < r.floor || ordinal > r.head:
		return 0, false
	case ordinal == r.floor:
		return r.floorSeq, true
	case ordinal == r.head:
		return r.headSeq, true
	case r.headSeq-r.first == r.head-r.floor-1: // nobody else spoke
		return r.first + (ordinal - r.floor - 1), true
	}
	seq = r.first
	for left := ordinal - r.floor - 1; left > 0; left-- {
		seq += uint64(w.b.at(seq).next)
	}
	return seq, true
}

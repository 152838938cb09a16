package window

import "fmt"

// A Position is a place in a stream: after the event with this ordinal. It is
// what an event id names, without the session tag. Position 0 of stream s,
// before its first event, is Position{Stream: s}: its Seq is 0 exactly when its
// Ordinal is 0.
type Position struct {
	Seq     uint64 // session-scoped number of the event, from 1
	Stream  uint64 // number of the logical stream
	Ordinal uint64 // number of the event within its stream, from 1
}

// String returns the position as seq:stream:ordinal, for messages and tests.
func (p Position) String() string {
	return fmt.Sprintf("%d:%d:%d", p.Seq, p.Stream, p.Ordinal)
}

// An Event is one retained event, and the position after it.
//
// Payload is lent: it points into the window and is valid until the next call
// that changes the window (Append, Evict…, Forget). It must not be written to.
type Event struct {
	Position
	Stamp   int64 // when it was appended, in the caller's units
	Payload []byte
}

// AppendTo appends a copy of the payload to dst and returns the result.
func (e Event) AppendTo(dst []byte) []byte { return append(dst, e.Payload...) }

// Clone returns the event with a payload of its own.
func (e Event) Clone() Event {
	e.Payload = append([]byte{}, e.Payload...)
	return e
}

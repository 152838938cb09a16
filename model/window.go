package model

import "math"

// Limits bounds what a session retains (R3). Zero means unbounded.
type Limits struct {
	Events   int   // N: events retained
	Bytes    int   // B: payload bytes retained
	Age      int64 // T: units of the stamps that the caller gives
	MaxEvent int   // payload bytes of one event
	Streams  int   // streams with a record
	Views    int   // views open at once
	Requests int   // calls in flight
}

// A Load is what a window holds.
type Load struct{ Events, Bytes int }

// Overflows reports whether a window with this load holds more than it may:
// then its oldest event goes (R3).
func Overflows(l Load, limits Limits) bool {
	return limits.Events > 0 && l.Events > limits.Events || limits.Bytes > 0 && l.Bytes > limits.Bytes
}

// TooOld reports whether an event of this age goes (R3): one of exactly the
// bound stays.
func TooOld(age int64, limits Limits) bool { return limits.Age > 0 && age > limits.Age }

// Fits reports whether an event may be issued at all: at most MaxEvent bytes,
// and less than the window holds (R3). It is asked before a number is used.
func Fits(size int, limits Limits) bool {
	return (limits.MaxEvent <= 0 || size <= limits.MaxEvent) && (limits.Bytes <= 0 || size < limits.Bytes)
}

// NextNumber is the seq or ordinal after last (R2): one more, never used
// before. The last number there is ends the counting instead of starting it
// again.
func NextNumber(last uint64) (next uint64, ok bool) {
	if last == math.MaxUint64 {
		return 0, false
	}
	return last + 1, true
}

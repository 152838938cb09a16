package window

import (
	"fmt"
	"math"
)

// Limits bounds one window (R3). One value is shared by pointer between all the
// windows of a server and must not change once a window uses it.
type Limits struct {
	// Events is the largest number of retained events: 1 … 2^24.
	Events int
	// Age is how old a retained event may become, in the units of the stamps:
	// 1 … 2^32-1. An event of exactly this age is retained. Milliseconds reach
	// 49 days; the bound is what lets an index entry hold its stamp in 4 bytes.
	Age int64
	// Bytes is the largest sum of retained payloads: 2 … 2^30.
	Bytes int
	// MaxEvent is the largest payload of one event, at least 1. What is not
	// less than Bytes is refused too, so that an event can always be retained.
	MaxEvent int
}

const (
	maxEvents = 1 << 24
	maxBytes  = 1 << 30 // offsets in the arena are 32 bits
	maxAge    = math.MaxUint32
)

var defaultLimits = DefaultLimits()

// DefaultLimits returns the limits of R3: 256 events, 5 minutes, 8 MiB, and
// 4 MiB for one event. Its Age holds for stamps in milliseconds.
func DefaultLimits() Limits {
	return Limits{Events: 256, Age: 5 * 60 * 1000, Bytes: 8 << 20, MaxEvent: 4 << 20}
}

// Validate says which limit is out of its range, or returns nil.
func (l Limits) Validate() error {
	switch {
	case l.Events < 1 || l.Events > maxEvents:
		return fmt.Errorf("window: Limits.Events is %d, want 1 to %d", l.Events, maxEvents)
	case l.Age < 1 || l.Age > maxAge:
		return fmt.Errorf("window: Limits.Age is %d, want 1 to %d: choose a coarser unit", l.Age, int64(maxAge))
	case l.Bytes < 2 || l.Bytes > maxBytes:
		return fmt.Errorf("window: Limits.Bytes is %d, want 2 to %d", l.Bytes, maxBytes)
	case l.MaxEvent < 1:
		return fmt.Errorf("window: Limits.MaxEvent is %d, want at least 1", l.MaxEvent)
	}
	return nil
}

// MaxPayload returns the size of the largest payload that Append accepts.
func (l Limits) MaxPayload() int { return min(l.MaxEvent, l.Bytes-1) }

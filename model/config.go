package model

import "fmt"

// A Config is the scope of an exploration: how much of everything there may
// be. The bounds sit in the guards of what the environment does (opening,
// emitting, calling), never in what a rule decides.
type Config struct {
	Name     string
	Sessions int // sessions ever opened: epochs (TLA+: MaxEpoch)
	Streams  int // logical streams of each session; 1 is the scope that TLC shares
	Events   int // events that the sessions alive together have issued at most (MaxEvents)
	Window   int // events that a session retains at most (Window)
	Wire     int // frames in flight beyond which a server waits (WireCap)
	Calls    int // calls that the client ever makes (MaxCalls)

	// Strangers says which cursors other clients of the same subject present.
	Strangers Strangers

	// Alone leaves the server alone with strangers: the client opens sessions
	// and never resumes.
	Alone bool

	// Hostile adds a server that answers a resumption with whatever the
	// incidents show: another session, a clamped or an earlier position, events
	// from elsewhere than it announced. It judges the client alone; the rules of
	// the server are not checked.
	Hostile bool
}

// Strangers says what other clients of the same subject ask for.
type Strangers uint8

const (
	Nobody   Strangers = iota // there are none
	Newcomer                  // they attach without a cursor (R7)
	Anybody                   // they present any cursor, or none (R1, R5)
)

// The largest scope that a [State] can hold.
const (
	MaxSessions = 3
	MaxStreams  = 2
	MaxEvents   = 6
	MaxCalls    = 2
	MaxWire     = 4
)

// Validate reports the first bound that is out of range.
func (c Config) Validate() error {
	for _, bound := range [...]struct {
		name       string
		is, lo, hi int
	}{
		{"Sessions", c.Sessions, 1, MaxSessions},
		{"Streams", c.Streams, 1, MaxStreams},
		{"Events", c.Events, 1, MaxEvents},
		{"Window", c.Window, 1, MaxEvents},
		{"Wire", c.Wire, 1, MaxWire},
		{"Calls", c.Calls, 0, MaxCalls},
	} {
		if bound.is < bound.lo || bound.is > bound.hi {
			return fmt.Errorf("scope %q: %s is %d, expected %d to %d", c.Name, bound.name, bound.is, bound.lo, bound.hi)
		}
	}
	return nil
}

package session

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// Options are the settings of a [Registry]. The zero value of a field stands
// for its default in package spec.
type Options struct {
	// Bounds of each session's window (R3).
	WindowEvents int           // retained events
	WindowAge    time.Duration // of a retained event, in whole milliseconds
	WindowBytes  int           // retained payload bytes
	EventBytes   int           // payload bytes of one event, less than WindowBytes

	// Caps (R3).
	Sessions        int // per server
	SubjectSessions int // of one subject, at most Sessions
	Streams         int // with a record per session, more than Requests
	Views           int // open at once per session
	Requests        int // calls in flight per session

	// Ended sessions that are remembered, so that their clients learn how they
	// ended (R6, R14): how many, and for how long.
	RememberedEnds   int
	RememberedEndAge time.Duration

	// Budgets (R9b), in whole milliseconds.
	DetachBudget  time.Duration // a call's stream without a view
	SessionBudget time.Duration // a session without request, view and call

	// Generation is part of every session tag where a store can lose
	// acknowledged events (R14); else "".
	Generation string

	// Store keeps sessions beyond this process (R14); nil: they live in memory
	// only. With it, Generation is the store's to say. Notes carry through it
	// what belongs to the application; nil: nothing.
	Store Store
	Notes Notes

	// Unknown builds the payload of the typed error answer that ends a call
	// whose work was cancelled (R9b). It is called while the session is
	// locked: it must neither wait nor call back. See [Config].
	Unknown func(LostCall) []byte

	// Machines are the transition tables at work.
	Machines *fsm.Server

	// Logger is told what happens to sessions, never their ids; nil is silent.
	Logger *slog.Logger

	// Observe is told of every row that fired or was refused, while the
	// session is locked: it must neither wait nor call back.
	Observe func(Observation)

	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// withDefaults fills in what was left out, and says which setting is out of its
// range or at odds with another.
func (o Options) withDefaults() (Options, error) {
	for _, n := range []struct {
		name string
		at   *int
		def  int
	}{
		{"WindowEvents", &o.WindowEvents, spec.DefaultWindowEvents},
		{"WindowBytes", &o.WindowBytes, spec.DefaultWindowBytes},
		{"EventBytes", &o.EventBytes, min(spec.DefaultEventBytes, cmp.Or(o.WindowBytes, spec.DefaultWindowBytes)-1)},
		{"Sessions", &o.Sessions, spec.DefaultSessions},
		{"SubjectSessions", &o.SubjectSessions, min(spec.DefaultSubjectSessions, cmp.Or(o.Sessions, spec.DefaultSessions))},
		{"Streams", &o.Streams, spec.DefaultStreams},
		{"Views", &o.Views, max(spec.DefaultViews, o.Requests+1)}, // a call each, and the standalone stream
		{"Requests", &o.Requests, min(spec.DefaultRequests, cmp.Or(o.Streams, spec.DefaultStreams)-1)},
		{"RememberedEnds", &o.RememberedEnds, spec.DefaultRememberedEnds},
	} {
		*n.at = cmp.Or(*n.at, n.def)
		if *n.at < 1 {
			return o, fmt.Errorf("session: Options.%s is %d, want at least 1", n.name, *n.at)
		}
	}
	for _, d := range []struct {
		name string
		at   *time.Duration
		def  time.Duration
	}{
		{"WindowAge", &o.WindowAge, spec.DefaultWindowAge},
		{"RememberedEndAge", &o.RememberedEndAge, spec.DefaultRememberedEndAge},
		{"DetachBudget", &o.DetachBudget, spec.DefaultDetachBudget},
		{"SessionBudget", &o.SessionBudget, spec.DefaultSessionBudget},
	} {
		*d.at = cmp.Or(*d.at, d.def)
		if *d.at < time.Millisecond {
			return o, fmt.Errorf("session: Options.%s is %v, want at least 1ms", d.name, *d.at)
		}
	}
	switch {
	case o.EventBytes >= o.WindowBytes:
		return o, fmt.Errorf("session: Options.EventBytes is %d, want less than WindowBytes, which is %d", o.EventBytes, o.WindowBytes)
	case o.SubjectSessions > o.Sessions:
		return o, fmt.Errorf("session: Options.SubjectSessions is %d, want at most Sessions, which is %d", o.SubjectSessions, o.Sessions)
	case o.Store != nil && o.Generation != "":
		return o, fmt.Errorf("session: Options.Generation is %q, want none: the Store says its own", o.Generation)
	case o.Streams <= o.Requests:
		return o, fmt.Errorf("session: Options.Streams is %d, want more than Requests, which is %d: each call needs a record, and so does the standalone stream", o.Streams, o.Requests)
	}
	if o.Machines == nil {
		o.Machines = fsm.DefaultServer()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, o.config().Window.Validate()
}

// config returns what the sessions' cores share.
func (o Options) config() *Config {
	cfg := &Config{
		Machines: o.Machines,
		Window: window.Limits{
			Events: o.WindowEvents, Age: o.WindowAge.Milliseconds(),
			Bytes: o.WindowBytes, MaxEvent: o.EventBytes,
		},
		Streams: o.Streams, Views: o.Views, Requests: o.Requests,
		DetachBudget: o.DetachBudget.Milliseconds(),
		Generation:   o.Generation,
		Unknown:      o.Unknown,
		Observe:      o.Observe,
	}
	if o.Store != nil {
		cfg.Persist = persist
	}
	if o.Notes != nil {
		cfg.CallNote = o.Notes.Call
	}
	return cfg
}

// tick returns how finely time is told: budgets are kept, and events stamped,
// to within it.
func (o Options) tick() time.Duration {
	const least, most = time.Millisecond, 250 * time.Millisecond
	finest := min(o.WindowAge, o.DetachBudget, o.SessionBudget) / 32
	return max(least, min(finest.Truncate(time.Millisecond), most))
}

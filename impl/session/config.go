package session

import (
	"example.com/reattach/fsm"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// Config is what all cores of a server share. It must not change once a core
// uses it. Stamps are in the unit of Window.Age: milliseconds by default.
type Config struct {
	Machines *fsm.Server   // the transition tables at work
	Window   window.Limits // of each session's window (R3)

	Streams  int // streams with a record per session, at least 1
	Views    int // views open at once per session
	Requests int // calls in flight per session

	// DetachBudget is how long, in stamps, a call's stream may be without a
	// view before its work is cancelled (R9b).
	DetachBudget int64

	// Generation is part of the session tag where a store can lose
	// acknowledged events (R14); else "".
	Generation string

	// Unknown builds the payload of the typed error answer that ends a call
	// whose work was cancelled (R9b). It is called while the session is
	// locked: it must neither wait nor call back. Without it, or with a
	// payload that no window may retain, the event says [UnknownText].
	Unknown func(LostCall) []byte

	// Persist is asked to make durable what a row is about to do, before the row
	// fires; nil: nothing outlives the core. An error refuses the move, and then
	// nothing has changed (R14). See [Store].
	Persist func(*Core, Entry) error
	// CallNote returns what is kept durably of what a call was opened with.
	CallNote func(meta any) []byte

	// Observe is told of every row that fired or was refused, while the
	// session is locked: it must neither wait nor call back.
	Observe func(Observation)
}

// A LostCall is a call whose work was cancelled because nobody came back for
// its stream.
type LostCall struct {
	Session any    // what the session was opened with
	Stream  uint64 // number of the call's stream
	Call    any    // what the call was opened with
}

// UnknownText is the payload that ends a cancelled call where no other is given.
const UnknownText = "outcome unknown"

// An Observation is one row that fired, or one refusal.
type Observation struct {
	Tag     spec.Tag          // the session's; "" if there is none
	Machine string            // session or stream
	Stream  uint64            // number of the stream, for the machine stream
	Step    fsm.Step          // what fired; Step.Row is nil for a refusal
	Refused *fsm.RefusedError // what was refused, or nil

	// What the row met, before any of its effects, so that a trace of
	// observations can be replayed on a model without a clock ([Tracer]).
	Seq, Evicted uint64 // the session's newest seq, and the newest one that is evicted
	Bytes        int    // payloads that the window retains
	Head         uint64 // of the stream: its newest ordinal,
	Handed       uint64 // the highest one that any view ever took,
	View         uint64 // and the one that its view stands at; 0 without a view

	// What it was about, where it was about it.
	Size     int       // payload bytes (HandlerEmits, HandlerAnswers)
	Event    uint64    // ordinal of the event to be taken (ViewDelivers)
	EventSeq uint64    // and its seq
	Decision *Decision // on a request for a view (ClientResumes); not to be changed or kept
}

// DefaultConfig returns the defaults of package spec, with stamps in
// milliseconds and the tables as they stand there.
func DefaultConfig() *Config {
	return &Config{
		Machines:     fsm.DefaultServer(),
		Window:       window.DefaultLimits(),
		Streams:      spec.DefaultStreams,
		Views:        spec.DefaultViews,
		Requests:     spec.DefaultRequests,
		DetachBudget: spec.DefaultDetachBudget.Milliseconds(),
	}
}

// unknown returns the payload that ends a cancelled call.
func (cfg *Config) unknown(call LostCall) []byte {
	limit := cfg.Window.MaxPayload()
	if cfg.Unknown != nil {
		if payload := cfg.Unknown(call); len(payload) > 0 && len(payload) <= limit {
			return payload
		}
	}
	return []byte(UnknownText[:min(len(UnknownText), limit)])
}

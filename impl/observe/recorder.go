package observe

import (
	"sync"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A Backend moves an instrument by a value, or gives a histogram the value. The
// labels' values are in the order of [Metric.Labels]. It is called under the
// lock of a session or a client: it must neither wait nor call back.
type Backend interface {
	Add(metric int, value float64, labels ...string)
}

// A Recorder counts what it is told into a backend. One will do for any number
// of servers and clients.
type Recorder struct {
	backend Backend
	effects map[string][]spec.Effect // by row

	mu      sync.Mutex
	reasons map[spec.Reason]bool // that were met
}

// maxReasons bounds the series: this module knows fewer reasons, and a server
// may make up any number for a client.
const maxReasons = 128

// reason returns a reason's label.
func (r *Recorder) reason(is spec.Reason) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.reasons[is] {
		if len(r.reasons) == maxReasons {
			return "other"
		}
		r.reasons[is] = true
	}
	return string(is)
}

// NewRecorder returns a recorder that knows the rows of the tables as they are
// shipped.
func NewRecorder(b Backend) *Recorder {
	r := &Recorder{backend: b, effects: map[string][]spec.Effect{}, reasons: map[spec.Reason]bool{}}
	for _, table := range spec.Tables() {
		for _, row := range table.Rows {
			r.effects[row.ID] = row.Effects
		}
	}
	return r
}

// Session is for session.Options.Observe.
func (r *Recorder) Session(o session.Observation) {
	if d := o.Decision; d != nil {
		r.backend.Add(Resumes, 1, d.Verdict.String(), r.reason(d.Reason))
	}
	if o.Refused != nil {
		r.backend.Add(Refusals, 1, o.Refused.Machine, r.reason(o.Refused.Reason))
		return
	}
	row := o.Step.Row
	if row == nil {
		return
	}
	r.backend.Add(Moves, 1, o.Machine, row.ID)
	switch o.Machine {
	case "session":
		r.move(Sessions, o.Step.From, o.Step.To, spec.Absent, spec.Expired, spec.Terminated)
	case "stream":
		r.move(Streams, o.Step.From, o.Step.To, spec.Unopened, spec.Forgotten)
	}
	switch row.Trigger {
	case spec.HandlerEmits, spec.HandlerAnswers:
		r.backend.Add(Events, 1)
		r.backend.Add(EventBytes, float64(o.Size))
	case spec.ViewDelivers:
		r.backend.Add(Lag, float64(o.Head-o.View-1))
	case spec.ViewOvertaken:
		r.backend.Add(Cuts, 1, "overtaken")
	case spec.ViewStalls:
		r.backend.Add(Cuts, 1, "stalled")
	case spec.ViewBreaks:
		r.backend.Add(Broken, 1)
	case spec.DetachBudgetElapses:
		r.backend.Add(Cancelled, 1)
	}
	for _, e := range r.effects[row.ID] {
		if e == spec.SupersedeView {
			r.backend.Add(Superseded, 1)
		}
	}
}

// move counts a machine from one state to the next; those where nothing is left
// to count are outside.
func (r *Recorder) move(metric int, from, to spec.State, outside ...spec.State) {
	if from == to {
		return
	}
	in := func(s spec.State) bool {
		for _, o := range outside {
			if s == o {
				return false
			}
		}
		return true
	}
	if in(from) {
		r.backend.Add(metric, -1, from.String())
	}
	if in(to) {
		r.backend.Add(metric, 1, to.String())
	}
}

// Client adds itself to a client's callbacks; those that are set are called
// afterwards.
func (r *Recorder) Client(o *client.Options) {
	observer, outcome, stream, state, resolved := o.Observer, o.OnOutcome, o.OnStream, o.OnState, o.OnResolved
	o.Observer = func(seen spec.Observed) {
		if seen.Refused {
			r.backend.Add(Refusals, 1, seen.Machine, r.reason(seen.Reason))
		} else {
			r.backend.Add(Moves, 1, seen.Machine, seen.Row)
		}
		if observer != nil {
			observer(seen)
		}
	}
	o.OnOutcome = func(out client.Outcome) {
		r.backend.Add(Outcomes, 1, out.Kind.String(), r.reason(out.Reason))
		if outcome != nil {
			outcome(out)
		}
	}
	o.OnStream = func(s client.StreamReport) {
		switch s.Kind {
		case client.StreamResumed:
			r.backend.Add(Resumed, 1)
		case client.StreamSuspended:
			r.backend.Add(Suspended, 1)
		}
		if stream != nil {
			stream(s)
		}
	}
	o.OnState = func(s client.StateChange) {
		if s.To == spec.Abandoned || s.To == spec.Closed {
			r.backend.Add(Abandoned, 1, r.reason(s.Reason))
		}
		if state != nil {
			state(s)
		}
	}
	o.OnResolved = func(id client.StreamID, d client.Decision) {
		r.backend.Add(Resolved, 1, d.String())
		if resolved != nil {
			resolved(id, d)
		}
	}
}

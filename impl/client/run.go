package client

import (
	"fmt"
	"slices"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// A run is one trigger and all that follows from it: what the effects read,
// and the actions that they lead to.
type run struct {
	core    *Core
	actions []Action

	reason  spec.Reason   // why, wherever an effect says why
	session string        // SendDelete
	opened  Opened        // CommitEpoch
	message []byte        // SendMessage
	unknown StreamID      // CommitResolution, ReportFailure
	decided Decision      // CommitResolution
	event   Event         // Commit, ReturnEvent, ReturnNothing
	judged  judgement     // Commit, CommitToken
	wait    time.Duration // ScheduleResume, at least
	first   func()        // what changes with the state, before the effects
}

// stream fires a trigger of a stream and runs the row's effects.
func (r *run) stream(s *stream, t spec.Trigger, facts spec.Facts) error {
	step, err := r.fire(r.core.o.Machines.Stream, s.state, t, facts)
	if err != nil {
		return err
	}
	if slices.Contains(step.Row.Effects, spec.Abandon) { // all of it, or nothing
		if err := r.mayFollow(spec.ServerContradicts, s, step.To); err != nil {
			return err
		}
	}
	if slices.Contains(step.Row.Effects, spec.Yield) {
		if err := r.mayFollow(spec.AnotherTakesOver, s, step.To); err != nil {
			return err
		}
	}
	s.state = step.To
	r.begin(step)
	for _, e := range step.Row.Effects {
		if err := r.do(e, s); err != nil {
			return err
		}
	}
	return nil
}

// epoch fires a trigger of the epoch and runs the row's effects.
func (r *run) epoch(t spec.Trigger, facts spec.Facts) error {
	c := r.core
	step, err := r.fire(c.o.Machines.Epoch, c.state, t, facts)
	if err != nil {
		return err
	}
	if err := r.mayEnd(step, nil, 0); err != nil {
		return err
	}
	c.state = step.To
	r.begin(step)
	for _, e := range step.Row.Effects {
		if err := r.do(e, nil); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) begin(step fsm.Step) {
	if observe := r.core.o.Observe; observe != nil {
		observe(&step, nil)
	}
	if first := r.first; first != nil {
		r.first = nil
		first()
	}
}

// fire asks the machine; hot triggers take the form that allocates nothing.
func (r *run) fire(m *fsm.Machine, s spec.State, t spec.Trigger, facts spec.Facts) (step fsm.Step, err error) {
	switch t {
	case spec.EventArrives, spec.StreamCommitted:
		step, err = m.Resolve(s, t, facts)
	default:
		step, err = m.Fire(s, t, facts)
	}
	return step, r.observed(err)
}

// observed tells the observer of a refusal, and returns it.
func (r *run) observed(err error) error {
	if refused, ok := err.(*fsm.RefusedError); ok && r.core.o.Observe != nil {
		r.core.o.Observe(nil, refused)
	}
	return err
}

// mayFollow returns the refusal that a trigger of the epoch would meet once
// stream s is in state to.
func (r *run) mayFollow(t spec.Trigger, s *stream, to spec.State) error {
	step, err := r.core.o.Machines.Epoch.Resolve(r.core.state, t, 0)
	if err != nil {
		return r.observed(err)
	}
	return r.mayEnd(step, s, to)
}

// mayEnd returns the refusal that a row would meet which ends all streams.
func (r *run) mayEnd(step fsm.Step, s *stream, to spec.State) error {
	if !slices.Contains(step.Row.Effects, spec.EndClientStreams) {
		return nil
	}
	for _, other := range r.core.current() {
		state := other.state
		if other == s {
			state = to
		}
		if _, err := r.core.o.Machines.Stream.Resolve(state, spec.EpochEnds, other.standing()); err != nil {
			return r.observed(err)
		}
	}
	return nil
}

// current returns the streams of the current epoch, in order.
func (c *Core) current() (streams []*stream) {
	for _, s := range c.sorted() {
		if s.id.Epoch == c.record.Epoch {
			streams = append(streams, s)
		}
	}
	return streams
}

// add hands an action out.
func (r *run) add(a Action) {
	a.Epoch = r.core.record.Epoch
	if a.Change.Kind != 0 {
		a.Change.Lease = r.core.record.Lease
	}
	r.actions = append(r.actions, a)
}

// do carries out one effect. This is the only place that does; s is nil for an
// effect of the epoch.
func (r *run) do(e spec.Effect, s *stream) error {
	c := r.core
	switch e {
	case spec.SendInitialize:
		c.opening = opening{conn: c.connect()}
		r.add(Action{Do: e, Conn: c.opening.conn})
	case spec.CommitEpoch:
		r.add(Action{Do: e, Change: r.beginEpoch()})
	case spec.OpenClientStream:
		// The caller's method gave the call its stream and its id.
	case spec.SendMessage:
		r.add(Action{Do: e, Conn: c.connect(), Session: c.session(), Payload: r.message})
	case spec.CommitResolution:
		var events []Event
		if r.event.Answer {
			events = []Event{r.event}
		}
		r.add(Action{Do: e, Unknown: r.unknown, Events: events,
			Change: Change{Kind: ResolveUnknown, Epoch: c.record.Epoch, Unknown: r.unknown, Decision: r.decided}})
	case spec.CommitFence:
		r.add(Action{Do: e, Attempt: c.failures, Reason: c.reason,
			Change: Change{Kind: FenceEpoch, Epoch: c.record.Epoch, Closing: c.closing, Reason: c.reason}})
	case spec.EndClientStreams:
		for _, other := range c.current() {
			if err := r.stream(other, spec.EpochEnds, other.standing()); err != nil {
				return err
			}
		}
	case spec.SendDelete:
		if r.session != "" {
			r.add(Action{Do: e, Conn: c.connect(), Session: Session{ID: r.session, Meta: c.record.Meta}})
		}
	case spec.ReportUnknowns:
		r.add(Action{Do: e, Outcomes: c.settleAll(), State: c.state, Reason: c.reason})
	case spec.ReportYielded:
		r.add(Action{Do: e, Outcomes: c.unrecorded(), State: c.state, Reason: c.reason})
	case spec.ReportOpen:
		r.add(Action{Do: e, State: c.state})
	case spec.ReportFailure:
		r.add(Action{Do: e, State: c.state, Reason: r.reason, Unknown: r.unknown})

	case spec.CommitCall:
		r.hand(e, s, inHand{change: Change{Kind: AddCall, Call: s.call}})
	case spec.CommitRemoval:
		r.hand(e, s, inHand{change: Change{Kind: RemoveCall}})
	case spec.CommitUnknown:
		r.hand(e, s, inHand{change: Change{Kind: DoubtCall, Reason: r.reason}})
	case spec.CommitToken:
		r.hand(e, s, inHand{to: r.judged.to,
			change: Change{Kind: AdvanceToken, Before: s.cursor, After: r.judged.to.cursor, Opens: r.judged.opens}})
	case spec.Commit:
		r.hand(e, s, inHand{event: r.event, applies: true, to: r.judged.to, change: Change{Kind: AdvanceToken,
			Before: s.cursor, After: r.judged.to.cursor, Opens: r.judged.opens, Answers: s.isCall() && r.event.Answer,
			Unsure: r.event.Means == MeansUnknown, Reason: r.event.Reason}})

	case spec.SendPost:
		s.conn = c.connect()
		r.add(Action{Do: e, Stream: s.id, Conn: s.conn, Session: c.session(), Call: s.call, Payload: s.payload})
		s.payload = nil
	case spec.SendGet:
		s.conn = c.connect()
		r.add(Action{Do: e, Stream: s.id, Conn: s.conn, Session: c.session(), Numbered: c.number()})
	case spec.SendResume:
		s.conn = c.connect()
		s.attempts++
		r.add(Action{Do: e, Stream: s.id, Conn: s.conn, Session: c.session(), Cursor: s.cursor, Attempt: s.attempts, Numbered: c.number()})
	case spec.CloseConnection:
		if s.conn != 0 {
			r.add(Action{Do: e, Stream: s.id, Conn: s.conn})
			s.conn = 0
		}
	case spec.ScheduleResume:
		r.add(Action{Do: e, Stream: s.id, Attempt: s.attempts, Wait: max(r.wait, s.retry)})
	case spec.RefreshCredentials:
		r.add(Action{Do: e, Stream: s.id})
	case spec.Abandon:
		return r.abandon()
	case spec.Yield:
		return r.yield()
	case spec.ReturnEvent:
		r.add(Action{Do: e, Stream: s.id, Events: []Event{r.event}, Outcome: s.answered(r.event)})
	case spec.ReturnNothing:
		r.add(Action{Do: e, Stream: s.id, Events: []Event{r.event}, Reason: r.reason, Outcome: c.unanswered(s)})
	case spec.ReportUnknown:
		r.add(Action{Do: e, Stream: s.id, Reason: r.reason, Outcome: s.settle(OutcomeUnknown, r.reason)})
	case spec.ReportNotRun:
		r.add(Action{Do: e, Stream: s.id, Reason: r.reason, Outcome: s.settle(OutcomeNotRun, r.reason)})
	case spec.ReportPending, spec.ReportGap, spec.ReportStandalone:
		r.add(Action{Do: e, Stream: s.id, Reason: r.reason})
	default:
		panic(fmt.Sprintf("reattach: BUG: client: nobody said how to do %v: add it to run.do in impl/client/run.go", e))
	}
	return nil
}

// hand opens the stream's transaction. A stream has one at a time.
func (r *run) hand(e spec.Effect, s *stream, h inHand) {
	if s.hand.change.Kind != 0 {
		panic(fmt.Sprintf("reattach: BUG: stream %v opens %v while %v is in hand", s.id, h.change.Kind, s.hand.change.Kind))
	}
	h.change.Epoch, h.change.Request = s.id.Epoch, s.id.Request
	s.hand = h
	a := Action{Do: e, Stream: s.id, Change: h.change}
	if h.applies {
		a.Events = []Event{h.event}
	}
	r.add(a)
}

// beginEpoch is the change that begins the epoch that the server opened.
func (r *run) beginEpoch() Change {
	return Change{Kind: BeginEpoch, Epoch: r.core.record.Epoch, Session: r.opened.SessionID, Tag: r.opened.tag(),
		Standalone: r.opened.Standalone, Meta: r.opened.Meta, Ledger: r.opened.Ledger}
}

// abandon fires ServerContradicts for the reason at hand.
func (r *run) abandon() error {
	c := r.core
	why := r.reason
	r.first = func() {
		if c.state == spec.Fencing && c.reason == "" {
			c.reason = why
		}
	}
	return r.epoch(spec.ServerContradicts, 0)
}

// yield fires AnotherTakesOver for the reason at hand.
func (r *run) yield() error {
	c := r.core
	why := r.reason
	r.first = func() { c.reason = cmpReason(c.reason, why) }
	return r.epoch(spec.AnotherTakesOver, 0)
}

// number returns the next attempt, none where the record has no lease: a
// number that the next process would give again says nothing (R10).
func (c *Core) number() spec.Attempt {
	if c.record.Lease == 0 {
		return spec.Attempt{}
	}
	c.gets++
	return spec.Attempt{Generation: c.record.Lease, Counter: c.gets}
}

// unrecorded gives the calls of the epoch an outcome whose POST never left. Every
// other one is in the record, and its outcome the other holder's to tell.
func (c *Core) unrecorded() (outcomes []Outcome) {
	for _, s := range c.current() {
		if s.recorded {
			continue
		}
		if o := s.settle(OutcomeNotRun, c.reason); o != nil {
			outcomes = append(outcomes, *o)
		}
	}
	return outcomes
}

// settle gives the stream's call its outcome, or returns nil if it has one.
func (s *stream) settle(kind OutcomeKind, why spec.Reason) *Outcome {
	if !s.isCall() || s.settled {
		return nil
	}
	s.settled = true
	return s.outcome(kind, why)
}

// answered settles the call if the event that was applied is its response.
func (s *stream) answered(ev Event) *Outcome {
	if !ev.Answer {
		return nil
	}
	kind := [...]OutcomeKind{MeansRan: OutcomeAnswered, MeansNotRun: OutcomeNotRun, MeansLost: OutcomeLost, MeansUnknown: OutcomeUnknown}[ev.Means]
	o := s.settle(kind, ev.Reason)
	if o != nil {
		o.Answer = ev
	}
	return o
}

// unanswered settles a call whose event was not applied, if nobody else will:
// the unknown outcomes of its epoch were reported without it, for its fate was
// in the hands of this transaction.
func (c *Core) unanswered(s *stream) *Outcome {
	if s.state == spec.Lost && (c.reported || s.id.Epoch != c.record.Epoch) {
		return s.settle(OutcomeUnknown, cmpReason(c.reason, spec.ReasonCommitFailed))
	}
	return nil
}

// settleAll gives every call of the epoch its outcome that has none. A call
// whose event is in hand is left to that transaction, unless the record says
// that it came too late.
func (c *Core) settleAll() (outcomes []Outcome) {
	c.reported = true
	for _, s := range c.current() {
		unknown, isUnknown := c.record.Unknown(s.id)
		var o *Outcome
		switch {
		case isUnknown:
			o = s.settle(OutcomeUnknown, unknown.Reason)
		case s.hand.applies:
		case !s.recorded:
			o = s.settle(OutcomeNotRun, c.reason) // its POST never left
		default:
			o = s.settle(OutcomeUnknown, c.reason)
		}
		if o != nil {
			outcomes = append(outcomes, *o)
		}
	}
	return outcomes
}

func cmpReason(a, b spec.Reason) spec.Reason {
	if a != "" {
		return a
	}
	return b
}

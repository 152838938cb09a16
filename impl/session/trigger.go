package session

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// The triggers of a stream, each named by its number. A number that was never
// assigned stands for an Unopened stream, one whose record was dropped for a
// Forgotten one.

// Emitted says what became of an event, and how its reader gets on (R9).
type Emitted struct {
	ID       spec.EventID
	Attached bool   // the stream has a view
	Lag      uint64 // events of the stream that its view has not taken, this one included
	Evicted  int    // events that left the session's window to make room
}

// Taken is what a view took.
type Taken struct {
	OK   bool // there was an event
	Last bool // it was the last one of a finished stream: the view is delivered
	// Event is lent by the window until the next method of the core that may
	// change it.
	Event window.Event
}

// OpenStream fires StreamOpens. The number must be the next one, or one that
// was assigned before, which is refused. A session that does not live refuses
// as it refuses a call.
func (c *Core) OpenStream(n uint64, withView bool, meta any) (*ViewState, error) {
	c.begin()
	if c.zeroState() != spec.Detached {
		if err := c.fireSession(spec.ClientCalls, 0, &operation{}); err != nil {
			return nil, err
		}
	}
	var op operation
	rec := c.at(n)
	if rec.state == spec.Unopened {
		rec.meta = meta
	}
	err := c.fire(rec, spec.StreamOpens, spec.FactsOf().With(spec.WithView, withView), &op)
	return op.view, err
}

// Emit fires HandlerEmits: an event that is not the stream's last one. Its
// payload is copied. The error of an event that does not fit is a refusal that
// wraps the window's [*window.TooLargeError] or [*window.ExhaustedError].
func (c *Core) Emit(n uint64, payload []byte, now int64) (e Emitted, err error) {
	c.begin()
	err = c.emit(c.at(n), spec.HandlerEmits, payload, now, &e)
	return e, err
}

// Answer fires HandlerAnswers: the stream's last event. Its error is as Emit's.
func (c *Core) Answer(n uint64, payload []byte, now int64) (e Emitted, err error) {
	c.begin()
	err = c.emit(c.at(n), spec.HandlerAnswers, payload, now, &e)
	return e, err
}

// emit is Emit and Answer. What it tells goes to e, which the caller returns:
// copying it costs as much as finding the row.
func (c *Core) emit(rec *record, t spec.Trigger, payload []byte, now int64, e *Emitted) error {
	if ordinal := c.emitPlainly(rec, t, payload, now); ordinal != 0 {
		c.retireSome()
		c.tell(rec, ordinal, 1, e)
		return nil
	}
	return c.emitByRow(rec, t, payload, now, e)
}

// tell says what became of the newest event.
func (c *Core) tell(rec *record, ordinal uint64, evicted int, e *Emitted) {
	e.ID.Tag, e.ID.Seq, e.ID.Stream, e.ID.Ordinal = c.body.tag, c.window.Seq(), rec.number, ordinal
	e.Evicted = evicted
	if v := rec.view; v != nil {
		e.Attached, e.Lag = true, ordinal-v.At.Ordinal
	}
}

// emitPlainly is the hot path: it records an event that is like the one before
// it, and returns its ordinal, or 0 if it is not.
//
// What a stream's machine says of an event that fits, in the state that the
// stream is in, does not change until the state does. So it is asked once a
// state, and rec.plain remembers that the answer was: record it, stay, and do
// nothing else. The window's common case implies that the event fits, and that
// one is evicted (TestPlainEmitIsEmit holds both ways against each other).
func (c *Core) emitPlainly(rec *record, t spec.Trigger, payload []byte, now int64) (ordinal uint64) {
	if !rec.plain || t != spec.HandlerEmits {
		return 0
	}
	return c.window.AppendSteadily(rec.number, payload, now)
}

// emitByRow asks the machine. With an observer, who is to see every row, or
// a store, which is to have every event, it remembers nothing of the answer.
func (c *Core) emitByRow(rec *record, t spec.Trigger, payload []byte, now int64, e *Emitted) error {
	var facts spec.Facts
	if c.fits(payload) {
		facts = spec.FactsOf(spec.EventFits)
	}
	if rec.number == 0 {
		facts = facts.With(spec.Standalone, true)
	}
	step, err := c.cfg.Machines.Stream.Resolve(rec.state, t, facts)
	op := operation{payload: payload, now: now}
	if err := c.take(rec, step, err, &op); err != nil {
		return c.withBound(err, rec, payload)
	}
	rec.plain = t == spec.HandlerEmits && c.remembers(step, recordOnly)
	c.retireSome()
	c.tell(rec, op.at.Ordinal, op.evicted, e)
	return nil
}

var recordOnly, deliverOnly = []spec.Effect{spec.Record}, []spec.Effect{spec.Deliver}

// remembers reports whether a row that stays and has these effects need not be
// asked for again.
func (c *Core) remembers(step fsm.Step, effects []spec.Effect) bool {
	return step.From == step.To && slices.Equal(step.Row.Effects, effects) && c.cfg.Observe == nil && c.cfg.Persist == nil
}

// fits computes EventFits. An ordinal never exceeds its seq, so numbers are
// left while seqs are.
func (c *Core) fits(payload []byte) bool {
	return len(payload) <= c.cfg.Window.MaxPayload() && c.window.Seq() != math.MaxUint64
}

// withBound adds to a refusal for size which bound it was.
func (c *Core) withBound(err error, rec *record, payload []byte) error {
	if !errors.Is(err, spec.ReasonEventTooLarge) {
		return err
	}
	return fmt.Errorf("%w: %w", err, c.window.CanAppend(rec.number, len(payload)))
}

// EndView fires HandlerEndsView: the view ends cleanly, between two events, and
// the client may resume (R9, R12).
func (c *Core) EndView(n uint64, now int64) error { return c.cold(n, spec.HandlerEndsView, now) }

// Apply fires the trigger that a decision's verdict selects on the decision's
// stream. [Core.Resume] does it after [Decide]; of its own a caller may apply
// only what Decide returned for the state as it is, or what the stream's rows
// refuse.
func (c *Core) Apply(d Decision, now int64) (*ViewState, error) {
	c.begin()
	op := operation{now: now, decision: &d}
	err := c.apply(&op)
	return op.view, err
}

func (c *Core) apply(op *operation) error {
	d := op.decision
	if d.Verdict == spec.VerdictRefuse {
		// It leaves the stream as it is, whichever it is: no body for it.
		rec := c.glance(d.Cursor.Stream)
		return c.fire(&rec, spec.ClientIsRefused, 0, op)
	}
	err := c.fire(c.at(d.Position.Stream), d.Verdict.Trigger(), 0, op)
	if err == nil && d.Verdict == spec.VerdictComplete {
		c.retire() // a view may have been in the way
	}
	return err
}

// Deliver fires ViewDelivers: the stream's view takes its next event. If there
// is a view and nothing for it to take, nothing happens.
func (c *Core) Deliver(n uint64, now int64) (Taken, error) {
	c.begin()
	rec := c.at(n)
	if rec.view == nil {
		return Taken{}, c.fire(rec, spec.ViewDelivers, 0, &operation{})
	}
	return c.deliverTo(rec.view, now)
}

// DeliverTo is Deliver for the holder of a view: one that has ended takes
// nothing more, and is told how it ended (R10). A view whose next event is
// evicted is cut: ViewOvertaken.
func (c *Core) DeliverTo(v *ViewState, now int64) (Taken, error) {
	c.begin()
	return c.deliverTo(v, now)
}

// deliverTo is the hot path of DeliverTo. As with emitting, what the machine says
// of an event that is not the last one is asked once a state: rec.flows remembers
// that the answer was to deliver it, stay, and do nothing else.
func (c *Core) deliverTo(v *ViewState, now int64) (Taken, error) {
	if v.End != StillOpen {
		return Taken{}, c.over(v)
	}
	rec := v.rec
	ev, ok := c.window.Next(v.At)
	if !ok {
		return Taken{}, c.starve(v, now)
	}
	last := ev.Seq == rec.last && finished(rec.state)
	if rec.flows && !last {
		rec.deliver(ev.Position)
		return Taken{OK: true, Event: ev}, nil
	}
	var facts spec.Facts
	if last {
		facts = spec.FactsOf(spec.DeliversLast)
	}
	op := operation{at: ev.Position, now: now}
	step, err := c.cfg.Machines.Stream.Resolve(rec.state, spec.ViewDelivers, facts)
	if err := c.take(rec, step, err, &op); err != nil {
		return Taken{}, err
	}
	rec.flows = !last && c.remembers(step, deliverOnly)
	return Taken{OK: true, Last: last, Event: ev}, nil
}

// starve tells a view that waits for its next event from one whose next event
// is gone, and cuts that one (R9).
func (c *Core) starve(v *ViewState, now int64) error {
	if c.window.Classify(v.At).Good() {
		return nil
	}
	if err := c.overtake(v.rec, now); err != nil {
		return err
	}
	return c.over(v)
}

// Overtake fires ViewOvertaken. DeliverTo does it when it is so; a caller who
// says so of a view that is not overtaken cuts it all the same, which is safe:
// its client can resume.
func (c *Core) Overtake(n uint64, now int64) error {
	c.begin()
	return c.overtake(c.at(n), now)
}

func (c *Core) overtake(rec *record, now int64) error {
	err := c.fire(rec, spec.ViewOvertaken, 0, &operation{now: now})
	if err == nil {
		c.retire() // the view may have been in the way
	}
	return err
}

// Stall fires ViewStalls: the stream's view accepts too little, and is cut. Who
// writes it measures that; one that is cut without need loses nothing, because
// its client can resume.
func (c *Core) Stall(n uint64, now int64) error { return c.cold(n, spec.ViewStalls, now) }

// Break fires ViewBreaks: the connection of the stream's view is gone.
func (c *Core) Break(n uint64, now int64) error { return c.cold(n, spec.ViewBreaks, now) }

// ElapseDetach fires DetachBudgetElapses: the call was without a view for its
// budget. Its work is cancelled, and its stream ends with the typed error
// answer of [Config.Unknown], so that whoever comes late learns that the
// outcome is unknown (R9b).
func (c *Core) ElapseDetach(n uint64, now int64) error {
	c.begin()
	return c.elapseDetach(c.at(n), now)
}

func (c *Core) elapseDetach(rec *record, now int64) error {
	op := operation{now: now}
	facts := spec.FactsOf().With(spec.Standalone, rec.number == 0)
	err := c.fire(rec, spec.DetachBudgetElapses, facts, &op)
	if err == nil {
		c.retire() // of others, whose events made room; of this one, if no number was left for its answer
	}
	return err
}

// EndRetention fires RetentionEnds. Evicting does it when it is so; a caller who
// says so early loses what the stream retains.
func (c *Core) EndRetention(n uint64) error { return c.cold(n, spec.RetentionEnds, 0) }

// CapRecords fires RecordsCapped. [Core.Call] does it for the finished stream
// that is closest to eviction when there is no room for another record (R3).
func (c *Core) CapRecords(n uint64) error { return c.cold(n, spec.RecordsCapped, 0) }

// EndStream fires SessionEnds. Terminate and Expire do it for every stream; the
// caller of this method must be ending the session.
func (c *Core) EndStream(n uint64) error { return c.cold(n, spec.SessionEnds, 0) }

// cold fires a trigger that needs no facts.
func (c *Core) cold(n uint64, t spec.Trigger, now int64) error {
	c.begin()
	err := c.fire(c.at(n), t, 0, &operation{now: now})
	if err == nil {
		c.retire() // a view may have been in the way
	}
	return err
}

// EvictOldest evicts one event and reports whether there was one. Finished
// streams that retain nothing any more are forgotten: RetentionEnds.
func (c *Core) EvictOldest() bool {
	c.begin()
	ok := c.window.EvictOldest()
	c.retire()
	return ok
}

// EvictDue evicts what is older than the window's age, and says how much.
func (c *Core) EvictDue(now int64) int {
	c.begin()
	return c.evictDue(now)
}

func (c *Core) evictDue(now int64) int {
	n := c.window.EvictDue(now)
	if n > 0 {
		c.retire()
	}
	return n
}

// retireSome is retire, if there may be something to retire.
func (c *Core) retireSome() {
	if len(c.body.finished) > 0 {
		c.retire()
	}
}

// retire fires RetentionEnds for the finished streams whose last event is
// evicted. They come first in body.finished, so this looks at no others but
// those that a view keeps from it.
func (c *Core) retire() {
	b := c.body
	if b == nil || len(b.finished) == 0 {
		return
	}
	evicted := c.window.Seq() - uint64(c.window.Len()) // all seqs up to it are
	for i := 0; i < len(b.finished) && b.finished[i].last <= evicted; {
		rec := b.finished[i]
		if rec.state != spec.FinishedDetached || c.fire(rec, spec.RetentionEnds, 0, &operation{}) != nil {
			i++ // a view is in the way, or the table at work lets it stay
		}
	}
}

// Tick fires what is due by now in stamps: events that are too old, and calls
// that were without a view for the detach budget. It returns the first stamp at
// which there is something for it to do, if nothing else happens before.
func (c *Core) Tick(now int64) (due int64, ok bool) {
	c.begin()
	c.evictDue(now)
	if c.body != nil && c.body.detached > 0 {
		due, ok = c.tickDetached(now)
	}
	if at, retains := c.window.DueAt(); retains && (!ok || at < due) {
		due, ok = at, true
	}
	return due, ok
}

// tickDetached fires DetachBudgetElapses where it is due, and returns when it
// is next.
func (c *Core) tickDetached(now int64) (due int64, ok bool) {
	for _, rec := range c.records() {
		if rec.state != spec.Detached || rec.number == 0 {
			continue
		}
		at := rec.since + c.cfg.DetachBudget
		if at <= now {
			if c.elapseDetach(rec, now) == nil {
				continue
			}
			at = now + c.cfg.DetachBudget // the table at work refuses: ask again, but not at once
		}
		if !ok || at < due {
			due, ok = at, true
		}
	}
	return due, ok
}

// reasonOf returns the reason of a refusal.
func reasonOf(err error) spec.Reason {
	var refused *fsm.RefusedError
	if errors.As(err, &refused) {
		return refused.Reason
	}
	var decided *RefusalError
	if errors.As(err, &decided) {
		return decided.Decision.Reason
	}
	var reason spec.Reason
	errors.As(err, &reason) // a store's, or none
	return reason
}

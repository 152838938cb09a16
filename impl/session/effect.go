package session

import (
	"example.com/reattach/fsm"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// operation is what one trigger brings along, and what its effects bring back.
// The hot path makes one for every event, so it is kept small.
type operation struct {
	now      int64           // the caller's stamp
	payload  []byte          // of the event to record
	at       window.Position // of the event that is delivered, or was recorded
	evicted  int             // events that recording evicted
	opening  *opening        // what begins: a session, or a call's stream
	decision *Decision       // what was decided about a request for a view
	view     *ViewState      // the view that began
}

// opening is what a session or a stream begins with.
type opening struct {
	id   SessionID
	meta any
}

// A Note is an effect that is not finished inside the core: what the last
// method asks of those who hold views and handlers.
//
//	SupersedeView, EndView, CutView, DropView   View has ended: wake its holder
//	CancelWork                                  the context of Stream's handler ends
//	Bury                                        the session has ended: drop it
type Note struct {
	Effect spec.Effect
	Stream uint64
	View   *ViewState
	rec    *record
}

// Notes returns the notes of the last method, in order. They are valid until
// the next one.
func (c *Core) Notes() []Note {
	if c.body == nil {
		return nil
	}
	return c.body.notes
}

// begin starts a method: the notes of the one before are over.
func (c *Core) begin() {
	if c.body != nil {
		c.body.notes = c.body.notes[:0]
	}
}

func (c *Core) note(e spec.Effect, rec *record, v *ViewState) {
	n := Note{Effect: e, View: v, rec: rec}
	if rec != nil {
		n.Stream = rec.number
	}
	b := c.embody()
	b.notes = append(b.notes, n)
}

// perform runs the effects of a row, in order: the one place where they happen.
// An effect that fires a trigger of a stream comes first in its row and may be
// refused; then nothing has changed.
func (c *Core) perform(step fsm.Step, rec *record, op *operation) error {
	for _, e := range step.Row.Effects {
		var err error
		switch e {
		case spec.IssueSession:
			err = c.issue(op)
		case spec.OpenStandalone:
			err = c.fire(c.at(0), spec.StreamOpens, 0, op)
		case spec.OpenStream:
			err = c.openStream(op)
		case spec.DecideCursor:
			err = c.apply(op)
		case spec.EndStreams:
			err = c.all(spec.SessionEnds, hasRecord, op)
		case spec.EndViews:
			err = c.all(spec.HandlerEndsView, isIdle, op)
		case spec.Bury:
			c.note(e, nil, nil)
			c.window = window.Resume(&c.cfg.Window, c.window.Seq())

		case spec.AssignNumber:
			c.assign(rec)
		case spec.AnnouncePosition:
			c.beginView(rec, op)
		case spec.Record:
			c.record(rec, op)
		case spec.RecordUnknown:
			if op.payload == nil { // else it is durable already
				op.payload = c.cfg.unknown(LostCall{Session: c.meta, Stream: rec.number, Call: rec.meta})
			}
			if c.fits(op.payload) { // it is within the bounds, so only numbers can be lacking
				c.record(rec, op)
			}
		case spec.Finish:
			head, _ := c.window.Head(rec.number)
			rec.last = head.Seq
			c.body.finish(rec)
		case spec.Deliver:
			rec.deliver(op.at)
		case spec.SupersedeView, spec.EndView, spec.CutView, spec.DropView:
			c.endView(rec, e, step.Row.Trigger)
		case spec.CancelWork:
			rec.cancelled = true
			c.note(e, rec, nil)
		case spec.ForgetStream:
			c.forget(rec)
		case spec.AnswerComplete:
			rec.grant(op.decision) // and the decision says it all
		case spec.RefuseCursor:
			err = &RefusalError{Decision: *op.decision}
		default:
			bug("row %s: nobody said how to do %v: add it to Core.perform in impl/session/effect.go", step.Row.ID, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// issue gives the session its id and its window, if its standalone stream can
// open (R7).
func (c *Core) issue(op *operation) error {
	if err := c.would(&record{state: spec.Unopened}, spec.StreamOpens, 0); err != nil {
		return err
	}
	c.id, c.meta = op.opening.id, op.opening.meta
	c.window = window.New(&c.cfg.Window)
	return nil
}

// openStream opens the next stream together with its view.
func (c *Core) openStream(op *operation) error {
	rec := c.at(c.NextStream())
	rec.meta = op.opening.meta
	facts := spec.FactsOf(spec.WithView)
	if err := c.would(rec, spec.StreamOpens, facts); err != nil {
		return err
	}
	if c.recordsFull() {
		if err := c.fire(c.oldestFinished(), spec.RecordsCapped, 0, op); err != nil {
			return err
		}
	}
	return c.fire(rec, spec.StreamOpens, facts, op)
}

func hasRecord(*record) bool { return true }

// isIdle reports whether the stream has a view on which no call waits for its
// answer: the standalone stream's.
func isIdle(rec *record) bool { return rec.view != nil && rec.number == 0 }

// all fires a trigger of every stream that is concerned, or of none.
func (c *Core) all(t spec.Trigger, concerned func(*record) bool, op *operation) error {
	records := c.records()
	for _, rec := range records {
		if concerned(rec) {
			if err := c.would(rec, t, 0); err != nil {
				return err
			}
		}
	}
	for _, rec := range records {
		if concerned(rec) {
			if err := c.fire(rec, t, 0, op); err != nil {
				bug("stream %d: %v, which would not be refused a moment ago", rec.number, err)
			}
		}
	}
	return nil
}

// record puts the event into the window (R11), which was seen to take it.
func (c *Core) record(rec *record, op *operation) {
	p, evicted, err := c.window.Append(rec.number, op.payload, op.now)
	if err != nil {
		bug("event of %d bytes on stream %d does not fit after all: %v", len(op.payload), rec.number, err)
	}
	op.at = p
	op.evicted += evicted
}

// deliver moves the stream's view over the event that it takes. A view never
// moves back, and the high-water mark of R7 neither.
func (rec *record) deliver(at window.Position) {
	rec.view.At = at
	if at.Ordinal > rec.handed.Ordinal {
		rec.handed = at
	}
}

package session

import (
	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// What a row is about to make of a session is made durable first, before the
// row fires, before anybody observes it, and before anything can reach a wire
// (R11, R14): if the store does not take it the move is refused and nothing has
// changed, least of all a seq.
//
// That is done in two places, because rows of a session fire rows of its
// streams: what a session's row leads to is asked for with the session's row.

// persistSession makes durable what a row of the session's table leads to.
func (c *Core) persistSession(step fsm.Step, op *operation) error {
	for _, effect := range step.Row.Effects {
		switch effect {
		case spec.OpenStream:
			rec := c.at(c.NextStream())
			if _, err := c.cfg.Machines.Stream.Resolve(rec.state, spec.StreamOpens, spec.FactsOf(spec.WithView)); err != nil {
				return nil // the stream's table will refuse it
			}
			e := Entry{Kind: OpensStream, Stream: rec.number, Data: c.cfg.note(op.opening.meta)}
			if c.recordsFull() {
				e.Forgets = c.oldestFinished().number
			}
			return c.persist(e)
		case spec.DecideCursor:
			d := op.decision
			if n := d.Position.Stream; d.Verdict != spec.VerdictRefuse && d.Attempt.Compare(c.glance(n).newest) > 0 {
				return c.persist(Entry{Kind: GrantsView, Stream: n, Attempt: d.Attempt})
			}
		case spec.Bury:
			return c.persist(Entry{Kind: EndsSession, State: step.To})
		}
	}
	return nil
}

// persistStream makes durable what a row of the stream's table does.
func (c *Core) persistStream(step fsm.Step, rec *record, op *operation) error {
	e := Entry{Stream: rec.number}
	for _, effect := range step.Row.Effects {
		switch effect {
		case spec.AssignNumber:
			if op.opening == nil { // else the session's row has asked for it
				e.Kind, e.Data = OpensStream, c.cfg.note(rec.meta)
			}
		case spec.RecordUnknown:
			op.payload = c.cfg.unknown(LostCall{Session: c.meta, Stream: rec.number, Call: rec.meta})
			if !c.fits(op.payload) {
				return nil // no number is left for it: nothing will be recorded
			}
			fallthrough
		case spec.Record:
			head, _ := c.window.Head(rec.number)
			e.Kind, e.Ordinal, e.Data = AppendsEvent, head.Ordinal+1, op.payload
		case spec.Finish:
			e.Last = true
		}
	}
	if e.Kind == 0 {
		return nil
	}
	return c.persist(e)
}

func (c *Core) persist(e Entry) error {
	e.Seq = c.window.Seq()
	e.Evicted = e.Seq - uint64(c.window.Len())
	return c.cfg.Persist(c, e)
}

// Describe replaces the session's note in the store, if there is one.
func (c *Core) Describe(note []byte) error {
	c.begin()
	if c.cfg.Persist == nil || c.zeroState() != spec.Detached {
		return nil
	}
	return c.persist(Entry{Kind: DescribesSession, Data: note})
}

// note returns what a store keeps of a call.
func (cfg *Config) note(meta any) []byte {
	if cfg.CallNote == nil {
		return nil
	}
	return cfg.CallNote(meta)
}

package session_test

import (
	"errors"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// everyState returns a core whose streams are in every state: 0 and 1 Detached,
// 2 Attached, 3 FinishedDetached, 4 FinishedAttached, 5 Forgotten, and 6, the
// next one, Unopened.
func everyState(t *testing.T) *rig {
	r := begin(t)
	for range 5 {
		r.calls()
	}
	r.breaks(1)
	r.emits(2, 1, 2)
	for n := uint64(3); n <= 5; n++ {
		r.emits(n, 1, 1)
		r.answers(n, 2)
	}
	r.breaks(3)
	r.breaks(5)
	if err := r.CapRecords(5); err != nil {
		t.Fatal(err)
	}
	for n, want := range []spec.State{spec.Detached, spec.Detached, spec.Attached, spec.FinishedDetached, spec.FinishedAttached, spec.Forgotten, spec.Unopened} {
		r.is(uint64(n), want)
	}
	return r
}

// pull is one way to pull a trigger of a stream.
type pull struct {
	trigger spec.Trigger
	do      func(c *session.Core, n uint64) error
}

func streamPulls(cfg *session.Config) []pull {
	tooLarge := make([]byte, cfg.Window.MaxPayload()+1)
	applies := func(v spec.Verdict, at func(session.StreamInfo) uint64) func(c *session.Core, n uint64) error {
		return func(c *session.Core, n uint64) error {
			id := spec.EventID{Tag: c.Tag(), Stream: n, Ordinal: at(c.Stream(n))}
			id.Seq, _ = c.Window().Lookup(n, id.Ordinal)
			d := session.Decision{Verdict: v, Position: id}
			if v == spec.VerdictRefuse {
				d = session.Decision{Reason: spec.ReasonCursorForeign, Cursor: id}
			}
			_, err := c.Apply(d, 0)
			return err
		}
	}
	floor := func(s session.StreamInfo) uint64 { return s.Floor.Ordinal }
	head := func(s session.StreamInfo) uint64 { return s.Head.Ordinal }
	return []pull{
		{spec.StreamOpens, func(c *session.Core, n uint64) error { _, err := c.OpenStream(n, true, nil); return err }},
		{spec.StreamOpens, func(c *session.Core, n uint64) error { _, err := c.OpenStream(n, false, nil); return err }},
		{spec.HandlerEmits, func(c *session.Core, n uint64) error { _, err := c.Emit(n, nil, 0); return err }},
		{spec.HandlerEmits, func(c *session.Core, n uint64) error { _, err := c.Emit(n, tooLarge, 0); return err }},
		{spec.HandlerAnswers, func(c *session.Core, n uint64) error { _, err := c.Answer(n, nil, 0); return err }},
		{spec.HandlerAnswers, func(c *session.Core, n uint64) error { _, err := c.Answer(n, tooLarge, 0); return err }},
		{spec.HandlerEndsView, func(c *session.Core, n uint64) error { return c.EndView(n, 0) }},
		{spec.ClientAttaches, applies(spec.VerdictAttach, floor)},
		{spec.ClientReattaches, applies(spec.VerdictReattach, floor)},
		{spec.ClientCompletes, applies(spec.VerdictComplete, head)},
		{spec.ClientIsRefused, applies(spec.VerdictRefuse, head)},
		{spec.ViewDelivers, func(c *session.Core, n uint64) error { _, err := c.Deliver(n, 0); return err }},
		{spec.ViewDelivers, func(c *session.Core, n uint64) error { // all that there is
			for taken, err := c.Deliver(n, 0); ; taken, err = c.Deliver(n, 0) {
				if err != nil || !taken.OK || taken.Last {
					return err
				}
			}
		}},
		{spec.ViewOvertaken, func(c *session.Core, n uint64) error { return c.Overtake(n, 0) }},
		{spec.ViewStalls, func(c *session.Core, n uint64) error { return c.Stall(n, 0) }},
		{spec.ViewBreaks, func(c *session.Core, n uint64) error { return c.Break(n, 0) }},
		{spec.DetachBudgetElapses, func(c *session.Core, n uint64) error { return c.ElapseDetach(n, 0) }},
		{spec.RetentionEnds, func(c *session.Core, n uint64) error { return c.EndRetention(n) }},
		{spec.RecordsCapped, func(c *session.Core, n uint64) error { return c.CapRecords(n) }},
		{spec.SessionEnds, func(c *session.Core, n uint64) error { return c.EndStream(n) }},
	}
}

// TestEveryRowOfAStreamFires pulls every trigger in every state of a stream: a
// row that is not the trigger's and the state's never fires, every row of the
// table does, and the state afterwards is the row's. Then it deletes each row,
// and does it again: that move, and no other, is refused for want of a row.
func TestEveryRowOfAStreamFires(t *testing.T) {
	base := everyState(t)
	fired := pullAll(t, base, "")
	for _, row := range spec.StreamTable().Rows {
		if fired[row.ID] == 0 {
			t.Errorf("impl/session: row %s did not fire: make %v happen in impl/session/trigger.go, and add it to streamPulls in impl/session/rows_test.go", row.ID, row.Trigger)
			continue
		}
		machines, err := fsm.NewServer(spec.SessionTable(), spec.StreamTable().Without(row.ID))
		if err != nil {
			t.Fatal(err)
		}
		base.cfg.Machines = machines
		pullAll(t, base, row.ID)
	}
}

// pullAll returns how often each row was the first that a pull met. Where that
// was the deleted row, the pull must be refused and change nothing.
func pullAll(t *testing.T, base *rig, deleted string) map[string]int {
	fired := map[string]int{}
	whole := spec.StreamTable()
	for _, p := range streamPulls(base.cfg) {
		for n := range uint64(7) {
			c := base.Clone()
			before, from := c.Snapshot(), c.Stream(n).State
			var met []string
			base.cfg.Observe = func(o session.Observation) {
				switch {
				case o.Machine != "stream":
				case o.Refused != nil && o.Refused.Trigger == p.trigger && o.Refused.Row == "":
					met = append(met, whole.Resolve(o.Refused.State, p.trigger, o.Refused.Facts).ID)
				case o.Refused != nil:
					met = append(met, o.Refused.Row)
				default:
					met = append(met, o.Step.Row.ID)
				}
			}
			err := p.do(c, n)
			for _, id := range met {
				fired[id]++
			}
			if len(met) == 0 {
				t.Fatalf("%v of stream %d (%v) met no row", p.trigger, n, from)
			}
			last, _ := whole.Row(met[len(met)-1])
			if last.Trigger != p.trigger || len(met) == 1 && !last.Covers(from) {
				t.Fatalf("%v of stream %d (%v) met row %s", p.trigger, n, from, last.ID)
			}
			switch {
			case met[0] == deleted:
				refuses(t, err, spec.ReasonNoRow)
				if c.Snapshot() != before {
					t.Fatalf("%v of stream %d without row %s changed the session", p.trigger, n, deleted)
				}
			case last.ID == deleted:
				refuses(t, err, spec.ReasonNoRow)
			case last.Forbid != "":
				refuses(t, err, last.Forbid)
			case last.ID == "ST33":
				refuses(t, err, spec.ReasonCursorForeign)
			case err != nil:
				t.Fatalf("%v of stream %d (%v), row %s: %v", p.trigger, n, from, last.ID, err)
			default:
				if to := c.Stream(n).State; to != last.Next(last.From[0]) && !last.Stay {
					t.Fatalf("%v of stream %d led from %v to %v, row %s says %v", p.trigger, n, from, to, last.ID, last.To)
				}
			}
		}
	}
	return fired
}

// TestEveryRowOfASessionFires does the same for sessions.
func TestEveryRowOfASessionFires(t *testing.T) {
	type start struct {
		what string
		make func(r *rig)
	}
	starts := []start{
		{"live", func(*rig) {}},
		{"full of calls", func(r *rig) { r.calls(); r.calls() }},
		{"full of records", func(r *rig) { r.calls(); r.cfg.Streams = 2 }},
		{"full of views", func(r *rig) { r.calls(); r.cfg.Views = 1 }},
		{"draining", func(r *rig) { _ = r.Drain(0) }},
		{"expired", func(r *rig) { _ = r.Expire(false) }},
		{"terminated", func(r *rig) { _ = r.Terminate() }},
		{"absent", func(r *rig) { r.Core = session.NewCore(r.cfg) }},
	}
	pulls := []func(c *session.Core) error{
		func(c *session.Core) error { return c.Initialize(session.SessionID{3}, nil, false, false) },
		func(c *session.Core) error { return c.Initialize(session.SessionID{3}, nil, true, false) },
		func(c *session.Core) error { return c.Initialize(session.SessionID{3}, nil, true, true) },
		func(c *session.Core) error { _, err := c.Call(nil); return err },
		func(c *session.Core) error { return c.Notify() },
		func(c *session.Core) error { _, _, err := c.Resume(session.Request{}, 0); return err },
		func(c *session.Core) error { return c.Terminate() },
		func(c *session.Core) error { return c.Expire(false) },
		func(c *session.Core) error { return c.Expire(true) },
		func(c *session.Core) error { return c.Drain(0) },
	}
	// run pulls all, with a row deleted once the session is as it is to start.
	run := func(deleted string) map[string]int {
		fired := map[string]int{}
		for _, s := range starts {
			for i, pull := range pulls {
				r := begin(t, func(cfg *session.Config) { cfg.Requests = 2 })
				s.make(r)
				if deleted != "" {
					machines, err := fsm.NewServer(spec.SessionTable().Without(deleted), spec.StreamTable())
					if err != nil {
						t.Fatal(err)
					}
					r.cfg.Machines = machines
				}
				clear(r.rows)
				before, from := r.Snapshot(), r.State()
				err := pull(r.Core)
				var refused *fsm.RefusedError
				if errors.As(err, &refused) {
					if refused.Row == "" {
						if row := spec.SessionTable().Resolve(from, refused.Trigger, refused.Facts); row.ID != deleted {
							t.Fatalf("%s, pull %d: no row where there is %s", s.what, i, row.ID)
						}
						fired[deleted]++
					}
					if r.Snapshot() != before {
						t.Fatalf("%s, pull %d: the refusal %v changed the session", s.what, i, err)
					}
				}
				for id, n := range r.rows {
					fired[id] += n
				}
			}
		}
		return fired
	}
	fired := run("")
	for _, row := range spec.SessionTable().Rows {
		if fired[row.ID] == 0 {
			t.Errorf("impl/session: row %s did not fire: make %v happen in impl/session/core.go, and add it to pulls in impl/session/rows_test.go", row.ID, row.Trigger)
		}
		if without := run(row.ID); without[row.ID] != fired[row.ID] {
			t.Errorf("without row %s it was missed %d times, with it it fired %d times", row.ID, without[row.ID], fired[row.ID])
		}
	}
}

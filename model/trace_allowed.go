package model

import (
	"fmt"
	"maps"
	"slices"

	"example.com/reattach/spec"
)

// maxTold bounds the streams whose moves are told.
const maxTold = 4

// allowed lists what could have come instead of a step that is not allowed, as
// far as the model moved before it: row, trigger, and what is particular.
func (s *tracedSession) allowed(m move) (moves []string) {
	at := s.model
	switch {
	case s.prior != nil: // it was free to move, and moved wrongly
		at = s.prior
	case len(s.due) > 0:
		return []string{s.due[0].String()}
	case len(s.retiring) > 0:
		for _, n := range slices.Sorted(maps.Keys(s.retiring)) {
			moves = append(moves, fmt.Sprintf("%v of stream %d in %v, to %v", spec.RetentionEnds, n, spec.FinishedDetached, spec.Forgotten))
		}
		return moves
	}
	if m.Stream == nil {
		moves = at.allowed(m)
	}
	streams := []uint64{m.stream} // the one in question first
	for _, n := range slices.Sorted(maps.Keys(at.streams)) {
		if n != m.stream && len(streams) < maxTold {
			streams = append(streams, n)
		}
	}
	for _, n := range streams {
		moves = append(moves, at.allowedOf(n)...)
	}
	if m.Stream != nil {
		moves = append(moves, at.allowed(m)...)
	}
	return moves
}

// tells names a move with the row that the table gives for it.
func tells(t spec.Table, trigger spec.Trigger, from, to spec.State, particular string) string {
	id := "--"
	for _, r := range t.Candidates(from, trigger) {
		if r.Forbid == "" && r.Next(from) == to {
			id = r.ID
			break
		}
	}
	return fmt.Sprintf("%s %v%s in %v, to %v", id, trigger, particular, from, to)
}

// allowed lists the moves of the session's table.
func (s *Session) allowed(m move) (moves []string) {
	from := s.State()
	for _, try := range []struct {
		trigger spec.Trigger
		do      func(*Session) spec.Reason
	}{
		{spec.ClientInitializes, func(c *Session) spec.Reason { return c.Initialize(false, false) }},
		{spec.ClientCalls, func(c *Session) spec.Reason { _, r := c.Call(); return r }},
		{spec.ClientNotifies, (*Session).Notify},
		{spec.ClientTerminates, (*Session).Terminate},
		{spec.SessionBudgetElapses, func(c *Session) spec.Reason { return c.Expire(c.inFlight() > 0 || c.attachedViews() > 0) }},
		{spec.ServerDrains, func(c *Session) spec.Reason { return c.Drain(0) }},
	} {
		if c := s.Clone(); try.do(c) == "" {
			moves = append(moves, tells(spec.SessionTable(), try.trigger, from, c.State(), ""))
		}
	}
	var cursors, attempts []string
	if m.Decision != nil {
		cursors, attempts = m.Decision.cursors(), m.Decision.attempts()
	}
	got := s.Clone().ResumeAs(0, attempts, cursors...)
	what := fmt.Sprintf(" with verdict %v", got.Verdict)
	switch {
	case from != spec.Live || got.Reason == spec.ReasonTooManyViews:
		return moves
	case got.Verdict == spec.VerdictRefuse:
		what += " " + string(got.Reason)
	default:
		what += fmt.Sprintf(" at %v", got.Position)
	}
	return append(moves, tells(spec.SessionTable(), spec.ClientResumes, from, from, what))
}

// allowedOf lists the moves of a stream that nothing else must lead to.
func (s *Session) allowedOf(n uint64) (moves []string) {
	from := s.StateOf(n)
	for _, try := range []struct {
		trigger spec.Trigger
		do      func(*Session) (particular string, r spec.Reason)
	}{
		{spec.HandlerEmits, func(c *Session) (string, spec.Reason) { e, r := c.Emit(n, 1, 0); return fmt.Sprintf(" as %v", e.ID), r }},
		{spec.HandlerAnswers, func(c *Session) (string, spec.Reason) {
			e, r := c.Answer(n, 1, 0)
			return fmt.Sprintf(" as %v", e.ID), r
		}},
		{spec.HandlerEndsView, func(c *Session) (string, spec.Reason) { return "", c.EndView(n, 0) }},
		{spec.ViewStalls, func(c *Session) (string, spec.Reason) { return "", c.Stall(n, 0) }},
		{spec.ViewBreaks, func(c *Session) (string, spec.Reason) { return "", c.Break(n, 0) }},
		{spec.DetachBudgetElapses, func(c *Session) (string, spec.Reason) { return "", c.ElapseDetach(n, 0, 0) }},
	} {
		c := s.Clone()
		particular, r := try.do(c)
		if r != "" {
			continue
		}
		to := c.StateOf(n)
		if to == spec.Forgotten {
			to = spec.FinishedDetached
		}
		moves = append(moves, tells(spec.StreamTable(), try.trigger, from, to, fmt.Sprintf(" of stream %d", n)+particular))
	}
	c := s.Clone()
	switch taken, r := c.Deliver(n, 0); {
	case r != "":
	case taken.Overtaken:
		moves = append(moves, tells(spec.StreamTable(), spec.ViewOvertaken, from, withoutView(from), fmt.Sprintf(" of stream %d", n)))
	case taken.OK:
		moves = append(moves, tells(spec.StreamTable(), spec.ViewDelivers, from, c.StateOf(n), fmt.Sprintf(" of stream %d: event %v", n, taken.ID)))
	}
	return moves
}

package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/reattach/spec"
)

// The steps of a trace, made on the model.

// agreed compares what the line says with what the model answered.
func agreed(m move, got spec.Reason) string {
	switch {
	case got == m.Refused:
		return ""
	case got == "":
		return "the model does not refuse it"
	case m.Refused == "":
		return "the model refuses it: " + string(got)
	}
	return "the model refuses it for another reason: " + string(got)
}

// streamsNow returns what can be seen of the streams, by number.
func (s *tracedSession) streamsNow() map[uint64]StreamView {
	now := map[uint64]StreamView{}
	for _, v := range s.model.Observe().Streams {
		now[v.Number] = v
	}
	return now
}

// demand adds a move of a stream to those that must come.
func (s *tracedSession) demand(t spec.Trigger, before StreamView, to spec.State) {
	s.due = append(s.due, dueMove{t, before.Number, before.State, to, before})
}

// moveSession makes a step of the session's table.
func (s *tracedSession) moveSession(m move) string {
	if m.from != s.model.State() {
		return fmt.Sprintf("the session is %v", s.model.State())
	}
	before := s.streamsNow()
	s.since = *m.TraceLine
	var got spec.Reason
	switch m.trigger {
	case spec.ClientInitializes:
		if got = s.model.Initialize(false, false); got == "" {
			s.demand(spec.StreamOpens, StreamView{State: spec.Unopened}, spec.Detached)
		}
	case spec.ClientCalls:
		got = s.call(before)
	case spec.ClientNotifies:
		got = s.model.Notify()
	case spec.ClientResumes:
		return s.resume(m, before)
	case spec.ClientTerminates:
		got = s.model.Terminate()
		s.demandEach(before, spec.SessionEnds)
	case spec.SessionBudgetElapses:
		// Requests that are open, and time, are no part of a trace.
		inUse := m.Refused == spec.ReasonSessionInUse || s.model.inFlight() > 0 || s.model.attachedViews() > 0
		got = s.model.Expire(inUse)
		s.demandEach(before, spec.SessionEnds)
	case spec.ServerDrains:
		if got = s.model.Drain(0); got == "" {
			s.demandEach(before, spec.HandlerEndsView)
		}
	}
	return s.settled(m, got, before, nil)
}

// settled compares the outcome, and where the session then stands.
func (s *tracedSession) settled(m move, got spec.Reason, before map[uint64]StreamView, target *uint64) string {
	if why := agreed(m, got); why != "" {
		return why
	}
	if target == nil && s.model.State() != m.to {
		return fmt.Sprintf("the session is then %v", s.model.State())
	}
	if !s.model.serves() {
		return ""
	}
	s.retire(before)
	return ""
}

// call opens a stream, and demands that a record is dropped for it if need be.
func (s *tracedSession) call(before map[uint64]StreamView) spec.Reason {
	n, got := s.model.Call()
	if got != "" {
		return got
	}
	for _, v := range sorted(before) {
		if _, there := s.model.streams[v.Number]; !there {
			s.demand(spec.RecordsCapped, v, spec.Forgotten)
		}
	}
	s.demand(spec.StreamOpens, StreamView{Number: n, State: spec.Unopened}, spec.Attached)
	return ""
}

func sorted(streams map[uint64]StreamView) (all []StreamView) {
	for _, n := range slices.Sorted(maps.Keys(streams)) {
		all = append(all, streams[n])
	}
	return all
}

// demandEach demands a move of every stream that the session's step moved.
func (s *tracedSession) demandEach(before map[uint64]StreamView, t spec.Trigger) {
	for _, v := range sorted(before) {
		switch {
		case t == spec.SessionEnds && !s.model.serves():
			s.demand(t, v, spec.Forgotten)
		case t == spec.HandlerEndsView && v.Number == 0 && v.State == spec.Attached:
			s.demand(t, v, withoutView(v.State))
		}
	}
}

func withoutView(s spec.State) spec.State {
	switch s {
	case spec.Attached:
		return spec.Detached
	case spec.FinishedAttached:
		return spec.FinishedDetached
	}
	return s
}

func withView(s spec.State) spec.State {
	switch s {
	case spec.Detached:
		return spec.Attached
	case spec.FinishedDetached:
		return spec.FinishedAttached
	}
	return s
}

// attachedViews counts the views.
func (s *Session) attachedViews() (n int) {
	for _, st := range s.streams {
		if st.attached {
			n++
		}
	}
	return n
}

// cursors are the cursors of a request as far as a trace tells: one that was
// malformed is replaced by another such.
func (d *TraceDecision) cursors() []string {
	switch {
	case d.Reason == spec.ReasonAttemptMalformed: // the cursor was not looked at
		return nil
	case d.Cursor != spec.EventID{}:
		return []string{d.Cursor.String()}
	case d.Reason == spec.ReasonCursorMalformed:
		return []string{""}
	}
	return nil
}

// attempts are the attempts of a request, in the same way.
func (d *TraceDecision) attempts() []string {
	switch {
	case d.Attempt != "":
		return []string{d.Attempt}
	case d.Reason == spec.ReasonAttemptMalformed:
		return []string{""}
	}
	return nil
}

// resume makes a request for a view, and compares everything that was decided.
func (s *tracedSession) resume(m move, before map[uint64]StreamView) string {
	cursors, attempts := m.Decision.cursors(), m.Decision.attempts()
	roomy := s.model.Clone()
	roomy.limits.Views = 0 // what is decided about the cursor comes before the cap
	if why := sameDecision(m, roomy.ResumeAs(0, attempts, cursors...), before); why != "" {
		return why
	}
	got := s.model.ResumeAs(0, attempts, cursors...)
	v, there := before[got.Stream]
	if !there {
		v = StreamView{Number: got.Stream, State: s.model.StateOf(got.Stream)}
	}
	switch {
	case m.Refused != "" || got.Reason == spec.ReasonTooManyViews:
		return s.settled(m, got.Reason, before, nil)
	case got.Verdict == spec.VerdictRefuse:
		s.demand(spec.ClientIsRefused, v, v.State)
	case got.Verdict == spec.VerdictComplete:
		s.demand(spec.ClientCompletes, v, spec.FinishedDetached)
	default:
		s.demand(got.Verdict.Trigger(), v, withView(v.State))
	}
	return s.settled(m, "", before, nil)
}

// sameDecision compares a decision with the model's.
func sameDecision(m move, got Resumed, before map[uint64]StreamView) string {
	d := m.Decision
	if got.Verdict != m.verdict || got.Reason != d.Reason {
		return strings.TrimSpace(fmt.Sprintf("the model decides %v %s", got.Verdict, string(got.Reason)))
	}
	if d.Position != got.Position || d.Skipped != got.Skipped {
		return fmt.Sprintf("the model puts the view at %v, with %d skipped", got.Position, got.Skipped)
	}
	floor, head := got.Floor, got.Head // of a refusal
	if v, there := before[got.Stream]; there && got.Verdict != spec.VerdictRefuse && d.Cursor != (spec.EventID{}) {
		floor, head = v.Floor, v.Head
	}
	if d.Floor != floor || d.Head != head {
		return fmt.Sprintf("the stream's floor is %v and its head %v", floor, head)
	}
	return ""
}

// moveStream makes a step of a stream's table.
func (s *tracedSession) moveStream(m move) string {
	n := m.stream
	if state := s.model.StateOf(n); m.from != state {
		return fmt.Sprintf("stream %d is %v", n, state)
	}
	before := s.streamsNow()
	if v, there := before[n]; there {
		if why := sameStream(m, v); why != "" {
			return why
		}
	}
	var got spec.Reason
	switch m.trigger {
	case spec.HandlerEmits:
		_, got = s.model.Emit(n, m.Size, 0)
	case spec.HandlerAnswers:
		_, got = s.model.Answer(n, m.Size, 0)
	case spec.HandlerEndsView:
		got = s.model.EndView(n, 0)
	case spec.ViewBreaks:
		got = s.model.Break(n, 0)
	case spec.ViewStalls: // how fast a reader reads is no part of a trace
		got = s.model.Stall(n, 0)
	case spec.ViewOvertaken:
		if v := before[n]; m.Refused == "" && v.Position >= v.Floor.Ordinal {
			return fmt.Sprintf("the next event of the view, ordinal %d, is retained", v.Position+1)
		}
		got = s.model.Overtake(n, 0)
	case spec.ViewDelivers:
		var why string
		if got, why = s.deliver(m); why != "" {
			return why
		}
	case spec.DetachBudgetElapses:
		last := s.model.lastSeq
		if got = s.model.ElapseDetach(n, 0, 0); s.model.lastSeq > last {
			s.unsized = s.model.lastSeq
		}
	default:
		return "nothing has happened that leads to it"
	}
	if why := s.settled(m, got, before, &n); why != "" {
		return why
	}
	state := s.model.StateOf(n)
	if _, retires := s.retiring[n]; retires {
		state = spec.FinishedDetached
	}
	if m.Refused == "" && state != m.to {
		return fmt.Sprintf("the stream is then %v", state)
	}
	return ""
}

// deliver lets the view take its next event, which must be the one that the
// trace says (R4).
func (s *tracedSession) deliver(m move) (got spec.Reason, why string) {
	taken, got := s.model.Deliver(m.stream, 0)
	switch {
	case got != "" || m.Refused != "":
		return got, ""
	case taken.Overtaken:
		return "", "the next event of the view is evicted"
	case !taken.OK:
		return "", "there is nothing for the view to take"
	case taken.ID != m.Event:
		return "", fmt.Sprintf("the view's next event is %v, not %v", taken.ID, m.Event)
	}
	return "", ""
}

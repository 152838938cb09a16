package model

import "example.com/reattach/spec"

// What the client of the closed system does. In the closed system an ordinal
// stands for a whole event id: its seq follows from session, stream and
// ordinal.

// open asks for a session, when there is none.
func (m *Model) open(s *State, a Action) Refusal {
	if s.Lines[0].Phase != PhaseIdle {
		return "there is an epoch"
	}
	if s.Sessions[m.scope.Sessions-1].Life != Unborn {
		return "the scope has no further session"
	}
	s.Lines[0].Request = Request{Kind: AskOpen}
	s.Lines[0].Phase = PhaseOpening
	return ""
}

// readOpened: the answer to initialize names the session, and position 0 of
// its streams (R7). The record of the new epoch is one durable write, which
// carries over every unresolved unknown (R23).
func (m *Model) readOpened(s *State, a Action) Refusal {
	line := &s.Lines[0]
	if line.Phase != PhaseOpening || line.Wire[0] != (Frame{Kind: Opened, Session: a.Session}) {
		return "no such answer has arrived"
	}
	s.Record = Record{State: RecordState(m.rules.StateAtOpening(s.count(CallUnknown))), Session: a.Session}
	m.leave(s, 0)
	m.everyPhase(s, PhaseDetached)
	return ""
}

// resume asks to continue after the durable token, once nothing is in hand
// (R20, R21).
func (m *Model) resume(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if line.Phase != PhaseDetached || line.Hand != (Hand{}) || m.scope.Alone {
		return "the stream is not detached with empty hands"
	}
	if a.Session != s.Record.Session || a.Ordinal != m.cursorSent(s, a.Stream) {
		return "that is not what a resumption carries"
	}
	line.Request = Request{Kind: AskResume, Session: a.Session, Ordinal: a.Ordinal}
	line.Phase = PhaseResuming
	return ""
}

// cursorSent is the ordinal that a resumption of a stream carries.
func (m *Model) cursorSent(s *State, stream uint8) uint8 {
	return uint8(m.rules.CursorSent(uint64(s.Record.Token[stream])))
}

// mark returns the client's numbers for an ordinal of a session.
func mark(session, ordinal uint8) Mark {
	return Mark{Session: uint64(session), Seq: uint64(ordinal), Ordinal: uint64(ordinal)}
}

// token returns the token of a stream.
func (s *State) token(stream uint8) Mark { return mark(s.Record.Session, s.Record.Token[stream]) }

// doubt ends certainty about the epoch: for all its streams at once nothing is
// read any more (R22).
func (m *Model) doubt(s *State) {
	for stream := range m.scope.Streams {
		m.leave(s, stream)
	}
	m.everyPhase(s, PhaseDoubt)
}

func (m *Model) everyPhase(s *State, p Phase) {
	for stream := range m.scope.Streams {
		s.Lines[stream].Phase = p
	}
}

// readAccepted reads the answer to a resumption and asks for its proof before
// it uses it (R21).
func (m *Model) readAccepted(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if line.Phase != PhaseResuming || line.Wire[0] != (Frame{Kind: Accepted, Session: a.Session, Ordinal: a.Ordinal}) {
		return "no such acceptance has arrived"
	}
	proven := m.rules.Proves(s.token(a.Stream), mark(a.Session, a.Ordinal))
	if a.Reply != either(proven, ReplyProven, ReplyDoubt) {
		return "the client finds otherwise"
	}
	if !proven {
		m.doubt(s)
		return ""
	}
	line.Phase = PhaseStreaming
	line.take()
	return ""
}

// readComplete reads a 204: nothing was missed and nothing will come. A call
// that it leaves unanswered becomes unknown (R21, R23).
func (m *Model) readComplete(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if line.Phase != PhaseResuming || line.Wire[0] != (Frame{Kind: Complete, Session: a.Session, Ordinal: a.Ordinal}) {
		return "no such answer has arrived"
	}
	proven := m.rules.Proves(s.token(a.Stream), mark(a.Session, a.Ordinal))
	if a.Reply != either(proven, ReplyProven, ReplyDoubt) {
		return "the client finds otherwise"
	}
	if !proven {
		m.doubt(s)
		return ""
	}
	for k := range m.scope.Calls {
		if m.streamOf(uint8(k+1)) == int(a.Stream) {
			s.Calls[k] = m.rules.WhenCertaintyEnds(s.Calls[k])
		}
	}
	m.leave(s, int(a.Stream))
	line.Phase = PhaseComplete
	return ""
}

// readRefused: a final refusal of a resumption ends the epoch (R22).
func (m *Model) readRefused(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if line.Phase != PhaseResuming || line.Wire[0].Kind != Refused {
		return "no refusal has arrived"
	}
	if m.rules.Abandons(spec.ReasonSessionUnknown) {
		m.doubt(s)
		return ""
	}
	m.leave(s, int(a.Stream))
	line.Phase = PhaseIdle // a client that does not abandon opens the next session as if nothing had happened
	return ""
}

// readEvent takes an event into the hand if it is exactly the next one; a hole
// is as fatal as a repeat (R21, R22).
func (m *Model) readEvent(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if line.Phase != PhaseStreaming || line.Hand != (Hand{}) {
		return "the stream is not read with empty hands"
	}
	f := line.Wire[0]
	if f.Kind != Event || f.Session != a.Session || f.Ordinal != a.Ordinal {
		return "no such event has arrived"
	}
	next := m.rules.IsNext(s.token(a.Stream), mark(a.Session, a.Ordinal))
	if a.Reply != either(next, ReplyNext, ReplyDoubt) {
		return "the client finds otherwise"
	}
	if !next {
		m.doubt(s)
		return ""
	}
	line.Hand = Hand{Session: f.Session, Ordinal: f.Ordinal, Call: f.Call}
	s.Record.Token[a.Stream] = uint8(m.rules.TokenWhenTaken(uint64(s.Record.Token[a.Stream]), uint64(f.Ordinal)))
	line.take()
	return ""
}

// readEnd: the connection is over, cleanly or not, and the client goes on from
// its token (R24, R25).
func (m *Model) readEnd(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if !onNetwork(line.Phase) || line.Wire[0].Kind != End {
		return "the connection is not over"
	}
	next := PhaseDetached
	if line.Phase == PhaseOpening {
		next = PhaseIdle
	}
	m.leave(s, int(a.Stream))
	line.Phase = next
	return ""
}

// commit is one transaction: the event is applied, the token advances, an
// answered call leaves the record (R20). An answer to a call that is not in
// flight is dropped (R29).
func (m *Model) commit(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	hand := line.Hand
	if hand == (Hand{}) {
		return "nothing is in hand"
	}
	ok := m.rules.Committable(s.Record.State.Spec(), s.token(a.Stream), mark(hand.Session, hand.Ordinal))
	switch a.Reply {
	case ReplyApplied:
		if !ok {
			return "the record is not what the event continues"
		}
		s.Record.Token[a.Stream] = uint8(m.rules.TokenWhenApplied(uint64(s.Record.Token[a.Stream]), uint64(hand.Ordinal)))
		run := &s.Applied[hand.Session-1][a.Stream]
		*run = run.Then(hand.Ordinal)
		if k := hand.Call; k != 0 {
			s.Calls[k-1] = m.rules.WhenAnswered(s.Calls[k-1])
		}
	case ReplyFailed: // nothing changed; what the connection brings next can no longer be applied
		if !ok {
			return "the record is not what the event continues"
		}
		if line.Phase == PhaseStreaming {
			m.leave(s, int(a.Stream))
			line.Phase = PhaseDetached
		}
	case ReplyRefused: // the fence came first
		if ok {
			return "the record is what the event continues"
		}
	default:
		return "a transaction is applied, fails or is refused"
	}
	line.Hand = Hand{}
	return ""
}

// fence makes the end of the epoch durable, and every call in flight unknown,
// in one write (R22, R23). What is in hand stays there: its commit may already
// be on its way.
func (m *Model) fence(s *State, a Action) Refusal {
	if s.Lines[0].Phase != PhaseDoubt {
		return "the epoch is not in doubt"
	}
	s.Record.State = RecordState(m.rules.WhenFenced(s.Record.State.Spec()))
	for k := range m.scope.Calls {
		s.Calls[k] = m.rules.WhenCertaintyEnds(s.Calls[k])
	}
	m.everyPhase(s, PhaseIdle)
	return ""
}

// mayAct reports whether a stream is in a phase in which its call can be made
// or broken.
func mayAct(p Phase) bool {
	return p == PhaseDetached || p == PhaseResuming || p == PhaseStreaming
}

// call enters the record before its POST leaves (R20). A crash between the two
// looks like a POST that never arrives. One call at a time, numbers in order
// (R29), none in quarantine (R23).
func (m *Model) call(s *State, a Action) Refusal {
	switch {
	case a.Call == 0 || !mayAct(s.Lines[m.streamOf(a.Call)].Phase):
		return "there is no epoch to call in"
	case !m.rules.MayCall(s.Record.State.Spec(), s.Calls[a.Call-1]):
		return "the call may not be sent"
	case s.count(CallInFlight) > 0:
		return "a call is in flight"
	case a.Call > 1 && s.Calls[a.Call-2] == CallNew:
		return "calls are made in order"
	}
	s.Calls[a.Call-1] = CallInFlight
	s.Posts[a.Call-1] = s.Record.Session
	return ""
}

// callBroken: the POST's connection broke before it carried a position,
// executed or not: an unknown outcome, while the epoch lives on (R24).
func (m *Model) callBroken(s *State, a Action) Refusal {
	if a.Call == 0 || s.Calls[a.Call-1] != CallInFlight || !mayAct(s.Lines[m.streamOf(a.Call)].Phase) {
		return "the call is not in flight"
	}
	s.Calls[a.Call-1] = m.rules.WhenCertaintyEnds(CallInFlight)
	return ""
}

// postRefused: the POST met a session that is gone: 404, and the client reads
// it (R6, R22).
func (m *Model) postRefused(s *State, a Action) Refusal {
	if a.Call == 0 || s.Calls[a.Call-1] != CallInFlight || !mayAct(s.Lines[m.streamOf(a.Call)].Phase) {
		return "the call is not in flight"
	}
	if post := s.Posts[a.Call-1]; post == 0 || s.Sessions[post-1].Life != Gone {
		return "its POST has not met a session that is gone"
	}
	s.Posts[a.Call-1] = 0
	m.doubt(s)
	return ""
}

// resolveUnknown: the caller decides about an unknown outcome; the last
// decision ends the quarantine (R23).
func (m *Model) resolveUnknown(s *State, a Action) Refusal {
	if a.Call == 0 || s.Calls[a.Call-1] != CallUnknown {
		return "the outcome is not unknown"
	}
	s.Calls[a.Call-1] = CallResolved
	if was := s.Record.State; was != 0 {
		s.Record.State = RecordState(m.rules.WhenResolved(was.Spec(), s.count(CallUnknown)))
	}
	return ""
}

// crash: the client dies and starts again from its record. While it is down
// only others move, which they may as well do before or after: one step.
func (m *Model) crash(s *State, a Action) Refusal {
	next := PhaseIdle
	if EpochLives(s.Record.State.Spec()) {
		next = PhaseDetached
	}
	for stream := range m.scope.Streams {
		s.Lines[stream].Hand = Hand{}
		m.leave(s, stream)
	}
	m.everyPhase(s, next)
	return ""
}

package model

import "example.com/reattach/spec"

// clientInvariants lists what a client owes, whatever the server does.
func clientInvariants() []Invariant {
	return []Invariant{
		{Rule: "R4", Name: "AppliedExactly", state: appliedExactly,
			Says: "what the application applied is 1, 2, 3, …: in order, no gap, no duplicate"},
		{Rule: "R20", Name: "TokenIsLastApplied", state: tokenIsLastApplied,
			Says: "the token is the last event that was applied"},
		{Rule: "R20", Name: "RecordedBeforePost", state: recordedBeforePost,
			Says: "a POST is under way only for a call that is in the record"},
		{Rule: "R20", Name: "AnsweredWithItsEvent", step: answeredWithItsEvent,
			Says: "a call is answered in the transaction that applies its answer, and in no other"},
		{Rule: "R21", Name: "ProvenFirst", step: provenFirst,
			Says: "nothing is read as a delivery before the answer named this session and the cursor that was sent"},
		{Rule: "R21", Name: "TakenOnlyIfNext", step: takenOnlyIfNext,
			Says: "an event is taken only if it is exactly the next one of this session"},
		{Rule: "R21", Name: "FromItsOwnSession", step: fromItsOwnSession,
			Says: "an event of a session is applied in the epoch of that session only: epochs never merge"},
		{Rule: "R22", Name: "RefusalEndsEpoch", step: refusalEndsEpoch,
			Says: "a final refusal ends the epoch for all its streams at once"},
		{Rule: "R22", Name: "FenceBetweenEpochs", step: fenceBetweenEpochs,
			Says: "a new epoch begins behind a fence"},
		{Rule: "R22", Name: "AbandonedForGood", step: abandonedForGood,
			Says: "an abandoned epoch is never taken up again"},
		{Rule: "R22", Name: "NothingAfterFence", step: nothingAfterFence,
			Says: "nothing is applied after the fence"},
		{Rule: "R22", Name: "DoubtIsFenced", step: doubtIsFenced,
			Says: "doubt ends with the fence, or with the process that had it"},
		{Rule: "R23", Name: "AtMostOnce", state: atMostOnce,
			Says: "no call's work runs twice"},
		{Rule: "R23", Name: "FenceEndsCertainty", state: fenceEndsCertainty,
			Says: "behind the fence no call is in flight: each is an unknown outcome"},
		{Rule: "R23", Name: "UnknownKept", step: unknownKept,
			Says: "an unknown outcome stays one, through any number of epochs, until the caller decides"},
		{Rule: "R23", Name: "OpensInQuarantine", step: opensInQuarantine,
			Says: "an epoch opens in quarantine exactly if an outcome is unknown"},
		{Rule: "R23", Name: "QuarantineUntilResolved", step: quarantineUntilResolved,
			Says: "the quarantine ends when nothing is unknown, and not before"},
		{Rule: "R23", Name: "NoCallInQuarantine", step: noCallInQuarantine,
			Says: "a call is sent in an open epoch only, and only once"},
		{Rule: "R23", Name: "CompleteEndsCertainty", step: completeEndsCertainty,
			Says: "a stream that is complete leaves no call of its own in flight"},
		{Rule: "R25", Name: "CursorStaysHome", state: cursorStaysHome,
			Says: "a cursor is sent with its own session only, as the token stands, and never after its epoch"},
	}
}

// recordLives reports whether the epoch of the record may apply events.
func (s *State) recordLives() bool {
	return s.Record.State == RecordState(spec.Open) || s.Record.State == RecordState(spec.Quarantined)
}

func appliedExactly(m *Model, s *State) bool {
	for e := range m.scope.Sessions {
		for stream := range m.scope.Streams {
			run := s.Applied[e][stream]
			for i := range run.Len() {
				if int(run.At(i)) != i+1 {
					return false
				}
			}
		}
	}
	return true
}

func tokenIsLastApplied(m *Model, s *State) bool {
	if s.Record.Session == 0 {
		return true
	}
	for stream := range m.scope.Streams {
		run, last := s.Applied[s.Record.Session-1][stream], uint8(0)
		if run != 0 {
			last = run.At(run.Len() - 1)
		}
		if s.Record.Token[stream] != last {
			return false
		}
	}
	return true
}

func recordedBeforePost(m *Model, s *State) bool {
	for k := range m.scope.Calls {
		if s.Posts[k] != 0 && s.Calls[k] == CallNew {
			return false
		}
	}
	return true
}

func answeredWithItsEvent(m *Model, s *State, a Action, t *State) bool {
	for k := range m.scope.Calls {
		if s.Calls[k] == CallAnswered || t.Calls[k] != CallAnswered {
			continue
		}
		hand := s.Lines[a.Stream].Hand
		if int(hand.Call) != k+1 || t.Applied[hand.Session-1][a.Stream] != s.Applied[hand.Session-1][a.Stream].Then(hand.Ordinal) {
			return false
		}
	}
	return true
}

func provenFirst(m *Model, s *State, _ Action, t *State) bool {
	for stream := range m.scope.Streams {
		was, is := &s.Lines[stream], &t.Lines[stream]
		if was.Phase == PhaseStreaming || is.Phase != PhaseStreaming {
			continue
		}
		if was.Wire[0] != (Frame{Kind: Accepted, Session: s.Record.Session, Ordinal: s.Record.Token[stream]}) {
			return false
		}
	}
	return true
}

func takenOnlyIfNext(m *Model, s *State, _ Action, t *State) bool {
	for stream := range m.scope.Streams {
		was, is := &s.Lines[stream], &t.Lines[stream]
		if is.Hand == was.Hand || is.Hand == (Hand{}) {
			continue
		}
		if was.Phase != PhaseStreaming || is.Hand.Session != s.Record.Session || is.Hand.Ordinal != s.Record.Token[stream]+1 {
			return false
		}
	}
	return true
}

func fromItsOwnSession(m *Model, s *State, a Action, t *State) bool {
	if a.Name != Commit || s.Applied == t.Applied {
		return true
	}
	return s.Lines[a.Stream].Hand.Session == s.Record.Session
}

func refusalEndsEpoch(m *Model, s *State, a Action, t *State) bool {
	if a.Name != ReadRefused && a.Name != PostRefused {
		return true
	}
	for stream := range m.scope.Streams {
		if t.Lines[stream].Phase != PhaseDoubt || t.Lines[stream].frames() > 0 {
			return false
		}
	}
	return true
}

func fenceBetweenEpochs(m *Model, s *State, _ Action, t *State) bool {
	if s.Record.Session == t.Record.Session {
		return true
	}
	fenced := s.Record.State == 0 || s.Record.State == RecordState(spec.Abandoned)
	return fenced && t.Record.Session > s.Record.Session
}

func abandonedForGood(m *Model, s *State, _ Action, t *State) bool {
	abandoned := RecordState(spec.Abandoned)
	return s.Record.State != abandoned || t.Record.State == abandoned || t.Record.Session > s.Record.Session
}

func nothingAfterFence(m *Model, s *State, _ Action, t *State) bool {
	for e := range m.scope.Sessions {
		if s.Applied[e] != t.Applied[e] && (!s.recordLives() || int(s.Record.Session) != e+1) {
			return false
		}
	}
	return true
}

func doubtIsFenced(m *Model, s *State, a Action, t *State) bool {
	if s.Lines[0].Phase != PhaseDoubt || t.Lines[0].Phase == PhaseDoubt {
		return true
	}
	return t.Record.State == RecordState(spec.Abandoned) || a.Name == Crash && s.Record == t.Record && s.Calls == t.Calls
}

func atMostOnce(m *Model, s *State) bool {
	for _, n := range s.Executed {
		if n > 1 {
			return false
		}
	}
	return true
}

func fenceEndsCertainty(m *Model, s *State) bool {
	return s.recordLives() || s.count(CallInFlight) == 0
}

func unknownKept(m *Model, s *State, _ Action, t *State) bool {
	for k := range m.scope.Calls {
		if s.Calls[k] == CallUnknown && t.Calls[k] != CallUnknown && t.Calls[k] != CallResolved {
			return false
		}
	}
	return true
}

func opensInQuarantine(m *Model, s *State, _ Action, t *State) bool {
	if s.Record.Session == t.Record.Session {
		return true
	}
	return (t.Record.State == RecordState(spec.Open)) == (s.count(CallUnknown) == 0)
}

func quarantineUntilResolved(m *Model, s *State, _ Action, t *State) bool {
	quarantined := RecordState(spec.Quarantined)
	if t.Record.State == quarantined {
		return t.count(CallUnknown) > 0
	}
	return s.Record.State != quarantined || t.Record.State != RecordState(spec.Open) || t.count(CallUnknown) == 0
}

func noCallInQuarantine(m *Model, s *State, _ Action, t *State) bool {
	for k := range m.scope.Calls {
		if s.Calls[k] != CallInFlight && t.Calls[k] == CallInFlight && (s.Record.State != RecordState(spec.Open) || s.Calls[k] != CallNew) {
			return false
		}
	}
	return true
}

func completeEndsCertainty(m *Model, s *State, a Action, t *State) bool {
	if a.Name != ReadComplete || a.Reply != ReplyProven {
		return true
	}
	for k := range m.scope.Calls {
		if m.streamOf(uint8(k+1)) == int(a.Stream) && t.Calls[k] == CallInFlight {
			return false
		}
	}
	return true
}

func cursorStaysHome(m *Model, s *State) bool {
	for stream := range m.scope.Streams {
		r := s.Lines[stream].Request
		if r.Kind == AskResume && (!s.recordLives() || r.Session != s.Record.Session || r.Ordinal != s.Record.Token[stream]) {
			return false
		}
	}
	return true
}

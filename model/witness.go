package model

import "example.com/reattach/spec"

// A witness is a step that must be reachable, or the model does not contain
// what its invariants are about: each "always" has a "sometimes".
type witness struct {
	name, rule, says string
	shows            func(m *Model, s *State, a Action, t *State) bool
}

// WitnessReached says at which depth a witness was first seen.
type WitnessReached struct {
	Name, Rule, Says string
	Depth            int // of the state behind the step; 0: never
}

// any reports whether something holds on a stream.
func (s *State) any(holds func(l *Line, stream int) bool) bool {
	for stream := range s.Lines {
		if holds(&s.Lines[stream], stream) {
			return true
		}
	}
	return false
}

// epochSession returns the session of the record, or nil.
func (s *State) epochSession() *ServerSession {
	if s.Record.Session == 0 {
		return nil
	}
	return &s.Sessions[s.Record.Session-1]
}

// gaveUp reports whether the epoch of a record is fenced.
func (s *State) gaveUp() bool { return s.Record.State == RecordState(spec.Abandoned) }

var witnesses = []witness{
	{"ResumedAfterEviction", "R4", "a resumption is accepted although older events of its stream are gone",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == ReadAccepted && a.Reply == ReplyProven && a.Ordinal > 0 && s.epochSession().floor(int(a.Stream)) > 0
		}},
	{"RefusedWhileAlive", "R5", "a cursor is refused by a session that lives",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == ServeResume && a.Reply == ReplyCursorEvicted
		}},
	{"RefusedForGoneSession", "R6", "a resumption meets a session that is gone",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == ServeResume && a.Reply == ReplySessionUnknown
		}},
	{"SupersededByLate", "R10", "a late request of an abandoned connection takes the view from the newer one",
		func(m *Model, s *State, a Action, t *State) bool {
			f, ok := put(&s.Lines[a.Stream], &t.Lines[a.Stream])
			return a.Name == ServeLate && ok && f.Kind == End
		}},
	{"OvertakenReader", "R9", "the next event of a view is gone",
		func(m *Model, s *State, a Action, t *State) bool {
			for e := range m.scope.Sessions {
				for stream := range m.scope.Streams {
					if v := t.Views[e][stream][0]; v.Conn != NoConn && v.Position < t.Sessions[e].floor(stream) {
						return true
					}
				}
			}
			return false
		}},
	{"CommitAfterFence", "R22", "a transaction that comes after the fence is refused",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == Commit && a.Reply == ReplyRefused && s.gaveUp()
		}},
	{"CommitInNextEpoch", "R30", "a transaction of the last epoch is refused in the next",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == Commit && a.Reply == ReplyRefused && s.recordLives() && s.Lines[a.Stream].Hand.Session < s.Record.Session
		}},
	{"CommittedInDoubt", "R20", "an event that was in hand when doubt arose is applied before the fence",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == Commit && a.Reply == ReplyApplied && s.Lines[0].Phase == PhaseDoubt
		}},
	{"CrashWithHand", "R20", "the client dies with an event in hand",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == Crash && s.any(func(l *Line, _ int) bool { return l.Hand != (Hand{}) })
		}},
	{"QuarantineResolved", "R23", "the last unknown outcome is resolved, and calls may be made again",
		func(m *Model, s *State, a Action, t *State) bool {
			return s.Record.State == RecordState(spec.Quarantined) && t.Record.State == RecordState(spec.Open)
		}},
	{"AnswerDropped", "R29", "an answer arrives for a call that is an unknown outcome",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == Commit && a.Reply == ReplyApplied && s.Lines[a.Stream].Hand.Call != 0 && s.Calls == t.Calls
		}},
	{"CompleteAndUnknown", "R21", "a stream is complete, and its call was not answered",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == ReadComplete && a.Reply == ReplyProven && s.Calls != t.Calls
		}},
	{"LatePostExecuted", "R23", "a POST of an earlier epoch is executed after all",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == Execute && s.Posts[a.Call-1] < s.Record.Session
		}},
	{"FreshSkipsEvicted", "R7", "a fresh attach passes over events that are gone and were never sent",
		func(m *Model, s *State, a Action, t *State) bool {
			ss, stream := &s.Sessions[max(a.Session, 1)-1], int(a.Cursor.Stream)
			return a.Name == Others && a.Reply == ReplyAttach && ss.floor(stream) > ss.Handed[stream]
		}},
	{"SecondEpochApplies", "R23", "events are applied in the next epoch, after the last one was abandoned",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == Commit && a.Reply == ReplyApplied && s.Record.Session > 1
		}},
	{"BothEpochsAlive", "R22", "the abandoned session and the next one live side by side",
		func(m *Model, s *State, a Action, t *State) bool {
			return m.scope.Sessions > 1 && t.Sessions[0].alive() && t.Sessions[1].alive()
		}},
	{"OneStreamDoubted", "R22", "one stream is refused while another has events in flight: none of them is read",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == ReadRefused && s.any(func(l *Line, stream int) bool { return stream != int(a.Stream) && l.Wire[0].Kind == Event })
		}},
	{"Misled", "R21", "a server names another session, or a position that is not the cursor's",
		func(m *Model, s *State, a Action, t *State) bool {
			return a.Name == ReadAccepted && a.Reply == ReplyDoubt
		}},
	{"HoleFound", "R21", "an event arrives that is not the next one",
		func(m *Model, s *State, a Action, t *State) bool { return a.Name == ReadEvent && a.Reply == ReplyDoubt }},
}

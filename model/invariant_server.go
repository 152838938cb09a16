package model

import "math/bits"

// serverInvariants lists what a server owes.
func serverInvariants() []Invariant {
	return []Invariant{
		{Rule: "R2", Name: "Monotonic", ofServer: true, step: monotonic,
			Says: "the events of a session that lives stay as they were issued, and at most one comes behind them"},
		{Rule: "R3", Name: "Bounded", ofServer: true, state: bounded,
			Says: "a session retains at most as many events as its window holds"},
		{Rule: "R4", Name: "WrittenInOrder", ofServer: true, step: writtenInOrder,
			Says: "a view writes exactly the event behind its position, and only one that is retained"},
		{Rule: "R4", Name: "WireStrictlyAfter", ofServer: true, state: wireStrictlyAfter,
			Says: "what is in flight continues what was read, event by event"},
		{Rule: "R6", Name: "AbsenceIsSaid", ofServer: true, ofReply: true, step: absenceIsSaid,
			Says: "whoever asks a session that does not live is told so, and nothing else"},
		{Rule: "R5", Name: "VerdictExact", ofServer: true, ofReply: true, step: verdictExact,
			Says: "a cursor is accepted exactly if this session issued it and retains all that follows; every refusal has its own reason"},
		{Rule: "R5", Name: "AcceptedAtCursor", ofServer: true, step: acceptedAtCursor,
			Says: "an accepted view begins at the cursor, neither before nor behind it"},
		{Rule: "R5", Name: "RefusedTouchesNothing", ofServer: true, step: refusedTouchesNothing,
			Says: "a refusal leaves session and views as they were"},
		{Rule: "R6", Name: "NeverMinted", ofServer: true, step: neverMinted,
			Says: "only initialize opens a session, and a view is of a session that lives"},
		{Rule: "R6", Name: "GoneForGood", step: goneForGood,
			Says: "a session that is gone never lives again"},
		{Rule: "R7", Name: "NothingRepeated", ofServer: true, step: nothingRepeated,
			Says: "without a cursor nothing that was handed to a view comes again"},
		{Rule: "R7", Name: "NothingPassedOver", ofServer: true, step: nothingPassedOver,
			Says: "without a cursor nothing is passed over that is retained and was never handed to a view"},
		{Rule: "R7", Name: "NotBelowFloor", ofServer: true, step: freshNotBelowFloor,
			Says: "without a cursor a view never begins where the next event is gone"},
		{Rule: "R8", Name: "AnnouncedPosition", ofServer: true, step: announcedPosition,
			Says: "an acceptance announces the position at which its view begins"},
		{Rule: "R10", Name: "OneView", ofServer: true, state: oneView,
			Says: "a stream has at most one view"},
	}
}

func monotonic(m *Model, s *State, _ Action, t *State) bool {
	for e := range m.scope.Sessions {
		was, is := &s.Sessions[e], &t.Sessions[e]
		if !was.alive() || !is.alive() {
			continue
		}
		n := was.issued()
		for i := range n {
			if is.Issued[i] != was.Issued[i] {
				return false
			}
		}
		if is.issued() > n+1 || was.Evicted&^is.Evicted != 0 {
			return false
		}
	}
	return true
}

func bounded(m *Model, s *State) bool {
	for e := range m.scope.Sessions {
		if ss := &s.Sessions[e]; ss.issued()-bits.OnesCount8(ss.Evicted) > m.scope.Window {
			return false
		}
	}
	return true
}

func writtenInOrder(m *Model, s *State, a Action, t *State) bool {
	if a.Name != Send {
		return true
	}
	if !s.Sessions[a.Session-1].isRetained(int(a.Stream), a.Ordinal+1) {
		return false
	}
	v, ok := newView(s, t, a.Session, a.Stream)
	return ok && v.Position == a.Ordinal+1
}

func wireStrictlyAfter(m *Model, s *State) bool {
	for stream := range m.scope.Streams {
		line := &s.Lines[stream]
		last := Frame{Kind: Event, Session: s.Record.Session, Ordinal: s.Record.Token[stream]}
		if line.Hand != (Hand{}) {
			last = Frame{Kind: Event, Session: line.Hand.Session, Ordinal: line.Hand.Ordinal}
		}
		for i, f := range line.Wire {
			if f.Kind == Event {
				if i == 0 && line.Phase != PhaseStreaming {
					return false
				}
				if last.Kind != Event && last.Kind != Accepted || f.Session != last.Session || f.Ordinal != last.Ordinal+1 {
					return false
				}
			}
			last = f
		}
	}
	return true
}

func verdictExact(m *Model, s *State, a Action, _ *State) bool {
	session, k, ok := m.asked(s, a)
	if !ok {
		return true
	}
	ss := &s.Sessions[session-1]
	if k.Tag == 0 {
		return (a.Reply == ReplyAttach) == ss.alive()
	}
	if m.continues(s, session, k) {
		finished := ss.Finished>>k.Stream&1 == 1 && k.Ordinal == ss.head(int(k.Stream))
		return a.Reply == either(finished, ReplyComplete, ReplyReattach)
	}
	known := int(k.Stream) < m.scope.Streams
	switch a.Reply {
	case ReplySessionUnknown:
		return !ss.alive()
	case ReplyCursorForeign:
		return ss.alive() && k.Tag != session
	case ReplyCursorEvicted:
		return known && k.Ordinal < ss.head(int(k.Stream)) && !ss.isRetained(int(k.Stream), k.Ordinal+1)
	case ReplyCursorAhead:
		return known && int(k.Seq) > ss.issued() && k.Ordinal > ss.head(int(k.Stream))
	case ReplyCursorUnissued:
		return !known || ss.seqOf(int(k.Stream), k.Ordinal) != k.Seq
	}
	return false
}

func absenceIsSaid(m *Model, s *State, a Action, _ *State) bool {
	session, _, ok := m.asked(s, a)
	return !ok || s.Sessions[session-1].alive() == (a.Reply != ReplySessionUnknown)
}

func acceptedAtCursor(m *Model, s *State, a Action, t *State) bool {
	session, k, ok := m.asked(s, a)
	if !ok || a.Reply != ReplyReattach {
		return true
	}
	for _, v := range t.Views[session-1][k.Stream] {
		if v.Conn != NoConn && v.Position == k.Ordinal {
			return true
		}
	}
	return false
}

func refusedTouchesNothing(m *Model, s *State, a Action, t *State) bool {
	if _, _, ok := m.asked(s, a); !ok || a.Reply == ReplyAttach || a.Reply == ReplyReattach || a.Reply == ReplyComplete {
		return true
	}
	return s.Sessions == t.Sessions && s.Views == t.Views
}

func neverMinted(m *Model, s *State, a Action, t *State) bool {
	for e := range m.scope.Sessions {
		if t.Sessions[e].alive() && !s.Sessions[e].alive() && a.Name != OpenSession {
			return false
		}
		if !t.Sessions[e].alive() && t.Views[e] != ([MaxStreams][2]View{}) {
			return false
		}
	}
	return true
}

func goneForGood(m *Model, s *State, _ Action, t *State) bool {
	for e := range m.scope.Sessions {
		if s.Sessions[e].Life == Gone && t.Sessions[e].Life != Gone {
			return false
		}
	}
	return true
}

func nothingRepeated(m *Model, s *State, a Action, t *State) bool {
	if a.Reply != ReplyAttach {
		return true
	}
	v, ok := newView(s, t, a.Session, a.Cursor.Stream)
	return !ok || v.Position >= s.Sessions[a.Session-1].Handed[a.Cursor.Stream]
}

func nothingPassedOver(m *Model, s *State, a Action, t *State) bool {
	if a.Reply != ReplyAttach {
		return true
	}
	v, ok := newView(s, t, a.Session, a.Cursor.Stream)
	if !ok {
		return true
	}
	ss, stream := &s.Sessions[a.Session-1], int(a.Cursor.Stream)
	for n := ss.Handed[stream] + 1; n <= v.Position; n++ {
		if ss.isRetained(stream, n) {
			return false
		}
	}
	return true
}

func freshNotBelowFloor(m *Model, s *State, a Action, t *State) bool {
	if a.Reply != ReplyAttach {
		return true
	}
	v, ok := newView(s, t, a.Session, a.Cursor.Stream)
	ss, stream := &s.Sessions[a.Session-1], int(a.Cursor.Stream)
	return !ok || v.Position == ss.head(stream) || ss.isRetained(stream, v.Position+1)
}

func announcedPosition(m *Model, s *State, a Action, t *State) bool {
	if a.Name != ServeResume {
		return true
	}
	f, ok := put(&s.Lines[a.Stream], &t.Lines[a.Stream])
	if !ok || f.Kind != Accepted {
		return true
	}
	for _, v := range t.Views[a.Session-1][a.Stream] {
		if v == (View{Conn: Current, Position: f.Ordinal}) {
			return f.Session == a.Session
		}
	}
	return false
}

func oneView(m *Model, s *State) bool {
	for e := range m.scope.Sessions {
		for stream := range m.scope.Streams {
			if v := &s.Views[e][stream]; v[0].Conn != NoConn && v[1].Conn != NoConn {
				return false
			}
		}
	}
	return true
}

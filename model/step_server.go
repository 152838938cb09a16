package model

import "example.com/reattach/spec"

// What the server of the closed system does. Comments give the guard in words;
// the rules are in the files that are named for them.

// openSession answers an initialize with the next session.
func (m *Model) openSession(s *State, a Action) Refusal {
	line := &s.Lines[0]
	if line.Request.Kind != AskOpen {
		return "no initialize is under way"
	}
	if a.Session == 0 || s.Sessions[a.Session-1].Life != Unborn || a.Session > 1 && s.Sessions[a.Session-2].Life == Unborn {
		return "sessions are opened in order, each once"
	}
	s.Sessions[a.Session-1].Life = Living
	line.Request = Request{}
	line.put(Frame{Kind: Opened, Session: a.Session})
	return ""
}

// issueEvent gives the session's next numbers to an event and, when the window
// is full, evicts the oldest (R2, R3, R11).
func (m *Model) issueEvent(ss *ServerSession, stream, call int) {
	next, _ := m.rules.NextNumber(uint64(ss.issued()))
	if next == 0 || next > MaxEvents {
		panic("reattach: BUG: a session of the closed system issued a number out of its bounds")
	}
	ss.Issued[next-1] = issue(stream, call)
	for m.rules.Overflows(Load{Events: ss.retained()}, Limits{Events: m.scope.Window}) {
		ss.evict()
	}
}

// emit issues an event that answers no call.
func (m *Model) emit(s *State, a Action) Refusal {
	ss := m.session(s, a.Session)
	if refusal := m.mayIssue(s, ss, int(a.Stream)); refusal != "" {
		return refusal
	}
	m.issueEvent(ss, int(a.Stream), 0)
	return ""
}

func (m *Model) mayIssue(s *State, ss *ServerSession, stream int) Refusal {
	switch {
	case ss == nil || ss.Life != Living:
		return "the session does not live"
	case ss.Finished>>stream&1 == 1:
		return "the stream is finished"
	case m.issuedInAll(s) >= m.scope.Events:
		return "the scope has no further event"
	}
	return ""
}

// issuedInAll counts the events of all sessions; one that is gone has none.
func (m *Model) issuedInAll(s *State) (n int) {
	for e := range m.scope.Sessions {
		n += s.Sessions[e].issued()
	}
	return n
}

// execute: the POST of a call arrives, its work runs, its answer is issued.
func (m *Model) execute(s *State, a Action) Refusal {
	if a.Call == 0 || s.Posts[a.Call-1] == 0 {
		return "no POST of that call is under way"
	}
	ss, stream := m.session(s, s.Posts[a.Call-1]), m.streamOf(a.Call)
	if refusal := m.mayIssue(s, ss, stream); refusal != "" {
		return refusal
	}
	m.issueEvent(ss, stream, int(a.Call))
	s.Executed[a.Call-1]++
	s.Posts[a.Call-1] = 0
	return ""
}

// finish ends a stream after an answer: nothing will follow its head (R11).
func (m *Model) finish(s *State, a Action) Refusal {
	ss, stream := m.session(s, a.Session), int(a.Stream)
	if ss == nil || ss.Life != Living || ss.Finished>>stream&1 == 1 {
		return "there is no unfinished stream"
	}
	last := ss.seqOf(stream, ss.head(stream))
	if last == 0 || ss.Issued[last-1].call() == 0 {
		return "its last event is no answer"
	}
	ss.Finished |= 1 << a.Stream
	return ""
}

// evictOldest: age, or in a real window bytes, evicts at any time (R3).
func (m *Model) evictOldest(s *State, a Action) Refusal {
	ss := m.session(s, a.Session)
	if ss == nil || ss.Life != Living || ss.retained() == 0 {
		return "nothing is retained"
	}
	ss.evict()
	return ""
}

// endSession: expiry, DELETE, or loss with its process (R6).
func (m *Model) endSession(s *State, a Action) Refusal {
	ss := m.session(s, a.Session)
	if ss == nil || ss.Life != Living {
		return "the session does not live"
	}
	*ss = ServerSession{Life: Gone}
	for stream := range m.scope.Streams {
		m.endCurrentView(s, a.Session, stream)
	}
	s.Views[a.Session-1] = [MaxStreams][2]View{}
	return ""
}

// endCurrentView puts the end on the wire if the present connection carries
// the stream's view.
func (m *Model) endCurrentView(s *State, session uint8, stream int) {
	for _, v := range s.Views[session-1][stream] {
		if v.Conn == Current {
			s.Lines[stream].put(Frame{Kind: End})
			return
		}
	}
}

// grant makes room for a granted request: the views that do not survive it are
// dropped (R10), and an accepted one begins. A complete stream needs no view.
func (m *Model) grant(s *State, session uint8, stream int, d Decision, conn uint8) {
	key := ViewOf{Session: uint64(session), Stream: uint64(stream)}
	var views [2]View
	n := 0
	for _, older := range s.Views[session-1][stream] {
		if older.Conn != NoConn && m.rules.Survives(key, key) {
			views[n], n = older, n+1
		}
	}
	if d.Accepts() {
		if n == len(views) {
			panic("reattach: BUG: a third view of one stream: R10 should have been found violated before")
		}
		views[n] = View{Conn: conn, Position: uint8(d.Start)}
	}
	s.Views[session-1][stream] = views
}

// serveResume answers the resumption on a stream's present connection, there
// and nowhere else.
func (m *Model) serveResume(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if a.Session == 0 || line.Request != (Request{Kind: AskResume, Session: a.Session, Ordinal: a.Ordinal}) {
		return "no such resumption is under way"
	}
	d := m.decide(s, a.Session, m.keyOf(s, a.Session, a.Stream, a.Ordinal))
	if replyOf(d) != a.Reply {
		return "the server decides otherwise"
	}
	line.Request = Request{}
	if d.Verdict == spec.VerdictRefuse {
		line.put(Frame{Kind: Refused, Session: a.Session})
		return ""
	}
	m.grant(s, a.Session, int(a.Stream), d, Current)
	if d.Accepts() {
		line.put(Frame{Kind: Accepted, Session: a.Session, Ordinal: uint8(m.rules.Announced(d.Start))})
	} else {
		line.put(Frame{Kind: Complete, Session: a.Session, Ordinal: a.Ordinal})
	}
	return ""
}

// serveLate answers a resumption of a connection that the client has left. The
// answer goes nowhere, but it may take the view over from a newer one, which
// is harmless: the client resumes.
func (m *Model) serveLate(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if a.Session == 0 || line.Late != (Request{Kind: AskResume, Session: a.Session, Ordinal: a.Ordinal}) {
		return "no such resumption is late"
	}
	d := m.decide(s, a.Session, m.keyOf(s, a.Session, a.Stream, a.Ordinal))
	if replyOf(d) != a.Reply {
		return "the server decides otherwise"
	}
	line.Late = Request{}
	if d.Verdict != spec.VerdictRefuse {
		m.endCurrentView(s, a.Session, int(a.Stream))
		m.grant(s, a.Session, int(a.Stream), d, Dead)
	}
	return ""
}

// others: another client of the same subject presents any cursor, or none, to
// any session.
func (m *Model) others(s *State, a Action) Refusal {
	if a.Session == 0 || !m.presented(a.Cursor) {
		return "no stranger asks for that"
	}
	d := m.decide(s, a.Session, a.Cursor)
	if replyOf(d) != a.Reply {
		return "the server decides otherwise"
	}
	if stream := int(a.Cursor.Stream); d.Verdict != spec.VerdictRefuse && stream < m.scope.Streams {
		m.endCurrentView(s, a.Session, stream)
		m.grant(s, a.Session, stream, d, Other)
	}
	return ""
}

// presented reports whether a stranger of the scope presents a cursor: its tag
// may be of one session more than there are, its stream the first that was
// never assigned, its numbers the first that are never issued. With one stream
// a seq always is its ordinal.
func (m *Model) presented(k Key) bool {
	beyond := uint8(m.scope.Events + 1)
	switch {
	case k == (Key{}):
		return m.scope.Strangers != Nobody
	case m.scope.Strangers != Anybody || k.Tag == 0 || int(k.Tag) > m.scope.Sessions+1 || (k.Seq == 0) != (k.Ordinal == 0):
		return false
	case m.scope.Streams == 1:
		return k.Stream == 0 && k.Seq == k.Ordinal && k.Ordinal <= beyond
	}
	return int(k.Stream) <= m.scope.Streams && k.Seq <= beyond && k.Ordinal <= beyond
}

// send writes the next retained event on a view (R4). On the present
// connection a full wire holds it back.
func (m *Model) send(s *State, a Action) Refusal {
	v := m.view(s, a)
	if v == nil {
		return "there is no such view"
	}
	ss, line := m.session(s, a.Session), &s.Lines[a.Stream]
	stream := int(a.Stream)
	next, ok := m.rules.NextOrdinal(uint64(v.Position), uint64(ss.floor(stream)), uint64(ss.head(stream)))
	switch {
	case !ok:
		return "the view has nothing to write, or was overtaken"
	case a.Conn == Current && line.frames() >= m.scope.Wire:
		return "the wire is full"
	}
	seq := ss.seqOf(stream, uint8(next))
	if seq == 0 {
		return "the event was never issued"
	}
	v.Position = uint8(next)
	ss.Handed[stream] = max(ss.Handed[stream], uint8(next))
	if a.Conn == Current {
		line.put(Frame{Kind: Event, Session: a.Session, Ordinal: uint8(next), Call: ss.Issued[seq-1].call()})
	}
	return ""
}

// endView: the server ends a view, because it noticed a dead connection, or
// the reader was overtaken or slow, or everything is delivered, or in time.
func (m *Model) endView(s *State, a Action) Refusal {
	v := m.view(s, a)
	if v == nil {
		return "there is no such view"
	}
	if a.Conn == Current {
		s.Lines[a.Stream].put(Frame{Kind: End})
	}
	views := &s.Views[a.Session-1][a.Stream]
	*v = views[1]
	views[1] = View{}
	return ""
}

// view returns the view that an action names by session, stream, position and
// connection, or nil.
func (m *Model) view(s *State, a Action) *View {
	if a.Session == 0 || a.Conn == NoConn {
		return nil
	}
	views := &s.Views[a.Session-1][a.Stream]
	for i := range views {
		if views[i] == (View{Conn: a.Conn, Position: a.Ordinal}) {
			return &views[i]
		}
	}
	return nil
}

// session returns a session of the scope, or nil.
func (m *Model) session(s *State, e uint8) *ServerSession {
	if e == 0 {
		return nil
	}
	return &s.Sessions[e-1]
}

// keyOf returns the cursor that the client holds for an ordinal: the event id
// as it was issued. Of a session that is gone nobody knows the seq any more,
// and nobody asks.
func (m *Model) keyOf(s *State, session, stream, ordinal uint8) Key {
	return Key{Tag: session, Seq: s.Sessions[session-1].seqOf(int(stream), ordinal), Stream: stream, Ordinal: ordinal}
}

// mislead is the hostile server: to a resumption it answers with any session
// and any position, and begins its view at any other (R21). A session that was
// never opened is minted for it.
func (m *Model) mislead(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if line.Request.Kind != AskResume {
		return "no resumption is under way"
	}
	k := a.Cursor
	if a.Session == 0 || k.Tag == 0 || int(k.Tag) > m.scope.Sessions || k.Stream != a.Stream || s.Sessions[k.Tag-1].Life == Gone {
		return "even a hostile server needs a session to serve from"
	}
	ss := &s.Sessions[k.Tag-1]
	if int(k.Ordinal) > int(ss.head(int(k.Stream))) {
		return "there is no such event to serve after"
	}
	ss.Life = Living
	line.Request = Request{}
	m.grant(s, k.Tag, int(a.Stream), Decision{Verdict: spec.VerdictReattach, Start: uint64(k.Ordinal)}, Current)
	line.put(Frame{Kind: Accepted, Session: a.Session, Ordinal: a.Ordinal})
	return ""
}

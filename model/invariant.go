package model

// An Invariant is one formula of a rule, about every state or about every
// step. It looks at states only, never at the rule's own function: else a
// mutant would change both sides.
type Invariant struct {
	Rule string // the rule's id
	Name string // the formula's name; where TLA+ states it too, it is called <Rule>_<Name> there
	Says string

	ofServer bool // not asked where the server is hostile
	ofReply  bool // asked of steps that change nothing, too
	state    func(m *Model, s *State) bool
	step     func(m *Model, s *State, a Action, t *State) bool
}

// Invariants lists every formula that an exploration checks. Each of them is
// broken by a mutant, which a test shows.
func Invariants() []Invariant { return append(serverInvariants(), clientInvariants()...) }

// alive reports whether a session serves.
func (ss *ServerSession) alive() bool { return ss.Life == Living }

// isRetained reports whether the session retains the event of an ordinal.
func (ss *ServerSession) isRetained(stream int, ordinal uint8) bool {
	seq := ss.seqOf(stream, ordinal)
	return seq != 0 && ss.Evicted>>(seq-1)&1 == 0
}

// continues reports whether a session issued exactly the id that a key names
// and still retains everything of its stream after it: what makes a cursor
// good (R1, R4, R5).
func (m *Model) continues(s *State, session uint8, k Key) bool {
	ss := &s.Sessions[session-1]
	if !ss.alive() || k.Tag != session || int(k.Stream) >= m.scope.Streams {
		return false
	}
	stream := int(k.Stream)
	head := ss.head(stream)
	if k.Ordinal > head || k.Seq != ss.seqOf(stream, k.Ordinal) {
		return false
	}
	for n := k.Ordinal + 1; n <= head; n++ {
		if !ss.isRetained(stream, n) {
			return false
		}
	}
	return true
}

// asked returns the session and the cursor of an action that asks for a view.
func (m *Model) asked(s *State, a Action) (session uint8, k Key, ok bool) {
	switch a.Name {
	case ServeResume, ServeLate:
		return a.Session, m.keyOf(s, a.Session, a.Stream, a.Ordinal), true
	case Others:
		return a.Session, a.Cursor, true
	}
	return 0, Key{}, false
}

// newView returns the view that a step began on a stream, if it began one.
func newView(s, t *State, session, stream uint8) (v View, ok bool) {
	was, is := s.Views[session-1][stream], t.Views[session-1][stream]
	for _, v := range is {
		if v.Conn != NoConn && v != was[0] && v != was[1] {
			return v, true
		}
	}
	return View{}, false
}

// put returns the frame that a step appended to a wire, if it appended one.
func put(s, t *Line) (f Frame, ok bool) {
	n := s.frames()
	if t.frames() != n+1 {
		return Frame{}, false
	}
	return t.Wire[n], true
}

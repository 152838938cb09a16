package model

import "example.com/reattach/spec"

// A Model is the closed system: one client and its successive sessions at one
// server, a network that drops any suffix of what is in flight and is noticed
// late, requests of connections that the client has left, other clients of the
// same subject, crashes of the client between any two steps. It has no state
// of its own: Step is a pure function.
type Model struct {
	scope Config
	rules Rules
	tags  [MaxSessions + 2]spec.Tag // by session; the last is the tag of no session here

	presentable []Key // what strangers present in this scope
}

// New returns the closed system of a scope, under the given rules. A scope
// that does not validate is the caller's fault and is reported as an error.
func New(scope Config, rules Rules) (*Model, error) {
	if err := scope.Validate(); err != nil {
		return nil, err
	}
	m := &Model{scope: scope, rules: rules}
	for e := range m.tags {
		m.tags[e] = spec.Tag(rune('0' + e))
	}
	m.presentable = m.everyPresented()
	return m, nil
}

// Initial returns the one initial state: nothing was ever opened.
func (m *Model) Initial() State { return State{} }

// Scope returns the scope that the model was made for.
func (m *Model) Scope() Config { return m.scope }

// A Refusal says why an action is not enabled in a state; "" means that it is.
// A refused action changes nothing.
type Refusal string

// Error returns the refusal's text.
func (r Refusal) Error() string { return string(r) }

// Step returns the state after an action, or the unchanged state and the
// reason why the action is not possible there.
func (m *Model) Step(s State, a Action) (State, Refusal) {
	next := s
	if refusal := m.apply(&next, a); refusal != "" {
		return s, refusal
	}
	return next, ""
}

// An act changes the state as one action does, or refuses before it changed
// anything.
type act func(m *Model, s *State, a Action) Refusal

var acts = [numNames]act{
	OpenSession: (*Model).openSession, Emit: (*Model).emit, Execute: (*Model).execute, Finish: (*Model).finish,
	EvictOldest: (*Model).evictOldest, EndSession: (*Model).endSession, ServeResume: (*Model).serveResume,
	ServeLate: (*Model).serveLate, Others: (*Model).others, Send: (*Model).send, EndView: (*Model).endView,
	Cut:  (*Model).cut,
	Open: (*Model).open, ReadOpened: (*Model).readOpened, Resume: (*Model).resume, ReadAccepted: (*Model).readAccepted,
	ReadComplete: (*Model).readComplete, ReadRefused: (*Model).readRefused, ReadEvent: (*Model).readEvent,
	ReadEnd: (*Model).readEnd, Commit: (*Model).commit, Fence: (*Model).fence, Call: (*Model).call,
	CallBroken: (*Model).callBroken, PostRefused: (*Model).postRefused, ResolveUnknown: (*Model).resolveUnknown,
	Crash: (*Model).crash, Mislead: (*Model).mislead,
}

func (m *Model) apply(s *State, a Action) Refusal {
	if refusal := m.inScope(a); refusal != "" {
		return refusal
	}
	return acts[a.Name](m, s, a)
}

// inScope refuses an action whose parameters name what the scope lacks.
func (m *Model) inScope(a Action) Refusal {
	switch {
	case a.Name == noName || a.Name >= numNames || a.Name == Mislead && !m.scope.Hostile:
		return "there is no such action"
	case int(a.Session) > m.scope.Sessions, int(a.Stream) >= m.scope.Streams, int(a.Call) > m.scope.Calls:
		return "there is no such session, stream or call"
	}
	return ""
}

// streamOf returns the stream on which a call is answered: the scope assigns
// it, so that with several streams the calls are spread over them.
func (m *Model) streamOf(call uint8) int { return int(call) % m.scope.Streams }

// standing returns how a cursor stands in a session of the closed system.
func (m *Model) standing(s *State, session uint8, k Key) Standing {
	ss := &s.Sessions[session-1]
	st := Standing{Session: spec.Absent, Tag: m.tags[session]}
	if ss.Life != Living {
		return st
	}
	st.Session = spec.Live
	if int(k.Stream) >= m.scope.Streams {
		return st
	}
	stream := int(k.Stream)
	st.Assigned, st.Recorded = true, true
	st.Finished = ss.Finished>>stream&1 == 1
	st.Floor, st.Head = uint64(ss.floor(stream)), uint64(ss.head(stream))
	st.Handed = uint64(ss.Handed[stream])
	st.LastSeq, st.SeqHere = uint64(ss.issued()), uint64(ss.seqOf(stream, k.Ordinal))
	return st
}

// cursor returns the cursor that a key stands for.
func (m *Model) cursor(k Key) Cursor {
	if k.Tag == 0 {
		return Cursor{}
	}
	return Presents(spec.EventID{Tag: m.tags[k.Tag], Seq: uint64(k.Seq), Stream: uint64(k.Stream), Ordinal: uint64(k.Ordinal)})
}

// decide is what the server of the closed system decides about a key.
func (m *Model) decide(s *State, session uint8, k Key) Decision {
	return m.rules.decide(m.standing(s, session, k), m.cursor(k))
}

package model

// What the network does: it breaks a connection, and whoever is behind it does
// not know.

// onNetwork reports whether a stream has a present connection to break.
func onNetwork(p Phase) bool {
	return p == PhaseOpening || p == PhaseResuming || p == PhaseStreaming
}

// cut breaks the present connection: any suffix of what is in flight is lost,
// here all but the first frames (R24).
func (m *Model) cut(s *State, a Action) Refusal {
	line := &s.Lines[a.Stream]
	if !onNetwork(line.Phase) {
		return "there is no connection to cut"
	}
	n := line.frames()
	ended := n > 0 && line.Wire[n-1].Kind == End
	inTransit := n
	if ended {
		inTransit--
	}
	keep := int(a.Ordinal)
	switch {
	case keep > inTransit:
		return "there are not so many frames in flight"
	case keep == inTransit && ended:
		return "the cut would change nothing"
	}
	for i := keep; i < n; i++ {
		line.Wire[i] = Frame{}
	}
	line.put(Frame{Kind: End})
	m.orphan(s, int(a.Stream))
	return ""
}

// orphan takes the present connection from the client's side: a resumption
// that was under way may still arrive, and the server goes on believing in its
// view. (A late initialize is left out: it opens a session that nobody holds,
// just as one does whose answer is lost.)
func (m *Model) orphan(s *State, stream int) {
	line := &s.Lines[stream]
	if line.Request.Kind == AskResume {
		line.Late = line.Request
	}
	line.Request = Request{}
	for e := range m.scope.Sessions {
		for i := range s.Views[e][stream] {
			if v := &s.Views[e][stream][i]; v.Conn == Current {
				v.Conn = Dead
			}
		}
	}
}

// leave closes the present connection of a stream: what was in flight is never
// read (R21).
func (m *Model) leave(s *State, stream int) {
	m.orphan(s, stream)
	s.Lines[stream].Wire = [MaxWire + 1]Frame{}
}

package model

// Enabled returns the actions that are possible in a state, in a fixed order.
func (m *Model) Enabled(s State) []Action {
	var enabled []Action
	for _, a := range m.candidates(&s, nil) {
		if next := s; m.apply(&next, a) == "" {
			enabled = append(enabled, a)
		}
	}
	return enabled
}

// candidates appends every action that might be possible in a state: where a
// parameter is a reply, or must equal what the state holds, only that value.
// That nothing else is ever possible is a test's to show, with [Model.Labels].
func (m *Model) candidates(s *State, to []Action) []Action {
	for e := uint8(1); int(e) <= m.scope.Sessions; e++ {
		to = m.sessionCandidates(s, e, to)
	}
	for stream := range m.scope.Streams {
		to = m.lineCandidates(s, uint8(stream), to)
	}
	to = append(to, Action{Name: Open}, Action{Name: Fence}, Action{Name: Crash})
	for k := uint8(1); int(k) <= m.scope.Calls; k++ {
		to = append(to, Action{Name: Execute, Call: k}, Action{Name: Call, Call: k}, Action{Name: CallBroken, Call: k},
			Action{Name: PostRefused, Call: k}, Action{Name: ResolveUnknown, Call: k})
	}
	return to
}

func (m *Model) sessionCandidates(s *State, e uint8, to []Action) []Action {
	for _, k := range m.presentable {
		to = append(to, Action{Name: Others, Session: e, Cursor: k, Reply: replyOf(m.decide(s, e, k))})
	}
	switch s.Sessions[e-1].Life {
	case Unborn:
		return append(to, Action{Name: OpenSession, Session: e})
	case Gone:
		return to
	}
	to = append(to, Action{Name: EvictOldest, Session: e}, Action{Name: EndSession, Session: e})
	for stream := range uint8(m.scope.Streams) {
		to = append(to, Action{Name: Emit, Session: e, Stream: stream}, Action{Name: Finish, Session: e, Stream: stream})
		for _, v := range s.Views[e-1][stream] {
			if v.Conn != NoConn {
				of := Action{Session: e, Stream: stream, Ordinal: v.Position, Conn: v.Conn}
				write, end := of, of
				write.Name, end.Name = Send, EndView
				to = append(to, write, end)
			}
		}
	}
	return to
}

// lineCandidates appends what the client and the network may do on a stream,
// and how the server may answer there.
func (m *Model) lineCandidates(s *State, stream uint8, to []Action) []Action {
	line := &s.Lines[stream]
	if r := line.Late; r.Kind == AskResume {
		to = append(to, Action{Name: ServeLate, Session: r.Session, Stream: stream, Ordinal: r.Ordinal,
			Reply: replyOf(m.decide(s, r.Session, m.keyOf(s, r.Session, stream, r.Ordinal)))})
	}
	if r := line.Request; r.Kind == AskResume {
		to = append(to, Action{Name: ServeResume, Session: r.Session, Stream: stream, Ordinal: r.Ordinal,
			Reply: replyOf(m.decide(s, r.Session, m.keyOf(s, r.Session, stream, r.Ordinal)))})
		if m.scope.Hostile {
			to = m.lies(s, stream, to)
		}
	}
	if line.Hand != (Hand{}) {
		for _, outcome := range [...]Reply{ReplyApplied, ReplyFailed, ReplyRefused} {
			to = append(to, Action{Name: Commit, Stream: stream, Reply: outcome})
		}
	}
	if line.Phase == PhaseDetached {
		to = append(to, Action{Name: Resume, Session: s.Record.Session, Stream: stream, Ordinal: m.cursorSent(s, stream)})
	}
	if !onNetwork(line.Phase) {
		return to
	}
	for n := 0; n <= line.frames() && n <= m.scope.Wire; n++ {
		to = append(to, Action{Name: Cut, Stream: stream, Ordinal: uint8(n)})
	}
	f := line.Wire[0]
	read := Action{Session: f.Session, Stream: stream, Ordinal: f.Ordinal}
	switch f.Kind {
	case Opened:
		read.Name, read.Ordinal = ReadOpened, 0
	case Accepted, Complete:
		proven := m.rules.Proves(s.token(stream), mark(f.Session, f.Ordinal))
		read.Name, read.Reply = ReadAccepted, either(proven, ReplyProven, ReplyDoubt)
		if f.Kind == Complete {
			read.Name = ReadComplete
		}
	case Refused:
		read = Action{Name: ReadRefused, Stream: stream}
	case Event:
		next := m.rules.IsNext(s.token(stream), mark(f.Session, f.Ordinal))
		read.Name, read.Reply = ReadEvent, either(next, ReplyNext, ReplyDoubt)
	case End:
		read = Action{Name: ReadEnd, Stream: stream}
	default:
		return to
	}
	return append(to, read)
}

// lies appends every answer of the hostile server to a resumption.
func (m *Model) lies(s *State, stream uint8, to []Action) []Action {
	for named := uint8(1); int(named) <= m.scope.Sessions; named++ {
		for n := uint8(0); int(n) <= m.scope.Events; n++ {
			for from := uint8(1); int(from) <= m.scope.Sessions; from++ {
				for after := uint8(0); after <= s.Sessions[from-1].head(int(stream)); after++ {
					to = append(to, Action{Name: Mislead, Session: named, Stream: stream, Ordinal: n,
						Cursor: Key{Tag: from, Stream: stream, Ordinal: after}})
				}
			}
		}
	}
	return to
}

// everyPresented lists every key for which presented holds, no cursor first.
func (m *Model) everyPresented() []Key {
	var keys []Key
	for tag := 0; tag <= m.scope.Sessions+1; tag++ {
		for stream := 0; stream <= m.scope.Streams; stream++ {
			for seq := 0; seq <= m.scope.Events+1; seq++ {
				for ordinal := 0; ordinal <= m.scope.Events+1; ordinal++ {
					k := Key{Tag: uint8(tag), Seq: uint8(seq), Stream: uint8(stream), Ordinal: uint8(ordinal)}
					if m.presented(k) {
						keys = append(keys, k)
					}
				}
			}
		}
	}
	return keys
}

package model

// Labels returns every action that can be named in the scope, possible or not:
// offered in a state, exactly those of [Model.Enabled] are accepted.
func (m *Model) Labels() []Action {
	var labels []Action
	for name := OpenSession; name < numNames; name++ {
		if name != Mislead || m.scope.Hostile {
			labels = m.labelsOf(name, labels)
		}
	}
	return labels
}

// A span is the range of values of a parameter.
type span struct{ lo, hi int }

// labelsOf appends an action's labels: the product of its parameters.
func (m *Model) labelsOf(name Name, to []Action) []Action {
	none := span{0, 0}
	session, stream, ordinal := span{1, m.scope.Sessions}, span{0, m.scope.Streams - 1}, span{0, m.scope.Events}
	call, conn := span{1, m.scope.Calls}, span{Current, Other}
	verdict := span{int(ReplyAttach), int(ReplyCursorUnissued)}
	switch name {
	case OpenSession, EvictOldest, EndSession, ReadOpened:
		return product(name, session, none, none, none, none, none, to)
	case Emit, Finish:
		return product(name, session, stream, none, none, none, none, to)
	case ServeResume, ServeLate:
		return product(name, session, stream, ordinal, none, none, verdict, to)
	case Resume:
		return product(name, session, stream, ordinal, none, none, none, to)
	case Send, EndView:
		return product(name, session, stream, ordinal, none, conn, none, to)
	case ReadAccepted, ReadComplete:
		return product(name, session, stream, ordinal, none, none, span{int(ReplyProven), int(ReplyDoubt)}, to)
	case ReadEvent:
		return product(name, session, stream, ordinal, none, none, span{int(ReplyDoubt), int(ReplyNext)}, to)
	case Commit:
		return product(name, none, stream, none, none, none, span{int(ReplyApplied), int(ReplyRefused)}, to)
	case Cut:
		return product(name, none, stream, span{0, m.scope.Wire}, none, none, none, to)
	case ReadRefused, ReadEnd:
		return product(name, none, stream, none, none, none, none, to)
	case Execute, Call, CallBroken, PostRefused, ResolveUnknown:
		return product(name, none, none, none, call, none, none, to)
	case Others:
		for _, k := range m.presentable {
			from := len(to)
			to = product(name, session, none, none, none, none, verdict, to)
			for i := range to[from:] {
				to[from+i].Cursor = k
			}
		}
		return to
	case Mislead:
		for tag := 1; tag <= m.scope.Sessions; tag++ {
			for after := 0; after <= m.scope.Events; after++ {
				from := len(to)
				to = product(name, session, stream, ordinal, none, none, none, to)
				for i := range to[from:] {
					to[from+i].Cursor = Key{Tag: uint8(tag), Stream: to[from+i].Stream, Ordinal: uint8(after)}
				}
			}
		}
		return to
	}
	return append(to, Action{Name: name})
}

func product(name Name, session, stream, ordinal, call, conn, reply span, to []Action) []Action {
	for e := session.lo; e <= session.hi; e++ {
		for s := stream.lo; s <= stream.hi; s++ {
			for n := ordinal.lo; n <= ordinal.hi; n++ {
				for k := call.lo; k <= call.hi; k++ {
					for c := conn.lo; c <= conn.hi; c++ {
						for r := reply.lo; r <= reply.hi; r++ {
							to = append(to, Action{Name: name, Session: uint8(e), Stream: uint8(s), Ordinal: uint8(n),
								Call: uint8(k), Conn: uint8(c), Reply: Reply(r)})
						}
					}
				}
			}
		}
	}
	return to
}

package model

import (
	"testing"

	"example.com/reattach/spec"
)

// The server of the closed system and the Session keep their sets in different
// ways and are built from the same rules. Along every path of a scope with two
// streams, every cursor that can be written gets the same verdict from both.
func TestClosedSystemAndSessionAgree(t *testing.T) {
	scope := Config{Name: "agreement", Sessions: 1, Streams: 2, Events: 2, Window: 1, Wire: 1, Calls: 0, Strangers: Anybody, Alone: true}
	m, err := New(scope, TheRules())
	if err != nil {
		t.Fatal(err)
	}
	// Tags of the closed system are single digits; a Session reads real ones.
	tags := []spec.Tag{1: testTag, 2: "ffeeddccbbaa99887766554433221100"}
	sessions := map[State]*Session{m.Initial(): NewSession(testTag, Limits{Events: scope.Window}, TheRules())}
	frontier, asked, replies := []State{m.Initial()}, 0, map[Reply]int{}
	for len(frontier) > 0 {
		s := frontier[0]
		frontier = frontier[1:]
		for _, a := range m.Enabled(s) {
			next, _ := m.Step(s, a)
			session := sessions[s].Clone()
			switch a.Name {
			case OpenSession:
				session.Initialize(false, false)
				session.OpenStream(1, false)
			case Emit:
				session.Emit(uint64(a.Stream), 1, 0)
			case EvictOldest:
				session.EvictOldest()
			case EndSession:
				session.Terminate()
			case Send:
				session.Deliver(uint64(a.Stream), 0)
			case EndView:
				session.Break(uint64(a.Stream), 0)
			case Others:
				if a.Session != 1 || session.State() != spec.Live {
					continue // the closed system forgets how a session ended
				}
				asked++
				replies[a.Reply]++
				r := ask(session, tags, a.Cursor)
				if got := replyOf(Decision{Verdict: r.Verdict, Reason: r.Reason}); got != a.Reply {
					t.Fatalf("%v: the session decides %v, in\n%v", a, got, s)
				}
				if v := next.Views[0][a.Cursor.Stream%MaxStreams][0]; r.Reason == "" && r.Position.Ordinal != uint64(v.Position) {
					t.Fatalf("%v: the session begins at %v, in\n%v", a, r.Position, s)
				}
			}
			if _, found := sessions[next]; !found {
				sessions[next] = session
				frontier = append(frontier, next)
			}
		}
	}
	t.Logf("%d states, %d requests, by reply %v", len(sessions), asked, replies)
	for _, reply := range []Reply{ReplyAttach, ReplyReattach, ReplyCursorForeign, ReplyCursorEvicted, ReplyCursorAhead, ReplyCursorUnissued} {
		if replies[reply] == 0 {
			t.Errorf("no request was answered with %v", reply)
		}
	}
}

// ask presents a key of the closed system to a session.
func ask(s *Session, tags []spec.Tag, k Key) Resumed {
	if k.Tag == 0 {
		return s.Resume(0)
	}
	return s.Resume(0, spec.EventID{Tag: tags[k.Tag], Seq: uint64(k.Seq), Stream: uint64(k.Stream), Ordinal: uint64(k.Ordinal)}.String())
}

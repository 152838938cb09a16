package client

import (
	"errors"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

func TestACallIsRecordedBeforeItsPostLeaves(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, actions, err := g.core.Call(Call{Key: "key", Label: "write a file"}, false)
	g.do(actions, err)
	g.do(g.core.Send(id, []byte("call")))
	if g.has(spec.SendPost) {
		t.Fatal("the POST left before the call was durable (R20)")
	}
	g.commit()
	post := g.find(spec.SendPost)
	if post.Session.ID != session || post.Conn == 0 || string(post.Payload) != "call" {
		t.Errorf("posted %+v", post)
	}
	want := []Call{{Request: id.Request, Key: "key", Label: "write a file"}}
	if diff := cmp.Diff(want, g.durable.Calls); diff != "" {
		t.Errorf("calls in the record (-want +got):\n%s", diff)
	}
}

func TestACallThatCannotBeRecordedIsNotSent(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, actions, err := g.core.Call(Call{}, false)
	g.do(actions, err)
	g.do(g.core.Send(id, []byte("call")))
	g.fail(false)
	if g.has(spec.SendPost) || g.outcomes[id].Kind != OutcomeNotRun {
		t.Errorf("sent, or outcome %v", g.outcomes[id])
	}
	g.state(spec.Open)
}

func TestTheTokenMovesWithTheEventAndNeverBefore(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
	if token, _ := g.durable.Token(id.Request); token.LastEventID != at(0, 1, 0) || g.stream(id).Cursor != at(0, 1, 0) {
		t.Fatalf("the token moved before the commit: %v, %v", token, g.stream(id).Cursor)
	}
	g.refused(spec.ReasonCommitInHand, func() ([]Action, error) { return g.core.EventArrives(id, conn, message(at(2, 1, 2))) })
	if g.has(spec.ReturnEvent) {
		t.Fatal("the event was handed on before it was durable")
	}
	g.commit()
	if got := g.find(spec.ReturnEvent).Events[0]; got.ID != at(1, 1, 1) || got.Stream != id {
		t.Errorf("handed on %v", got)
	}
	if token, _ := g.durable.Token(id.Request); token != (spec.ResumeToken{SessionID: session, LastEventID: at(1, 1, 1)}) {
		t.Errorf("token %v", token)
	}
}

func TestTheAnswerTakesItsCallOutOfTheRecord(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
	g.commit()
	g.do(g.core.EventArrives(id, conn, answer(at(2, 1, 2))))
	g.commit()
	if len(g.durable.Calls) != 0 {
		t.Errorf("calls in flight: %v", g.durable.Calls)
	}
	if _, ok := g.durable.Token(id.Request); ok {
		t.Error("its stream is still in the record")
	}
	if o := g.outcomes[id]; o.Kind != OutcomeAnswered || o.Answer.ID != at(2, 1, 2) {
		t.Errorf("outcome %+v", o)
	}
	if !g.core.Forget(id) {
		t.Error("an answered call cannot be forgotten")
	}
}

func TestAFailedCommitIsResumedFromTheToken(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
	g.fail(false)
	g.streamState(id, spec.Truncated)
	if g.has(spec.ReturnEvent) {
		t.Error("an event was handed on that is not durable")
	}
	g.do(g.core.Reconnect(id, false))
	if got := g.find(spec.SendResume).Cursor; got != at(0, 1, 0) {
		t.Errorf("resumed at %s", got)
	}
}

// Case 43: what the old connection says after the resumption was sent is not
// heard, and is no reason to doubt.
func TestTheOldConnectionIsFenced(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, old := g.streaming(1)
	resume := g.resumed(id, old)
	if resume.Conn == old {
		t.Fatal("the resumption has the old connection's number")
	}
	var fenced *ConnectionError
	for name, speak := range map[string]func() ([]Action, error){
		"the next event":     func() ([]Action, error) { return g.core.EventArrives(id, old, message(at(1, 1, 1))) },
		"a hole":             func() ([]Action, error) { return g.core.EventArrives(id, old, message(at(9, 1, 9))) },
		"an end":             func() ([]Action, error) { return g.core.StreamEnds(id, old) },
		"a break":            func() ([]Action, error) { return g.core.ConnectionBreaks(id, old) },
		"an acceptance":      func() ([]Action, error) { return g.core.Accepts(id, old, Accepted{"another", ""}) },
		"a refusal":          func() ([]Action, error) { return g.core.Refuses(id, old, Refusal{Status: 404}) },
		"a deferral":         func() ([]Action, error) { return g.core.Defers(id, old, 0) },
		"a challenge":        func() ([]Action, error) { return g.core.Challenges(id, old) },
		"a completion":       func() ([]Action, error) { return g.core.Completes(id, old, session) },
		"a message":          func() ([]Action, error) { return g.core.AnswersOnce(id, old, session, bare("x")) },
		"a dial that failed": func() ([]Action, error) { return g.core.DialFails(id, old, "") },
	} {
		g.refused(spec.ReasonNoConnection, speak)
		if _, err := speak(); !errors.As(err, &fenced) || fenced.Conn != old || fenced.Current != resume.Conn {
			t.Errorf("%s on the old connection: %v", name, err)
		}
	}
	g.state(spec.Open)
	// And the same on the current one is heard.
	g.do(g.core.Accepts(id, resume.Conn, Accepted{session, at(0, 1, 0)}))
	g.do(g.core.EventArrives(id, resume.Conn, message(at(1, 1, 1))))
	g.commit()
	if diff := cmp.Diff([]string{at(1, 1, 1)}, ids(g.applied)); diff != "" {
		t.Error(diff)
	}
}

// Case 44: one doubt ends the epoch for all its streams at once.
func TestOneStreamRefusedEndsThemAll(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	var streams [3]StreamID
	var conns [3]uint64
	for i := range streams {
		streams[i], conns[i] = g.streaming(uint64(i + 1))
	}
	resume := g.resumed(streams[0], conns[0])
	g.do(g.core.Refuses(streams[0], resume.Conn, Refusal{Status: 409, Reason: spec.ReasonCursorEvicted}))
	closed := 0
	for _, a := range g.actions {
		if a.Do == spec.CloseConnection {
			closed++
		}
	}
	if closed != 3 {
		t.Errorf("%d connections closed, want all 3", closed)
	}
	for i := range streams {
		if _, err := g.core.EventArrives(streams[i], conns[i], message(at(9, uint64(i+1), 1))); err == nil {
			t.Errorf("an event of stream %v was taken after the refusal", streams[i])
		}
	}
	g.abandoned(spec.ReasonCursorEvicted)
	if len(g.applied) != 0 || len(g.durable.Unknowns) != 3 || len(g.outcomes) != 3 {
		t.Errorf("applied %v, unknown %v, outcomes %v", ids(g.applied), g.durable.Unknowns, g.outcomes)
	}
	g.do(g.core.Contradict(1, spec.ReasonRefused)) // once more changes nothing
	g.state(spec.Abandoned)
}

// Case 58: an event is in hand while another stream brings doubt. If its
// commit comes after the fence it fails; if it comes before, it stands.
func TestALateCommitMeetsTheFence(t *testing.T) {
	for name, late := range map[string]bool{"commit after the fence": true, "commit before the fence": false} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			one, conn1 := g.streaming(1)
			two, conn2 := g.streaming(2)
			g.do(g.core.EventArrives(one, conn1, answer(at(1, 1, 1))))
			g.do(g.core.Refuses(two, g.resumed(two, conn2).Conn, Refusal{Status: 404}))
			if len(g.pending) != 2 || g.pending[1].Do != spec.CommitFence {
				t.Fatalf("pending %v", effects(g.pending))
			}
			if late {
				g.pending[0], g.pending[1] = g.pending[1], g.pending[0]
			}
			g.commitAll()
			g.state(spec.Abandoned)
			if late != (len(g.applied) == 0) || late != g.has(spec.ReturnNothing) || late == g.has(spec.ReturnEvent) {
				t.Errorf("applied %v, %v", ids(g.applied), effects(g.actions))
			}
			want := OutcomeAnswered
			if late {
				want = OutcomeUnknown
			}
			if g.outcomes[one].Kind != want || g.outcomes[two].Kind != OutcomeUnknown {
				t.Errorf("outcomes %v", g.outcomes)
			}
			if _, unknown := g.durable.Unknown(one); unknown != late {
				t.Errorf("unknown in the record: %v", g.durable.Unknowns)
			}
		})
	}
}

// Case 54: nothing unresolved is ever dropped, through epochs lost in a row
// and a crash between any two writes.
func TestUnknownsAreCarriedThroughEveryEpoch(t *testing.T) {
	for _, crash := range []bool{false, true} {
		g := newRig(t, Record{}, CoreOptions{})
		restart := func() {
			if crash {
				g.start()
			}
		}
		g.open()
		one, _ := g.streaming(1)
		g.do(g.core.Abandon())
		g.commit()
		restart()
		g.state(spec.Abandoned)
		g.openAs("second", "")
		restart()
		g.state(spec.Quarantined)
		g.refused(spec.ReasonQuarantined, func() ([]Action, error) { _, a, err := g.core.Call(Call{}, false); return a, err })
		g.refused(spec.ReasonQuarantined, func() ([]Action, error) { return g.core.Notify([]byte("x"), false) })
		g.do(g.core.Notify([]byte("initialized"), true))
		query, actions, err := g.core.Call(Call{Label: "status"}, true)
		g.do(actions, err)
		g.do(g.core.Send(query, []byte("status")))
		g.commitAll()
		if g.find(spec.SendPost).Session.ID != "second" {
			t.Error("the query went to another session")
		}
		g.take()
		g.do(g.core.Abandon())
		g.commit()
		restart()
		g.openAs("third", "")
		restart()
		g.state(spec.Quarantined)
		if len(g.durable.Unknowns) != 2 || g.durable.Unknowns[0].Stream != one || g.durable.Unknowns[1].Stream != query {
			t.Fatalf("unknown: %v", g.durable.Unknowns)
		}
		g.do(g.core.Resolve(one, DidExecute))
		g.commitAll()
		restart()
		g.state(spec.Quarantined)
		g.do(g.core.Resolve(query, GaveUp))
		g.commitAll()
		g.state(spec.Open)
		restart()
		g.state(spec.Open)
		g.call()
	}
}

func TestAnUnknownOfTheLivingEpochIsNoQuarantine(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.call()
	g.do(g.core.ConnectionBreaks(id, conn)) // before any header (R24)
	g.commitAll()
	g.state(spec.Open)
	if g.outcomes[id].Kind != OutcomeUnknown || len(g.durable.Unknowns) != 1 {
		t.Errorf("outcome %v, record %v", g.outcomes[id], g.durable.Unknowns)
	}
	g.call()
	g.do(g.core.Resolve(id, DidNotExecute))
	g.commitAll()
	if len(g.durable.Unknowns) != 0 {
		t.Errorf("unknown: %v", g.durable.Unknowns)
	}
	// And what is not there cannot be resolved.
	g.do(g.core.Resolve(id, DidNotExecute))
	g.commitAll()
	if got := g.actions[len(g.actions)-1]; got.Do != spec.ReportFailure || got.Unknown != id {
		t.Errorf("resolved twice: %+v", got)
	}
}

func TestADroppedRowIsARefusedMove(t *testing.T) {
	// Without the fence a contradiction is refused, whole: the stream that
	// brought it stays where it is, and hands nothing on.
	g := newRig(t, Record{}, CoreOptions{Machines: without(t, "EP34")})
	g.open()
	id, conn := g.streaming(1)
	g.refused(spec.ReasonNoRow, func() ([]Action, error) { return g.core.EventArrives(id, conn, message(at(2, 1, 2))) })
	g.refused(spec.ReasonNoRow, func() ([]Action, error) { return g.core.Contradict(1, spec.ReasonRefused) })

	// The same if one of the streams that would end has no row for it, be it
	// the one that brought the doubt.
	for _, row := range []string{"CS91", "CS92"} {
		g := newRig(t, Record{}, CoreOptions{Machines: without(t, row)})
		g.open()
		g.streaming(1)
		id, conn := g.streaming(2)
		g.refused(spec.ReasonNoRow, func() ([]Action, error) { return g.core.EventArrives(id, conn, message(at(2, 2, 2))) })
	}
	var refused *fsm.RefusedError
	if _, err := g.core.Contradict(1, spec.ReasonRefused); !errors.As(err, &refused) || refused.Trigger != spec.ServerContradicts {
		t.Errorf("got %v", err)
	}
}

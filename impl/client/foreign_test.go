package client

import (
	"fmt"
	"testing"

	"example.com/reattach/spec"
)

// R25: an explicit empty id clears the cursor, but what was applied stays.
func TestAnExplicitEmptyIDClearsTheCursor(t *testing.T) {
	cleared := func(t *testing.T) (*rig, StreamID, uint64) {
		g := newRig(t, Record{}, CoreOptions{})
		g.open()
		id, conn := g.streaming(1)
		g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
		g.commit()
		g.do(g.core.EventArrives(id, conn, Event{HasID: true}))
		g.commit()
		if _, ok := g.durable.Token(id.Request); ok {
			t.Fatal("the token is still in the record")
		}
		return g, id, conn
	}
	t.Run("a cut is an unknown outcome", func(t *testing.T) {
		g, id, conn := cleared(t)
		g.do(g.core.StreamEnds(id, conn))
		g.commitAll()
		if g.outcomes[id].Kind != OutcomeUnknown || g.has(spec.SendResume) {
			t.Errorf("outcome %v", g.outcomes[id])
		}
		g.state(spec.Open)
	})
	t.Run("the next event goes on", func(t *testing.T) {
		g, id, conn := cleared(t)
		g.do(g.core.EventArrives(id, conn, message(at(2, 1, 2))))
		g.commit()
		if token, _ := g.durable.Token(id.Request); token.LastEventID != at(2, 1, 2) {
			t.Errorf("token %v", token)
		}
	})
	t.Run("a replay from the start is doubt", func(t *testing.T) {
		g, id, conn := cleared(t)
		g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
		g.abandoned(spec.ReasonEventRepeated)
	})
	t.Run("a restart forgets nothing", func(t *testing.T) {
		g, id, _ := cleared(t)
		g.start()
		g.commitAll()
		if g.outcomes[id].Kind != OutcomeUnknown {
			t.Errorf("outcome %v", g.outcomes[id])
		}
	})
}

// Ids of others are opaque: taken as they come on the first connection, and an
// interruption is the end.
func TestForeignIDs(t *testing.T) {
	start := func(t *testing.T) (*rig, StreamID, uint64) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id, conn := g.call()
		g.do(g.core.Accepts(id, conn, Accepted{session, ""}))
		for _, ev := range []Event{position("p_0"), message("z_9"), message("a_1")} {
			g.do(g.core.EventArrives(id, conn, ev))
			g.commit()
		}
		return g, id, conn
	}
	t.Run("are taken as they come", func(t *testing.T) {
		g, id, conn := start(t)
		g.do(g.core.EventArrives(id, conn, answer("m_5")))
		g.commitAll()
		if g.outcomes[id].Kind != OutcomeAnswered || len(g.applied) != 3 {
			t.Errorf("outcome %v, applied %v", g.outcomes[id], ids(g.applied))
		}
	})
	for name, ev := range map[string]Event{"the last one": message("a_1"), "an earlier one": message("z_9"), "a position": message("p_0")} {
		t.Run("repeating "+name+" is doubt", func(t *testing.T) {
			g, id, conn := start(t)
			g.do(g.core.EventArrives(id, conn, ev))
			g.abandoned(spec.ReasonEventRepeated)
		})
	}
	t.Run("none at all is doubt", func(t *testing.T) {
		g, id, conn := start(t)
		g.do(g.core.EventArrives(id, conn, bare("x")))
		g.abandoned(spec.ReasonEventWithoutID)
	})
	t.Run("one of ours among them is doubt", func(t *testing.T) {
		g, id, conn := start(t)
		g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
		g.abandoned(spec.ReasonEventUnorderable)
	})
	t.Run("too long to keep is doubt", func(t *testing.T) {
		g, id, conn := start(t)
		g.do(g.core.EventArrives(id, conn, message(string(make([]byte, maxForeignID+1)))))
		g.abandoned(spec.ReasonEventUnorderable)
	})
	for name, cut := range map[string]func(*Core, StreamID, uint64) ([]Action, error){
		"a clean end": (*Core).StreamEnds, "a break": (*Core).ConnectionBreaks,
	} {
		t.Run(name+" is the end", func(t *testing.T) {
			g, id, conn := start(t)
			g.do(cut(g.core, id, conn))
			g.abandoned(spec.ReasonEventUnorderable)
			if g.has(spec.SendResume) || g.outcomes[id].Kind != OutcomeUnknown {
				t.Errorf("outcome %v", g.outcomes[id])
			}
		})
	}
	t.Run("a restart is the end", func(t *testing.T) {
		g, id, _ := start(t)
		g.start()
		g.abandoned(spec.ReasonEventUnorderable)
		if g.outcomes[id].Kind != OutcomeUnknown {
			t.Errorf("outcome %v", g.outcomes[id])
		}
	})
	t.Run("how many are remembered is bounded", func(t *testing.T) {
		g, id, conn := start(t)
		for n := range 3 * maxForeignIDs {
			g.do(g.core.EventArrives(id, conn, message(fmt.Sprint("event ", n))))
			g.commit()
		}
		if got := len(g.stream(id).Foreign); got != maxForeignIDs {
			t.Errorf("%d ids are remembered", got)
		}
	})
}

// A stream whose payloads have no ids is delivered without a token.
func TestAStreamWithoutIDs(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.openAs(session, "")
	id, conn := g.call()
	g.do(g.core.Accepts(id, conn, Accepted{session, ""}))
	for range 3 {
		g.do(g.core.EventArrives(id, conn, bare("progress")))
		g.commit()
	}
	if len(g.applied) != 3 || len(g.durable.Streams) != 0 {
		t.Fatalf("applied %d, tokens %v", len(g.applied), g.durable.Streams)
	}
	cut := g.core.Clone()
	g.do(g.core.EventArrives(id, conn, Event{Payload: []byte("answer"), Answer: true}))
	g.commit()
	if g.outcomes[id].Kind != OutcomeAnswered {
		t.Errorf("outcome %v", g.outcomes[id])
	}
	actions, err := cut.StreamEnds(id, conn)
	if err != nil || cut.State() != spec.Open || actions[len(actions)-1].Change.Kind != DoubtCall {
		t.Errorf("a cut: %v, %v, %v", effects(actions), err, cut.State())
	}
}

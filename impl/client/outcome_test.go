package client

import (
	"testing"

	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

func TestASuspendedCallEndsWithItsEpoch(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	g.do(g.core.StreamEnds(id, conn))
	g.do(g.core.Reconnect(id, true))
	g.do(g.core.Abandon())
	g.abandoned(spec.ReasonCallerDecided)
	if g.outcomes[id].Kind != OutcomeUnknown {
		t.Errorf("outcome %v", g.outcomes[id])
	}
}

func TestASingleMessageAnswersACall(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.call()
	g.do(g.core.AnswersOnce(id, conn, session, Event{Payload: []byte("result"), Answer: true}))
	g.commit()
	if o := g.outcomes[id]; o.Kind != OutcomeAnswered || string(o.Answer.Payload) != "result" || len(g.durable.Calls) != 0 {
		t.Errorf("outcome %+v, calls %v", o, g.durable.Calls)
	}
	for name, of := range map[string]string{"another session": "minted", "no session": ""} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			id, conn := g.call()
			g.do(g.core.AnswersOnce(id, conn, of, Event{Payload: []byte("result"), Answer: true}))
			g.state(spec.Fencing)
			g.commitAll()
			if len(g.applied) != 0 || g.outcomes[id].Kind != OutcomeUnknown {
				t.Errorf("applied %v, outcome %v", g.applied, g.outcomes[id])
			}
		})
	}
}

// R23: few things prove that a call did not run.
func TestWhatProvesThatACallDidNotRun(t *testing.T) {
	for _, c := range []struct {
		name        string
		noResending bool
		refusal     Refusal
		dial        bool
		kind        OutcomeKind
		ends        bool // the epoch
	}{
		{name: "a dial that never connected", dial: true, kind: OutcomeNotRun},
		{name: "a plain 404", refusal: Refusal{Status: 404}, kind: OutcomeUnknown, ends: true},
		{name: "a typed 404", refusal: Refusal{Status: 404, Reason: spec.ReasonSessionTerminated}, kind: OutcomeUnknown, ends: true},
		{name: "a typed 404, nobody re-sends", noResending: true, refusal: Refusal{Status: 404, Reason: spec.ReasonSessionTerminated}, kind: OutcomeNotRun, ends: true},
		{name: "a gateway's 404, nobody re-sends", noResending: true, refusal: Refusal{Status: 404}, kind: OutcomeUnknown, ends: true},
		{name: "a 404 that says sealed", refusal: Refusal{Status: 404, Sealed: true}, kind: OutcomeNotRun, ends: true},
		{name: "a plain 503", refusal: Refusal{Status: 503}, kind: OutcomeUnknown},
		{name: "a typed 503", refusal: Refusal{Status: 503, Reason: spec.ReasonDraining}, kind: OutcomeUnknown},
		{name: "a typed 503, nobody re-sends", noResending: true, refusal: Refusal{Status: 503, Reason: spec.ReasonDraining}, kind: OutcomeNotRun},
		{name: "a redirect", refusal: Refusal{Status: 307}, kind: OutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{NoResending: c.noResending})
			g.open()
			id, conn := g.call()
			if c.dial {
				g.do(g.core.DialFails(id, conn, spec.ReasonNoConnection))
			} else {
				g.do(g.core.Refuses(id, conn, c.refusal))
			}
			if fencing := g.core.State() == spec.Fencing; fencing != c.ends {
				t.Errorf("the epoch ends: %v", fencing)
			}
			g.commitAll()
			if g.outcomes[id].Kind != c.kind {
				t.Errorf("outcome %v, want %v", g.outcomes[id], c.kind)
			}
			if unknown := len(g.durable.Unknowns) == 1; unknown != (c.kind == OutcomeUnknown) {
				t.Errorf("unknown in the record: %v", g.durable.Unknowns)
			}
			if len(g.durable.Calls) != 0 {
				t.Errorf("still in flight: %v", g.durable.Calls)
			}
		})
	}
}

// 204 proves that nothing will come: a call that is unanswered is unknown.
func TestACompleteStreamWithoutAnAnswer(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	resume := g.resumed(id, conn)
	g.do(g.core.Completes(id, resume.Conn, session))
	g.commitAll()
	g.state(spec.Open)
	if diff := cmp.Diff(map[StreamID]Outcome{id: {Stream: id, Kind: OutcomeUnknown, Reason: spec.ReasonStreamCompleted,
		Call: Call{Request: id.Request, Key: "key", Label: "label"}}}, g.outcomes); diff != "" {
		t.Error(diff)
	}
	g = newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn = g.streaming(1)
	g.do(g.core.Completes(id, g.resumed(id, conn).Conn, "minted"))
	g.abandoned(spec.ReasonSessionChanged)
}

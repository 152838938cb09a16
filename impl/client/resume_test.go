package client

import (
	"fmt"
	"testing"
	"time"

	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

// The second sketch of the source judges one resumption: status, session id,
// first event id. Every branch of it, through the core, with the contract's
// word where it differs on purpose.
func TestEveryBranchOfTheSketchThatValidatesAResumption(t *testing.T) {
	const token = 5 // ordinal and seq of the persisted event
	unproven := Accepted{SessionID: session}
	for _, c := range []struct {
		name   string
		sketch string // what the sketch says
		answer func(c *Core, id StreamID, conn uint64) ([]Action, error)
		first  *Event
		why    spec.Reason // "" if the epoch lives
		state  spec.State  // of the stream then
	}{
		{name: "404", sketch: "violation", answer: refuses(404, ""), why: spec.ReasonSessionUnknown},
		{name: "another status: 400", sketch: "violation", answer: refuses(400, spec.ReasonCursorMalformed), why: spec.ReasonCursorMalformed},
		{name: "another status: 409", sketch: "violation", answer: refuses(409, spec.ReasonCursorAhead), why: spec.ReasonCursorAhead},
		{name: "another status: 403", sketch: "violation", answer: refuses(403, ""), why: spec.ReasonRefused},
		{name: "another status: 307", sketch: "violation", answer: refuses(307, ""), why: spec.ReasonRedirected},
		{name: "another status: 503 (deliberate: not now, R26)", sketch: "violation",
			answer: func(c *Core, id StreamID, conn uint64) ([]Action, error) { return c.Defers(id, conn, time.Second) }, state: spec.Ended},
		{name: "another status: 401 (deliberate: new credentials, R26)", sketch: "violation",
			answer: func(c *Core, id StreamID, conn uint64) ([]Action, error) { return c.Challenges(id, conn) }, state: spec.Ended},
		{name: "no session id", sketch: "violation", answer: accepts(Accepted{}), why: spec.ReasonSessionMissing},
		{name: "another session id", sketch: "violation", answer: accepts(Accepted{SessionID: "minted"}), why: spec.ReasonSessionChanged},
		{name: "another session id, and the right position", sketch: "violation",
			answer: accepts(Accepted{"minted", at(token, 1, token)}), why: spec.ReasonSessionChanged},
		{name: "no first event id", sketch: "violation", answer: accepts(unproven), first: new(bare("x")), why: spec.ReasonEventWithoutID},
		{name: "no event at all (deliberate: unproven, keeps its cursor, R21 R26)", sketch: "violation", answer: accepts(unproven), state: spec.Unproven},
		{name: "no event at all, position announced (deliberate: proven, R21)", sketch: "violation",
			answer: accepts(Accepted{session, at(token, 1, token)}), state: spec.Streaming},
		{name: "repeated first event id", sketch: "violation", answer: accepts(unproven), first: new(message(at(token, 1, token))), why: spec.ReasonEventRepeated},
		{name: "repeated first event id, without payload (deliberate: a position, R21)", sketch: "violation",
			answer: accepts(unproven), first: new(position(at(token, 1, token))), state: spec.Streaming},
		{name: "a first event id that the caller cannot place strictly after", sketch: "for the caller to confirm",
			answer: accepts(unproven), first: new(message("e1")), why: spec.ReasonEventUnorderable},
		{name: "a later one than the next", sketch: "for the caller to confirm",
			answer: accepts(unproven), first: new(message(at(token+2, 1, token+2))), why: spec.ReasonEventSkipped},
		{name: "success", sketch: "the new token", answer: accepts(unproven), first: new(message(at(token+1, 1, token+1))), state: spec.Streaming},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			id, conn := g.streaming(1)
			for n := uint64(1); n <= token; n++ {
				g.do(g.core.EventArrives(id, conn, message(at(n, 1, n))))
				g.commit()
			}
			resume := g.resumed(id, conn)
			if resume.Session.ID != session || resume.Cursor != at(token, 1, token) {
				t.Fatalf("sent %+v", resume)
			}
			g.do(c.answer(g.core, id, resume.Conn))
			if c.first != nil {
				g.do(g.core.EventArrives(id, resume.Conn, *c.first))
			}
			if c.why != "" {
				g.abandoned(c.why)
				if len(g.applied) != token || g.outcomes[id].Kind != OutcomeUnknown {
					t.Errorf("applied %v, outcome %v", ids(g.applied), g.outcomes[id])
				}
				return
			}
			g.commitAll()
			g.state(spec.Open)
			g.streamState(id, c.state)
			want := at(token, 1, token)
			if c.name == "success" {
				want = at(token+1, 1, token+1)
			}
			if got := g.stream(id).Cursor; got != want {
				t.Errorf("cursor %s, want %s", got, want)
			}
		})
	}
}

func refuses(status int, why spec.Reason) func(*Core, StreamID, uint64) ([]Action, error) {
	return func(c *Core, id StreamID, conn uint64) ([]Action, error) {
		return c.Refuses(id, conn, Refusal{Status: status, Reason: why})
	}
}

func accepts(a Accepted) func(*Core, StreamID, uint64) ([]Action, error) {
	return func(c *Core, id StreamID, conn uint64) ([]Action, error) { return c.Accepts(id, conn, a) }
}

// Case 21: a cursor survives any number of views that delivered nothing.
func TestIdleResumesKeepTheCursor(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{ResumeAttempts: 100})
	g.open()
	id, conn := g.streaming(1)
	g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
	g.commit()
	for range 50 {
		resume := g.resumed(id, conn)
		if resume.Cursor != at(1, 1, 1) || resume.Session.ID != session {
			t.Fatalf("resumed with %q at %q", resume.Session.ID, resume.Cursor)
		}
		conn = resume.Conn
		g.do(g.core.Accepts(id, conn, Accepted{session, at(1, 1, 1)}))
	}
	g.do(g.core.EventArrives(id, conn, answer(at(2, 1, 2))))
	g.commit()
	if g.outcomes[id].Kind != OutcomeAnswered || len(g.applied) != 2 {
		t.Errorf("outcome %v, applied %v", g.outcomes[id], ids(g.applied))
	}
}

// Case 12 at the core: what is progress, and what is not (R26).
func TestAttemptsEndWithoutProgress(t *testing.T) {
	const attempts = 4
	for name, c := range map[string]struct {
		during    func(g *rig, id StreamID, conn uint64, n uint64)
		suspended bool
	}{
		"nothing":    {func(*rig, StreamID, uint64, uint64) {}, true},
		"a position": {func(g *rig, id StreamID, conn, _ uint64) { g.do(g.core.EventArrives(id, conn, position(at(0, 1, 0)))) }, true},
		"a position cleared and set": {func(g *rig, id StreamID, conn, _ uint64) {
			for _, ev := range []Event{{HasID: true}, position(at(0, 1, 0))} {
				g.do(g.core.EventArrives(id, conn, ev))
				g.commit()
			}
		}, true},
		"life on another conn":  {func(g *rig, id StreamID, conn, _ uint64) { g.core.Lived(id, conn+1) }, true},
		"life":                  {func(g *rig, id StreamID, conn, _ uint64) { g.core.Lived(id, conn) }, false},
		"an event":              {func(g *rig, id StreamID, conn, n uint64) { deliver(g, id, conn, n) }, false},
		"an event, every third": {func(g *rig, id StreamID, conn, n uint64) { deliverThird(g, id, conn, n) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{ResumeAttempts: attempts})
			g.open()
			id, conn := g.streaming(1)
			n := uint64(1)
			for ; n <= 5*attempts; n++ {
				g.do(g.core.StreamEnds(id, conn))
				g.do(g.core.Reconnect(id, false))
				if g.stream(id).State == spec.Suspended {
					break
				}
				conn = g.find(spec.SendResume).Conn
				g.take()
				g.do(g.core.Accepts(id, conn, Accepted{session, g.stream(id).Cursor}))
				c.during(g, id, conn, n)
			}
			if suspended := g.stream(id).State == spec.Suspended; suspended != c.suspended {
				t.Fatalf("suspended: %v after %d resumptions", suspended, n-1)
			}
			if !c.suspended {
				return
			}
			if n-1 != attempts {
				t.Errorf("suspended after %d resumptions, want %d", n-1, attempts)
			}
			// Its call is pending, not unknown, and in the record; and it goes on.
			g.find(spec.ReportPending)
			if _, inFlight := g.durable.Call(id.Request); !inFlight || len(g.outcomes) != 0 {
				t.Errorf("outcomes %v, calls %v", g.outcomes, g.durable.Calls)
			}
			g.take()
			g.do(g.core.Resume(id))
			g.do(g.core.Accepts(id, g.find(spec.SendResume).Conn, Accepted{session, at(0, 1, 0)}))
			g.do(g.core.EventArrives(id, g.find(spec.SendResume).Conn, answer(at(1, 1, 1))))
			g.commit()
			if g.outcomes[id].Kind != OutcomeAnswered {
				t.Errorf("outcome %v", g.outcomes[id])
			}
		})
	}
}

// A view that proved nothing may live as long as it likes: that is no progress.
func TestALifeWithoutProofIsNoProgress(t *testing.T) {
	for _, proven := range []bool{false, true} {
		g := newRig(t, Record{}, CoreOptions{})
		g.open()
		id, conn := g.streaming(1)
		resume := g.resumed(id, conn)
		announced := ""
		if proven {
			announced = at(0, 1, 0)
		}
		g.do(g.core.Accepts(id, resume.Conn, Accepted{session, announced}))
		g.core.Lived(id, resume.Conn)
		if progress := g.stream(id).Attempts == 0; progress != proven {
			t.Errorf("proven %v: %d attempts", proven, g.stream(id).Attempts)
		}
	}
}

func deliver(g *rig, id StreamID, conn, n uint64) {
	g.do(g.core.EventArrives(id, conn, message(at(n, 1, n))))
	g.commit()
}

func deliverThird(g *rig, id StreamID, conn, n uint64) {
	if n%3 == 0 {
		deliver(g, id, conn, n/3)
	}
}

func TestThePersistenceIsLimitedInTimeToo(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	g.do(g.core.StreamEnds(id, conn))
	g.do(g.core.Reconnect(id, true))
	g.streamState(id, spec.Suspended)
}

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

// R24: what an interruption means depends on whether there is a position, and
// whether it was a clean end.
func TestEndsAndTruncations(t *testing.T) {
	ends := func(g *rig, id StreamID, conn uint64) { g.do(g.core.StreamEnds(id, conn)) }
	breaks := func(g *rig, id StreamID, conn uint64) { g.do(g.core.ConnectionBreaks(id, conn)) }
	for _, c := range []struct {
		name   string
		strict bool
		posted bool // only the POST was sent, nothing was answered
		silent bool // accepted without a position, nothing delivered
		cut    func(g *rig, id StreamID, conn uint64)
		state  spec.State
		why    spec.Reason // why the epoch ends, if it does
	}{
		{name: "clean end", cut: ends, state: spec.Ended},
		{name: "break", cut: breaks, state: spec.Truncated},
		{name: "clean end, strict", strict: true, cut: ends, state: spec.Ended},
		{name: "break, strict", strict: true, cut: breaks, state: spec.Lost, why: spec.ReasonStreamTruncated},
		{name: "clean end without a position", silent: true, cut: ends, state: spec.Lost},
		{name: "break without a position", silent: true, cut: breaks, state: spec.Lost},
		{name: "break before an answer", posted: true, cut: breaks, state: spec.Lost},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{Strict: c.strict})
			g.open()
			id, conn := g.call()
			switch {
			case c.silent:
				g.do(g.core.Accepts(id, conn, Accepted{session, ""}))
			case !c.posted:
				g.do(g.core.Accepts(id, conn, Accepted{session, at(0, 1, 0)}))
			}
			g.commitAll()
			c.cut(g, id, conn)
			if c.why != "" {
				g.abandoned(c.why)
				return
			}
			g.commitAll()
			g.state(spec.Open)
			g.streamState(id, c.state)
			if unknown := g.outcomes[id].Kind == OutcomeUnknown && len(g.outcomes) == 1; unknown != (c.state == spec.Lost) {
				t.Errorf("outcomes %v", g.outcomes)
			}
		})
	}
}

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
		Call: Call{id.Request, "key", "label"}}}, g.outcomes); diff != "" {
		t.Error(diff)
	}
	g = newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn = g.streaming(1)
	g.do(g.core.Completes(id, g.resumed(id, conn).Conn, "minted"))
	g.abandoned(spec.ReasonSessionChanged)
}

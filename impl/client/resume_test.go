package client

import (
	"testing"

	"example.com/reattach/spec"
)

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

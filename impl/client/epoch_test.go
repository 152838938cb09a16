package client

import (
	"errors"
	"testing"

	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

func TestOpeningASession(t *testing.T) {
	for _, c := range []struct {
		name   string
		opened Opened
		why    spec.Reason // "" if it opens
		delete bool
	}{
		{name: "with a standalone position", opened: Opened{SessionID: session, Standalone: at(0, 0, 0)}},
		{name: "without one", opened: Opened{SessionID: session}},
		{name: "without a session id", opened: Opened{}, why: spec.ReasonSessionMissing},
		{name: "with one that no header can carry", opened: Opened{SessionID: "a b"}, why: spec.ReasonSessionMissing, delete: true},
		{name: "with a position that is not 0", opened: Opened{SessionID: session, Standalone: at(1, 0, 1)}, why: spec.ReasonPositionUnexpected, delete: true},
		{name: "with a position of a call's stream", opened: Opened{SessionID: session, Standalone: at(0, 1, 0)}, why: spec.ReasonPositionUnexpected, delete: true},
		{name: "with a position that is none", opened: Opened{SessionID: session, Standalone: "x"}, why: spec.ReasonPositionUnexpected, delete: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.do(g.core.Open())
			g.do(g.core.Opened(g.find(spec.SendInitialize).Conn, c.opened))
			g.commitAll()
			if c.why != "" {
				g.state(spec.Idle)
				if got := g.find(spec.ReportFailure).Reason; got != c.why || g.has(spec.SendDelete) != c.delete {
					t.Errorf("failed for %s, DELETE %v", got, g.has(spec.SendDelete))
				}
				return
			}
			g.state(spec.Open)
			g.find(spec.ReportOpen)
			want := Record{Version: 1, Epoch: 1, State: RecordOpen, SessionID: session, Tag: tag, NextRequest: 1}
			if c.opened.Standalone != "" {
				want.Announced, want.Streams = true, []Token{{LastEventID: c.opened.Standalone}}
			}
			if diff := cmp.Diff(want, g.durable); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// The tag holds the generation of the server's store where that store can lose
// events (R14). The client learns it with the session, and holds the server to
// it.
func TestTheTagComesWithTheSession(t *testing.T) {
	generation := spec.TagOf(session, "generation 7")
	g := newRig(t, Record{}, CoreOptions{})
	g.openAs(session, spec.PositionZero(generation, 0).String())
	id, conn := g.call()
	g.do(g.core.Accepts(id, conn, Accepted{session, spec.PositionZero(generation, 1).String()}))
	g.commitAll()
	g.streamState(id, spec.Streaming)
	id, conn = g.call()
	g.do(g.core.Accepts(id, conn, Accepted{session, spec.PositionZero(tag, 2).String()}))
	g.abandoned(spec.ReasonPositionUnexpected)
}

// An id that has ended never lives again (R6): a server that names the last
// epoch's session once more, or a session whose ids could not be told from its,
// would have everything of that one applied again. No epoch begins.
func TestAnEndedSessionIsNotOpenedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		opened Opened
		opens  bool
	}{
		"the same":               {Opened{SessionID: session, Standalone: at(0, 0, 0)}, false},
		"the same, unannounced":  {Opened{SessionID: session}, false},
		"another, the same tag":  {Opened{SessionID: "another", Standalone: at(0, 0, 0)}, false},
		"another":                {Opened{SessionID: "another", Standalone: spec.PositionZero(spec.TagOf("another", ""), 0).String()}, true},
		"another, not announced": {Opened{SessionID: "another"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			g.do(g.core.Abandon())
			g.commitAll()
			g.take()
			before := g.durable
			g.do(g.core.Open())
			g.do(g.core.Opened(g.find(spec.SendInitialize).Conn, c.opened))
			if c.opens {
				g.commitAll()
				g.state(spec.Open)
				return
			}
			g.state(spec.Idle)
			if got := g.find(spec.ReportFailure).Reason; got != spec.ReasonSessionTerminated || !g.has(spec.SendDelete) {
				t.Errorf("failed for %s, DELETE %v", got, g.has(spec.SendDelete))
			}
			if diff := cmp.Diff(before, g.durable); diff != "" {
				t.Errorf("the record changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestAnAnswerToAnEarlierOpeningIsNotHeard(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.do(g.core.Open())
	old := g.find(spec.SendInitialize).Conn
	g.take()
	g.do(g.core.OpeningFails(old, spec.ReasonRefused))
	g.take()
	g.do(g.core.Open())
	g.refused(spec.ReasonNoConnection, func() ([]Action, error) { return g.core.Opened(old, Opened{SessionID: "late"}) })
	g.refused(spec.ReasonNoConnection, func() ([]Action, error) { return g.core.OpeningFails(old, spec.ReasonRefused) })
	g.do(g.core.Opened(g.find(spec.SendInitialize).Conn, Opened{SessionID: session}))
	g.commitAll()
	g.state(spec.Open)
}

func TestTerminatingWhileOpening(t *testing.T) {
	t.Run("before the answer", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.do(g.core.Open())
		g.do(g.core.Terminate())
		g.state(spec.Closed)
		g.do(g.core.Opened(g.find(spec.SendInitialize).Conn, Opened{SessionID: session}))
		if got := g.find(spec.SendDelete).Session.ID; got != session {
			t.Errorf("DELETE of %q", got)
		}
	})
	t.Run("before the record is durable", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.do(g.core.Open())
		g.do(g.core.Opened(g.find(spec.SendInitialize).Conn, Opened{SessionID: session}))
		g.do(g.core.Terminate())
		g.commit()
		g.state(spec.Fencing)
		if _, err := g.core.Listen(g.core.Standalone()); err == nil {
			t.Error("a stream began in an epoch that is being fenced")
		}
		g.commit()
		g.state(spec.Closed)
		if g.durable.State != RecordClosed || g.find(spec.SendDelete).Session.ID != session {
			t.Errorf("record %v", g.durable.State)
		}
	})
}

func TestTheFenceIsTriedAgain(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{FenceAttempts: 3})
	g.open()
	id, _ := g.streaming(1)
	g.do(g.core.Abandon())
	for n := range 3 {
		if len(g.outcomes) != 0 || g.has(spec.SendDelete) {
			t.Fatalf("after %d failures: outcomes %v", n, g.outcomes)
		}
		g.fail(false)
		g.state(spec.Fencing)
	}
	if g.outcomes[id].Kind != OutcomeUnknown || g.has(spec.SendDelete) || len(g.pending) != 0 {
		t.Fatalf("attempts used up: outcomes %v, DELETE %v", g.outcomes, g.has(spec.SendDelete))
	}
	g.refused(spec.ReasonEpochFencing, g.core.Open)
	g.do(g.core.Abandon()) // the caller asks for another attempt
	g.commit()
	g.state(spec.Abandoned)
	g.find(spec.SendDelete)
}

// A call whose write comes after the fence never left, and its caller is told
// so; one whose write came before is in the record, and so an unknown outcome.
func TestACallOnItsWayIntoTheRecordMeetsTheFence(t *testing.T) {
	for name, late := range map[string]bool{"written after the fence": true, "written before it": false} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			id, actions, err := g.core.Call(Call{}, false)
			g.do(actions, err)
			g.do(g.core.Send(id, []byte("call")))
			g.do(g.core.Abandon())
			want := OutcomeUnknown
			if late {
				g.pending[0], g.pending[1] = g.pending[1], g.pending[0]
				want = OutcomeNotRun
			}
			g.commitAll()
			if g.has(spec.SendPost) || g.outcomes[id].Kind != want || (len(g.durable.Unknowns) == 0) != late {
				t.Errorf("outcome %v, unknown %v", g.outcomes[id], g.durable.Unknowns)
			}
		})
	}
}

// R30: one that lost its record can neither abandon nor delete.
func TestAStaleRecordIsNeitherFencedNorDeleted(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
	g.fail(true)
	g.state(spec.Fencing)
	g.fail(true)
	g.state(spec.Abandoned)
	if outcome, ended := g.outcomes[id]; g.has(spec.SendDelete) || g.durable.State != RecordOpen || ended || !g.has(spec.ReportYielded) {
		t.Errorf("DELETE %v, record %v, outcome %v", g.has(spec.SendDelete), g.durable.State, outcome)
	}
}

// Case 25 at the core: nothing of one epoch is ever sent or heard in the next.
func TestNothingCrossesFromOneEpochToTheNext(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	g.do(g.core.EventArrives(id, conn, message(at(1, 1, 1))))
	hand := g.pending[0]
	g.pending = nil
	g.do(g.core.Abandon())
	g.commit()
	g.openAs("second", "")
	g.state(spec.Quarantined)
	for name, late := range map[string]func() ([]Action, error){
		"an event":       func() ([]Action, error) { return g.core.EventArrives(id, conn, message(at(2, 1, 2))) },
		"a reconnect":    func() ([]Action, error) { return g.core.Reconnect(id, false) },
		"a resume":       func() ([]Action, error) { return g.core.Resume(id) },
		"contradictions": func() ([]Action, error) { return g.core.Contradict(1, spec.ReasonSessionUnknown) },
	} {
		before := g.core.Snapshot()
		if actions, err := late(); err == nil {
			t.Errorf("%s of the old epoch was heard: %v", name, effects(actions))
		}
		if diff := cmp.Diff(before, g.core.Snapshot()); diff != "" {
			t.Errorf("%s changed the core: %s", name, diff)
		}
	}
	// The transaction that was in hand when the epoch ended fails, and its
	// report finds its own stream, not one of the new epoch.
	if _, err := hand.Change.Apply(g.durable); !errors.Is(err, spec.ReasonRecordStale) {
		t.Fatalf("a commit of the old epoch: %v", err)
	}
	g.do(g.core.StreamCommitFailed(id, true, spec.ReasonRecordStale))
	g.find(spec.ReturnNothing)
	g.state(spec.Quarantined)
}

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
			id, actions, err := g.core.Call("", "", false)
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
	if g.has(spec.SendDelete) || g.durable.State != RecordOpen || g.outcomes[id].Kind != OutcomeUnknown {
		t.Errorf("DELETE %v, record %v, outcome %v", g.has(spec.SendDelete), g.durable.State, g.outcomes[id])
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

// R29: a request id is never used twice, in another epoch and after a restart.
func TestRequestIDsAreNeverUsedTwice(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	used := map[uint64]bool{}
	for epoch := range 3 {
		g.openAs(session, "")
		for _, u := range g.durable.Unknowns {
			g.do(g.core.Resolve(u.Stream, GaveUp))
			g.commitAll()
		}
		for n := range 4 {
			id, _ := g.call()
			if used[id.Request] || id.Request == 0 {
				t.Fatalf("request id %d again", id.Request)
			}
			used[id.Request] = true
			if n%2 == 1 {
				g.start()
				g.commitAll()
				g.take()
			}
		}
		g.do(g.core.Terminate())
		g.commitAll()
		g.take()
		if epoch == 1 {
			g.start()
		}
	}
	if len(used) != 12 {
		t.Errorf("%d ids", len(used))
	}
}

func TestRecovery(t *testing.T) {
	open := Record{Version: 9, Epoch: 2, State: RecordOpen, SessionID: session, Tag: tag, Announced: true, NextRequest: 8,
		Meta: []byte("meta"), Seen: []Span{{1, 4}}}
	t.Run("a stream with a token goes on, a call without one is unknown", func(t *testing.T) {
		r := open
		r.Streams = []Token{{Request: 0, LastEventID: at(3, 0, 2)}, {Request: 5, LastEventID: at(4, 2, 1)}}
		r.Calls = []Call{{Request: 5}, {Request: 7, Key: "k"}}
		g := newRig(t, r, CoreOptions{})
		g.state(spec.Open)
		g.streamState(StreamID{2, 0}, spec.Ended)
		g.streamState(StreamID{2, 5}, spec.Ended)
		g.streamState(StreamID{2, 7}, spec.Lost)
		scheduled := 0
		for _, a := range g.actions {
			if a.Do == spec.ScheduleResume {
				scheduled++
			}
		}
		g.commitAll()
		want := []Unknown{{Stream: StreamID{2, 7}, Key: "k", Reason: spec.ReasonEventWithoutID}}
		if diff := cmp.Diff(want, g.durable.Unknowns); diff != "" || scheduled != 2 {
			t.Errorf("%d scheduled, unknown: %s", scheduled, diff)
		}
		g.do(g.core.Reconnect(StreamID{2, 5}, false))
		resume := g.find(spec.SendResume)
		if resume.Cursor != at(4, 2, 1) || string(resume.Session.Meta) != "meta" {
			t.Errorf("resumed with %+v", resume)
		}
	})
	t.Run("an open record with an earlier epoch's unknown is in quarantine", func(t *testing.T) {
		r := open
		r.Unknowns = []Unknown{{Stream: StreamID{1, 3}}}
		newRig(t, r, CoreOptions{}).state(spec.Quarantined)
	})
	t.Run("with one of its own it is not", func(t *testing.T) {
		r := open
		r.Unknowns = []Unknown{{Stream: StreamID{2, 3}}}
		newRig(t, r, CoreOptions{}).state(spec.Open)
	})
	for state, want := range map[RecordState]spec.State{RecordFenced: spec.Abandoned, RecordClosed: spec.Closed} {
		t.Run(state.String(), func(t *testing.T) {
			r := open
			r.State, r.Seen = state, nil
			g := newRig(t, r, CoreOptions{})
			g.state(want)
			if len(g.actions) != 0 {
				t.Errorf("at once: %v", effects(g.actions))
			}
			g.openAs("next", "")
			g.state(spec.Open)
		})
	}
	t.Run("a record that contradicts itself is refused", func(t *testing.T) {
		for name, spoil := range map[string]func(*Record){
			"no session":             func(r *Record) { r.SessionID = "" },
			"no tag":                 func(r *Record) { r.Tag = "x" },
			"a used id to come":      func(r *Record) { r.Calls = []Call{{Request: 8}} },
			"a stream without call":  func(r *Record) { r.Streams = []Token{{Request: 5, LastEventID: "x"}} },
			"in flight when fenced":  func(r *Record) { r.State, r.Calls = RecordFenced, []Call{{Request: 5}} },
			"an unknown to come":     func(r *Record) { r.Unknowns = []Unknown{{Stream: StreamID{3, 1}}} },
			"in flight and unknown":  func(r *Record) { r.Calls, r.Unknowns = []Call{{Request: 5}}, []Unknown{{Stream: StreamID{2, 5}}} },
			"spans that overlap":     func(r *Record) { r.Seen = []Span{{1, 4}, {4, 6}} },
			"calls in another order": func(r *Record) { r.Calls = []Call{{Request: 5}, {Request: 4}} },
			"a state of its own":     func(r *Record) { r.State = 9 },
		} {
			r := open.Clone()
			spoil(&r)
			if _, _, err := NewCore(r, CoreOptions{}); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}

// The standalone stream (R7): offered where its position was announced,
// listened to without a cursor where it was not.
func TestTheStandaloneStream(t *testing.T) {
	t.Run("is re-attached at the announced position", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.open()
		id := g.core.Standalone()
		if _, err := g.core.Listen(id); !errors.Is(err, ErrWrongStream) {
			t.Errorf("listened without a cursor although there is one: %v", err)
		}
		g.do(g.core.Offer(id))
		g.find(spec.ScheduleResume)
		g.do(g.core.Reconnect(id, false))
		resume := g.find(spec.SendResume)
		if resume.Cursor != at(0, 0, 0) {
			t.Errorf("cursor %q", resume.Cursor)
		}
		g.do(g.core.Accepts(id, resume.Conn, Accepted{session, at(0, 0, 0)}))
		g.do(g.core.EventArrives(id, resume.Conn, message(at(1, 0, 1))))
		g.commitAll()
		if len(g.applied) != 1 {
			t.Errorf("applied %v", ids(g.applied))
		}
	})
	t.Run("without a position it begins where the server says", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		if _, err := g.core.Offer(id); !errors.Is(err, ErrWrongStream) {
			t.Errorf("offered without a position: %v", err)
		}
		g.do(g.core.Listen(id))
		get := g.find(spec.SendGet)
		if get.Cursor != "" || get.Session.ID != session {
			t.Errorf("asked with %+v", get)
		}
		g.do(g.core.Accepts(id, get.Conn, Accepted{session, at(7, 0, 4)}))
		g.commitAll()
		g.do(g.core.EventArrives(id, get.Conn, message(at(9, 0, 5))))
		g.commitAll()
		if len(g.applied) != 1 {
			t.Errorf("applied %v", ids(g.applied))
		}
	})
	t.Run("after an empty id it never begins before what was applied", func(t *testing.T) {
		for _, c := range []struct {
			position string
			good     bool
		}{{at(5, 0, 2), true}, {at(9, 0, 4), true}, {at(4, 0, 1), false}, {at(0, 0, 0), false}} {
			g := newRig(t, Record{}, CoreOptions{})
			g.openAs(session, "")
			id := g.core.Standalone()
			g.do(g.core.Listen(id))
			conn := g.find(spec.SendGet).Conn
			g.do(g.core.Accepts(id, conn, Accepted{session, at(4, 0, 1)}))
			g.commitAll()
			for _, ev := range []Event{message(at(5, 0, 2)), {HasID: true}} {
				g.do(g.core.EventArrives(id, conn, ev))
				g.commitAll()
			}
			g.do(g.core.StreamEnds(id, conn))
			g.find(spec.ReportGap)
			g.take()
			g.core.Forget(id)
			g.do(g.core.Listen(id))
			g.do(g.core.Accepts(id, g.find(spec.SendGet).Conn, Accepted{session, c.position}))
			if !c.good {
				g.abandoned(spec.ReasonPositionUnexpected)
				continue
			}
			g.commitAll()
			g.streamState(id, spec.Streaming)
		}
	})
	// A walk found a payload at position 0 to be taken for an event: ordinals
	// start at 1.
	t.Run("position 0 with a payload is doubt", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		conn := g.find(spec.SendGet).Conn
		g.do(g.core.Accepts(id, conn, Accepted{session, ""}))
		g.do(g.core.EventArrives(id, conn, message(at(0, 0, 0))))
		g.abandoned(spec.ReasonPositionUnexpected)
	})
	t.Run("of another session it is doubt", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		g.do(g.core.Accepts(id, g.find(spec.SendGet).Conn, Accepted{session, spec.PositionZero(spec.TagOf("x", ""), 0).String()}))
		g.abandoned(spec.ReasonPositionUnexpected)
	})
	t.Run("405 only says that there is none", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		g.do(g.core.Refuses(id, g.find(spec.SendGet).Conn, Refusal{Status: 405}))
		g.state(spec.Open)
		g.find(spec.ReportStandalone)
	})
	t.Run("404 says that the session is gone", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		g.do(g.core.Refuses(id, g.find(spec.SendGet).Conn, Refusal{Status: 404}))
		g.abandoned(spec.ReasonSessionUnknown)
	})
	t.Run("lost without a position it is a gap, and may begin anew", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		g.do(g.core.ConnectionBreaks(id, g.find(spec.SendGet).Conn))
		g.find(spec.ReportGap)
		g.state(spec.Open)
		g.take()
		g.core.Forget(id)
		g.do(g.core.Listen(id))
		g.find(spec.SendGet)
	})
}

func TestSeenStreamsAreBounded(t *testing.T) {
	var spans []Span
	for n := uint64(1); n < 1000; n += 2 { // every second number is never seen
		spans = addSeen(spans, n)
	}
	if len(spans) != maxSpans {
		t.Errorf("%d spans", len(spans))
	}
	for n := uint64(1); n < 1000; n += 2 {
		if !seen(spans, n) {
			t.Fatalf("%d is forgotten", n)
		}
	}
	if seen(spans, 998) || seen(spans, 1000) {
		t.Error("a new number counts as seen")
	}
	spans = nil
	for _, n := range []uint64{5, 3, 4, 1, 2, 4} {
		spans = addSeen(spans, n)
	}
	if diff := cmp.Diff([]Span{{1, 5}}, spans); diff != "" {
		t.Error(diff)
	}
}

package session_test

import (
	"errors"
	"io"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// Stories of R2, R3, R6, R9b, R11 and R12: the life of a session and of its
// streams.

func TestNumbersNeverRestart(t *testing.T) {
	r := begin(t)
	var seq uint64
	for round := range uint64(3) {
		n := r.calls().Stream
		if n != round+1 {
			t.Fatalf("call %d got stream %d", round, n)
		}
		for range 5 {
			e, err := r.Emit(n, []byte("x"), 0)
			if err != nil || e.ID.Seq != seq+1 {
				t.Fatalf("seq %d follows %d (%v)", e.ID.Seq, seq, err)
			}
			seq++
		}
		r.answers(n, 6)
		seq++
		r.breaks(n)
		for r.EvictOldest() { // everything has expired
		}
		r.is(n, spec.Forgotten)
	}
}

func TestEventsAreRetainedWithoutAReader(t *testing.T) {
	r := begin(t)
	r.emits(0, 1, 3)
	if got := r.Stream(0).Retained; got != 3 {
		t.Fatalf("%d events retained, want 3", got)
	}
	r.takes(r.resumes(0), 1, 3)
}

func TestStreamRefusesWhatItsStateForbids(t *testing.T) {
	r := begin(t)
	n := r.calls().Stream
	r.answers(n, 1)
	_, err := r.Emit(n, nil, 0)
	refuses(t, err, spec.ReasonStreamFinished)
	_, err = r.Answer(n, nil, 0)
	refuses(t, err, spec.ReasonStreamFinished)
	_, err = r.Emit(n+1, nil, 0)
	refuses(t, err, spec.ReasonStreamUnopened)
	_, err = r.Answer(0, nil, 0)
	refuses(t, err, spec.ReasonStreamStandalone)
	_, err = r.OpenStream(n, true, nil)
	refuses(t, err, spec.ReasonOutOfTurn)
	r.breaks(n)
	refuses(t, r.Break(n, 0), spec.ReasonNoView)
	_, err = r.Deliver(n, 0)
	refuses(t, err, spec.ReasonNoView)
	for r.EvictOldest() {
	}
	_, err = r.Emit(n, nil, 0)
	refuses(t, err, spec.ReasonStreamForgotten)
}

func TestOpeningOutOfTurnIsOurOwnFault(t *testing.T) {
	r := begin(t)
	defer func() {
		if recover() == nil {
			t.Error("stream 7 opened after stream 0")
		}
	}()
	_, _ = r.OpenStream(7, true, nil)
}

func TestSessionLiveOnlyOnce(t *testing.T) {
	r := begin(t)
	for _, end := range []struct {
		end    func(*session.Core) error
		state  spec.State
		reason spec.Reason
	}{
		{func(c *session.Core) error { return c.Terminate() }, spec.Terminated, spec.ReasonSessionTerminated},
		{func(c *session.Core) error { return c.Expire(false) }, spec.Expired, spec.ReasonSessionExpired},
	} {
		r := &rig{TB: t, Core: r.Clone()}
		refuses(t, r.Initialize(session.SessionID{9}, nil, false, false), spec.ReasonAlreadyInitialized)
		n := r.calls().Stream
		r.emits(n, 1, 1)
		cursor := r.cursor(n, 1)
		standing := r.Stream(n).View
		r.breaks(n)
		v := r.resumes(1, cursor)
		r.answers(n, 2)
		r.takes(v, 2, 2)
		if err := end.end(r.Core); err != nil {
			t.Fatal(err)
		}
		if r.State() != end.state {
			t.Fatalf("the session is %v", r.State())
		}
		if err := r.nothing(standing); !errors.Is(err, session.ErrBroken) {
			t.Errorf("a view that ended before says %v", err)
		}
		_, err := r.Call(nil)
		refuses(t, err, end.reason)
		refuses(t, r.Notify(), end.reason)
		refuses(t, r.Terminate(), end.reason)
		refuses(t, r.Initialize(session.SessionID{9}, nil, false, false), end.reason)
		refuses(t, r.Expire(false), spec.ReasonOutOfTurn)
		refuses(t, r.Drain(0), spec.ReasonOutOfTurn)
		r.refused(end.reason, cursor)
		r.refused(end.reason)
		_, err = r.OpenStream(r.NextStream(), true, nil)
		refuses(t, err, end.reason)
		_, err = r.Emit(0, nil, 0)
		refuses(t, err, spec.ReasonStreamForgotten)
		if r.Window().Len() != 0 || len(r.Streams()) != 0 {
			t.Errorf("it retains %d events of %d streams", r.Window().Len(), len(r.Streams()))
		}
	}
}

func TestAbsentSessionRefusesEverything(t *testing.T) {
	c := session.NewCore(session.DefaultConfig())
	_, err := c.Call(nil)
	refuses(t, err, spec.ReasonSessionUnknown)
	refuses(t, c.Notify(), spec.ReasonSessionUnknown)
	refuses(t, c.Terminate(), spec.ReasonSessionUnknown)
	_, v, err := c.Resume(session.Request{}, 0)
	if v != nil {
		t.Error("a resumption created a view of no session")
	}
	refuses(t, err, spec.ReasonSessionUnknown)
	refuses(t, c.Initialize(session.SessionID{}, nil, true, false), spec.ReasonTooManySessions)
	refuses(t, c.Initialize(session.SessionID{}, nil, true, true), spec.ReasonDraining)
	if c.State() != spec.Absent {
		t.Errorf("it is %v", c.State())
	}
}

func TestEndOfASessionEndsEverything(t *testing.T) {
	r := begin(t)
	attached, detached := r.calls(), r.calls()
	r.breaks(detached.Stream)
	get := r.resumes(0)
	if err := r.Terminate(); err != nil {
		t.Fatal(err)
	}
	cancelled := map[uint64]bool{}
	buried := false
	for _, n := range r.Notes() {
		switch n.Effect {
		case spec.CancelWork:
			cancelled[n.Stream] = true
		case spec.Bury:
			buried = true
		}
	}
	if !cancelled[attached.Stream] || !cancelled[detached.Stream] || !buried {
		t.Errorf("cancelled %v, buried %v", cancelled, buried)
	}
	for _, v := range []*session.ViewState{attached, get} {
		if err := r.nothing(v); !errors.Is(err, session.ErrSessionOver) {
			t.Errorf("view of stream %d says %v", v.Stream, err)
		}
	}
}

func TestWhatIsInUseDoesNotExpire(t *testing.T) {
	r := begin(t)
	refuses(t, r.Expire(true), spec.ReasonSessionInUse) // a request, or one within the budget
	r.resumes(0)
	refuses(t, r.Expire(false), spec.ReasonSessionInUse) // a view
	r.breaks(0)
	n := r.calls().Stream
	r.breaks(n)
	refuses(t, r.Expire(false), spec.ReasonSessionInUse) // a call
	r.answers(n, 1)
	if err := r.Expire(false); err != nil || r.State() != spec.Expired {
		t.Fatalf("nothing keeps it, and it is %v: %v", r.State(), err)
	}
}

func TestAbandonedCallEndsWithAnUnknownOutcome(t *testing.T) {
	var lost []session.LostCall
	r := begin(t, func(cfg *session.Config) {
		cfg.DetachBudget = 100
		cfg.Unknown = func(c session.LostCall) []byte { lost = append(lost, c); return []byte("unknown!") }
	})
	v := r.calls()
	n := v.Stream
	r.now = 50
	r.breaks(n)

	if due, ok := r.Tick(149); !ok || due != 150 {
		t.Fatalf("due at %d (%v), want 150", due, ok)
	}
	r.is(n, spec.Detached)
	r.now = 120
	back := r.resumes(0, r.cursor(n, 0)) // within the budget: it begins anew
	r.now = 130
	r.breaks(n)
	r.Tick(229)
	r.is(n, spec.Detached)
	r.emits(n, 1, 1) // its handler emits into the void, which is no reader
	r.Tick(230)
	r.is(n, spec.FinishedDetached)
	if r.rows["ST45"] != 0 {
		t.Error("the standalone stream has no detach budget, and was asked about it")
	}
	if notes := r.Notes(); len(notes) != 1 || notes[0].Effect != spec.CancelWork || notes[0].Stream != n {
		t.Errorf("nobody stops the work: %v", notes)
	}
	if len(lost) != 1 || lost[0] != (session.LostCall{Session: "the session", Stream: n, Call: "a call"}) {
		t.Errorf("the answer was asked for with %+v", lost)
	}
	_, err := r.Answer(n, nil, 0)
	refuses(t, err, spec.ReasonStreamFinished)
	if err := r.nothing(back); !errors.Is(err, session.ErrBroken) {
		t.Error(err)
	}

	late := r.resumes(1, r.cursor(n, 1)) // who comes late learns it
	taken, err := r.DeliverTo(late, 0)
	if err != nil || !taken.Last || string(taken.Event.Payload) != "unknown!" {
		t.Fatalf("the late reader gets %q, last %v, %v", taken.Event.Payload, taken.Last, err)
	}
	if _, err := r.DeliverTo(late, 0); err != io.EOF {
		t.Fatal(err)
	}
	for r.EvictOldest() {
	}
	r.is(n, spec.Forgotten)
}

func TestDetachBudgetIsForCallsWithoutAViewOnly(t *testing.T) {
	r := begin(t)
	n := r.calls().Stream
	refuses(t, r.ElapseDetach(0, 0), spec.ReasonStreamStandalone)
	refuses(t, r.ElapseDetach(n, 0), spec.ReasonViewInTheWay)
	refuses(t, r.ElapseDetach(n+1, 0), spec.ReasonStreamUnopened)
	r.answers(n, 1)
	r.breaks(n)
	refuses(t, r.ElapseDetach(n, 0), spec.ReasonStreamFinished)
}

// R12: a drain refuses what is new and ends the view on which no call waits;
// that of a running call goes on, to its answer or to the end of the drain.
func TestDrainEndsViewsAndLetsCallsFinish(t *testing.T) {
	r := begin(t)
	running, get := r.calls(), r.resumes(0)
	r.emits(running.Stream, 1, 1)
	if err := r.Drain(0); err != nil {
		t.Fatal(err)
	}
	if err := r.nothing(get); !errors.Is(err, session.ErrViewEnded) {
		t.Errorf("the standalone view says %v", err)
	}
	if err := r.takes(running, 1, 1); err != nil {
		t.Errorf("the call's view says %v", err)
	}
	_, err := r.Call(nil)
	refuses(t, err, spec.ReasonDraining)
	r.refused(spec.ReasonDraining, r.cursor(running.Stream, 1))
	if err := r.Notify(); err != nil { // answers to the server's own requests
		t.Error(err)
	}
	late := r.Clone()
	r.answers(running.Stream, 2)
	if err := r.takes(running, 2, 2); !errors.Is(err, io.EOF) {
		t.Errorf("the call's view ends with %v", err)
	}
	if err := r.Drain(0); err != nil {
		t.Errorf("draining twice: %v", err)
	}
	if err := late.EndViews(0); err != nil { // the same without an answer in time
		t.Error(err)
	}
	if s := late.Stream(running.Stream); s.View != nil || s.State != spec.Detached {
		t.Errorf("after its time the call's stream is %v, with view %v", s.State, s.View)
	}
	if err := r.Terminate(); err != nil {
		t.Error(err)
	}
}

// TestDeletedRowRefusesTheWholeMove: what moves several streams at once moves
// all of them or none.
func TestDeletedRowRefusesTheWholeMove(t *testing.T) {
	for _, c := range []struct {
		row  string
		move func(*rig) error
	}{
		{"ST60", func(r *rig) error { return r.Terminate() }},
		{"ST61", func(r *rig) error { return r.Terminate() }},
		{"ST62", func(r *rig) error { return r.Terminate() }},
		{"ST63", func(r *rig) error { return r.Terminate() }},
		{"ST01", func(r *rig) error { _, err := r.Call(nil); return err }},
		{"ST55", func(r *rig) error { _, err := r.Call(nil); return err }},
		{"ST24", func(r *rig) error {
			_, _, err := r.Resume(session.Request{Cursors: []string{r.id(0, 0, 0)}}, 0)
			return err
		}},
	} {
		t.Run(c.row, func(t *testing.T) {
			r := begin(t, func(cfg *session.Config) { cfg.Streams = 5 })
			for range 4 {
				r.calls()
			}
			r.breaks(1)
			r.answers(2, 1)
			r.answers(3, 1)
			r.breaks(3) // 1 detached, 2 finished and attached, 3 finished, 4 attached, 0 detached
			machines, err := fsm.NewServer(spec.SessionTable(), spec.StreamTable().Without(c.row))
			if err != nil {
				t.Fatal(err)
			}
			whole := r.cfg.Machines
			r.cfg.Machines = machines
			before := r.Snapshot()
			refuses(t, c.move(r), spec.ReasonNoRow)
			if after := r.Snapshot(); after != before {
				t.Errorf("the refused move changed the session from\n%s\nto\n%s", before, after)
			}
			r.cfg.Machines = whole
			if err := c.move(r); err != nil {
				t.Errorf("with the row: %v", err)
			}
		})
	}
}

func TestCloneSharesNothingThatMoves(t *testing.T) {
	r := begin(t)
	v := r.calls()
	r.emits(v.Stream, 1, 3)
	done := r.calls()
	r.answers(done.Stream, 1)
	r.breaks(done.Stream)
	before := r.Snapshot()

	c := &rig{TB: t, Core: r.Clone()}
	if c.Snapshot() != before {
		t.Fatalf("the clone is\n%s\ninstead of\n%s", c.Snapshot(), before)
	}
	c.takes(c.Stream(v.Stream).View, 1, 3)
	c.answers(v.Stream, 4)
	for c.EvictOldest() {
	}
	c.is(done.Stream, spec.Forgotten)
	if r.Snapshot() != before {
		t.Fatalf("moving the clone changed the original to\n%s", r.Snapshot())
	}
	r.takes(v, 1, 3)
}

func TestDecideIsPure(t *testing.T) {
	r := begin(t, windowOf(4))
	r.emits(0, 1, 9)
	before := r.Snapshot()
	for _, cursors := range [][]string{nil, {""}, {r.cursor(0, 7)}, {r.id(1, 0, 1)}, {r.id(99, 0, 99)}} {
		a := session.Decide(session.Request{Cursors: cursors}, r.Core)
		b := session.Decide(session.Request{Cursors: cursors}, r.Core)
		if a != b {
			t.Errorf("%q: %+v, and then %+v", cursors, a, b)
		}
	}
	if r.Snapshot() != before {
		t.Error("deciding changed the session")
	}
}

package session_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// Stories of R1, R4, R5, R7, R8, R10 and R11: what a client that comes back
// gets, and what it does not get.

func TestResumeDeliversStrictlyAfterTheCursor(t *testing.T) {
	r := begin(t, windowOf(16))
	r.emits(0, 1, 20) // 1 … 4 are evicted: the floor is 4
	for _, at := range []uint64{4, 10, 19, 20} {
		v := r.resumes(at, r.cursor(0, at))
		r.takes(v, at+1, 20)
		if err := r.takes(v, at+1, at); err != nil {
			t.Fatalf("a delivered view that waits says %v", err)
		}
	}
	for _, at := range []uint64{0, 1, 3} {
		d := r.refused(spec.ReasonCursorEvicted, r.id(at, 0, at))
		if d.Floor.Ordinal != 4 || d.Head.Ordinal != 20 || d.Cursor.Ordinal != at {
			t.Errorf("refusal at %d says cursor %v, floor %v, head %v", at, d.Cursor, d.Floor, d.Head)
		}
	}
}

func TestAnotherSessionsCursorIsForeign(t *testing.T) {
	a, b := begin(t), begin(t)
	b.Core = session.NewCore(b.cfg)
	if err := b.Initialize(session.SessionID{2}, nil, false, false); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*rig{a, b} { // the same numbers in both
		r.calls()
		r.emits(1, 1, 3)
		r.breaks(1)
	}
	a.refused(spec.ReasonCursorForeign, b.cursor(1, 1))
	b.refused(spec.ReasonCursorForeign, a.cursor(1, 1))
	a.takes(a.resumes(1, a.cursor(1, 1)), 2, 3) // both still work
	b.takes(b.resumes(1, b.cursor(1, 1)), 2, 3)
}

func TestGenerationSeparatesTheTagsOfOneSession(t *testing.T) {
	old := begin(t)
	restarted := begin(t, func(cfg *session.Config) { cfg.Generation = "2" })
	if old.ID() != restarted.ID() {
		t.Fatal("the test wants one session id in two generations")
	}
	restarted.refused(spec.ReasonCursorForeign, old.cursor(0, 0))
}

func TestResumeBringsBackItsOwnStreamOnly(t *testing.T) {
	r := begin(t)
	first, second := r.calls(), r.calls()
	for i := uint64(1); i <= 5; i++ { // interleaved progress
		r.emits(first.Stream, i, i)
		r.emits(second.Stream, i, i)
	}
	r.breaks(first.Stream)
	r.takes(r.resumes(2, r.cursor(first.Stream, 2)), 3, 5)
	r.takes(second, 1, 5)
}

func TestStreamFinishesWhileItsClientIsAway(t *testing.T) {
	r := begin(t)
	v := r.calls()
	n := v.Stream
	cursor := r.cursor(n, 0)
	r.breaks(n)
	r.emits(n, 1, 3)
	r.answers(n, 4)
	r.is(n, spec.FinishedDetached)

	back := r.resumes(0, cursor)
	if !back.Finished {
		t.Error("the view does not know that its stream was finished when it began")
	}
	if err := r.takes(back, 1, 4); err != io.EOF {
		t.Fatalf("a view that was delivered to its end says %v, want io.EOF", err)
	}
	r.is(n, spec.FinishedDetached)
	if err := r.nothing(v); !errors.Is(err, session.ErrBroken) {
		t.Fatalf("the broken view says %v", err)
	}
}

// TestCursorMatrix is every way in which a cursor can be wrong, after each of
// which the session serves a good one.
func TestCursorMatrix(t *testing.T) {
	r := begin(t, windowOf(8))
	r.emits(0, 1, 4)
	call := r.calls().Stream
	r.emits(call, 1, 3) // seqs 5 6 7
	r.breaks(call)
	r.emits(0, 5, 8) // seqs 8 … 11: the window begins at seq 4

	const maxN = math.MaxUint64
	tag := string(r.Tag())
	other := string(spec.TagOf("another session", ""))
	for _, c := range []struct {
		name    string
		cursors []string
		want    spec.Reason
	}{
		{"empty", []string{""}, spec.ReasonCursorMalformed},
		{"two", []string{r.cursor(0, 8), r.cursor(0, 8)}, spec.ReasonCursorMalformed},
		{"two, one of them empty", []string{"", r.cursor(0, 8)}, spec.ReasonCursorMalformed},
		{"no id at all", []string{"42"}, spec.ReasonCursorMalformed},
		{"tag in capitals", []string{strings.ToUpper(tag) + ":11:0:8"}, spec.ReasonCursorMalformed},
		{"leading zero", []string{tag + ":11:0:08"}, spec.ReasonCursorMalformed},
		{"something behind", []string{r.cursor(0, 8) + ":"}, spec.ReasonCursorMalformed},
		{"seq without ordinal", []string{tag + ":1:0:0"}, spec.ReasonCursorMalformed},
		{"another session's", []string{other + ":11:0:8"}, spec.ReasonCursorForeign},
		{"another session's and a stream unknown here", []string{other + ":11:7:8"}, spec.ReasonCursorForeign},
		{"stream never opened", []string{r.id(11, 2, 1)}, spec.ReasonCursorUnissued},
		{"stream never opened, position 0", []string{r.id(0, 2, 0)}, spec.ReasonCursorUnissued},
		{"the last of all numbers", []string{r.id(1, maxN, 1)}, spec.ReasonCursorUnissued},
		{"evicted", []string{r.id(2, 0, 2)}, spec.ReasonCursorEvicted},
		{"evicted, with a seq that cannot be checked", []string{r.id(9, 0, 2)}, spec.ReasonCursorEvicted},
		{"position 0 below the floor", []string{r.id(0, 0, 0)}, spec.ReasonCursorEvicted},
		{"at the floor, another seq", []string{r.id(2, 0, 3)}, spec.ReasonCursorUnissued},
		{"in the window, another seq", []string{r.id(9, 0, 5)}, spec.ReasonCursorUnissued},
		{"in the window, another stream's seq", []string{r.id(6, 0, 5)}, spec.ReasonCursorUnissued},
		{"right seq, another ordinal", []string{r.id(8, 0, 6)}, spec.ReasonCursorUnissued},
		{"head, a seq from beyond", []string{r.id(12, 0, 8)}, spec.ReasonCursorUnissued},
		{"ahead by 1", []string{r.id(12, 0, 9)}, spec.ReasonCursorAhead},
		{"ahead by 1000", []string{r.id(1011, 0, 1008)}, spec.ReasonCursorAhead},
		{"ahead by all", []string{r.id(maxN, 0, maxN)}, spec.ReasonCursorAhead},
		{"ahead by ordinal only", []string{r.id(11, 0, 9)}, spec.ReasonCursorUnissued},
		{"ahead by ordinal only, quiet stream", []string{r.id(11, call, 4)}, spec.ReasonCursorUnissued},
		{"ahead on a quiet stream", []string{r.id(12, call, 4)}, spec.ReasonCursorAhead},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.TB = t
			d := r.refused(c.want, c.cursors...)
			if c.want == spec.ReasonCursorMalformed && (d.Cursor.Valid() || d.Head.Valid()) {
				t.Errorf("a malformed cursor has data: %+v", d)
			}
			if c.want == spec.ReasonCursorForeign && d.Head.Valid() {
				t.Errorf("a foreign cursor is told the head %v", d.Head)
			}
			r.takes(r.resumes(6, r.cursor(0, 6)), 7, 8)
			r.takes(r.resumes(0, r.cursor(call, 0)), 1, 3)
		})
	}
}

func TestCursorAheadStaysRefusedUntilItIsIssued(t *testing.T) {
	r := begin(t)
	r.emits(0, 1, 3)
	r.refused(spec.ReasonCursorAhead, r.id(99, 0, 99))
	r.emits(0, 4, 5)
	r.takes(r.resumes(3, r.cursor(0, 3)), 4, 5)
}

func TestFreshAttachAfterEverythingIsEvicted(t *testing.T) {
	r := begin(t)
	r.emits(0, 1, 5)
	for r.EvictOldest() {
	}
	first := r.resumes(5) // no history
	if first.Skipped != 5 {
		t.Errorf("skipped %d events, want 5", first.Skipped)
	}
	second := r.resumes(5)
	if second.Mode != spec.VerdictAttach {
		t.Errorf("mode %v", second.Mode)
	}
	r.emits(0, 6, 6) // R2: the numbers go on
	r.takes(second, 6, 6)
	if err := r.nothing(first); !errors.Is(err, session.ErrSuperseded) {
		t.Errorf("the first of two views says %v, want superseded", err)
	}
}

func TestQuietStreamsCursorStaysGood(t *testing.T) {
	r := begin(t, windowOf(4))
	quiet := r.calls().Stream
	r.emits(quiet, 1, 1)
	cursor := r.cursor(quiet, 1)
	r.breaks(quiet)
	r.emits(0, 1, 50) // the quiet stream's event is long evicted
	r.emits(quiet, 2, 2)
	r.takes(r.resumes(1, cursor), 2, 2) // it missed nothing: floor = cursor
}

func TestResumeOfAFinishedStream(t *testing.T) {
	r := begin(t, windowOf(4))
	n := r.calls().Stream
	r.emits(n, 1, 2)
	r.answers(n, 3)
	r.breaks(n)
	last, head := r.cursor(n, 2), r.cursor(n, 3)

	complete := func() {
		t.Helper()
		d, v, err := r.Resume(session.Request{Cursors: []string{head}}, 0)
		if err != nil || v != nil || d.Verdict != spec.VerdictComplete || d.Position.String() != head {
			t.Fatalf("at the head: %v at %v (view %v, error %v), want complete", d.Verdict, d.Position, v, err)
		}
	}
	complete()
	v := r.resumes(2, last)
	complete() // and the older view gives way
	if err := r.nothing(v); !errors.Is(err, session.ErrSuperseded) {
		t.Fatalf("the view that a complete answer replaced says %v", err)
	}
	if err := r.takes(r.resumes(2, last), 3, 3); err != io.EOF {
		t.Fatalf("after the last event: %v", err)
	}

	r.emits(0, 1, 3)
	r.is(n, spec.FinishedDetached) // its answer is the oldest retained event
	r.emits(0, 4, 4)
	r.is(n, spec.Forgotten)
	r.refused(spec.ReasonCursorEvicted, head)
	r.refused(spec.ReasonCursorEvicted, last)
}

func TestUnfinishedStreamIsNotComplete(t *testing.T) {
	r := begin(t)
	n := r.calls().Stream
	r.emits(n, 1, 1)
	r.breaks(n)
	v := r.resumes(1, r.cursor(n, 1)) // at the head, and yet a view
	r.answers(n, 2)
	if err := r.takes(v, 2, 2); err != io.EOF {
		t.Fatal(err)
	}
}

// TestNeverSentEventsAreNotHistory is R7 in all its turns.
func TestNeverSentEventsAreNotHistory(t *testing.T) {
	three := func(t *testing.T, events int) *rig {
		r := begin(t, windowOf(events))
		r.emits(0, 1, 3)
		return r
	}
	t.Run("cut after two", func(t *testing.T) {
		r := three(t, 10)
		v := r.resumes(0)
		r.Deliver(0, 0)
		r.Deliver(0, 0)
		if v.At.Ordinal != 2 {
			t.Fatalf("the view stands at %d", v.At.Ordinal)
		}
		r.breaks(0)
		r.takes(r.resumes(2), 3, 3)
	})
	t.Run("the first one evicted", func(t *testing.T) {
		r := three(t, 2)
		v := r.resumes(1)
		if v.Skipped != 1 {
			t.Errorf("skipped %d, want 1", v.Skipped)
		}
		r.takes(v, 2, 3)
	})
	t.Run("first view's headers lost", func(t *testing.T) {
		r := three(t, 10)
		r.resumes(0)
		r.breaks(0)
		v := r.resumes(0) // nothing was handed over
		if v.Skipped != 0 {
			t.Errorf("skipped %d, want 0", v.Skipped)
		}
		r.takes(v, 1, 3)
	})
	t.Run("second GET before anything was delivered", func(t *testing.T) {
		r := three(t, 10)
		first, second := r.resumes(0), r.resumes(0)
		r.takes(second, 1, 3)
		if err := r.nothing(first); !errors.Is(err, session.ErrSuperseded) {
			t.Errorf("first view: %v", err)
		}
	})
	t.Run("an old cursor does not bring handed events back", func(t *testing.T) {
		r := three(t, 10)
		r.takes(r.resumes(0), 1, 3)
		r.takes(r.resumes(1, r.cursor(0, 1)), 2, 3)
		r.nothing(r.resumes(3))
	})
	t.Run("skipped counts what was never handed, not what was", func(t *testing.T) {
		r := three(t, 2) // 1 is evicted
		r.takes(r.resumes(1), 2, 3)
		r.breaks(0)
		r.emits(0, 4, 6) // 4 is evicted, and with it what was handed
		if v := r.resumes(4); v.Skipped != 1 {
			t.Errorf("skipped %d, want 1", v.Skipped)
		}
	})
}

func TestStandalonePositionMissesNothing(t *testing.T) {
	r := begin(t)
	position := spec.PositionZero(r.Tag(), 0).String() // the answer to initialize
	r.emits(0, 1, 2)
	r.takes(r.resumes(0, position), 1, 2)
}

func TestCallsViewIsThereBeforeItsHandlerEmits(t *testing.T) {
	r := begin(t)
	v := r.calls()
	if v.Start.Ordinal != 0 || v.Mode != spec.VerdictAttach || v.Finished {
		t.Fatalf("a call's view begins as %+v", v)
	}
	r.is(v.Stream, spec.Attached)
	r.emits(v.Stream, 1, 2)
	r.takes(v, 1, 2)
}

func TestNewerViewSupersedesAtOnce(t *testing.T) {
	r := begin(t)
	n := r.calls().Stream
	r.emits(n, 1, 4)
	old := r.Stream(n).View
	r.Deliver(n, 0)
	r.Deliver(n, 0)
	fresh := r.resumes(1, r.cursor(n, 1)) // the client got 1, and 2 was lost
	if len(r.Notes()) != 1 || r.Notes()[0].View != old {
		t.Errorf("nobody is told that the old view has ended: %v", r.Notes())
	}
	var over *session.ViewOverError
	if err := r.nothing(old); !errors.Is(err, session.ErrSuperseded) || !errors.As(err, &over) || over.Position.Ordinal != 2 {
		t.Fatalf("the old view says %v, want superseded at 2", err)
	}
	r.takes(fresh, 2, 4)
	if got := r.rows["ST25"]; got != 1 {
		t.Errorf("ST25 fired %d times", got)
	}
}

// TestSeam emits before, at and after the moment at which a view begins: the
// place where replay meets live.
func TestSeam(t *testing.T) {
	for emittedBefore := uint64(0); emittedBefore <= 3; emittedBefore++ {
		for takenBetween := uint64(0); takenBetween <= 3; takenBetween++ {
			r := begin(t)
			n := r.calls().Stream
			r.breaks(n)
			cursor := r.cursor(n, 0)
			if emittedBefore > 0 {
				r.emits(n, 1, emittedBefore)
			}
			v := r.resumes(0, cursor)
			var taken uint64
			for range takenBetween {
				if got, _ := r.DeliverTo(v, 0); got.OK {
					taken++
				}
			}
			r.emits(n, emittedBefore+1, 6)
			r.takes(v, taken+1, 6)
		}
	}
}

func TestOvertakenViewIsCutNotMoved(t *testing.T) {
	r := begin(t, windowOf(4))
	v := r.resumes(0)
	r.emits(0, 1, 2)
	r.Deliver(0, 0)
	r.Deliver(0, 0)
	r.emits(0, 3, 6) // the next event of the view, 3, is retained still
	e, err := r.Emit(0, name(0, 7), 0)
	if err != nil || !e.Attached || e.Lag != 5 || e.Evicted != 1 {
		t.Fatalf("the emitter is told %+v, %v, want a lag of 5 and 1 evicted", e, err)
	}
	if err := r.nothing(v); !errors.Is(err, session.ErrOvertaken) {
		t.Fatalf("the overtaken view says %v", err)
	}
	r.is(0, spec.Detached)
	r.refused(spec.ReasonCursorEvicted, r.id(2, 0, 2))
	if v := r.resumes(3); v.Skipped != 1 {
		t.Errorf("skipped %d, want 1: 3 was never handed over", v.Skipped)
	}
}

func TestViewAtTheFloorIsNotOvertaken(t *testing.T) {
	r := begin(t, windowOf(4))
	v := r.resumes(0)
	r.emits(0, 1, 2)
	r.takes(v, 1, 2)
	r.emits(0, 3, 6) // 1 and 2 are evicted: the floor is where the view stands
	r.takes(v, 3, 6)
}

func TestViewThatTheServerEndsMayBeResumed(t *testing.T) {
	r := begin(t)
	v := r.calls()
	r.emits(v.Stream, 1, 2)
	r.Deliver(v.Stream, 0)
	if err := r.EndView(v.Stream, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.nothing(v); !errors.Is(err, session.ErrViewEnded) {
		t.Fatalf("the ended view says %v", err)
	}
	refuses(t, r.EndView(v.Stream, 0), spec.ReasonNoView)
	r.takes(r.resumes(1, r.cursor(v.Stream, 1)), 2, 2)
}

package session_test

import (
	"errors"
	"math"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// Stories of R3: what is bounded, and what happens at each bound.

func TestEventOfEachSize(t *testing.T) {
	small := func(cfg *session.Config) { cfg.Window.Bytes, cfg.Window.MaxEvent = 100, 60 }
	r := begin(t, small)
	for _, size := range []int{0, 1, 59, 60} {
		if _, err := r.Emit(0, make([]byte, size), 0); err != nil {
			t.Errorf("event of %d bytes: %v", size, err)
		}
	}
	seq := r.Window().Seq()
	_, err := r.Emit(0, make([]byte, 61), 0)
	refuses(t, err, spec.ReasonEventTooLarge)
	var tooLarge *window.TooLargeError
	if !errors.As(err, &tooLarge) || tooLarge.Size != 61 || tooLarge.Max != 60 {
		t.Errorf("the error says %v", err)
	}
	n := r.calls().Stream
	_, err = r.Answer(n, make([]byte, 61), 0)
	refuses(t, err, spec.ReasonEventTooLarge)
	r.is(n, spec.Attached) // and it can still be answered
	if _, err := r.Answer(n, make([]byte, 60), 0); err != nil || r.Window().Seq() != seq+1 {
		t.Errorf("after the refusals: seq %d, %v, want %d", r.Window().Seq(), err, seq+1)
	}
}

func TestCallsInFlightAreCapped(t *testing.T) {
	r := begin(t, func(cfg *session.Config) { cfg.Requests = 2 })
	first, second := r.calls(), r.calls()
	_, err := r.Call(nil)
	refuses(t, err, spec.ReasonTooManyRequests)
	r.answers(first.Stream, 1)
	_, err = r.Call(nil)
	refuses(t, err, spec.ReasonTooManyRequests) // its answer is not delivered
	r.takes(first, 1, 1)
	r.calls()
	r.breaks(second.Stream)
	_, err = r.Call(nil)
	refuses(t, err, spec.ReasonTooManyRequests) // a call without a reader runs on
}

func TestRecordsAreCappedOldestFinishedFirst(t *testing.T) {
	r := begin(t, func(cfg *session.Config) { cfg.Streams = 4; cfg.Requests = 4 }) // the standalone stream is one
	running := r.calls()
	second, third := r.calls(), r.calls()
	_, err := r.Call(nil)
	refuses(t, err, spec.ReasonTooManyStreams) // nothing is finished

	r.answers(third.Stream, 1)
	_, err = r.Call(nil)
	refuses(t, err, spec.ReasonTooManyStreams) // a view still carries it
	r.takes(third, 1, 1)
	r.answers(second.Stream, 1)
	r.takes(second, 1, 1)

	r.calls()
	r.is(third.Stream, spec.Forgotten) // it finished first
	r.is(second.Stream, spec.FinishedDetached)
	r.is(running.Stream, spec.Attached)
	if len(r.Streams()) != 4 {
		t.Errorf("%d records", len(r.Streams()))
	}
	r.refused(spec.ReasonCursorEvicted, r.id(0, third.Stream, 0))
}

func TestViewsAreCappedButAHalfOpenOneLocksNobodyOut(t *testing.T) {
	r := begin(t, func(cfg *session.Config) { cfg.Views = 2 })
	first, second := r.calls(), r.calls()
	r.refused(spec.ReasonTooManyViews)
	r.refused(spec.ReasonCursorAhead, r.id(9, 0, 9)) // a refusal is no view
	r.resumes(0, r.cursor(first.Stream, 0))          // it supersedes
	r.breaks(second.Stream)
	r.resumes(0)
}

func TestUnknownOutcomeAlwaysFits(t *testing.T) {
	for _, c := range []struct {
		name     string
		maxEvent int
		unknown  func(session.LostCall) []byte
		want     string
	}{
		{"no hook", 100, nil, session.UnknownText},
		{"nothing from the hook", 100, func(session.LostCall) []byte { return nil }, session.UnknownText},
		{"too much from the hook", 20, func(session.LostCall) []byte { return make([]byte, 21) }, session.UnknownText},
		{"hardly any room", 3, nil, "out"},
	} {
		r := begin(t, func(cfg *session.Config) { cfg.Window.MaxEvent, cfg.Unknown = c.maxEvent, c.unknown })
		n := r.calls().Stream
		r.breaks(n)
		if err := r.ElapseDetach(n, 0); err != nil {
			t.Fatal(err)
		}
		taken, err := r.DeliverTo(r.resumes(0, r.cursor(n, 0)), 0)
		if err != nil || string(taken.Event.Payload) != c.want {
			t.Errorf("%s: the stream ends with %q, %v, want %q", c.name, taken.Event.Payload, err, c.want)
		}
	}
}

func TestViewInTheWayOfRetention(t *testing.T) {
	r := begin(t, windowOf(2))
	n := r.calls().Stream
	r.answers(n, 1)
	v := r.Stream(n).View
	r.emits(0, 1, 2) // its answer is gone, and its view has not taken it
	r.is(n, spec.FinishedAttached)
	if err := r.nothing(v); !errors.Is(err, session.ErrOvertaken) {
		t.Fatal(err)
	}
	r.is(n, spec.Forgotten) // as soon as the view is out of the way
}

func TestAgedEventsAreGoneBeforeTheDecision(t *testing.T) {
	r := begin(t, func(cfg *session.Config) { cfg.Window.Age = 100 })
	r.emits(0, 1, 1)
	cursor := r.cursor(0, 0)
	r.now = 100 // an event of exactly the age is retained
	r.takes(r.resumes(0, cursor), 1, 1)
	r.breaks(0)
	r.now = 101
	if _, _, err := r.Resume(session.Request{Cursors: []string{cursor}}, r.now); !errors.Is(err, spec.ReasonCursorEvicted) {
		t.Fatalf("an event that is too old is still replayed: %v", err)
	}
}

// TestDrainIsOutOfTheWayOfRetention: of two streams whose answers are evicted
// while views carry them, none outlives the end of its view. (A drained session
// once kept them as finished for ever.)
func TestDrainIsOutOfTheWayOfRetention(t *testing.T) {
	r := begin(t, windowOf(2))
	first, second := r.calls().Stream, r.calls().Stream
	r.answers(first, 1)
	r.answers(second, 1)
	r.emits(0, 1, 1) // the first answer is gone
	if err := r.Drain(0); err != nil {
		t.Fatal(err)
	}
	if err := r.EndViews(0); err != nil {
		t.Fatal(err)
	}
	r.is(first, spec.Forgotten)
	r.is(second, spec.FinishedDetached)
	r.emits(0, 2, 2)
	r.is(second, spec.Forgotten)
}

// TestLastNumber drives a session to the end of its numbers: they end, they do
// not start again, and even then a call that nobody comes back for ends.
func TestLastNumber(t *testing.T) {
	r := begin(t)
	n := r.calls().Stream
	*r.Window() = window.Resume(&r.cfg.Window, math.MaxUint64-1)
	r.Window().Open(0)
	r.Window().Open(n)
	if _, err := r.Emit(0, []byte("the last"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := r.Emit(0, []byte("one too many"), 0)
	var exhausted *window.ExhaustedError
	if !errors.As(err, &exhausted) {
		t.Fatalf("after the last number: %v", err)
	}
	r.breaks(n)
	if err := r.ElapseDetach(n, 0); err != nil {
		t.Fatal(err)
	}
	r.is(n, spec.Forgotten) // no number was left for its answer, so it retains nothing
	r.refused(spec.ReasonCursorEvicted, r.id(0, n, 0))
}

// Whoever has as many calls as may be can still have the standalone stream, and
// the stream of each call back: by default there are more views than calls, also
// where somebody allows more calls.
func TestCallsLeaveRoomForViews(t *testing.T) {
	for _, o := range []session.Options{{}, {Requests: 3}, {Requests: 500}} {
		r := registry(t, o)
		s := opens(t, r, "alice")
		var last *session.View
		calls := 0
		for ; ; calls++ {
			_, v, err := s.Call(nil)
			if err != nil {
				refuses(t, err, spec.ReasonTooManyRequests)
				break
			}
			last = v
		}
		if _, _, err := s.Resume(session.Request{}); err != nil {
			t.Errorf("%d calls, and the standalone stream: %v", calls, err)
		}
		cursor := last.Position().String()
		if err := last.Break(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Resume(session.Request{Cursors: []string{cursor}}); err != nil {
			t.Errorf("%d calls, and one of them comes back: %v", calls, err)
		}
	}
}

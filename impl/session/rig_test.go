package session_test

import (
	"errors"
	"fmt"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// rig is one core with its configuration, the rows that fired or refused, and
// words for the stories of the tests.
type rig struct {
	testing.TB
	*session.Core
	cfg  *session.Config
	rows map[string]int
	now  int64
}

// begin opens a session; each change is made to its configuration first.
func begin(t testing.TB, changes ...func(*session.Config)) *rig {
	t.Helper()
	r := &rig{TB: t, cfg: session.DefaultConfig(), rows: map[string]int{}}
	for _, change := range changes {
		change(r.cfg)
	}
	r.cfg.Observe = func(o session.Observation) {
		if o.Refused != nil {
			r.rows[o.Refused.Row]++
		} else {
			r.rows[o.Step.Row.ID]++
		}
	}
	r.Core = session.NewCore(r.cfg)
	if err := r.Initialize(session.SessionID{1}, "the session", false, false); err != nil {
		t.Fatalf("initialize: %v", err)
	}
	return r
}

func windowOf(events int) func(*session.Config) {
	return func(cfg *session.Config) { cfg.Window.Events = events }
}

// emits emits events named "stream/first" … "stream/last" by their ordinals.
func (r *rig) emits(stream, first, last uint64) {
	r.Helper()
	for i := first; i <= last; i++ {
		e, err := r.Emit(stream, name(stream, i), r.now)
		if err != nil {
			r.Fatalf("emit %d on stream %d: %v", i, stream, err)
		}
		if e.ID.Ordinal != i || e.ID.Stream != stream {
			r.Fatalf("event %d of stream %d was called %v", i, stream, e.ID)
		}
	}
}

func name(stream, ordinal uint64) []byte { return fmt.Appendf(nil, "%d/%d", stream, ordinal) }

// calls opens a stream with its view.
func (r *rig) calls() *session.ViewState {
	r.Helper()
	v, err := r.Call("a call")
	if err != nil {
		r.Fatalf("call: %v", err)
	}
	return v
}

// breaks says that the stream's connection is gone.
func (r *rig) breaks(stream uint64) {
	r.Helper()
	if err := r.Break(stream, r.now); err != nil {
		r.Fatalf("break of stream %d: %v", stream, err)
	}
}

// answers ends the stream with the event of that ordinal.
func (r *rig) answers(stream, ordinal uint64) {
	r.Helper()
	if _, err := r.Answer(stream, name(stream, ordinal), r.now); err != nil {
		r.Fatalf("answer on stream %d: %v", stream, err)
	}
}

// cursor returns the text of the event id of an ordinal that is retained, the
// floor, or 0.
func (r *rig) cursor(stream, ordinal uint64) string {
	r.Helper()
	seq, ok := r.Window().Lookup(stream, ordinal)
	if !ok {
		r.Fatalf("stream %d retains no event %d", stream, ordinal)
	}
	return r.id(seq, stream, ordinal)
}

// id returns the text of an event id that need not have been issued.
func (r *rig) id(seq, stream, ordinal uint64) string {
	return spec.EventID{Tag: r.Tag(), Seq: seq, Stream: stream, Ordinal: ordinal}.String()
}

// resumes resumes and expects a view that begins at an ordinal.
func (r *rig) resumes(at uint64, cursors ...string) *session.ViewState {
	r.Helper()
	d, v, err := r.Resume(session.Request{Cursors: cursors}, r.now)
	if err != nil {
		r.Fatalf("resume at %v: %v", cursors, err)
	}
	if v == nil {
		r.Fatalf("resume at %v: verdict %v and no view", cursors, d.Verdict)
	}
	if v.Start.Ordinal != at || d.Position.Ordinal != at {
		r.Fatalf("resume at %v begins after %d (announced %v), want after %d", cursors, v.Start.Ordinal, d.Position, at)
	}
	return v
}

// refused resumes, and expects a reason and that nothing has changed.
func (r *rig) refused(want spec.Reason, cursors ...string) session.Decision {
	r.Helper()
	before := r.Snapshot()
	d, v, err := r.Resume(session.Request{Cursors: cursors}, r.now)
	if v != nil || d.Verdict != spec.VerdictRefuse || d.Reason != want || !errors.Is(err, want) {
		r.Fatalf("resume at %q: %v %q (view %v, error %v), want refuse %q", cursors, d.Verdict, d.Reason, v, err, want)
	}
	if after := r.Snapshot(); after != before {
		r.Fatalf("a refusal changed the session from\n%s\nto\n%s", before, after)
	}
	return d
}

// takes expects that the view takes exactly the events first … last, and
// returns what it says then: nil if it waits for more.
func (r *rig) takes(v *session.ViewState, first, last uint64) error {
	r.Helper()
	next := first
	for {
		taken, err := r.DeliverTo(v, r.now)
		if err != nil || !taken.OK {
			if next != last+1 {
				r.Fatalf("view of stream %d took the events up to %d (then %v), want %d to %d", v.Stream, next-1, err, first, last)
			}
			return err
		}
		ev := taken.Event
		if ev.Ordinal != next || ev.Stream != v.Stream || string(ev.Payload) != string(name(v.Stream, next)) {
			r.Fatalf("view of stream %d took %v %q, want event %d", v.Stream, ev.Position, ev.Payload, next)
		}
		next++
	}
}

// nothing expects that the view takes nothing.
func (r *rig) nothing(v *session.ViewState) error {
	r.Helper()
	return r.takes(v, 1, 0)
}

// is expects the state of a stream.
func (r *rig) is(stream uint64, want spec.State) {
	r.Helper()
	if got := r.Stream(stream).State; got != want {
		r.Fatalf("stream %d is %v, want %v", stream, got, want)
	}
}

// refuses expects an error to be a refusal for that reason.
func refuses(t testing.TB, err error, want spec.Reason) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %s", err, want)
	}
}

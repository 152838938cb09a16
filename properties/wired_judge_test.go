package properties

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// The books that judge wired runs notice each thing that they are there for.
func TestWiredBooksNotice(t *testing.T) {
	r := &wiredRun{hits: hits{}, plan: wiredPlan{Window: 256, Detach: time.Minute, Session: time.Minute,
		Callers: [][]wiredCall{{{Events: 3}, {Events: 3}}}}}
	var err error
	synctest.Test(t, func(*testing.T) { err = r.run() })
	if err != nil {
		t.Fatal(err)
	}
	if err := r.judge(); err != nil {
		t.Fatal(err)
	}
	good := slices.DeleteFunc(slices.Clone(r.applied), func(ev client.Event) bool { return len(ev.Payload) == 0 })
	first := good[0]
	for _, test := range []struct {
		name  string
		spoil func(r *wiredRun)
		says  string
	}{
		{"an event is applied twice", func(r *wiredRun) { r.applied = append(r.applied, good[2]) }, "duplicate"},
		{"an event is left out", func(r *wiredRun) { r.applied = slices.Delete(slices.Clone(good), 1, 2) }, "loss"},
		{"the first event is left out", func(r *wiredRun) { r.applied = slices.Clone(good[1:]) }, "loss"},
		{"events change places", func(r *wiredRun) { r.applied[0], r.applied[1] = good[1], good[0] }, "loss"},
		{"an event goes to another call", func(r *wiredRun) { r.applied[4].Stream = first.Stream }, "merge"},
		{"an event goes to another epoch", func(r *wiredRun) { r.applied[7].Stream.Epoch++ }, "merge"},
		{"an event is of another session", func(r *wiredRun) {
			r.applied[1].ID = strings.Replace(good[1].ID, good[1].ID[:8], "00000000", 1)
		}, "merge"},
		{"an event says something else", func(r *wiredRun) { r.applied[0].Payload = good[1].Payload }, "was emitted as"},
		{"an event was never emitted", func(r *wiredRun) { delete(r.emitted, first.ID) }, "nobody emitted"},
		{"an answered call lacks an event", func(r *wiredRun) { r.emitted[strings.Repeat("0", 32)+":99:1:9"] = "c0.0/1#4" }, "loss"},
		{"a call has two outcomes", func(r *wiredRun) {
			r.outcomes[first.Stream] = append(r.outcomes[first.Stream], r.outcomes[first.Stream][0])
		}, "2 outcomes"},
		{"a call has no outcome", func(r *wiredRun) { delete(r.outcomes, first.Stream) }, "2 calls and 1 outcomes"},
		{"an unknown outcome is forgotten", func(r *wiredRun) { r.forgotten = append(r.forgotten, first.Stream) }, "does not know"},
		{"a call never ends", func(r *wiredRun) { delete(r.calls, "c0.1") }, "1 of 2 calls"},
		{"a call runs twice", func(r *wiredRun) { r.executed["c0.0"]++ }, "ran 2 times"},
		{"a call that ran is said not to have run", func(r *wiredRun) { r.calls["c0.0"] = wiredResult{first.Stream, "not run"} }, "said not to have run"},
		{"a call is answered and never ran", func(r *wiredRun) { r.executed["c0.0"] = 0 }, "never ran"},
		{"a call gets the answer of another", func(r *wiredRun) { r.calls["c0.0"] = r.calls["c0.1"] }, "was told"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &wiredRun{plan: r.plan, hits: hits{}, applied: slices.Clone(good), emitted: cloned(r.emitted), answered: cloned(r.answered),
				executed: cloned(r.executed), outcomes: cloned(r.outcomes), calls: cloned(r.calls)}
			test.spoil(s)
			if err := s.judge(); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

func cloned[K comparable, V any](m map[K]V) map[K]V {
	c := map[K]V{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

// A trace of a wired run in which the server lied about one event is refused.
func TestWiredTracesCanBeRefused(t *testing.T) {
	r := &wiredRun{hits: hits{}, plan: wiredPlan{Window: 256, Detach: time.Minute, Session: time.Minute, Callers: [][]wiredCall{{{Events: 3}}}}}
	var err error
	synctest.Test(t, func(*testing.T) { err = r.run() })
	if err != nil {
		t.Fatal(err)
	}
	s := newSpoiled(t, r.traces[0].Bytes())
	for at, step := range s.steps {
		if step.Trigger == spec.ViewDelivers.String() {
			if got := rejectedAt(t, s.with(s.dropped(at), true)); got < at {
				t.Errorf("without line %d it is refused at %d", at, got)
			}
			return
		}
	}
	t.Error("no view took anything")
}

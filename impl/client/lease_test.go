package client

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"example.com/reattach/spec"
)

// R10: a resumption, or a fresh view, that a newer attempt superseded stops the
// client: no fence, no DELETE, and its calls are pending, for the other holder
// has them in the record.
func TestASupersededAttemptYields(t *testing.T) {
	g := newRig(t, Record{Lease: 3}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	resume := g.resumed(id, conn)
	if resume.Numbered.Generation != 3 || resume.Numbered.Counter == 0 {
		t.Errorf("the resumption is numbered %v", resume.Numbered)
	}
	earlier := resume.Numbered
	g.do(g.core.ConnectionBreaks(id, resume.Conn))
	g.do(g.core.Reconnect(id, false))
	resume = g.find(spec.SendResume)
	g.take()
	if resume.Numbered.Compare(earlier) <= 0 {
		t.Errorf("after %v comes %v", earlier, resume.Numbered)
	}
	g.do(g.core.Refuses(id, resume.Conn, Refusal{Status: 409, Reason: spec.ReasonAttemptSuperseded}))
	g.state(spec.Abandoned)
	if _, ended := g.outcomes[id]; ended || !g.has(spec.ReportYielded) || g.has(spec.SendDelete) || g.has(spec.CommitFence) {
		t.Errorf("handed out %v, outcomes %v", effects(g.actions), g.outcomes)
	}
	g.refused(spec.ReasonEpochAbandoned, func() ([]Action, error) { _, a, err := g.core.Call(Call{}, false); return a, err })
	if g.durable.State != RecordOpen || len(g.durable.Calls) != 1 {
		t.Errorf("the record says %+v", g.durable)
	}

	// A POST has no attempt, so for a call it is a refusal like any other.
	g = newRig(t, Record{Lease: 3}, CoreOptions{})
	g.open()
	id, actions, err := g.core.Call(Call{}, false)
	g.do(actions, err)
	g.do(g.core.Send(id, []byte("call")))
	g.commitAll()
	post := g.actions[slices.IndexFunc(g.actions, func(a Action) bool { return a.Do == spec.SendPost })]
	g.do(g.core.Refuses(id, post.Conn, Refusal{Status: 409, Reason: spec.ReasonAttemptSuperseded}))
	g.state(spec.Open)
}

// A client that is closed twice gives the record back once: the second time it
// may be another one's.
func TestTheRecordIsGivenBackOnce(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		store := &MemoryStore{}
		first := dial(t, &server{}, store, Options{})
		if _, err := New(ctx, &server{}, store, Options{}); !errors.Is(err, spec.ReasonLeaseHeld) {
			t.Errorf("a second client: %v", err)
		}
		first.Close()
		second, err := New(ctx, &server{}, store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		first.Close()
		if _, err := New(ctx, &server{}, store, Options{}); !errors.Is(err, spec.ReasonLeaseHeld) {
			t.Errorf("a third client, while the second holds the record: %v", err)
		}
		if lease := second.Snapshot().Record.Lease; lease != 2 {
			t.Errorf("the second holder has lease %d", lease)
		}
	})
}

// A client that cannot begin gives the record back.
func TestAClientThatCannotBeginHoldsNothing(t *testing.T) {
	store := NewMemoryStore(Record{State: RecordOpen})
	for range 2 {
		if _, err := New(context.Background(), &server{}, store, Options{}); err == nil || errors.Is(err, spec.ReasonLeaseHeld) {
			t.Errorf("got %v, want that the record is not valid", err)
		}
	}
}

// An observer is told of moves and of refusals in the words of spec, but not of
// what each event does; and the application is told that a stream was resumed.
func TestObserverAndResumed(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("one", "answer"), cut: func(view int, events []Event) (int, error) {
			if view == 1 {
				return min(1, len(events)), io.EOF
			}
			return len(events), io.EOF
		}}
		var mu sync.Mutex
		seen := map[string]spec.Observed{}
		var resumed []StreamID
		c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true,
			Observer: func(o spec.Observed) {
				mu.Lock()
				defer mu.Unlock()
				seen[o.Row] = o
			},
			OnStream: func(r StreamReport) {
				mu.Lock()
				defer mu.Unlock()
				if r.Kind == StreamResumed {
					resumed = append(resumed, r.Stream)
				}
			}})
		if _, err := c.Call(ctx, Request{Build: build("call")}); err != nil {
			t.Fatal(err)
		}
		if err := c.Open(ctx, nil); !errors.Is(err, spec.ReasonEpochOpen) {
			t.Fatal(err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if o := seen["CS21"]; o.Machine != "clientstream" || o.From != spec.Resuming || o.To != spec.Streaming || o.Refused {
			t.Errorf("of the resumption it was told %+v", o)
		}
		if o := seen["EP02"]; o.Machine != "epoch" || !o.Refused || o.Reason != spec.ReasonEpochOpen {
			t.Errorf("of the refusal it was told %+v", o)
		}
		for _, row := range []string{"CS44", "CS74"} {
			if o, told := seen[row]; told {
				t.Errorf("it was told of an event: %+v", o)
			}
		}
		if len(resumed) != 1 || resumed[0].Request == 0 {
			t.Errorf("resumed were %v", resumed)
		}
	})
}

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

// Case 28 at the driver: the session is gone under 8 parallel calls. One
// abandonment, one DELETE, no new session by itself; then one in quarantine.
func TestTheSessionIsGone(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("a", "answer"), cut: func(int, []Event) (int, error) { return 1, errCut }}
		// The first view of each call is cut only when all 8 are under way.
		gate := make(chan struct{})
		s.before = func(ctx context.Context, cursor string, post bool) (Response, error, bool) {
			if id, err := spec.ParseEventID(cursor); err == nil && id.Stream == 0 || post {
				return Response{}, nil, false
			}
			<-gate
			return Response{}, nil, false
		}
		var states []string
		var mu sync.Mutex
		outcomes := map[StreamID]OutcomeKind{}
		c := dial(t, s, &MemoryStore{}, Options{
			OnState: func(ch StateChange) { states = append(states, fmt.Sprint(ch.To, " ", string(ch.Reason))) },
			OnOutcome: func(o Outcome) {
				mu.Lock()
				defer mu.Unlock()
				if _, twice := outcomes[o.Stream]; twice {
					t.Errorf("call %v ended twice", o.Stream)
				}
				outcomes[o.Stream] = o.Kind
			},
		})
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() {
				_, err := c.Call(ctx, Request{Build: build("call"), Key: "k"})
				errs <- err
			}()
		}
		synctest.Wait()
		s.end()
		close(gate)
		for range cap(errs) {
			var unknown *UnknownError
			if err := <-errs; !errors.As(err, &unknown) || !errors.Is(err, spec.ReasonSessionUnknown) {
				t.Errorf("a call ended with %v", err)
			}
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"Opening ", "Open ", "Fencing session_unknown", "Abandoned session_unknown"}, states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"session-1"}, s.look().deleted); diff != "" || s.look().opened != 1 || len(outcomes) != 8 {
			t.Errorf("deleted %v, opened %d, outcomes %v", s.look().deleted, s.look().opened, outcomes)
		}
		if _, err := c.Call(ctx, Request{Build: build("call")}); !errors.Is(err, spec.ReasonEpochAbandoned) {
			t.Errorf("a call after the end: %v", err)
		}

		// The caller opens the next epoch. Nothing passes but what may.
		s.cut, s.before = nil, nil
		if err := c.Open(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if c.State() != spec.Quarantined || len(c.Unknowns()) != 8 {
			t.Fatalf("%v with %d unknowns", c.State(), len(c.Unknowns()))
		}
		posts := len(s.look().posts)
		if _, err := c.Call(ctx, Request{Build: build("call")}); !errors.Is(err, spec.ReasonQuarantined) {
			t.Errorf("a call in quarantine: %v", err)
		}
		if err := c.Notify(ctx, Message{Payload: []byte("x")}); !errors.Is(err, spec.ReasonQuarantined) {
			t.Errorf("a message in quarantine: %v", err)
		}
		if len(s.look().posts) != posts {
			t.Errorf("posted in quarantine: %v", s.look().posts[posts:])
		}
		if err := c.Notify(ctx, Message{Payload: []byte("initialized"), Passes: true}); err != nil {
			t.Error(err)
		}
		for _, u := range c.Unknowns() {
			if c.State() != spec.Quarantined || u.Key != "k" {
				t.Errorf("%v, %+v", c.State(), u)
			}
			if err := c.Resolve(ctx, u.Stream, GaveUp); err != nil {
				t.Error(err)
			}
			if err := c.Resolve(ctx, u.Stream, GaveUp); !errors.Is(err, ErrNoUnknown) {
				t.Errorf("resolved twice: %v", err)
			}
		}
		if got, err := c.Call(ctx, Request{Build: build("call")}); err != nil || string(got.Payload) != "answer" {
			t.Errorf("after the quarantine: %q, %v", got.Payload, err)
		}
	})
}

func TestEndingASession(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*Client, context.Context) error
		state spec.State
	}{
		"abandoned":  {(*Client).Abandon, spec.Abandoned},
		"terminated": {(*Client).Terminate, spec.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, ctx context.Context) {
				s := &server{handle: says("a", "answer")}
				store := &flaky{}
				client := dial(t, s, store, Options{})
				store.failures = 2 // the fence is tried again
				if err := c.end(client, ctx); err != nil {
					t.Fatal(err)
				}
				if client.State() != c.state || !slices.Equal(s.look().deleted, []string{"session-1"}) {
					t.Errorf("%v, deleted %v", client.State(), s.look().deleted)
				}
				if client.Session().ID != "" {
					t.Errorf("session %v", client.Session())
				}
				if err := client.Open(ctx, nil); err != nil || client.State() != spec.Open {
					t.Errorf("opened again: %v, %v", client.State(), err)
				}
				store.failures = 100
				if err := c.end(client, ctx); !errors.Is(err, spec.ReasonCommitFailed) || client.State() != spec.Fencing {
					t.Errorf("a fence that cannot be written: %v, %v", client.State(), err)
				}
				store.failures = 0
				if err := client.Abandon(ctx); err != nil || client.State() != c.state {
					t.Errorf("asked for another attempt: %v, %v", client.State(), err)
				}
			})
		})
	}
}

// flaky is a store whose next writes fail.
type flaky struct {
	MemoryStore
	failures int
	after    error // the write becomes durable, and yet is reported so
}

func (f *flaky) Commit(ctx context.Context, ch Change, events []Event) (Record, error) {
	if f.failures > 0 && ch.Kind != TakeLease {
		f.failures--
		return Record{}, errors.New("disk full")
	}
	r, err := f.MemoryStore.Commit(ctx, ch, events)
	if f.after != nil && len(events) > 0 {
		return Record{}, f.after
	}
	return r, err
}

// A commit that fails is no loss: the event comes again. One of which nobody
// can tell ends the epoch.
func TestAnEventThatCannotBeApplied(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("a", "b", "answer")}
		failures, applied := 3, []string{}
		c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true, Apply: func(ev Event) error {
			if failures--; failures >= 0 {
				return errors.New("not now")
			}
			applied = append(applied, string(ev.Payload))
			return nil
		}})
		if got, err := c.Call(ctx, Request{Build: build("call")}); err != nil || string(got.Payload) != "answer" {
			t.Fatalf("answer %q, %v", got.Payload, err)
		}
		if diff := cmp.Diff([]string{"a", "b", "answer"}, applied); diff != "" {
			t.Error(diff)
		}
	})
	story(t, func(t *testing.T, ctx context.Context) {
		store := &flaky{}
		c := dial(t, &server{handle: says("answer")}, store, Options{NoStandalone: true})
		store.after = fmt.Errorf("timeout: %w", ErrUncertain)
		var unknown *UnknownError
		if _, err := c.Call(ctx, Request{Build: build("call")}); !errors.As(err, &unknown) {
			t.Errorf("got %v", err)
		}
		if c.State() != spec.Abandoned {
			t.Errorf("the epoch is %v", c.State())
		}
	})
}

func TestAnOpeningThatFails(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		c, err := New(ctx, &failing{}, &MemoryStore{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var failed *OpenError
		if err := c.Open(ctx, nil); !errors.As(err, &failed) || !errors.Is(err, errCut) {
			t.Errorf("got %v", err)
		}
		if _, err := c.Call(ctx, Request{Build: build("call")}); !errors.Is(err, spec.ReasonEpochNotOpen) {
			t.Errorf("a call without a session: %v", err)
		}
	})
	story(t, func(t *testing.T, ctx context.Context) { // the record cannot be written
		s, store := &server{}, &flaky{failures: 1}
		c, err := New(ctx, s, store, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Open(ctx, nil); !errors.Is(err, spec.ReasonCommitFailed) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if !slices.Equal(s.look().deleted, []string{"session-1"}) {
			t.Errorf("deleted %v", s.look().deleted)
		}
	})
	story(t, func(t *testing.T, ctx context.Context) { // closed meanwhile
		s := &slow{server: &server{}}
		c, err := New(ctx, s, &MemoryStore{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		result := make(chan error, 1)
		go func() { result <- c.Open(ctx, nil) }()
		synctest.Wait()
		if err := c.Terminate(ctx); err != nil {
			t.Error(err)
		}
		if err := <-result; !errors.Is(err, spec.ReasonEpochClosed) {
			t.Errorf("the opening: %v", err)
		}
		time.Sleep(time.Minute)
		if !slices.Equal(s.look().deleted, []string{"session-1"}) {
			t.Errorf("deleted %v: the session came too late", s.look().deleted)
		}
	})
}

type failing struct{ server }

func (*failing) Open(context.Context, OpenRequest) (Opened, error) { return Opened{}, errCut }

type slow struct{ *server }

func (s *slow) Open(ctx context.Context, r OpenRequest) (Opened, error) {
	sleep(ctx, 10*time.Second)
	return s.server.Open(ctx, r)
}

// An epoch that ends while a call is being built ends it, typed: it was never
// sent, so it did not run, whether the next epoch is open by then or not.
func TestAnEpochEndsWhileACallIsBuilt(t *testing.T) {
	for _, next := range []bool{false, true} {
		story(t, func(t *testing.T, ctx context.Context) {
			s := &server{handle: says("answer")}
			c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true})
			answer, err := c.Call(ctx, Request{Build: func(uint64) ([]byte, error) {
				if err := c.Abandon(ctx); err != nil {
					t.Error(err)
				}
				if next {
					if err := c.Open(ctx, []byte("initialize")); err != nil {
						t.Error(err)
					}
				}
				return []byte("call"), nil
			}})
			var notRun *NotRunError
			if !errors.As(err, &notRun) || !errors.Is(err, spec.ReasonEpochAbandoned) || len(c.Unknowns()) != 0 {
				t.Errorf("next epoch open %v: %q, %v, unknowns %v", next, answer.Payload, err, c.Unknowns())
			}
		})
	}
}

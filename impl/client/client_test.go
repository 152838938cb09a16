package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

// story runs a test in virtual time. Every goroutine that the client started
// must have ended when it returns.
func story(t *testing.T, tell func(t *testing.T, ctx context.Context)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { tell(t, context.Background()) })
}

func says(lines ...string) func(PostRequest) []string {
	return func(PostRequest) []string { return lines }
}

func build(text string) func(uint64) ([]byte, error) {
	return func(request uint64) ([]byte, error) { return fmt.Appendf(nil, "%s %d", text, request), nil }
}

// dial makes a client, opens a session, and closes the client with the test.
func dial(t *testing.T, s *server, store Store, o Options) *Client {
	t.Helper()
	c, err := New(context.Background(), s, store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if c.State() == spec.Idle {
		if err := c.Open(context.Background(), []byte("initialize")); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// heard notes what a call is told before its answer.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) on(ev Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, string(ev.Payload))
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lines)
}

func TestACallIsAnsweredAcrossCuts(t *testing.T) {
	for name, end := range map[string]error{"clean ends": io.EOF, "breaks": errCut} {
		t.Run(name, func(t *testing.T) {
			story(t, func(t *testing.T, ctx context.Context) {
				s := &server{handle: says("a", "b", "c", "answer"), cut: func(_ int, events []Event) (int, error) { return min(1, len(events)), end }}
				c := dial(t, s, &MemoryStore{}, Options{})
				var told heard
				start := time.Now()
				got, err := c.Call(ctx, Request{Build: build("call"), OnEvent: told.on})
				if err != nil || string(got.Payload) != "answer" {
					t.Fatalf("answer %q, %v", got.Payload, err)
				}
				if diff := cmp.Diff([]string{"a", "b", "c"}, told.all()); diff != "" {
					t.Error(diff)
				}
				if n := len(s.cursors()); n != 3 {
					t.Errorf("%d resumptions: %v", n, s.cursors())
				}
				if waited := time.Since(start); waited != 0 {
					t.Errorf("waited %v: a resumption after progress is immediate (R26)", waited)
				}
			})
		})
	}
}

func TestEventsIsTheSameAsAnIterator(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("a", "b", "answer"), cut: func(_ int, events []Event) (int, error) { return min(1, len(events)), errCut }}
		c := dial(t, s, &MemoryStore{}, Options{})
		var got []string
		for ev, err := range c.Events(ctx, Request{Build: build("call")}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(string(ev.Payload), " ", ev.Answer))
		}
		if diff := cmp.Diff([]string{"a false", "b false", "answer true"}, got); diff != "" {
			t.Error(diff)
		}
		for range c.Events(ctx, Request{Build: build("call")}) {
			break // the call goes on by itself
		}
		synctest.Wait()
		if calls := c.Snapshot().Record.Calls; len(calls) != 0 {
			t.Errorf("in flight: %v", calls)
		}
	})
}

// Case 12 at the driver: a server that answers 200 and ends the view, again
// and again. Without progress the call is pending within the budget; with some
// every third time it is answered.
func TestSuccessfulNothing(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		nothing := func(_ int, events []Event) (int, error) { return 0, io.EOF }
		s := &server{handle: says("a", "b", "c", "d", "answer"), cut: nothing}
		var reports []StreamReport
		c := dial(t, s, &MemoryStore{}, Options{OnStream: func(r StreamReport) { reports = append(reports, r) }})
		start := time.Now()
		_, err := c.Call(ctx, Request{Build: build("call")})
		var pending *PendingError
		if !errors.As(err, &pending) || !errors.Is(err, spec.ReasonStreamSuspended) {
			t.Fatalf("got %v", err)
		}
		if waited := time.Since(start); waited > spec.DefaultResumeTime {
			t.Errorf("told after %v", waited)
		}
		cursors := s.cursors()
		if n := len(cursors); n != spec.DefaultResumeAttempts || len(slices.Compact(cursors)) != 1 {
			t.Errorf("%d resumptions at %v", n, slices.Compact(cursors))
		}
		synctest.Wait()
		if len(reports) != 1 || reports[0].Stream != pending.Stream || reports[0].Kind != StreamSuspended {
			t.Errorf("reported %v", reports)
		}
		if calls := c.Snapshot().Record.Calls; len(calls) != 1 {
			t.Errorf("in flight: %v", calls)
		}
		if _, err := c.Await(ctx, pending.Stream); !errors.As(err, &pending) {
			t.Errorf("awaited while suspended: %v", err)
		}
		// The caller tries again, and the server comes round: every third view
		// brings something.
		s.mu.Lock()
		s.views = 0
		s.cut = func(view int, events []Event) (int, error) {
			if view%3 == 0 {
				return 1, io.EOF
			}
			return 0, io.EOF
		}
		s.mu.Unlock()
		if err := c.Resume(ctx, pending.Stream); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Await(ctx, pending.Stream); err != nil || string(got.Payload) != "answer" {
			t.Errorf("answer %q, %v", got.Payload, err)
		}
		if _, err := c.Await(ctx, pending.Stream); !errors.Is(err, ErrNoStream) {
			t.Errorf("awaited after the end: %v", err)
		}
	})
}

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

// Case 24: whatever fails, and however, a waiting call returns typed within
// the budget.
func TestACallNeverHangs(t *testing.T) {
	broken := func(context.Context) (Response, error) { return Response{}, errCut }
	silence := func(ctx context.Context) (Response, error) { <-ctx.Done(); return Response{}, ctx.Err() }
	status := func(code int) func(context.Context) (Response, error) {
		return func(context.Context) (Response, error) { return Response{Status: code}, nil }
	}
	mute := func(ctx context.Context) (Response, error) {
		return Response{Kind: ResponseStream, Status: 200, SessionID: "session-1", Events: &reader{ctx: ctx, live: true}}, nil
	}
	budget := spec.DefaultResumeTime + defaultAnswerTimeout
	for _, c := range []struct {
		name    string
		post    func(context.Context) (Response, error)
		get     func(context.Context) (Response, error)
		want    any
		because spec.Reason
		takes   time.Duration // at most
	}{
		{name: "the dial fails", post: func(context.Context) (Response, error) { return Response{}, fmt.Errorf("dial: %w", ErrNotSent) }, want: new(*NotRunError), because: spec.ReasonNotExecuted},
		{name: "the POST breaks", post: broken, want: new(*UnknownError), because: spec.ReasonStreamTruncated},
		{name: "the POST meets 404", post: status(404), want: new(*UnknownError), because: spec.ReasonSessionUnknown},
		{name: "the POST meets 503", post: status(503), want: new(*UnknownError), because: spec.ReasonRefused},
		{name: "the POST is taken, and nothing else", post: func(context.Context) (Response, error) { return Response{Kind: ResponseTaken, Status: 202}, nil },
			want: new(*UnknownError), because: spec.ReasonRefused},
		{name: "the POST is answered by a message that is no answer", post: func(context.Context) (Response, error) {
			return Response{Kind: ResponseOnce, Status: 200, SessionID: "session-1", Event: bare("x")}, nil
		}, want: new(*UnknownError), because: spec.ReasonEventWithoutID},
		{name: "cut without a position", post: func(ctx context.Context) (Response, error) {
			return Response{Kind: ResponseStream, Status: 200, SessionID: "session-1", Events: &reader{ctx: ctx, end: errCut}}, nil
		}, want: new(*UnknownError), because: spec.ReasonStreamTruncated},
		{name: "cut, resumption breaks", get: broken, want: new(*PendingError), because: spec.ReasonStreamSuspended, takes: budget},
		{name: "cut, resumption cannot be dialled", get: func(context.Context) (Response, error) { return Response{}, ErrNotSent },
			want: new(*PendingError), because: spec.ReasonStreamSuspended, takes: budget},
		{name: "cut, resumption is never answered", get: silence, want: new(*PendingError), because: spec.ReasonStreamSuspended, takes: budget},
		{name: "cut, resumption meets 503", get: status(503), want: new(*PendingError), because: spec.ReasonStreamSuspended, takes: budget},
		{name: "cut, resumption meets 401", get: status(401), want: new(*PendingError), because: spec.ReasonStreamSuspended, takes: budget},
		{name: "cut, resumption meets 404", get: status(404), want: new(*UnknownError), because: spec.ReasonSessionUnknown},
		{name: "cut, resumption meets 410", get: status(410), want: new(*UnknownError), because: spec.ReasonRefused},
		{name: "cut, resumption is redirected", get: status(307), want: new(*UnknownError), because: spec.ReasonRedirected},
		{name: "cut, resumption is accepted without proof, and silent", get: mute, want: new(*PendingError), because: spec.ReasonStreamSuspended, takes: budget},
		{name: "cut, the stream is complete", get: func(context.Context) (Response, error) {
			return Response{Kind: ResponseComplete, Status: 204, SessionID: "session-1"}, nil
		}, want: new(*UnknownError), because: spec.ReasonStreamCompleted},
	} {
		t.Run(c.name, func(t *testing.T) {
			story(t, func(t *testing.T, ctx context.Context) {
				s := &server{handle: says("a", "answer"), cut: func(int, []Event) (int, error) { return 1, errCut }}
				client := dial(t, s, &MemoryStore{}, Options{NoStandalone: true})
				s.before = func(ctx context.Context, _ string, post bool) (Response, error, bool) {
					instead := c.get
					if post {
						instead = c.post
					}
					if instead == nil {
						return Response{}, nil, false
					}
					resp, err := instead(ctx)
					return resp, err, true
				}
				start := time.Now()
				got, err := client.Call(ctx, Request{Build: build("call")})
				if err == nil || !errors.As(err, c.want) || !errors.Is(err, c.because) {
					t.Errorf("got %q, %T %v", got.Payload, err, err)
				}
				if took := time.Since(start); took > c.takes {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// Case 56: a long, quiet call behind a balancer that recycles connections.
func TestAQuietCallIsNeverSuspended(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("answer")}
		c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true})
		ready := time.Now().Add(20 * time.Minute)
		s.before = func(ctx context.Context, cursor string, post bool) (Response, error, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if time.Now().After(ready) {
				return Response{}, nil, false
			}
			if post {
				s.streams = append(s.streams, nil)
				s.emit(1, "answer", true)
			}
			recycled, stop := context.WithTimeout(ctx, time.Minute)
			context.AfterFunc(ctx, stop)
			return Response{Kind: ResponseStream, Status: 200, SessionID: s.session,
				Position: s.id(1, 0), Events: &reader{ctx: recycled, live: true, alive: 15 * time.Second}}, nil, true
		}
		got, err := c.Call(ctx, Request{Build: build("call")})
		if err != nil || string(got.Payload) != "answer" {
			t.Fatalf("answer %q, %v", got.Payload, err)
		}
		if n := len(s.cursors()); n < 20 {
			t.Errorf("%d resumptions in 20 minutes", n)
		}
	})
}

func TestNewCredentialsKeepTheToken(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("a", "answer"), cut: func(view int, events []Event) (int, error) { return 1, errCut }}
		fresh := false
		c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true, Refresh: func(context.Context) error { fresh = true; return nil }})
		s.before = func(_ context.Context, _ string, post bool) (Response, error, bool) {
			return Response{Status: http.StatusUnauthorized}, nil, !post && !fresh
		}
		if got, err := c.Call(ctx, Request{Build: build("call")}); err != nil || string(got.Payload) != "answer" {
			t.Errorf("answer %q, %v", got.Payload, err)
		}
		if cursors := s.cursors(); len(cursors) != 2 || cursors[0] != cursors[1] {
			t.Errorf("resumed at %v", cursors)
		}
	})
}

// R26: a server says how long to wait, and is believed within bounds.
func TestWhatTheServerAsksFor(t *testing.T) {
	for _, c := range []struct {
		name       string
		retry      time.Duration
		retryAfter time.Duration
		waits      time.Duration
	}{
		{name: "nothing", waits: 0},
		{name: "retry", retry: 7 * time.Second, waits: 7 * time.Second},
		{name: "a retry beyond the bound", retry: time.Hour, waits: spec.DefaultMaxRetryHint},
		{name: "Retry-After", retryAfter: 9 * time.Second, waits: 9 * time.Second},
		{name: "a Retry-After beyond the bound", retryAfter: time.Hour, waits: spec.DefaultMaxRetryHint},
	} {
		t.Run(c.name, func(t *testing.T) {
			story(t, func(t *testing.T, ctx context.Context) {
				s := &server{handle: says("a", "answer"), cut: func(int, []Event) (int, error) { return 1, io.EOF }}
				client := dial(t, s, &MemoryStore{}, Options{NoStandalone: true})
				deferred := false
				s.before = func(ctx context.Context, _ string, post bool) (Response, error, bool) {
					switch {
					case post && c.retry > 0:
						s.mu.Lock()
						defer s.mu.Unlock()
						s.streams = append(s.streams, nil)
						s.emit(1, "a", false)
						s.emit(1, "answer", true)
						resp := s.view(ctx, 1, 0)
						r := resp.Events.(*reader)
						r.events = []Event{{HasRetry: true, Retry: c.retry}, r.events[0]}
						return resp, nil, true
					case !post && c.retryAfter > 0 && !deferred:
						deferred = true
						return Response{Status: 503, RetryAfter: c.retryAfter}, nil, true
					}
					return Response{}, nil, false
				}
				start := time.Now()
				if _, err := client.Call(ctx, Request{Build: build("call")}); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(start); waited != c.waits {
					t.Errorf("waited %v, want %v", waited, c.waits)
				}
			})
		})
	}
}

func TestBackoffGrowsWithJitterToItsBound(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, jitter := range []float64{0, 0.5, 0.999} {
		o.Rand = func() float64 { return jitter }
		if o.backoff(0, 0) != 0 {
			t.Error("the first attempt waits")
		}
		for n := 1; n < 100; n++ {
			full := o.BackoffMax
			if n < 7 {
				full = min(o.BackoffMax, o.BackoffBase*time.Duration(1<<(n-1)))
			}
			if wait := o.backoff(n, 0); wait < full/2 || wait > full {
				t.Errorf("attempt %d, jitter %v: %v", n, jitter, wait)
			}
		}
	}
	if _, err := (Options{BackoffBase: time.Hour}).withDefaults(); err == nil {
		t.Error("a base above the maximum was accepted")
	}
}

// A restart inside a session: what was in flight goes on in the next process.
func TestARestartGoesOn(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		down := true
		s := &server{handle: says("a", "answer"), cut: func(int, []Event) (int, error) { return 1, errCut }}
		s.before = func(_ context.Context, _ string, post bool) (Response, error, bool) {
			return Response{}, errCut, !post && down
		}
		var store MemoryStore
		first := dial(t, s, &store, Options{NoStandalone: true})
		result := make(chan error, 1)
		go func() {
			_, err := first.Call(ctx, Request{Build: build("call"), Key: "k"})
			result <- err
		}()
		time.Sleep(time.Second)
		first.Close()
		if err := <-result; !errors.Is(err, ErrClosed) {
			t.Fatalf("while closing: %v", err)
		}
		if _, err := first.Call(ctx, Request{Build: build("call")}); !errors.Is(err, ErrClosed) {
			t.Errorf("after closing: %v", err)
		}
		if len(s.look().deleted) != 0 {
			t.Error("closing ended the session")
		}

		down = false
		second := dial(t, s, &store, Options{NoStandalone: true})
		recovered := second.Recovered()
		id := StreamID{1, 1}
		if recovered.State != spec.Open || recovered.Session.ID != "session-1" || !slices.Equal(recovered.Pending, []StreamID{id}) {
			t.Fatalf("recovered %+v", recovered)
		}
		if got, err := second.Await(ctx, id); err != nil || string(got.Payload) != "answer" {
			t.Errorf("answer %q, %v", got.Payload, err)
		}
		if got, err := second.Call(ctx, Request{Build: build("call")}); err != nil || got.Stream.Request != 2 {
			t.Errorf("the next call: %+v, %v", got.Stream, err)
		}
		if s.look().opened != 1 {
			t.Errorf("%d sessions", s.look().opened)
		}
	})
}

func TestACallerThatLeavesDoesNotEndTheCall(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("a", "answer"), cut: func(int, []Event) (int, error) { return 1, errCut }}
		up := make(chan struct{})
		s.before = func(_ context.Context, _ string, post bool) (Response, error, bool) {
			if !post {
				<-up
			}
			return Response{}, nil, false
		}
		c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true})
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := c.Call(short, Request{Build: build("call")})
		var pending *PendingError
		if !errors.As(err, &pending) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		close(up)
		if got, err := c.Await(ctx, pending.Stream); err != nil || string(got.Payload) != "answer" {
			t.Errorf("answer %q, %v", got.Payload, err)
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
	if f.failures > 0 {
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

func TestMessagesAndTheirRefusals(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("answer")}
		c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true})
		if err := c.Notify(ctx, Message{Payload: []byte("hello")}); err != nil || !slices.Equal(s.look().messages, []string{"hello"}) {
			t.Errorf("%v, %v", s.look().messages, err)
		}
		var refused *RefusalError
		s.before = func(context.Context, string, bool) (Response, error, bool) { return Response{Status: 400}, nil, true }
		if err := c.Notify(ctx, Message{Payload: []byte("x")}); !errors.As(err, &refused) || c.State() != spec.Open {
			t.Errorf("400: %v, %v", err, c.State())
		}
		s.before = func(context.Context, string, bool) (Response, error, bool) { return Response{Status: 404}, nil, true }
		if err := c.Notify(ctx, Message{Payload: []byte("x")}); !errors.Is(err, spec.ReasonSessionUnknown) {
			t.Errorf("404: %v", err)
		}
		synctest.Wait()
		if c.State() != spec.Abandoned || len(s.look().deleted) != 1 {
			t.Errorf("%v, deleted %v", c.State(), s.look().deleted)
		}
	})
}

func TestTheStandaloneStreamIsAttachedByItself(t *testing.T) {
	for _, leave := range []bool{false, true} {
		story(t, func(t *testing.T, ctx context.Context) {
			var told heard
			s := &server{handle: says("answer"), alive: time.Second}
			c, err := New(ctx, s, &MemoryStore{}, Options{NoStandalone: leave, OnEvent: told.on})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Open(ctx, nil); err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			s.emit(0, "before the view", false)
			s.mu.Unlock()
			time.Sleep(time.Minute)
			if got := len(s.look().gets); (got > 0) == leave {
				t.Errorf("%d GETs", got)
			}
			if !leave && s.look().gets[0].Cursor != spec.PositionZero(spec.TagOf("session-1", ""), 0).String() {
				t.Errorf("asked with %+v", s.look().gets[0])
			}
		})
	}
	story(t, func(t *testing.T, ctx context.Context) { // a server that announces nothing
		s := &server{handle: says("answer"), silent: true}
		c := dial(t, s, &MemoryStore{}, Options{})
		synctest.Wait()
		if len(s.look().gets) != 0 {
			t.Errorf("asked with %+v", s.look().gets)
		}
		if err := c.Listen(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(s.look().gets) != 1 || s.look().gets[0].Cursor != "" {
			t.Errorf("asked with %+v", s.look().gets)
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

// The table is not decoration: without a row the wired client refuses the
// move, and who waits is told.
func TestAWiredClientRefusesWhatTheTableLacks(t *testing.T) {
	for _, row := range []string{"CS01", "CS03", "CS17", "CS21", "CS44", "CS52", "CS68", "CS73", "CS74", "CS75", "EP15"} {
		t.Run(row, func(t *testing.T) {
			story(t, func(t *testing.T, ctx context.Context) {
				s := &server{handle: says("a", "answer"), cut: func(int, []Event) (int, error) { return 1, io.EOF }}
				refused := 0
				o := Options{NoStandalone: true, Core: CoreOptions{Machines: without(t, row), Observe: func(_ *fsm.Step, r *fsm.RefusedError) {
					if r != nil {
						refused++
					}
				}}}
				c := dial(t, s, &MemoryStore{}, o)
				start := time.Now()
				got, err := c.Call(ctx, Request{Build: build("call")})
				var because *fsm.RefusedError
				if !errors.As(err, &because) || refused == 0 {
					t.Errorf("%q, %v without row %s; %d refusals", got.Payload, err, row, refused)
				}
				if waited := time.Since(start); waited != 0 {
					t.Errorf("told after %v", waited)
				}
			})
		})
	}
}

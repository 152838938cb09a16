package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/spec"
)

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
		reports = slices.DeleteFunc(reports, func(r StreamReport) bool { return r.Kind == StreamResumed }) // proven each time
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
	complete := func(seq uint64) func(context.Context) (Response, error) { // the cursor is the id of the only event
		at := spec.EventID{Tag: spec.TagOf("session-1", ""), Seq: seq, Stream: 1, Ordinal: seq}.String()
		return func(context.Context) (Response, error) {
			return Response{Kind: ResponseComplete, Status: 204, SessionID: "session-1", Position: at}, nil
		}
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
		{name: "cut, the stream is complete, there", get: complete(1), want: new(*UnknownError), because: spec.ReasonStreamCompleted},
		{name: "cut, the stream is complete, elsewhere", get: complete(2), want: new(*UnknownError), because: spec.ReasonPositionUnexpected},
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
			return Response{Status: 401}, nil, !post && !fresh
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

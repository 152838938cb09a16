package client

import (
	"context"
	"errors"
	"io"
	"testing"

	"example.com/reattach/spec"
)

// R22, R26: a resumption that is refused for good ends the epoch at once, and one
// that is refused for now is tried again.
func TestARefusedResumption(t *testing.T) {
	for status, want := range map[int]struct {
		state    spec.State
		requests int
	}{400: {spec.Abandoned, 1}, 404: {spec.Abandoned, 1}, 409: {spec.Abandoned, 1}, 410: {spec.Abandoned, 1},
		408: {spec.Open, 2}, 429: {spec.Open, 2}, 503: {spec.Open, 2}} {
		story(t, func(t *testing.T, ctx context.Context) {
			gets := 0
			s := &server{handle: says("a", "answer"), cut: func(view int, events []Event) (int, error) {
				if view == 1 {
					return 1, io.EOF
				}
				return len(events), io.EOF
			}}
			s.before = func(_ context.Context, _ string, post bool) (Response, error, bool) {
				if post {
					return Response{}, nil, false
				}
				gets++
				return Response{Status: status}, nil, gets == 1
			}
			c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true})
			got, err := c.Call(ctx, Request{Build: build("call")})
			var unknown *UnknownError
			if answered := err == nil && string(got.Payload) == "answer"; answered != (want.state == spec.Open) || !answered && !errors.As(err, &unknown) {
				t.Errorf("%d: %q, %v", status, got.Payload, err)
			}
			if c.State() != want.state || gets != want.requests {
				t.Errorf("%d: the epoch is %v after %d requests, want %v after %d", status, c.State(), gets, want.state, want.requests)
			}
		})
	}
}

// R23: a POST whose connection breaks before anything of its answer is not sent
// again, whoever waits.
func TestAPostIsSentOnce(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("answer")}
		s.before = func(_ context.Context, _ string, post bool) (Response, error, bool) { return Response{}, errCut, post }
		c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true})
		var unknown *UnknownError
		if _, err := c.Call(ctx, Request{Build: build("call")}); !errors.As(err, &unknown) || len(s.posts) != 1 {
			t.Errorf("%d POSTs, %v", len(s.posts), err)
		}
	})
}

// R24: the strict policy gives up what was cut, and not what ended; a reader
// that was cut inside an event says so with io.ErrUnexpectedEOF.
func TestAnEndIsNoTruncation(t *testing.T) {
	for end, want := range map[error]bool{io.EOF: true, io.ErrUnexpectedEOF: false, errCut: false} {
		story(t, func(t *testing.T, ctx context.Context) {
			s := &server{handle: says("a", "answer"), cut: func(view int, events []Event) (int, error) {
				if view == 1 {
					return 1, end
				}
				return len(events), io.EOF
			}}
			c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true, Core: CoreOptions{Strict: true}})
			_, err := c.Call(ctx, Request{Build: build("call")})
			if goesOn := err == nil && c.State() == spec.Open; goesOn != want || len(s.gets) > 0 != want {
				t.Errorf("%v: %v, the epoch is %v, %d resumptions", end, err, c.State(), len(s.gets))
			}
		})
	}
}

// R20: the application hears of each event once, from either callback.
func TestEachEventIsToldOnce(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		s := &server{handle: says("a", "b", "answer"), cut: func(_ int, events []Event) (int, error) { return min(1, len(events)), io.EOF }}
		var all, ofCall heard
		c := dial(t, s, &MemoryStore{}, Options{NoStandalone: true, OnEvent: all.on})
		if _, err := c.Call(ctx, Request{Build: build("call"), OnEvent: ofCall.on}); err != nil {
			t.Fatal(err)
		}
		c.Close() // every callback was called then
		if got := all.all(); len(got) != 3 || got[0] != "a" || got[1] != "b" || got[2] != "answer" {
			t.Errorf("of all events: %v", got)
		}
		if got := ofCall.all(); len(got) != 2 || got[0] != "a" || got[1] != "b" {
			t.Errorf("of the call's: %v", got)
		}
	})
}

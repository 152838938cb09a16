package client

import (
	"context"
	"errors"
	"fmt"
	"io"
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
func dial(t *testing.T, s Transport, store Store, o Options) *Client {
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
	for _, leave := range []bool{false, true} { // and so after a restart
		story(t, func(t *testing.T, ctx context.Context) {
			var store MemoryStore
			s := &server{handle: says("answer")}
			dial(t, s, &store, Options{NoStandalone: true}).Close()
			second := dial(t, s, &store, Options{NoStandalone: leave})
			synctest.Wait()
			if got := len(s.look().gets); (got > 0) == leave {
				t.Errorf("%d GETs after a restart", got)
			}
			if got := len(second.Recovered().Resumed); (got > 0) == leave {
				t.Errorf("recovered %+v", second.Recovered())
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
				waited := time.Since(start)
				c.Close() // nobody observes any more
				if !errors.As(err, &because) || refused == 0 {
					t.Errorf("%q, %v without row %s; %d refusals", got.Payload, err, row, refused)
				}
				if waited != 0 {
					t.Errorf("told after %v", waited)
				}
			})
		})
	}
}

package properties

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
)

// A sink is a response that takes everything: a proxy that holds the connection
// of a client which is gone, and reads.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) WriteHeader(status int)           { s.status = status }
func (s *sink) Write(b []byte) (int, error)      { return len(b), nil }
func (s *sink) Flush()                           {}
func (s *sink) SetWriteDeadline(time.Time) error { return nil }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) EnableFullDuplex() error          { return nil }
func (s *sink) Unwrap() http.ResponseWriter      { return nil }

// Abandoned: 10,000 sessions that nobody ends, in four ways: no DELETE, a
// socket that is killed, never initialised, a half-open GET whose proxy reads
// on. All of it is gone after the budgets: the views' bounded time, and then
// the session's.
func TestCase17Abandoned(t *testing.T) {
	sessions := 10_000
	if raceDetector {
		sessions = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		handler, err := streamhttp.NewHandler(func(_ context.Context, m *streamhttp.Message) {
			if m.Method == "initialize" {
				m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
			}
		}, streamhttp.Options{Hosts: []string{"*"}, Session: session.Options{Now: time.Now}})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(ctx context.Context, method, id, body string) *sink {
			r, err := http.NewRequestWithContext(ctx, method, "http://reattach.test/", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Content-Type", "application/json")
			if id != "" {
				r.Header.Set("Mcp-Session-Id", id)
				r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
			}
			w := &sink{header: http.Header{}}
			defer func() { // how a response is aborted
				if p := recover(); p != nil && p != http.ErrAbortHandler {
					panic(p)
				}
			}()
			handler.ServeHTTP(w, r)
			return w
		}
		var views sync.WaitGroup
		ctx, kill := context.WithCancel(context.Background())
		for i := range sessions {
			id := ask(t.Context(), "POST", "", initializeText).header.Get("Mcp-Session-Id")
			if id == "" {
				t.Fatal("no session")
			}
			way := i % 4
			if way != 2 {
				ask(t.Context(), "POST", id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			}
			switch way {
			case 1:
				views.Go(func() { ask(ctx, "GET", id, "") })
			case 3:
				views.Go(func() { ask(context.Background(), "GET", id, "") })
			}
		}
		synctest.Wait()
		if n := handler.Stats().Sessions; n != sessions {
			t.Fatalf("%d sessions, want %d", n, sessions)
		}
		kill()
		time.Sleep(31 * time.Minute) // what had no view
		if n := handler.Stats().Sessions; n != sessions/4 {
			t.Errorf("%d sessions are left after their budget, want those whose views live on: %d", n, sessions/4)
		}
		time.Sleep(10 * time.Minute)
		if n := handler.Stats().Sessions; n != 0 {
			t.Errorf("%d sessions live for ever", n)
		}
		views.Wait() // every view has ended: nothing keeps its goroutine
		handler.Close()
	})
}

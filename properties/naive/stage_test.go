package naive_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/reattach/properties/naive"
)

// A stage is a server and a client with faults, a network between them that
// breaks where the story says so, and what really happened, counted here and
// not by either of them.
type stage struct {
	t      *testing.T
	server *naive.Server
	client *naive.Client

	mu       sync.Mutex
	cuts     []cut         // the next breaks, in order
	broke    chan struct{} // closed at the first break
	handler  http.Handler  // who answers at the address
	applied  []string      // names of the events that the application applied
	executed int
	crash    string // the application crashes before it applies this event
	on       string // an event, and
	then     func() // what happens elsewhere once it is applied
	late     bool   // resumptions reach the server only when the tool has ended
	ended    chan struct{}
}

// A cut breaks a response at its nth event: after it, or inside it.
type cut struct {
	event  int
	inside bool
}

// newStage opens a session. script is what the tool emits, one name an event;
// "|" waits for the first break.
func newStage(t *testing.T, so naive.ServerOptions, cf naive.ClientFault, script string, cuts ...cut) *stage {
	t.Helper()
	s := &stage{t: t, cuts: cuts, broke: make(chan struct{}), ended: make(chan struct{}, 1000)}
	s.server = s.newServer(so, script)
	s.handler = s.server
	front := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)
	s.client = naive.NewClient(naive.ClientOptions{
		Faults: cf, URL: front.URL, Apply: s.apply, Attempts: 5, Pause: time.Millisecond,
	})
	t.Cleanup(s.client.Close)
	if err := s.client.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) newServer(so naive.ServerOptions, script string) *naive.Server {
	so.Tool = func(ctx context.Context, c naive.Call) json.RawMessage {
		s.mu.Lock()
		s.executed++
		s.mu.Unlock()
		for name := range strings.FieldsSeq(script) {
			if name == "|" {
				select {
				case <-s.broke:
				case <-ctx.Done():
				}
				continue
			}
			c.Emit(named(name))
		}
		s.ended <- struct{}{}
		return json.RawMessage(`{"name":"answer"}`)
	}
	server := naive.NewServer(so)
	s.t.Cleanup(server.Close)
	return server
}

func named(name string) json.RawMessage {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/message","params":{"name":%q}}`, name)
}

func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.handler
	wait := s.late && r.Method == http.MethodGet
	s.mu.Unlock()
	if wait {
		<-s.ended
	}
	h.ServeHTTP(&breaking{ResponseWriter: w, stage: s}, r)
}

// breaking is a response that stops where the next cut says.
type breaking struct {
	http.ResponseWriter
	stage  *stage
	events int
}

func (b *breaking) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *breaking) Write(p []byte) (int, error) {
	if !strings.HasPrefix(string(p), "id: ") {
		return b.ResponseWriter.Write(p)
	}
	b.events++
	s := b.stage
	s.mu.Lock()
	hit := len(s.cuts) > 0 && s.cuts[0].event == b.events
	var c cut
	if hit {
		c, s.cuts = s.cuts[0], s.cuts[1:]
	}
	s.mu.Unlock()
	if !hit {
		return b.ResponseWriter.Write(p)
	}
	if c.inside {
		p = p[:len(p)-10]
	}
	b.ResponseWriter.Write(p)
	http.NewResponseController(b.ResponseWriter).Flush()
	s.breakOnce()
	panic(http.ErrAbortHandler)
}

func (s *stage) breakOnce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.broke:
	default:
		close(s.broke)
	}
}

func (s *stage) apply(ev naive.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m struct{ Params, Result struct{ Name string } }
	name := "garbled"
	if json.Unmarshal(ev.Message, &m) == nil {
		name = m.Params.Name + m.Result.Name
	}
	if name == s.crash {
		s.crash = ""
		return fmt.Errorf("the application crashed at %s", name)
	}
	s.applied = append(s.applied, name)
	if name == s.on {
		go s.then()
	}
	return nil
}

// whenApplied arranges for something to happen once an event is applied.
func (s *stage) whenApplied(name string, then func()) { s.on, s.then = name, then }

// cutNext breaks the next response after its nth event.
func (s *stage) cutNext(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts = []cut{{event: n}}
}

// answer returns the status of a request that the server answers directly, and
// the number of events that came with it.
func (s *stage) answer(r *http.Request) (status, events int) {
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, r)
	return w.Code, strings.Count(w.Body.String(), "id: ")
}

func (s *stage) call() error {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	_, err := s.client.Call(ctx, json.RawMessage(`{"name":"write"}`))
	return err
}

func (s *stage) expect(applied string, executed int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strings.Join(s.applied, " "); got != applied {
		s.t.Errorf("applied %q, want %q", got, applied)
	}
	if s.executed != executed {
		s.t.Errorf("the call was executed %d times, want %d", s.executed, executed)
	}
}

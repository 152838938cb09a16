package properties

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A scripted server answers as the test says, right or wrong. It opens
// sessions honestly; what follows is the script's.
type scripted struct {
	*httptest.Server
	mu          sync.Mutex
	session     string // of the last initialize
	initialized int
	posts       int      // calls
	cursors     []string // of the resumptions that came, "session cursor"
	deletes     int

	onPost   func(w http.ResponseWriter, n int, id json.RawMessage) // the n-th call, from 1
	onResume func(w http.ResponseWriter, n int, cursor string)      // the n-th resumption, from 1
}

func newScripted(t *testing.T) *scripted {
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *scripted) serve(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	json.NewDecoder(r.Body).Decode(&m)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == "DELETE":
		s.deletes++
		w.WriteHeader(http.StatusNoContent)
	case r.Method == "GET":
		s.cursors = append(s.cursors, r.Header.Get("Mcp-Session-Id")+" "+r.Header.Get("Last-Event-ID"))
		s.onResume(w, len(s.cursors), r.Header.Get("Last-Event-ID"))
	case m.Method == "initialize":
		s.initialized++
		s.session = fmt.Sprintf("session-%d", s.initialized)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", s.session)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.ID)
	case m.ID == nil:
		w.Header().Set("Mcp-Session-Id", s.session)
		w.WriteHeader(http.StatusAccepted)
	default:
		s.posts++
		s.onPost(w, s.posts, m.ID)
	}
}

// id is the id of an event of stream 1 in a session of the scripted server.
func (s *scripted) id(n uint64) string { return idIn(s.session, n) }

func idIn(session string, n uint64) string {
	return spec.EventID{Tag: spec.TagOf(session, ""), Seq: n, Stream: 1, Ordinal: n}.String()
}

// view begins an event stream; an empty session or position is not sent.
func view(w http.ResponseWriter, session, position string) {
	w.Header().Set("Content-Type", "text/event-stream")
	if session != "" {
		w.Header().Set("Mcp-Session-Id", session)
	}
	if position != "" {
		w.Header().Set("Reattach-Position", position)
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
}

func said(w io.Writer, id, text string) {
	if id != "" {
		fmt.Fprintf(w, "id: %s\n", id)
	}
	fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/said\",\"params\":{\"text\":%q}}\n\n", text)
}

func answered(w io.Writer, id string, request json.RawMessage, text string) {
	fmt.Fprintf(w, "id: %s\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"text\":%q}}\n\n", id, request, text)
}

// begins is the script of an honest beginning: the first call's view at
// position 0 and n events, and then the connection ends cleanly.
func (s *scripted) begins(n uint64) {
	s.onPost = func(w http.ResponseWriter, call int, id json.RawMessage) {
		view(w, s.session, s.id(0))
		for i := uint64(1); i <= n; i++ {
			said(w, s.id(i), fmt.Sprint("e", i))
		}
	}
}

// An appliedLog is what an application of ours was told to apply, in order,
// and what it was told besides.
type appliedLog struct {
	mu     sync.Mutex
	texts  []string
	epochs []uint64 // of each text
	states []client.StateChange
	ready  chan struct{}
}

// dial makes a client of ours that keeps a log.
func dial(t *testing.T, url string, o streamhttp.DialOptions) (*streamhttp.Client, *appliedLog) {
	t.Helper()
	log := &appliedLog{ready: make(chan struct{}, 1)}
	o.Apply = func(ev client.Event) error {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.texts = append(log.texts, textOf(ev.Payload))
		log.epochs = append(log.epochs, ev.Stream.Epoch)
		return nil
	}
	o.Driver.Core.Observe = wired.client(o.Driver.Core.Observe)
	o.Driver.OnState = func(c client.StateChange) {
		log.mu.Lock()
		defer log.mu.Unlock()
		log.states = append(log.states, c)
	}
	if o.Driver.BackoffBase == 0 {
		o.Driver.BackoffBase, o.Driver.BackoffMax = time.Millisecond, 5*time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := streamhttp.Dial(ctx, url, o)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c, log
}

func (l *appliedLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.texts...)
}

// abandoned returns why the epoch was abandoned, "" if it was not.
func (l *appliedLog) abandoned() spec.Reason {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.states {
		if c.To == spec.Fencing || c.To == spec.Abandoned {
			return c.Reason
		}
	}
	return ""
}

// work makes the call "work" and returns what came of it.
func work(c *streamhttp.Client) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	result, err := c.Call(ctx, "work", nil, nil)
	var r struct{ Text string }
	if err == nil {
		err = json.Unmarshal(result, &r)
	}
	return r.Text, err
}

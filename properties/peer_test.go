package properties

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/sse"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A stage is a server whose calls the test plays itself: every call of the
// method "work" is handed to the test, which emits on its stream and answers.
type stage struct {
	t       *testing.T
	handler *streamhttp.Handler
	server  *httptest.Server
	calls   chan *streamhttp.Message
	opened  chan *streamhttp.Session

	mu    sync.Mutex
	fired map[spec.Trigger]int // rows that fired, by trigger
}

func newStage(t *testing.T, o streamhttp.Options) *stage {
	t.Helper()
	s := &stage{t: t, calls: make(chan *streamhttp.Message, 64), opened: make(chan *streamhttp.Session, 64), fired: map[spec.Trigger]int{}}
	o.Session.Observe = wired.server(func(o session.Observation) {
		if o.Step.Row != nil {
			s.mu.Lock()
			s.fired[o.Step.Row.Trigger]++
			s.mu.Unlock()
		}
	})
	var err error
	if s.handler, err = streamhttp.NewHandler(s.app, o); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(s.handler)
	t.Cleanup(func() {
		s.handler.Close()
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s
}

func (s *stage) app(ctx context.Context, m *streamhttp.Message) {
	switch {
	case m.Method == "initialize":
		s.opened <- m.Session
		m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
	case m.Method == "work":
		s.calls <- m
		<-ctx.Done() // the test answers; the context ends with the session
	}
}

// await waits until the server has noticed something for the first time.
func (s *stage) await(what spec.Trigger) {
	s.t.Helper()
	for range 2000 {
		s.mu.Lock()
		n := s.fired[what]
		s.mu.Unlock()
		if n > 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatalf("the server never noticed %v", what)
}

// address is the host and port of the stage.
func (s *stage) address() string { return strings.TrimPrefix(s.server.URL, "http://") }

// A peer is a client that we trust with nothing: it speaks plain HTTP, shows
// what came back, and remembers only what the test tells it to.
type peer struct {
	t          *testing.T
	url        string
	session    string
	standalone string // what the answer to initialize announced
	server     *streamhttp.Session
	next       int
}

// open opens a session.
func (s *stage) open() *peer {
	s.t.Helper()
	p := &peer{t: s.t, url: s.server.URL}
	r := p.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	if r.status != 200 {
		s.t.Fatalf("initialize: %d %s", r.status, r.all())
	}
	io.Copy(io.Discard, r.body)
	p.session, p.standalone = r.header.Get("Mcp-Session-Id"), r.header.Get("Reattach-Standalone")
	p.server = <-s.opened
	return p
}

// A reply is what came back, not read yet.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   io.ReadCloser
	events *sse.Reader
	cancel context.CancelFunc
}

// send sends one request; headers are pairs.
func (p *peer) send(method, body string, headers ...string) *reply {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	p.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, p.url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.session != "" {
		req.Header.Set("Mcp-Session-Id", p.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	p.t.Cleanup(func() { res.Body.Close() })
	return &reply{p.t, res.StatusCode, res.Header, res.Body, sse.NewReader(res.Body, sse.Options{}), cancel}
}

// call posts a call of "work" and returns its view, and the call at the server.
func (s *stage) call(p *peer) (*reply, *streamhttp.Message) {
	s.t.Helper()
	p.next++
	r := p.send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"work"}`, p.next))
	if r.status != 200 {
		s.t.Fatalf("call: %d %s", r.status, r.all())
	}
	return r, <-s.calls
}

// attach asks for a view: at a cursor, or with none for the standalone stream.
func (p *peer) attach(cursors ...string) *reply {
	p.t.Helper()
	var headers []string
	for _, c := range cursors {
		headers = append(headers, "Last-Event-ID", c)
	}
	return p.send("GET", "", headers...)
}

// drop breaks the connection.
func (r *reply) drop() {
	r.cancel()
	r.body.Close()
}

// delivery returns the next event with a payload: its id and its text.
func (r *reply) delivery() (id, text string, err error) {
	for {
		ev, err := r.events.Next()
		if err != nil {
			return "", "", err
		}
		if ev.Kind == sse.Message {
			return string(ev.ID), textOf(ev.Data), nil
		}
	}
}

// read reads so many deliveries.
func (r *reply) read(n int) (texts []string) {
	r.t.Helper()
	for range n {
		_, text, err := r.delivery()
		if err != nil {
			r.t.Fatalf("after %v: %v", texts, err)
		}
		texts = append(texts, text)
	}
	return texts
}

// rest reads to the end of the stream, which must be a clean one.
func (r *reply) rest() (texts []string) {
	r.t.Helper()
	for {
		_, text, err := r.delivery()
		if err == io.EOF {
			return texts
		}
		if err != nil {
			r.t.Fatalf("after %v: %v", texts, err)
		}
		texts = append(texts, text)
	}
}

// over reads to the end of a view that was superseded: its connection is
// aborted, because even the end of a response would be something written.
func (r *reply) over() (texts []string) {
	for {
		_, text, err := r.delivery()
		if err != nil {
			return texts
		}
		texts = append(texts, text)
	}
}

// all is the whole body as text.
func (r *reply) all() string {
	body, _ := io.ReadAll(r.body)
	return string(body)
}

// refused checks that the request was refused, with that reason and its
// status, before any event.
func (r *reply) refused(why spec.Reason) {
	r.t.Helper()
	body := r.all()
	var answer struct {
		Error struct{ Data struct{ Reason spec.Reason } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error.Data.Reason != why {
		r.t.Errorf("answered %d %q, want the refusal %s", r.status, body, why)
	}
	if r.status != why.Status() {
		r.t.Errorf("%s came with status %d, want %d", why, r.status, why.Status())
	}
	if strings.Contains(body, "data:") || r.header.Get("Reattach-Position") != "" {
		r.t.Errorf("a refusal carries an event or a position: %q", body)
	}
}

// textOf is what a stage's event says: the parameter of a notification, or the
// result of an answer.
func textOf(data []byte) string {
	var m struct {
		Params, Result struct{ Text string }
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return "not JSON: " + string(data)
	}
	return m.Params.Text + m.Result.Text
}

// emit emits n events, numbered on from what the stream had, and returns
// their ids; the text of an event is prefix and number.
func emit(t *testing.T, s *streamhttp.Stream, prefix string, from, to int) (ids []string) {
	t.Helper()
	for i := from; i <= to; i++ {
		e, err := s.Emit("notifications/said", map[string]string{"text": fmt.Sprintf("%s%d", prefix, i)})
		if err != nil {
			t.Fatalf("emit %s%d: %v", prefix, i, err)
		}
		ids = append(ids, e.ID.String())
	}
	return ids
}

func answer(t *testing.T, s *streamhttp.Stream, text string) {
	t.Helper()
	if _, err := s.Answer(map[string]string{"text": text}); err != nil {
		t.Fatalf("answer %s: %v", text, err)
	}
}

// span is the texts prefix+from … prefix+to.
func span(prefix string, from, to int) (texts []string) {
	for i := from; i <= to; i++ {
		texts = append(texts, fmt.Sprintf("%s%d", prefix, i))
	}
	return texts
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

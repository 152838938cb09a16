package streamhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// A bench is an application that tests program by method. It opens every
// session, answers pings, and counts how often each method ran.
type bench map[string]func(ctx context.Context, m *Message)

func (b bench) app(ctx context.Context, m *Message) {
	switch do, ok := b[m.Method]; {
	case ok:
		do(ctx, m)
	case m.Method == methodInitialize:
		_, _ = m.Stream.Answer(map[string]any{"protocolVersion": Negotiate(m.Params), "capabilities": struct{}{}, "serverInfo": map[string]string{"name": "bench", "version": "1"}})
	case m.Method == "count":
		countTo(m, nil)
	case m.Kind == Request:
		_, _ = m.Stream.Fail(CodeMethodNotFound, "no such method", nil)
	}
}

// countTo emits params.n notifications and answers with n. A gate lets one
// event through for each token.
func countTo(m *Message, gate <-chan struct{}) {
	var p struct{ N, Size int }
	_ = json.Unmarshal(m.Params, &p)
	p.N, p.Size = min(p.N, 10_000), min(max(p.Size, 0), 1<<20) // a fuzzer asks for anything
	for i := 1; i <= p.N; i++ {
		if gate != nil {
			<-gate
		}
		_, _ = m.Stream.Emit("count", map[string]any{"i": i, "pad": strings.Repeat("x", p.Size)})
	}
	if gate != nil {
		<-gate
	}
	_, _ = m.Stream.Answer(map[string]int{"n": p.N})
}

// A rig is a handler behind a real socket, and a client that speaks plain HTTP.
type rig struct {
	t       testing.TB
	handler *Handler
	server  *httptest.Server
	client  *http.Client
	url     string
	network *pipeNet // in virtual time only
	subject string   // sent as the header Subject
	session string
	version string
}

func newRig(t testing.TB, app App, o Options) *rig {
	t.Helper()
	h, err := NewHandler(app, o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return &rig{t: t, handler: h, server: server, client: server.Client(), url: server.URL, version: Version20251125}
}

// bySubject is an Options.Subject for tests: the header Subject.
func bySubject(r *http.Request) (string, error) {
	if s := r.Header.Get("Subject"); s != "nobody" {
		return s, nil
	}
	return "", fmt.Errorf("nobody may ask")
}

// as is the same rig for another subject, and with no session.
func (r *rig) as(subject string) *rig {
	other := *r
	other.subject, other.session = subject, ""
	return &other
}

// request sends a request with the rig's session and version; headers are
// pairs, and win; a value "-" removes the header.
func (r *rig) request(ctx context.Context, method, body string, headers ...string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.session != "" {
		req.Header.Set(HeaderSessionID, r.session)
		req.Header.Set(HeaderProtocolVersion, r.version)
	}
	if r.subject != "" {
		req.Header.Set("Subject", r.subject)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "-" {
			req.Header.Del(headers[i])
		} else {
			req.Header[http.CanonicalHeaderKey(headers[i])] = strings.Split(headers[i+1], "\x00")
		}
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (r *rig) post(body string, headers ...string) *http.Response {
	r.t.Helper()
	return r.request(r.t.Context(), http.MethodPost, body, headers...)
}

// open opens a session of the rig's version and makes it the rig's.
func (r *rig) open() (standalone spec.EventID) {
	r.t.Helper()
	r.session = ""
	resp := r.post(initializeOf(r.version))
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("initialize: %s: %s", resp.Status, readBody(r.t, resp))
	}
	r.session = resp.Header.Get(HeaderSessionID)
	id, err := spec.ParseEventID(resp.Header.Get(HeaderStandalone))
	if err != nil {
		r.t.Fatalf("%s %q: %v", HeaderStandalone, resp.Header.Get(HeaderStandalone), err)
	}
	resp.Body.Close()
	return id
}

func initializeOf(version string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"rig","version":"1"}}}`
}

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
}

// A wire is an event stream that a test reads.
type wire struct {
	t      testing.TB
	resp   *http.Response
	events *sse.Reader
	drop   context.CancelFunc
}

// call posts a call and returns its event stream.
func (r *rig) call(id int, method, params string, headers ...string) *wire {
	r.t.Helper()
	return r.wire(http.MethodPost, request(id, method, params), headers...)
}

// resume asks for a view; "" = without a cursor.
func (r *rig) resume(cursor string, headers ...string) *wire {
	r.t.Helper()
	if cursor != "" {
		headers = append([]string{HeaderLastEventID, cursor}, headers...)
	}
	return r.wire(http.MethodGet, "", headers...)
}

func (r *rig) wire(method, body string, headers ...string) *wire {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	r.t.Cleanup(cancel)
	resp := r.request(ctx, method, body, headers...)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		r.t.Fatalf("want an event stream, got %s %v: %s", resp.Status, resp.Header, readBody(r.t, resp))
	}
	return &wire{t: r.t, resp: resp, events: sse.NewReader(resp.Body, sse.Options{Comments: true}), drop: cancel}
}

// tryResume is resume for goroutines, and for connections that may break.
func (r *rig) tryResume(cursor string) (*wire, error) {
	ctx, cancel := context.WithCancel(r.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header = http.Header{HeaderSessionID: {r.session}, "Last-Event-Id": {cursor}}
	resp, err := r.client.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	return &wire{t: r.t, resp: resp, events: sse.NewReader(resp.Body, sse.Options{Comments: true}), drop: cancel}, nil
}

func (w *wire) next() (sse.Event, error) {
	ev, err := w.events.Next()
	return ev.Clone(), err
}

// message returns the next delivery.
func (w *wire) message() sse.Event {
	w.t.Helper()
	for {
		ev, err := w.next()
		if err != nil {
			w.t.Fatalf("want a message, got %v", err)
		}
		if ev.Kind == sse.Message {
			return ev
		}
	}
}

// rest returns the deliveries up to the end of the stream, and how it ended.
func (w *wire) rest() (messages []sse.Event, err error) {
	for {
		ev, err := w.next()
		if err != nil {
			return messages, err
		}
		if ev.Kind == sse.Message {
			messages = append(messages, ev)
		}
	}
}

// all is rest for a stream that must end cleanly.
func (w *wire) all() []sse.Event {
	w.t.Helper()
	messages, err := w.rest()
	if err != io.EOF {
		w.t.Fatalf("the stream ended with %v after %d messages", err, len(messages))
	}
	return messages
}

func (w *wire) position() string { return w.resp.Header.Get(HeaderPosition) }

// ids are the event ids of deliveries, without the tag.
func ids(events []sse.Event) string {
	var out []string
	for _, ev := range events {
		_, rest, _ := strings.Cut(string(ev.ID), ":")
		out = append(out, rest)
	}
	return strings.Join(out, " ")
}

func readBody(t testing.TB, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading a body: %v", err)
	}
	return string(b)
}

// refusalOf reads a refusal, as the client does.
func refusalOf(t testing.TB, resp *http.Response) *Refusal {
	t.Helper()
	body := readBody(t, resp)
	if !json.Valid([]byte(body)) || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: not a JSON refusal: %q", resp.Status, body)
	}
	return parseRefusal(resp.StatusCode, resp.Header, bytes.NewReader([]byte(body)))
}

// within fails the test if a channel does not deliver in good time; good time
// is generous, because it is only for what never comes.
func within[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}

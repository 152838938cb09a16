package streamhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// What a server answers, the caller gets: results, error responses, and in
// between the notifications of this call and of no other.
func TestClientCalls(t *testing.T) {
	r := newRig(t, bench{"fail": func(_ context.Context, m *Message) { _, _ = m.Stream.Fail(-5, "no luck", map[string]int{"a": 1}) }}.app, Options{})
	c := mustDial(t, r.url, DialOptions{})
	defer c.Close()
	if got := c.Server(); !strings.Contains(string(got), `"name":"bench"`) {
		t.Errorf("the server says of itself: %s", got)
	}
	var wg sync.WaitGroup
	for n := range 10 {
		wg.Go(func() {
			var got []string
			result, err := c.Call(t.Context(), "count", map[string]int{"n": n}, func(in Incoming) {
				got = append(got, in.Method)
			})
			if err != nil || string(result) != fmt.Sprintf(`{"n":%d}`, n) || len(got) != n {
				t.Errorf("call %d: %s, %v, %d notifications", n, result, err, len(got))
			}
		})
	}
	wg.Wait()
	_, err := c.Call(t.Context(), "fail", nil, nil)
	if e := (*ResponseError)(nil); !errors.As(err, &e) || e.Code != -5 || e.Message != "no luck" || string(e.Data) != `{"a":1}` {
		t.Errorf("an error response: %v", err)
	}
	if n := c.Dropped(); n != 0 {
		t.Errorf("%d responses dropped", n)
	}
	if _, err := c.Call(t.Context(), "count", make(chan int), nil); !errors.Is(err, ErrPayload) {
		t.Errorf("parameters that are not JSON: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.listeners); n != 0 {
		t.Errorf("%d listeners are left", n)
	}
}

// The server talks by itself: on the standalone stream, which the client reads
// from its position 0 on, and by requests, which the client answers.
func TestClientListensAndAnswers(t *testing.T) {
	asked := make(chan string, 4)
	r := newRig(t, bench{
		methodReady: func(_ context.Context, m *Message) {
			_, _ = m.Session.Standalone().Emit("early", nil)
			go func() {
				for _, method := range []string{"ping", "roots/list", "fail", "boom"} {
					result, err := m.Session.Standalone().Request(context.Background(), method, nil)
					asked <- fmt.Sprintf("%s: %s %v", method, result, err)
				}
			}()
		},
	}.app, Options{})
	notified := make(chan Incoming, 1)
	c := mustDial(t, r.url, DialOptions{
		OnNotification: func(in Incoming) { notified <- in },
		OnRequest: func(_ context.Context, in Incoming) (any, error) {
			switch in.Method {
			case "roots/list":
				return map[string]any{"roots": []string{}}, nil
			case "fail":
				return nil, &ResponseError{Code: 7, Message: "seven"}
			}
			return nil, errors.New("boom")
		},
	})
	defer c.Close()
	if in := within(t, notified, "the notification"); in.Method != "early" || in.Stream.Request != 0 || in.EventID == "" {
		t.Errorf("got %+v", in)
	}
	for _, want := range []string{"ping: {} <nil>", `roots/list: {"roots":[]} <nil>`, "fail:  reattach: error response 7: seven", "boom:  reattach: error response -32603: boom"} {
		if got := within(t, asked, "the answer"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A process ends in the middle of a call; the next one, with the same record,
// gets the rest of it and its answer, and nothing twice.
func TestDialGoesOnFromTheRecord(t *testing.T) {
	gate := make(chan struct{}, 10)
	r := newRig(t, bench{"gated": gated(gate)}.app, Options{})
	path := filepath.Join(t.TempDir(), "record")
	var j journal
	open := func() *Client {
		return mustDial(t, r.url, DialOptions{Store: client.OpenFile(path), Apply: j.apply})
	}
	first := open()
	ctx, leave := context.WithCancel(t.Context())
	gate <- struct{}{}
	_, err := first.Call(ctx, "gated", map[string]int{"n": 2}, func(Incoming) { leave() })
	if pending := (*client.PendingError)(nil); !errors.As(err, &pending) {
		t.Fatalf("a call that was left: %v", err)
	}
	session := first.Driver().Session().ID
	first.Close()

	second := open()
	defer second.Close()
	recovered := second.Driver().Recovered()
	if len(recovered.Pending) != 1 || recovered.Session.ID != session {
		t.Fatalf("recovered %+v", recovered)
	}
	gate <- struct{}{}
	gate <- struct{}{}
	result, err := second.Await(t.Context(), recovered.Pending[0])
	if err != nil || string(result) != `{"n":2}` {
		t.Errorf("awaited: %s, %v", result, err)
	}
	want := `{"jsonrpc":"2.0","method":"count","params":{"i":1,"pad":""}}
{"jsonrpc":"2.0","method":"count","params":{"i":2,"pad":""}}
{"jsonrpc":"2.0","id":1,"result":{"n":2}}`
	if got := j.text(); got != want {
		t.Errorf("applied\n%s\nwant\n%s", got, want)
	}
	if n := r.handler.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// A swap is an address behind which the server can be replaced.
type swap struct {
	mu sync.Mutex
	h  http.Handler
}

func (s *swap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	h := s.h
	s.mu.Unlock()
	h.ServeHTTP(w, r)
}

func (s *swap) put(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.h = h
}

// TestCase34RollingDeploy: the server is drained and another one answers at
// its address. It knows no such session and mints none; the client abandons
// the epoch, its call is an unknown outcome, and the next epoch opens in
// quarantine until that is resolved (R6, R22, R23).
func TestCase34RollingDeploy(t *testing.T) {
	hold := make(chan struct{})
	app := bench{"hold": func(_ context.Context, m *Message) { _, _ = m.Stream.Emit("one", nil); <-hold }}.app
	newHandler := func() *Handler {
		h, err := NewHandler(app, Options{RetryHint: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		return h
	}
	old, next := newHandler(), newHandler()
	t.Cleanup(func() { close(hold) })
	address := &swap{h: old}
	server := httptest.NewServer(address)
	t.Cleanup(server.Close)
	c := mustDial(t, server.URL, DialOptions{})
	defer c.Close()
	ended, began := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := c.Call(context.Background(), "hold", nil, func(Incoming) { close(began) })
		ended <- err
	}()
	within(t, began, "the call's first event")
	address.put(next)
	drained, cancel := context.WithCancel(t.Context())
	cancel()
	_ = old.Drain(drained)

	err := within(t, ended, "the call's end")
	unknown := (*client.UnknownError)(nil)
	if !errors.As(err, &unknown) {
		t.Fatalf("the call ended with %v", err)
	}
	if n := next.Stats().Sessions; n != 0 {
		t.Errorf("the next server minted %d sessions", n)
	}
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "count", nil, nil); !errors.Is(err, spec.ReasonQuarantined) {
		t.Errorf("a call in quarantine: %v", err)
	}
	unknowns := c.Driver().Unknowns()
	if len(unknowns) != 1 || unknowns[0].Label != "hold" {
		t.Fatalf("unknowns %+v", unknowns)
	}
	if err := c.Driver().Resolve(t.Context(), unknowns[0].Stream, client.GaveUp); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Call(t.Context(), "count", map[string]int{"n": 1}, nil); err != nil {
		t.Errorf("a call after that: %v", err)
	}
}

// TestCase35PermissiveServer: the server behind the address mints a session for
// the resumption, answers 200 and counts its events from 1. The client applies
// none of them (R21, R22).
func TestCase35PermissiveServer(t *testing.T) {
	hold := make(chan struct{})
	r := newRig(t, bench{"hold": func(_ context.Context, m *Message) { _, _ = m.Stream.Emit("one", nil); <-hold }}.app, Options{})
	t.Cleanup(func() { close(hold) })
	minted := spec.EventID{Tag: spec.TagOf("another", ""), Seq: 1, Ordinal: 1, Stream: 1}
	address := &swap{h: r.handler}
	server := httptest.NewServer(address)
	t.Cleanup(server.Close)
	for name, headers := range map[string][]string{
		"another session":            {HeaderSessionID, "another"},
		"no session":                 {},
		"another, with its position": {HeaderSessionID, "another", HeaderPosition, minted.String()},
		"the right one, clamped":     {HeaderSessionID, "SAME", HeaderPosition, minted.String()},
	} {
		t.Run(name, func(t *testing.T) {
			address.put(r.handler)
			var j journal
			abandoned := make(chan client.StateChange, 10)
			o := impatient
			o.OnState = func(s client.StateChange) { abandoned <- s }
			c := mustDial(t, server.URL, DialOptions{Apply: j.apply, Driver: o})
			defer c.Close()
			ended := make(chan error, 1)
			_, err := c.Call(t.Context(), "count", map[string]int{"n": 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan struct{})
			go func() {
				_, err := c.Call(context.Background(), "hold", nil, func(Incoming) { close(got) })
				ended <- err
			}()
			within(t, got, "the first event")
			before := j.text()
			session := c.Driver().Session().ID
			address.put(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for i := 0; i < len(headers); i += 2 {
					w.Header().Set(headers[i], strings.ReplaceAll(headers[i+1], "SAME", session))
				}
				respond(200, "id: "+minted.String()+"\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"stolen\"}\n\n", ctype, mediaEventStream)(w, r)
			}))
			server.CloseClientConnections()
			err = within(t, ended, "the call's end")
			if unknown := (*client.UnknownError)(nil); !errors.As(err, &unknown) {
				t.Errorf("the call ended with %v", err)
			}
			if got := j.text(); got != before {
				t.Errorf("applied\n%s\nwant\n%s", got, before)
			}
			if state := c.Driver().State(); state != spec.Abandoned && state != spec.Fencing {
				t.Errorf("the epoch is %v", state)
			}
		})
	}
}

// TestCase37Hole: a hole or a repeat on a proven stream; nothing of it is
// applied.
func TestCase37Hole(t *testing.T) {
	for name, next := range map[string][2]uint64{"a hole": {3, 3}, "a repeat": {1, 1}, "an older seq": {1, 2}} {
		t.Run(name, func(t *testing.T) {
			tag := spec.TagOf("S1", "")
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(HeaderSessionID, "S1")
				var m struct{ Method string }
				_ = json.NewDecoder(r.Body).Decode(&m)
				switch m.Method {
				case methodInitialize:
					respond(200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`, ctype, mediaJSON)(w, r)
				case "x":
					event := func(seq, ordinal uint64, method string) string {
						return fmt.Sprintf("id: %v\ndata: {\"jsonrpc\":\"2.0\",\"method\":%q}\n\n", spec.EventID{Tag: tag, Seq: seq, Stream: 1, Ordinal: ordinal}, method)
					}
					w.Header().Set(HeaderPosition, spec.PositionZero(tag, 1).String())
					respond(200, event(1, 1, "good")+event(next[0], next[1], "bad"), ctype, mediaEventStream)(w, r)
				default:
					w.WriteHeader(202)
				}
			}))
			defer server.Close()
			var j journal
			c := mustDial(t, server.URL, DialOptions{Apply: j.apply, Driver: impatient})
			defer c.Close()
			_, err := c.Call(t.Context(), "x", nil, nil)
			if unknown := (*client.UnknownError)(nil); !errors.As(err, &unknown) {
				t.Errorf("the call ended with %v", err)
			}
			if got := j.text(); got != `{"jsonrpc":"2.0","method":"good"}` {
				t.Errorf("applied %s", got)
			}
		})
	}
}

// Openings that fail, fail typed, and leave nothing behind.
func TestOpeningsThatFail(t *testing.T) {
	for name, do := range map[string]http.HandlerFunc{
		"an error response":    respond(200, `{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"no"}}`, ctype, mediaJSON, HeaderSessionID, "S1"),
		"no session":           respond(200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`, ctype, mediaJSON),
		"a later revision":     respond(200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2026-07-28"}}`, ctype, mediaJSON, HeaderSessionID, "S1"),
		"another's answer":     respond(200, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`, ctype, mediaJSON, HeaderSessionID, "S1"),
		"a stream without it":  respond(200, ": nothing\n", ctype, mediaEventStream, HeaderSessionID, "S1"),
		"a page":               respond(200, "<html>", ctype, "text/html", HeaderSessionID, "S1"),
		"full":                 respond(503, string(refusal(spec.ReasonTooManySessions, "").body()), ctype, mediaJSON),
		"a session id in form": respond(200, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`, ctype, mediaJSON, HeaderSessionID, "S 1"),
	} {
		server := httptest.NewServer(do)
		c, err := Dial(t.Context(), server.URL, DialOptions{})
		if err == nil {
			c.Close()
			t.Errorf("%s: opened", name)
		}
		if open := (*client.OpenError)(nil); !errors.As(err, &open) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "full" && !errors.Is(err, spec.ReasonTooManySessions) {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
	// A stream is fine, if the answer is on it: servers of others do so.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(HeaderSessionID) != "" {
			respond(202, "", HeaderSessionID, "S1")(w, r)
			return
		}
		respond(200, "id: 1\ndata: \n\nevent: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\"}}\n\n", ctype, mediaEventStream, HeaderSessionID, "S1")(w, r)
	}))
	defer server.Close()
	c, err := Dial(t.Context(), server.URL, DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, url := range []string{"", "localhost:80", "ftp://localhost/", "http://", "http://[::1"} {
		if _, err := Dial(t.Context(), url, DialOptions{}); err == nil {
			t.Errorf("%q was dialled", url)
		}
	}
}

// Without a row of the client's tables the wired client refuses what the row
// allowed, and its caller is told.
func TestClientTablesAreAtWork(t *testing.T) {
	r := newRig(t, bench{}.app, Options{})
	for _, row := range []string{"", "EP01", "EP15", "CS01", "CS17", "CS44"} {
		epochs, streams := spec.EpochTable(), spec.ClientStreamTable()
		switch {
		case row == "": // the tables as they are
		case strings.HasPrefix(row, "EP"):
			epochs = epochs.Without(row)
		default:
			streams = streams.Without(row)
		}
		machines, err := fsm.NewClient(epochs, streams)
		if err != nil {
			t.Fatal(err)
		}
		o := impatient
		o.Core.Machines = machines
		c, err := Dial(t.Context(), r.url, DialOptions{Driver: o})
		if err == nil {
			_, err = c.Call(t.Context(), "count", map[string]int{"n": 1}, nil)
			c.Close()
		}
		if row == "" && err == nil {
			continue
		}
		if refused := (*fsm.RefusedError)(nil); !errors.As(err, &refused) || refused.Row == row {
			t.Errorf("without %s: %v", row, err)
		}
	}
}

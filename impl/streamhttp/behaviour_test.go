package streamhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// What an application forgets, the handler does: every call is answered.
func TestEveryCallIsAnswered(t *testing.T) {
	r := newRig(t, bench{
		"silent":    func(context.Context, *Message) {},
		"panics":    func(context.Context, *Message) { panic("the application's own") },
		"too large": func(_ context.Context, m *Message) { _, _ = m.Stream.Answer(strings.Repeat("x", 5000)) },
		"not JSON":  func(_ context.Context, m *Message) { _, _ = m.Stream.Answer(make(chan int)) },
		"cancelled": func(ctx context.Context, m *Message) { <-ctx.Done() },
		"after":     func(ctx context.Context, m *Message) { _, _ = m.Stream.Answer(1); <-ctx.Done() },
	}.app, Options{Session: session.Options{EventBytes: 4000}})
	r.open()
	for i, method := range []string{"silent", "panics", "too large", "not JSON", "unheard of"} {
		answer := r.call(i, method, `{}`).message()
		if e, err := parseEnvelope(answer.Data); err != nil || string(e.id) != fmt.Sprint(i) || e.fault == nil {
			t.Errorf("%s: %s", method, answer.Data)
		}
	}
	w := r.call(10, "cancelled", `{}`)
	if resp := r.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}`); resp.StatusCode != http.StatusAccepted {
		t.Errorf("cancelling: %s", resp.Status)
	}
	if answer := w.message(); !strings.Contains(string(answer.Data), `"id":10,"error":{"code":-32800`) {
		t.Errorf("a cancelled call: %s", answer.Data)
	}
	for _, nonsense := range []string{`null`, `{}`, `{"requestId":{}}`, `{"requestId":99}`, `[]`} {
		if resp := r.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + nonsense + `}`); resp.StatusCode != http.StatusAccepted {
			t.Errorf("cancelling %s: %s", nonsense, resp.Status)
		}
	}
}

// A call is answered once, and only a call is.
func TestOneAnswer(t *testing.T) {
	errs := make(chan error, 5)
	r := newRig(t, bench{"x": func(_ context.Context, m *Message) {
		_, err := m.Session.Standalone().Answer(1)
		errs <- err
		_, err = m.Stream.Answer(1)
		errs <- err
		_, err = m.Stream.Answer(2)
		errs <- err
		_, err = m.Stream.Fail(1, "", nil)
		errs <- err
		_, err = m.Stream.Emit("late", nil)
		errs <- err
	}}.app, Options{})
	r.open()
	if got := r.call(1, "x", `{}`).all(); len(got) != 1 {
		t.Errorf("%d events", len(got))
	}
	for i, want := range []error{ErrNotACall, nil, ErrNotACall, ErrNotACall, spec.ReasonStreamFinished} {
		if err := within(t, errs, "the application's end"); !errors.Is(err, want) {
			t.Errorf("step %d: %v, want %v", i, err, want)
		}
	}
}

// Two calls with one id at a time are a fault of the client's: the second is
// refused, and the first goes on (R29).
func TestRequestIDInUse(t *testing.T) {
	gate := make(chan struct{})
	r := newRig(t, bench{"gated": gated(gate)}.app, Options{})
	r.open()
	w := r.call(1, "gated", `{"n":0}`)
	if got := refusalOf(t, r.post(request(1, "count", `{}`))); got.Status != http.StatusBadRequest {
		t.Errorf("a second one: %v", got)
	}
	close(gate)
	if got := len(w.all()); got != 1 {
		t.Errorf("the first: %d events", got)
	}
	if got := len(r.call(1, "count", `{"n":1}`).all()); got != 2 {
		t.Errorf("afterwards: %d events", got)
	}
}

// What the server asks, the client's answer reaches: the one that waits, or
// else the application.
func TestServerAsksClient(t *testing.T) {
	stray := make(chan *Message, 1)
	outcome := make(chan string, 3)
	ask := func(ctx context.Context, m *Message) {
		result, err := m.Stream.Request(ctx, "roots/list", nil)
		outcome <- fmt.Sprintf("%s %v", result, err)
	}
	r := newRig(t, bench{"ask": ask, "": func(_ context.Context, m *Message) { stray <- m }}.app, Options{})
	r.open()
	asked := func(id int) (w *wire, question string) {
		w = r.call(id, "ask", `{}`)
		e, err := parseEnvelope(w.message().Data)
		if err != nil || e.kind != Request || e.method != "roots/list" {
			t.Fatalf("asked %+v, %v", e, err)
		}
		return w, string(e.id)
	}
	_, id := asked(1)
	r.post(`{"jsonrpc":"2.0","id":` + id + `,"result":{"roots":[]}}`)
	if got := within(t, outcome, "the answer"); got != `{"roots":[]} <nil>` {
		t.Errorf("got %s", got)
	}
	_, id = asked(2)
	r.post(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-1,"message":"no roots"}}`)
	if got := within(t, outcome, "the error"); !strings.Contains(got, "no roots") {
		t.Errorf("got %s", got)
	}
	r.post(`{"jsonrpc":"2.0","id":` + id + `,"result":{"again":true}}`)
	if m := within(t, stray, "the stray answer"); m.Kind != Response || string(m.ID) != id || string(m.Result) != `{"again":true}` {
		t.Errorf("the application got %+v", m)
	}
	_, _ = asked(3)
	r.request(t.Context(), http.MethodDelete, "")
	if got := within(t, outcome, "the end"); !strings.Contains(got, ErrOutcomeUnknown.Error()) {
		t.Errorf("after the session's end: %s", got)
	}
}

// A session that ends takes its views and its work with it (R6).
func TestTerminateEndsEverything(t *testing.T) {
	over := make(chan error, 1)
	r := newRig(t, bench{"wait": func(ctx context.Context, m *Message) { <-ctx.Done(); over <- context.Cause(ctx) }}.app, Options{})
	r.open()
	call, standalone := r.call(1, "wait", `{}`), r.resume("")
	if resp := r.request(t.Context(), http.MethodDelete, ""); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: %s", resp.Status)
	}
	for name, w := range map[string]*wire{"call": call, "standalone": standalone} {
		if messages, err := w.rest(); len(messages) != 0 || err != io.EOF {
			t.Errorf("%s: %d messages, %v", name, len(messages), err)
		}
	}
	if cause := within(t, over, "the end of the work"); cause != ErrWorkOver {
		t.Errorf("the work ended with %v", cause)
	}
	if got := refusalOf(t, r.request(t.Context(), http.MethodDelete, "")); got.Status != 404 || got.Reason != spec.ReasonSessionTerminated {
		t.Errorf("once more: %v", got)
	}
}

// TestCase40NeverSent: what was never handed to a view is not history, and
// waits for the first attach (R7).
func TestCase40NeverSent(t *testing.T) {
	r := newRig(t, bench{"tell": func(_ context.Context, m *Message) {
		for i := range 3 {
			_, _ = m.Session.Standalone().Emit("news", map[string]int{"i": i})
		}
	}}.app, Options{})
	r.open()
	r.call(1, "tell", `{}`).all()
	w := r.resume("")
	if got := ids([]sse.Event{w.message(), w.message(), w.message()}); got != "1:0:1 2:0:2 3:0:3" {
		t.Errorf("the first attach: %s", got)
	}
	if w.position() == r.resume("").position() {
		t.Error("the second attach begins where the first did")
	}
}

// The tables are not decoration: without the row, the wired server refuses
// what the row allowed.
func TestTablesAreAtWork(t *testing.T) {
	for _, c := range []struct {
		row  string
		move func(r *rig, cursor string) *http.Response
	}{
		{"SS01", func(r *rig, _ string) *http.Response {
			return r.post(initializeOf(Version20251125), HeaderSessionID, "-")
		}},
		{"SS05", func(r *rig, _ string) *http.Response { return r.post(request(9, "count", `{}`)) }},
		{"SS09", func(r *rig, _ string) *http.Response { return r.post(`{"jsonrpc":"2.0","method":"note"}`) }},
		{"SS10", func(r *rig, c string) *http.Response {
			return r.request(r.t.Context(), http.MethodGet, "", HeaderLastEventID, c)
		}},
		{"SS13", func(r *rig, _ string) *http.Response { return r.request(r.t.Context(), http.MethodDelete, "") }},
		{"ST26", func(r *rig, c string) *http.Response {
			return r.request(r.t.Context(), http.MethodGet, "", HeaderLastEventID, c)
		}},
	} {
		for _, edited := range []bool{false, true} {
			sessions, streams := spec.SessionTable(), spec.StreamTable()
			if edited && strings.HasPrefix(c.row, "SS") {
				sessions = sessions.Without(c.row)
			} else if edited {
				streams = streams.Without(c.row)
			}
			machines, err := fsm.NewServer(sessions, streams)
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, bench{}.app, Options{Session: session.Options{Machines: machines}})
			cursor := ""
			if !edited || c.row != "SS01" {
				r.open()
				if !edited || c.row != "SS05" {
					cursor = string(r.call(1, "count", `{"n":2}`).all()[0].ID)
				}
			}
			resp := c.move(r, cursor)
			if got := resp.StatusCode/100 == 2; got == edited {
				t.Errorf("row %s, deleted: %v: %s", c.row, edited, resp.Status)
			}
			if edited {
				var body errorBody
				if err := json.Unmarshal([]byte(readBody(t, resp)), &body); err != nil || body.Error.Data == nil || body.Error.Data.Reason != string(spec.ReasonNoRow) {
					t.Errorf("row %s: %+v, %v", c.row, body, err)
				}
			}
		}
	}
}

// HTTP/2 carries the same contract: a call, a drop, a resumption, a takeover.
func TestHTTP2(t *testing.T) {
	gate := make(chan struct{}, 10)
	h, err := NewHandler(bench{"gated": gated(gate)}.app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { h.Close(); server.CloseClientConnections(); server.Close() })
	r := &rig{t: t, handler: h, server: server, client: server.Client(), url: server.URL, version: Version20251125}
	r.open()
	old := r.call(1, "gated", `{"n":3,"size":100000}`)
	if old.resp.ProtoMajor != 2 {
		t.Fatalf("protocol %s", old.resp.Proto)
	}
	gate <- struct{}{}
	first := old.message()
	w := r.resume(string(first.ID))
	if _, err := old.rest(); err == nil || err == io.EOF {
		t.Errorf("the older view ended with %v", err)
	}
	gate <- struct{}{}
	second := w.message()
	w.drop()
	gate <- struct{}{}
	gate <- struct{}{}
	if got := ids(append([]sse.Event{first, second}, r.resume(string(second.ID)).all()...)); got != "1:1:1 2:1:2 3:1:3 4:1:4" {
		t.Errorf("delivered %s", got)
	}
}

// Many clients at once, each dropping and resuming at random places: every
// stream arrives whole, in order, once. For the race detector.
func TestConcurrentClients(t *testing.T) {
	r := newRig(t, bench{}.app, Options{Session: session.Options{WindowEvents: 1000}})
	var wg sync.WaitGroup
	for c := range 8 {
		mine := *r
		mine.open()
		for k := range 3 {
			wg.Go(func() {
				id := c*10 + k
				const n = 30
				w := mine.call(id, "count", fmt.Sprintf(`{"n":%d,"size":%d}`, n, 10*id))
				cursor, got := w.position(), 0
				for take := 1 + id%7; ; take = 1 + (take*5+3)%11 {
					var err error
					var ev sse.Event
					for ; take > 0 && err == nil; take-- {
						for ev, err = w.next(); err == nil && ev.Kind != sse.Message; ev, err = w.next() {
						}
						if err == nil {
							cursor = string(ev.ID)
							if got++; !strings.HasSuffix(cursor, fmt.Sprintf(":%d", got)) {
								t.Errorf("client %d: event %d has id %s", id, got, cursor)
							}
						}
					}
					if got == n+1 {
						break
					}
					w.drop()
					w = mine.resume(cursor)
				}
			})
		}
	}
	wg.Wait()
}

// A handler refuses options that make no sense.
func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]Options{
		"negative budget":  {StallBudget: -time.Second},
		"negative size":    {MessageBytes: -1},
		"unknown answers":  {Session: session.Options{Unknown: func(session.LostCall) []byte { return nil }}},
		"negative session": {Session: session.Options{Sessions: -1}},
		"small events":     {Session: session.Options{EventBytes: minEventBytes - 1}},
		"a small window":   {Session: session.Options{WindowBytes: minEventBytes}},
	} {
		if h, err := NewHandler(bench{}.app, o); err == nil {
			h.Close()
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := NewHandler(nil, Options{}); err == nil {
		t.Error("no application: accepted")
	}
	if h, err := NewHandler(bench{}.app, Options{Session: session.Options{EventBytes: minEventBytes}}); err != nil {
		t.Error(err)
	} else {
		h.Close()
	}
	lost := session.LostCall{Call: &Stream{id: json.RawMessage(`"` + strings.Repeat("x", MaxIDLen-2) + `"`)}}
	if n := len(unknownOutcome(lost)); n > minEventBytes {
		t.Errorf("the answer to a lost call has %d bytes, and an event may have %d", n, minEventBytes)
	}
}

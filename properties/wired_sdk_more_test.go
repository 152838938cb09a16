package properties

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/sse"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// More of the official SDK's servers behind impl/gosdk, seen from the wire:
// readers that lag, events that are not kept, and sessions that are over.

// A narrowListener accepts connections that hold little on their way, so that
// who writes soon waits for who reads.
type narrowListener struct{ net.Listener }

func (l narrowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		err = tcp.SetWriteBuffer(8 << 10)
	}
	return c, err
}

// narrow serves the same over narrow connections, and returns where.
func (w *sdkWire) narrow() (url string) {
	s := httptest.NewUnstartedServer(w.Config.Handler)
	s.Listener = narrowListener{s.Listener}
	s.Start()
	w.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// unguarded serves with our handler, whose users need no token.
func unguarded(t *testing.T, o gosdk.Options, h **gosdk.Handler) func(*mcp.Server) http.Handler {
	return func(s *mcp.Server) http.Handler {
		handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &o)
		t.Cleanup(func() { handler.Close() })
		if h != nil {
			*h = handler
		}
		return handler
	}
}

// guardedSDK serves with the SDK's own handler behind the guard.
func guardedSDK(t *testing.T, o gosdk.EventStoreOptions) func(*mcp.Server) http.Handler {
	store, err := gosdk.NewEventStore(o)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *mcp.Server) http.Handler {
		return gosdk.Guard(store, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{EventStore: store}))
	}
}

// sdkCallOf is the call of "work" with an id.
func sdkCallOf(id int) string {
	return strings.Replace(sdkCall, `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)
}

// openReady opens a session whose initialization is over: the SDK takes no call
// before.
func openReady(t *testing.T, url string) *peer {
	t.Helper()
	p := &peer{t: t, url: url}
	r := p.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"peer","version":"1"}}}`)
	body := r.all()
	if p.session = r.header.Get("Mcp-Session-Id"); p.session == "" {
		t.Fatalf("initialize: %d %s", r.status, body)
	}
	if r := p.send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != http.StatusAccepted {
		t.Fatalf("initialized: %d %s", r.status, r.all())
	}
	return p
}

// request is a POST of the session's, which gives up with the context only.
func (p *peer) request(ctx context.Context, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, "POST", p.url, strings.NewReader(body))
	if err != nil {
		panic(err) // the address of a server that runs
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Session-Id": {p.session}, "Mcp-Protocol-Version": {"2025-11-25"},
	}
	return r
}

const largeEvent = 64 << 10 // bytes: a narrow connection holds three or so

// emitLarge emits so many large events, numbered from 0, and counts them.
func emitLarge(ctx context.Context, r *mcp.CallToolRequest, events int, count *atomic.Int64) error {
	for i := range events {
		p := &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: float64(i), Message: strings.Repeat("x", largeEvent)}
		if err := r.Session.NotifyProgress(ctx, p); err != nil {
			return err
		}
		count.Add(1)
	}
	return nil
}

// standsStill waits until a count has been the same for a while, or is whole.
func standsStill(t *testing.T, what string, count *atomic.Int64, whole int64) (n int64) {
	t.Helper()
	since := time.Now()
	eventually(t, what, func() bool {
		if now := count.Load(); now != n {
			n, since = now, time.Now()
		}
		return n == whole || n > 0 && time.Since(since) > 300*time.Millisecond
	})
	return n
}

// nextMessage returns the next event with a payload, whole.
func (r *reply) nextMessage() (id, text string, err error) {
	for {
		e, err := r.events.Next()
		if err != nil {
			return "", "", err
		}
		if len(e.Data) > 0 {
			return string(e.ID), string(e.Data), nil
		}
	}
}

// wants reads one message, which must say so; it reports whether it does.
func (r *reply) wants(what string, marks ...string) (id string, ok bool) {
	r.t.Helper()
	id, text, err := r.nextMessage()
	ok = err == nil
	for _, mark := range marks {
		ok = ok && strings.Contains(text, mark)
	}
	if !ok {
		r.t.Errorf("%s: %v, ...%s; want %q", what, err, text[max(0, len(text)-200):], marks)
	}
	return id, ok
}

// Given calls of one session whose client begins to read late, when each emits
// as much as the window holds, then no tool overtakes its reader, one alone or
// three that share the window: what was emitted meanwhile fits, and every event
// arrives, once and in order, and the answer behind them (R3, R4, R9). A tool
// that was told to run as fast as it can overtakes its reader, who is cut between
// two events and whose cursor is refused, not moved on (R5, R9).
func TestWiredSDKReadersThatLag(t *testing.T) {
	const window = 64
	lagging := session.Options{WindowEvents: window}
	for _, test := range []struct {
		name    string
		calls   int
		unpaced bool
	}{{"one", 1, false}, {"three share", 3, false}, {"unpaced", 1, true}} {
		t.Run(test.name, func(t *testing.T) {
			const events = window + window/2
			var count atomic.Int64
			goOn := make(chan struct{})
			w := serveSDK(t, unguarded(t, gosdk.Options{Unpaced: test.unpaced, HTTP: streamhttp.Options{Session: lagging}}, nil),
				func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
					<-goOn
					return "emitted", emitLarge(ctx, r, events, &count)
				})
			p := openReady(t, w.narrow())
			var views []*reply
			for id := range test.calls {
				views = append(views, p.send("POST", sdkCallOf(id+1)))
			}
			close(goOn) // all of them are being read, and none is
			if test.unpaced {
				eventually(t, "a tool that waits for nobody", func() bool { return count.Load() == events })
				cursor, cut := "", false
				for !cut {
					id, text, err := views[0].nextMessage()
					if strings.Contains(text, "emitted") {
						t.Fatal("the reader was not overtaken: the story shows nothing")
					}
					if cut = err != nil; !cut {
						cursor = id
					}
				}
				p.attach(cursor).refused(spec.ReasonCursorEvicted)
				return
			}
			if n := standsStill(t, "tools that wait for their readers", &count, int64(events*test.calls)); n > window {
				t.Errorf("%d events were emitted before anybody read, and the window holds %d", n, window)
			}
			for i := range events {
				for k, view := range views { // all at one pace
					if _, ok := view.wants(fmt.Sprintf("event %d of call %d", i, k), fmt.Sprintf(`"progress":%d}`, i)); !ok {
						return
					}
				}
			}
			for k, view := range views {
				view.wants("the answer", `"emitted"`, fmt.Sprintf(`"id":%d`, k+1))
			}
		})
	}
}

// Given the SDK's own handler behind the guard, whose writer is stuck because its
// client reads no more, when the client comes back over a new connection, then
// the older response ends and everything behind the cursor arrives on the newer
// one, and there only (R4, R10).
func TestWiredSDKStuckWriter(t *testing.T) {
	const events = 80
	var count atomic.Int64
	w := serveSDK(t, guardedSDK(t, gosdk.EventStoreOptions{}), func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		return "emitted", emitLarge(ctx, r, events, &count)
	})
	p := openReady(t, w.narrow())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answer, err := http.DefaultClient.Do(p.request(ctx, sdkCall)) // half open: it never gives up by itself
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	old := &reply{t, answer.StatusCode, answer.Header, answer.Body, sse.NewReader(answer.Body, sse.Options{}), cancel}
	cursor, ok := old.wants("the first event", `"progress":0}`)
	if !ok {
		return
	}
	if n := standsStill(t, "a writer that is stuck", &count, events); n == events {
		t.Fatal("the writer is not stuck: the story shows nothing")
	}
	resumed := p.attach(cursor)
	if resumed.status != http.StatusOK {
		t.Fatalf("resumed: %d %s", resumed.status, resumed.all())
	}
	for i := 1; i < events; i++ {
		if _, ok := resumed.wants(fmt.Sprint("event ", i), fmt.Sprintf(`"progress":%d}`, i)); !ok {
			return
		}
	}
	resumed.wants("the answer", `"emitted"`)
	for {
		_, text, err := old.nextMessage()
		if err != nil {
			break
		}
		if strings.Contains(text, "emitted") {
			t.Error("the answer is on the older response, too")
		}
	}
}

// Given the SDK's own handler with our store, and an event that is larger than
// the store may keep, when the connection breaks, then a cursor before that
// event is refused with the reason, although all that is retained could be sent,
// and one at it goes on with what follows (R4, R5).
func TestWiredSDKEventThatIsNotKept(t *testing.T) {
	goOn := make(chan struct{})
	w := serveSDK(t, guardedSDK(t, gosdk.EventStoreOptions{EventBytes: 4 << 10}), func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		for i, text := range []string{"first", "large" + strings.Repeat("x", 8<<10), "third"} {
			if i == 2 {
				<-goOn
			}
			// The SDK may say that it could not keep it; its reader has it all the same.
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: text})
		}
		return "done", nil
	})
	p := openReady(t, w.URL)
	call := p.send("POST", sdkCall)
	before, _ := call.wants("the first event", `"first"`)
	at, _ := call.wants("the large event", `"largexxx`)
	call.drop()
	close(goOn)
	p.attach(before).refused(spec.ReasonCursorEvicted)
	resumed := p.attach(at)
	if resumed.status != http.StatusOK {
		t.Fatalf("resumed behind the large event: %d %s", resumed.status, resumed.all())
	}
	resumed.wants("behind the large event", `"third"`)
	resumed.wants("the answer", `"done"`)
}

// Given a session that said nothing for longer than its budget, when another one
// has opened and its client comes back, then the call is refused and the tool
// does not run: what is over never lives again under its id, with nothing of
// what it had (R6). The newer session is served.
func TestWiredSDKSessionThatIsOver(t *testing.T) {
	var later atomic.Int64 // than it is, in nanoseconds
	var runs atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	w := serveSDK(t, guardedSDK(t, gosdk.EventStoreOptions{SessionBudget: time.Hour, Now: now}), func(context.Context, *mcp.CallToolRequest) (string, error) {
		return fmt.Sprint("run ", runs.Add(1)), nil
	})
	old := openReady(t, w.URL)
	old.send("POST", sdkCallOf(1)).wants("in its time", `"run 1"`)
	later.Store(int64(59 * time.Minute))
	old.send("POST", sdkCallOf(2)).wants("within its budget", `"run 2"`)
	later.Store(int64(3 * time.Hour))
	newer := openReady(t, w.URL)
	if r := old.send("POST", sdkCallOf(3)); r.status < 400 {
		t.Errorf("a session that is over: %d %s", r.status, r.all())
	}
	newer.send("POST", sdkCallOf(1)).wants("the newer session", `"run 3"`)
	if n := runs.Load(); n != 3 {
		t.Errorf("the tool ran %d times, want 3", n)
	}
}

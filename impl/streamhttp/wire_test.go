package streamhttp

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// raw sends one request over a socket of its own and returns the response with
// the bytes of its body, framing of HTTP removed and nothing else.
func raw(t *testing.T, addr, request string) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func rawPost(session, version, extra, body string) string {
	return "POST /mcp HTTP/1.1\nHost: localhost\nAccept: application/json, text/event-stream\nContent-Type: application/json\n" +
		"Mcp-Session-Id: " + session + "\nMcp-Protocol-Version: " + version + "\n" + extra +
		"Content-Length: " + itoa(len(body)) + "\n\n" + body
}

func rawGet(session, version, extra string) string {
	return "GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\nMcp-Session-Id: " + session + "\nMcp-Protocol-Version: " + version + "\n" + extra + "\n"
}

func itoa(n int) string {
	const digits = "0123456789"
	if n < 10 {
		return digits[n : n+1]
	}
	return itoa(n/10) + digits[n%10:n%10+1]
}

// The wire of a call, byte for byte: what is announced before anything else
// (R8), for clients that expect a position event and for those that do not.
func TestViewBytes(t *testing.T) {
	for _, c := range []struct {
		name, version, extra, want string
	}{
		{"2025-11-25", Version20251125, "", `: reattach position=TAG:0:1:0
id: TAG:0:1:0
data: 

id: TAG:1:1:1
data: {"jsonrpc":"2.0","method":"count","params":{"i":1,"pad":""}}

id: TAG:2:1:2
data: {"jsonrpc":"2.0","id":7,"result":{"n":1}}

`},
		{"2025-06-18", Version20250618, "", `: reattach position=TAG:0:1:0
id: TAG:1:1:1
data: {"jsonrpc":"2.0","method":"count","params":{"i":1,"pad":""}}

id: TAG:2:1:2
data: {"jsonrpc":"2.0","id":7,"result":{"n":1}}

`},
		{"with control notifications", Version20250618, "Reattach-Notify: 1\n", `: reattach position=TAG:0:1:0
data: {"jsonrpc":"2.0","method":"notifications/reattach/resumed","params":{"position":"TAG:0:1:0","mode":"attach"}}

id: TAG:1:1:1
data: {"jsonrpc":"2.0","method":"count","params":{"i":1,"pad":""}}

id: TAG:2:1:2
data: {"jsonrpc":"2.0","id":7,"result":{"n":1}}

`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, bench{}.app, Options{})
			r.version = c.version
			tag := string(r.open().Tag)
			resp, body := raw(t, r.server.Listener.Addr().String(), rawPost(r.session, c.version, c.extra, request(7, "count", `{"n":1}`)))
			if got := strings.ReplaceAll(body, tag, "TAG"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			checkViewHeaders(t, resp, r.session, tag+":0:1:0", "attach")
		})
	}
}

func checkViewHeaders(t *testing.T, resp *http.Response, session, position, mode string) {
	t.Helper()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %s", resp.Status)
	}
	for name, want := range map[string]string{
		"Content-Type":                "text/event-stream",
		"Cache-Control":               "no-cache, no-transform",
		"X-Accel-Buffering":           "no",
		"Mcp-Session-Id":              session,
		"Reattach-Position":           position,
		"Reattach-Mode":               mode,
		"Reattach-Keepalive":          "15",
		"Reattach-Standalone":         "",
		"Content-Encoding":            "",
		"Access-Control-Allow-Origin": "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The wire of a resumption, byte for byte: of a finished stream, without a
// position event, because a client that took one for progress would ask for
// ever; and of an unfinished one that the server then ends on purpose.
func TestResumedViewBytes(t *testing.T) {
	hold := make(chan struct{})
	r := newRig(t, bench{
		"end": func(ctx context.Context, m *Message) {
			_, _ = m.Stream.Emit("a", nil)
			<-hold
			_ = m.Stream.EndView(1500e6)
			<-hold
		},
	}.app, Options{})
	t.Cleanup(func() { close(hold) })
	tag := string(r.open().Tag)
	addr := r.server.Listener.Addr().String()
	r.call(1, "count", `{"n":1}`).all()

	t.Run("finished", func(t *testing.T) {
		resp, body := raw(t, addr, rawGet(r.session, r.version, "Last-Event-ID: "+tag+":1:1:1\n"))
		want := ": reattach position=TAG:1:1:1\nid: TAG:2:1:2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":1}}\n\n"
		if got := strings.ReplaceAll(body, tag, "TAG"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		checkViewHeaders(t, resp, r.session, tag+":1:1:1", "reattach")
	})
	t.Run("complete", func(t *testing.T) {
		resp, body := raw(t, addr, rawGet(r.session, r.version, "Last-Event-ID: "+tag+":2:1:2\n"))
		if resp.StatusCode != http.StatusNoContent || body != "" || resp.Header.Get(HeaderSessionID) != r.session || resp.Header.Get(HeaderPosition) != tag+":2:1:2" {
			t.Errorf("got %s %v %q", resp.Status, resp.Header, body)
		}
	})
	t.Run("unfinished, ended on purpose", func(t *testing.T) {
		first := r.call(2, "end", `{}`)
		if got := ids([]sse.Event{first.message()}); got != "3:2:1" {
			t.Fatalf("first event %s", got)
		}
		resp := r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, tag+":0:2:0")
		var body strings.Builder
		second := &wire{t: t, resp: resp, events: sse.NewReader(io.TeeReader(resp.Body, &body), sse.Options{})}
		second.message()
		if _, err := first.next(); err == nil {
			t.Fatal("the first view was superseded and went on")
		}
		hold <- struct{}{}
		second.all()
		want := ": reattach position=TAG:0:2:0\nid: TAG:0:2:0\ndata: \n\nid: TAG:3:2:1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\nretry: 1500\n\n"
		if got := strings.ReplaceAll(body.String(), tag, "TAG"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// The answer to initialize is one JSON object, with the id of the session and
// position 0 of its standalone stream beside it (R7).
func TestInitializeBytes(t *testing.T) {
	r := newRig(t, bench{}.app, Options{})
	resp := r.post(initializeOf(Version20251125))
	body := readBody(t, resp)
	want := `{"jsonrpc":"2.0","id":0,"result":{"capabilities":{},"protocolVersion":"2025-11-25","serverInfo":{"name":"bench","version":"1"}}}`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	session := resp.Header.Get(HeaderSessionID)
	if len(session) < 22 {
		t.Errorf("a session id of %d characters holds less than 128 bits", len(session))
	}
	if got, want := resp.Header.Get(HeaderStandalone), spec.PositionZero(spec.TagOf(session, ""), 0).String(); got != want {
		t.Errorf("standalone position %q, want %q", got, want)
	}
}

// An application that answers initialize with an error opens no session.
func TestInitializeRefusedByTheApplication(t *testing.T) {
	for name, do := range map[string]func(context.Context, *Message){
		"error":     func(_ context.Context, m *Message) { _, _ = m.Stream.Fail(-32602, "no", nil) },
		"no answer": func(context.Context, *Message) {},
		"panic":     func(context.Context, *Message) { panic("the application's own") },
		"other version": func(_ context.Context, m *Message) {
			_, _ = m.Stream.Answer(map[string]string{"protocolVersion": "2026-07-28"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, bench{methodInitialize: do}.app, Options{})
			resp := r.post(initializeOf(Version20251125))
			if resp.StatusCode != http.StatusOK || resp.Header.Get(HeaderSessionID) != "" {
				t.Errorf("got %s with session %q", resp.Status, resp.Header.Get(HeaderSessionID))
			}
			if body := readBody(t, resp); !strings.Contains(body, `"error"`) || !strings.Contains(body, `"id":0`) {
				t.Errorf("got %s", body)
			}
			if n := r.handler.Stats().Sessions; n != 0 {
				t.Errorf("%d sessions", n)
			}
		})
	}
}

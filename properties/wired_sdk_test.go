package properties

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// The official SDK's servers behind impl/gosdk, seen from the wire: raw requests,
// and the SDK's own client, over loopback.

// An sdkWire is a server of the SDK with one tool, "work".
type sdkWire struct {
	*httptest.Server
	t      *testing.T
	server *mcp.Server
}

func serveSDK(t *testing.T, handle func(*mcp.Server) http.Handler, tool func(ctx context.Context, r *mcp.CallToolRequest) (string, error)) *sdkWire {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "wired", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "work"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		text, err := tool(ctx, r)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	w := &sdkWire{Server: httptest.NewServer(handle(s)), t: t, server: s}
	t.Cleanup(func() {
		for ss := range s.Sessions() {
			go ss.Close()
		}
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

// bound serves with our handler, whose users are told by bearer tokens "user.scope".
func bound(t *testing.T, o gosdk.Options, h **gosdk.Handler) func(*mcp.Server) http.Handler {
	return func(s *mcp.Server) http.Handler {
		handler, err := gosdk.NewHandler(func(*http.Request) *mcp.Server { return s }, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { handler.Close() })
		if h != nil {
			*h = handler
		}
		return byToken(handler)
	}
}

func byToken(h http.Handler) http.Handler {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		user, scope, _ := strings.Cut(token, ".")
		return &auth.TokenInfo{UserID: user, Scopes: []string{scope}, Expiration: time.Now().Add(time.Hour)}, nil
	}
	return auth.RequireBearerToken(verify, nil)(h)
}

// ask sends a request of a user's; headers are pairs.
func (w *sdkWire) ask(method, token, session, body string, headers ...string) *reply {
	w.t.Helper()
	p := &peer{t: w.t, url: w.URL, session: session}
	return p.send(method, body, append([]string{"Authorization", "Bearer " + token}, headers...)...)
}

// opens opens a session.
func (w *sdkWire) opens(token string) (session string) {
	w.t.Helper()
	body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"raw","version":"1"}}}`
	r := w.ask("POST", token, "", body)
	session = r.header.Get("Mcp-Session-Id")
	if text := r.all(); session == "" {
		w.t.Fatalf("initialize: %d %s", r.status, text)
	}
	w.ask("POST", token, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return session
}

const sdkCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{}}}`

// Given a session of one user, when another one presents its id, with or
// without a cursor, then it sees what an unknown session shows: with our handler,
// and with the SDK's own behind the guard (R13). The owner's calls are answered
// with what each of its tokens says.
func TestWiredSDKSessionsOfOthers(t *testing.T) {
	scope := func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		return "scope " + auth.TokenInfoFromContext(ctx).Scopes[0], nil
	}
	guarded := guardedSDK(t, gosdk.EventStoreOptions{})
	for name, handle := range map[string]func(*mcp.Server) http.Handler{
		"our handler": bound(t, gosdk.Options{}, nil),
		"the guard":   func(s *mcp.Server) http.Handler { return byToken(guarded(s)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := serveSDK(t, handle, scope)
			mine := w.opens("alice.first")
			for _, method := range []string{"GET", "DELETE", "POST"} {
				for _, cursor := range []string{"", "rubbish", "x_1"} {
					body := ""
					if method == "POST" {
						body = sdkCall
						if cursor != "" {
							continue // a message has no cursor
						}
					}
					var headers []string
					if cursor != "" {
						headers = []string{"Last-Event-ID", cursor}
					}
					theirs, nobodys := w.ask(method, "bob.x", mine, body, headers...), w.ask(method, "bob.x", strings.Repeat("A", 22), body, headers...)
					if a, b := fmt.Sprint(theirs.status, theirs.all()), fmt.Sprint(nobodys.status, nobodys.all()); a != b || theirs.status != http.StatusNotFound {
						t.Errorf("%s at %q: another's session answers %s, one that is none %s", method, cursor, a, b)
					}
				}
			}
			if name == "our handler" {
				for _, token := range []string{"alice.first", "alice.second"} {
					if text := w.ask("POST", token, mine, sdkCall).all(); !strings.Contains(text, "scope "+strings.TrimPrefix(token, "alice.")) {
						t.Errorf("called with %s: %s", token, text)
					}
				}
			}
		})
	}
}

// Given the SDK's own handler behind the guard, with our store, when a client
// comes with a cursor that is none, is ahead, or is of no stream, then it is
// refused with a reason and before any event, and the good one is served (R5).
func TestWiredSDKGuardedCursors(t *testing.T) {
	guarded := guardedSDK(t, gosdk.EventStoreOptions{})
	goOn := make(chan struct{})
	w := serveSDK(t, func(s *mcp.Server) http.Handler { return byToken(guarded(s)) }, func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		for _, text := range []string{"first", "second"} {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: text}); err != nil {
				return "", err
			}
		}
		<-goOn
		return "done", nil
	})
	mine := w.opens("alice.x")
	call := w.ask("POST", "alice.x", mine, sdkCall)
	cursor := lastID(t, call.body, "second")
	stream, _, _ := strings.Cut(cursor, "_")
	for bad, want := range map[string]spec.Reason{
		"rubbish": spec.ReasonCursorMalformed, stream + "_00": spec.ReasonCursorMalformed,
		stream + "_99": spec.ReasonCursorAhead, "nobody_0": spec.ReasonCursorUnissued,
	} {
		r := w.ask("GET", "alice.x", mine, "", "Last-Event-ID", bad)
		if text := r.all(); r.status != want.Status() || !strings.Contains(text, string(want)) || strings.Contains(text, "data:") {
			t.Errorf("%s: %d %.200s, want %s", bad, r.status, text, want)
		}
	}
	// The older response is still open and not read: it gives way (R10). (The SDK
	// sends the head of a resumed stream with its first event.)
	time.AfterFunc(300*time.Millisecond, func() { close(goOn) })
	resumed := w.ask("GET", "alice.x", mine, "", "Last-Event-ID", cursor)
	if resumed.status != http.StatusOK {
		t.Fatalf("resumed at %s: %d %s", cursor, resumed.status, resumed.all())
	}
	if text := resumed.all(); !strings.Contains(text, `"done"`) || strings.Contains(text, "second") {
		t.Errorf("behind %s came %s", cursor, text)
	}
}

// Given a tool whose result no event may hold, then its call fails at once, with
// the reason, and the session goes on; and what the SDK calls the session is not
// the secret (R3, R13).
func TestWiredSDKLargeResult(t *testing.T) {
	named := ""
	w := serveSDK(t, bound(t, gosdk.Options{HTTP: streamhttp.Options{Session: session.Options{EventBytes: 8 << 10}}}, nil),
		func(_ context.Context, r *mcp.CallToolRequest) (string, error) {
			named = r.Session.ID()
			return strings.Repeat("x", 64<<10), nil
		})
	mine := w.opens("alice.x")
	if text := w.ask("POST", "alice.x", mine, sdkCall).all(); !strings.Contains(text, `"error"`) || !strings.Contains(text, "event") {
		t.Errorf("the call was answered %.300s", text)
	}
	if named == "" || named == mine {
		t.Errorf("the SDK calls session %s %q", mine, named)
	}
	if text := w.ask("POST", "alice.x", mine, `{"jsonrpc":"2.0","id":2,"method":"ping"}`).all(); !strings.Contains(text, `"result"`) {
		t.Errorf("ping: %s", text)
	}
}

// Given a tool that asks its client, when the client ends the session, then the
// question has an unknown outcome and the tool's context ends; an answer in
// time is the answer (R9b, R16).
func TestWiredSDKQuestions(t *testing.T) {
	type told struct {
		err  error
		over error
	}
	outcome := make(chan told, 1)
	var h *gosdk.Handler
	w := serveSDK(t, bound(t, gosdk.Options{}, &h), func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		_, err := r.Session.ListRoots(ctx, nil)
		outcome <- told{err, ctx.Err()}
		return "asked", nil
	})
	within := func(what string) told {
		select {
		case got := <-outcome:
			return got
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the tool waits for ever", what)
			return told{}
		}
	}
	mine := w.opens("alice.x")
	call := w.ask("POST", "alice.x", mine, sdkCall)
	question := lastLine(t, call.body, "roots/list")
	id := question[strings.Index(question, `"id":`)+5:]
	id = id[:strings.IndexAny(id, ",}")]
	w.ask("POST", "alice.x", mine, `{"jsonrpc":"2.0","id":`+id+`,"result":{"roots":[]}}`)
	if got := within("answered"); got.err != nil || got.over != nil {
		t.Errorf("answered: %v, %v", got.err, got.over)
	}
	if text := call.all(); !strings.Contains(text, "asked") {
		t.Errorf("the call's stream ended with %s", text)
	}
	call = w.ask("POST", "alice.x", mine, strings.Replace(sdkCall, `"id":1`, `"id":2`, 1))
	lastLine(t, call.body, "roots/list")
	if r := w.ask("DELETE", "alice.x", mine, ""); r.status != http.StatusNoContent {
		t.Errorf("DELETE: %d", r.status)
	}
	if got := within("deleted"); !errors.Is(got.err, streamhttp.ErrOutcomeUnknown) {
		t.Errorf("deleted: %v, want an unknown outcome", got.err)
	}
	for wait := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left := 0
		for range w.server.Sessions() {
			left++
		}
		if left == 0 && h.Stats().Sessions == 0 {
			break
		}
		if time.Now().After(wait) {
			t.Fatalf("the SDK has %d sessions, the handler %d", left, h.Stats().Sessions)
		}
	}
	// And the other way round: the program ends the SDK's session, and the client's is gone (R6).
	mine = w.opens("alice.x")
	for ss := range w.server.Sessions() {
		ss.Close()
	}
	for wait := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if r := w.ask("POST", "alice.x", mine, `{"jsonrpc":"2.0","id":3,"method":"ping"}`); r.status == http.StatusNotFound {
			break
		}
		if time.Now().After(wait) {
			t.Fatal("the client's session outlives the SDK's")
		}
	}
}

// Given an endpoint for both eras, then origins, users and a drain hold for the
// later one too, and a drain is over in its time (R12, R13).
func TestWiredSDKLaterEra(t *testing.T) {
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	var h *gosdk.Handler
	o := gosdk.Options{OfferSessionless: true, HTTP: streamhttp.Options{GracePeriod: 300 * time.Millisecond,
		Subject: func(r *http.Request) (string, error) {
			if r.Header.Get("X-Nobody") != "" {
				return "", errors.New("nobody")
			}
			return "alice", nil
		}}}
	w := serveSDK(t, bound(t, o, &h), func(context.Context, *mcp.CallToolRequest) (string, error) {
		began <- struct{}{}
		<-goOn
		return "done", nil
	})
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	later := func(method, body string, headers ...string) *reply {
		return w.ask("POST", "alice.x", "", body, append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}, headers...)...)
	}
	discover := `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + meta + `}}`
	if r := later("server/discover", discover); r.status != http.StatusOK {
		t.Fatalf("discover: %d %s", r.status, r.all())
	}
	if r := later("server/discover", discover, "Origin", "https://evil.example"); r.status != http.StatusForbidden {
		t.Errorf("from a foreign origin: %d", r.status)
	}
	if r := later("server/discover", discover, "X-Nobody", "1"); r.status != http.StatusUnauthorized {
		t.Errorf("by nobody: %d", r.status)
	}
	call := strings.Replace(sdkCall, `"arguments":{}`, `"arguments":{},`+meta, 1)
	answered := make(chan string, 1)
	go func() { answered <- later("tools/call", call, "Mcp-Name", "work").all() }()
	select {
	case <-began:
	case text := <-answered:
		t.Fatalf("a call: %s", text)
	}
	over := make(chan error, 1)
	start := time.Now()
	go func() { over <- h.Drain(context.Background()) }()
	for wait := time.Now().Add(20 * time.Second); later("server/discover", discover).status != http.StatusServiceUnavailable; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(wait) {
			t.Fatal("requests of the later era are still taken")
		}
	}
	select {
	case err := <-over:
		if !errors.Is(err, streamhttp.ErrStillRunning) {
			t.Errorf("drained with a call running: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Errorf("after %v the drain is not over", time.Since(start))
	}
	close(goOn)
	if text := <-answered; !strings.Contains(text, "done") {
		t.Errorf("the call that ran: %s", text)
	}
}

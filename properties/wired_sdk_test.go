package properties

import (
	"context"
	"errors"
	"io"
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
func (w *sdkWire) ask(method, token, session, body string, headers ...string) *http.Response {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	w.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, w.URL, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// opens opens a session.
func (w *sdkWire) opens(token string) (session string) {
	w.t.Helper()
	body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"raw","version":"1"}}}`
	r := w.ask("POST", token, "", body)
	session = r.Header.Get("Mcp-Session-Id")
	if text := bodyOf(r); session == "" {
		w.t.Fatalf("initialize: %s %s", r.Status, text)
	}
	w.ask("POST", token, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return session
}

func bodyOf(r *http.Response) string {
	body, _ := io.ReadAll(r.Body)
	return string(body)
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
	store, err := gosdk.NewEventStore(gosdk.EventStoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, handle := range map[string]func(*mcp.Server) http.Handler{
		"our handler": bound(t, gosdk.Options{}, nil),
		"the guard": func(s *mcp.Server) http.Handler {
			return byToken(gosdk.Guard(store, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{EventStore: store})))
		},
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
					if a, b := theirs.Status+bodyOf(theirs), nobodys.Status+bodyOf(nobodys); a != b || theirs.StatusCode != http.StatusNotFound {
						t.Errorf("%s at %q: another's session answers %s, one that is none %s", method, cursor, a, b)
					}
				}
			}
			if name == "our handler" {
				for _, token := range []string{"alice.first", "alice.second"} {
					if text := bodyOf(w.ask("POST", token, mine, sdkCall)); !strings.Contains(text, "scope "+strings.TrimPrefix(token, "alice.")) {
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
	store, err := gosdk.NewEventStore(gosdk.EventStoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	goOn := make(chan struct{})
	w := serveSDK(t, func(s *mcp.Server) http.Handler {
		return byToken(gosdk.Guard(store, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{EventStore: store})))
	}, func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
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
	cursor := lastID(t, call.Body, "second")
	stream, _, _ := strings.Cut(cursor, "_")
	for bad, want := range map[string]spec.Reason{
		"rubbish": spec.ReasonCursorMalformed, stream + "_00": spec.ReasonCursorMalformed,
		stream + "_99": spec.ReasonCursorAhead, "nobody_0": spec.ReasonCursorUnissued,
	} {
		r := w.ask("GET", "alice.x", mine, "", "Last-Event-ID", bad)
		if text := bodyOf(r); r.StatusCode != want.Status() || !strings.Contains(text, string(want)) || strings.Contains(text, "data:") {
			t.Errorf("%s: %s %.200s, want %s", bad, r.Status, text, want)
		}
	}
	// The older response is still open and not read: it gives way (R10). (The SDK
	// sends the head of a resumed stream with its first event.)
	time.AfterFunc(300*time.Millisecond, func() { close(goOn) })
	resumed := w.ask("GET", "alice.x", mine, "", "Last-Event-ID", cursor)
	if resumed.StatusCode != http.StatusOK {
		t.Fatalf("resumed at %s: %s %s", cursor, resumed.Status, bodyOf(resumed))
	}
	if text := bodyOf(resumed); !strings.Contains(text, `"done"`) || strings.Contains(text, "second") {
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
	if text := bodyOf(w.ask("POST", "alice.x", mine, sdkCall)); !strings.Contains(text, `"error"`) || !strings.Contains(text, "event") {
		t.Errorf("the call was answered %.300s", text)
	}
	if named == "" || named == mine {
		t.Errorf("the SDK calls session %s %q", mine, named)
	}
	if text := bodyOf(w.ask("POST", "alice.x", mine, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)); !strings.Contains(text, `"result"`) {
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
	question := lastLine(t, call.Body, "roots/list")
	id := question[strings.Index(question, `"id":`)+5:]
	id = id[:strings.IndexAny(id, ",}")]
	w.ask("POST", "alice.x", mine, `{"jsonrpc":"2.0","id":`+id+`,"result":{"roots":[]}}`)
	if got := within("answered"); got.err != nil || got.over != nil {
		t.Errorf("answered: %v, %v", got.err, got.over)
	}
	if text := bodyOf(call); !strings.Contains(text, "asked") {
		t.Errorf("the call's stream ended with %s", text)
	}
	call = w.ask("POST", "alice.x", mine, strings.Replace(sdkCall, `"id":1`, `"id":2`, 1))
	lastLine(t, call.Body, "roots/list")
	if r := w.ask("DELETE", "alice.x", mine, ""); r.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE: %s", r.Status)
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
		if r := w.ask("POST", "alice.x", mine, `{"jsonrpc":"2.0","id":3,"method":"ping"}`); r.StatusCode == http.StatusNotFound {
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
	later := func(method, body string, headers ...string) *http.Response {
		return w.ask("POST", "alice.x", "", body, append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", "work"}, headers...)...)
	}
	discover := `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + meta + `}}`
	if r := later("server/discover", discover, "Mcp-Name", ""); r.StatusCode != http.StatusOK {
		t.Fatalf("discover: %s %s", r.Status, bodyOf(r))
	}
	if r := later("server/discover", discover, "Mcp-Name", "", "Origin", "https://evil.example"); r.StatusCode != http.StatusForbidden {
		t.Errorf("from a foreign origin: %s", r.Status)
	}
	if r := later("server/discover", discover, "Mcp-Name", "", "X-Nobody", "1"); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("by nobody: %s", r.Status)
	}
	call := strings.Replace(sdkCall, `"arguments":{}`, `"arguments":{},`+meta, 1)
	answered := make(chan string, 1)
	go func() { answered <- bodyOf(later("tools/call", call)) }()
	select {
	case <-began:
	case text := <-answered:
		t.Fatalf("a call: %s", text)
	}
	over := make(chan error, 1)
	start := time.Now()
	go func() { over <- h.Drain(context.Background()) }()
	for wait := time.Now().Add(20 * time.Second); later("server/discover", discover, "Mcp-Name", "").StatusCode != http.StatusServiceUnavailable; time.Sleep(5 * time.Millisecond) {
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

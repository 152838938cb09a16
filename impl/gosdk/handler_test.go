package gosdk_test

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

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/impl/streamhttp"
)

// busy is a tool that uses everything that a call's context is for, twice.
func busy(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error) {
	ss := r.Session
	for i := range 2 {
		if err := ss.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Message: text}); err != nil {
			return "", err
		}
		if err := ss.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: text}); err != nil {
			return "", err
		}
		sampled, err := ss.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}})
		if err != nil {
			return "", err
		}
		if got := sampled.Content.(*mcp.TextContent).Text; got != "sampled "+text {
			return "", fmt.Errorf("sampled %q", got)
		}
		elicited, err := ss.Elicit(ctx, &mcp.ElicitParams{Message: text, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}}}`)})
		if err != nil {
			return "", err
		}
		if got := elicited.Content["answer"]; got != "elicited "+text {
			return "", fmt.Errorf("elicited %v", got)
		}
	}
	roots, err := ss.ListRoots(ctx, nil)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s with %d roots", text, len(roots.Roots)), nil
}

// obliging answers what busy asks, and tallies what it is told.
func obliging(progress, logged *tally) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			text := r.Params.Messages[0].Content.(*mcp.TextContent).Text
			return &mcp.CreateMessageResult{Model: "m", Role: "assistant", Content: &mcp.TextContent{Text: "sampled " + text}}, nil
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "elicited " + r.Params.Message}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress.add(fmt.Sprintf("%v of %v: %s", r.Params.Progress, r.Params.ProgressToken, r.Params.Message))
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { logged.add(fmt.Sprint(r.Params.Data)) },
	}
}

// Given a client without a standalone stream, when a tool reports progress,
// logs, samples, elicits and lists roots, then all of it works: it travels on
// the stream of the call, there is no other.
func TestEverythingOfACallIsOnItsStream(t *testing.T) {
	ctx := testContext(t)
	_, server := serve(t, newServer(nil, map[string]toolFunc{"busy": busy}), gosdk.Options{})
	progress, logged := newTally(), newTally()
	cs := connect(t, ctx, &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, obliging(progress, logged))
	if v := cs.InitializeResult().ProtocolVersion; v != "2025-11-25" {
		t.Fatalf("negotiated %s", v)
	}
	if err := cs.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		t.Fatal(err)
	}
	mustCall(t, ctx, cs, "busy", "a", "a with 0 roots")
	progress.await(t, ctx, "0 of token of a: a", "1 of token of a: a")
	logged.await(t, ctx, "a", "a")

	if _, err := callTool(ctx, cs, "nothing", ""); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("an unknown tool: %v, want the SDK's error", err)
	}
}

// Given 16 calls at once in one session, when each samples, elicits and
// reports, then no answer and no question ends up with another call.
func TestParallelCallsKeepApart(t *testing.T) {
	ctx := testContext(t)
	_, server := serve(t, newServer(nil, map[string]toolFunc{"busy": busy}), gosdk.Options{})
	cs := connect(t, ctx, &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, obliging(newTally(), newTally()))
	var calls sync.WaitGroup
	for i := range 16 {
		calls.Go(func() {
			text := fmt.Sprint("call ", i)
			mustCall(t, ctx, cs, "busy", text, text+" with 0 roots")
		})
	}
	calls.Wait()
}

// Given two sessions with a call in each, when a handler of one sends something
// to the other in its own context, then it arrives on the standalone stream
// there and not on the stream of the other's call, although both calls have the
// same number: what belongs to no call of a session is not on one.
func TestAnotherSessionsContextIsNotACallOfThisOne(t *testing.T) {
	ctx := testContext(t)
	waiting, goOn := make(chan *mcp.ServerSession, 1), make(chan struct{})
	s := newServer(nil, map[string]toolFunc{
		"wait": func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
			waiting <- r.Session
			select {
			case <-goOn:
				return "waited", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
		"tell": func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
			other := <-waiting
			return "told", other.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: "from outside"})
		},
	})
	_, server := serve(t, s, gosdk.Options{})
	first, second := raw(t, server.URL), raw(t, server.URL)
	wait := first.post(ctx, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait","arguments":{"text":""}}}`)
	tell := second.post(ctx, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tell","arguments":{"text":""}}}`)
	if text := tell.rest(); !strings.Contains(text, `"told"`) {
		t.Fatalf("telling: %s", text)
	}
	standalone := first.get(ctx, "")
	standalone.until("from outside")
	close(goOn)
	if text := wait.rest(); strings.Contains(text, "from outside") || !strings.Contains(text, "waited") {
		t.Errorf("the waiting call's stream carried %s", text)
	}
}

// Given a tool that keeps the context of its call beyond the answer, when it
// sends something there later, then it is told that it cannot, and the session
// goes on.
func TestNothingFollowsAnAnswer(t *testing.T) {
	ctx := testContext(t)
	late := make(chan error, 1)
	answered := make(chan struct{})
	s := newServer(nil, map[string]toolFunc{"late": func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		go func() {
			<-answered
			late <- r.Session.NotifyProgress(context.WithoutCancel(ctx), &mcp.ProgressNotificationParams{ProgressToken: "p"})
		}()
		return "done", nil
	}})
	_, server := serve(t, s, gosdk.Options{})
	cs := client(t, ctx, server.URL, nil)
	mustCall(t, ctx, cs, "late", "", "done")
	close(answered)
	if err := await(t, ctx, late, "the late notification"); err == nil || !strings.Contains(err.Error(), "has been answered") {
		t.Errorf("a notification behind the answer: %v, want an error that says so", err)
	}
	if err := cs.Ping(ctx, nil); err != nil {
		t.Errorf("the session ended: %v", err)
	}
}

// Given two requests of one session with tokens of their own, when tools ask
// who calls, then each hears the caller of its own call, in the request and in
// the context; a second user's requests find no session at all.
func TestEachCallHasItsOwnCaller(t *testing.T) {
	ctx := testContext(t)
	s := newServer(nil, map[string]toolFunc{"who": func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		return r.Extra.TokenInfo.Scopes[0] + " " + auth.TokenInfoFromContext(ctx).Scopes[0] + " " + r.Extra.Header.Get("X-Trace"), nil
	}})
	h, err := gosdk.NewHandler(func(*http.Request) *mcp.Server { return s }, gosdk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		user, scope, _ := strings.Cut(token, ".")
		return &auth.TokenInfo{UserID: user, Scopes: []string{scope}, Expiration: time.Now().Add(time.Hour)}, nil
	}
	server := serveHTTP(t, auth.RequireBearerToken(verify, nil)(h), h.Close)

	wire := &headers{}
	wire.set("alice.first", "trace-1")
	cs := connect(t, ctx, &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: wire}, MaxRetries: -1}, nil)
	mustCall(t, ctx, cs, "who", "", "first first trace-1")
	wire.set("alice.second", "trace-2")
	mustCall(t, ctx, cs, "who", "", "second second trace-2")
	wire.set("bob.first", "trace-3")
	if _, err := callTool(ctx, cs, "who", ""); err == nil || !strings.Contains(err.Error(), "session_unknown") {
		t.Errorf("bob in alice's session: %v, want session_unknown", err)
	}
}

// headers gives every request a token and a header.
type headers struct {
	mu           sync.Mutex
	token, trace string
}

func (h *headers) set(token, trace string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.token, h.trace = token, trace
}

func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	token, trace := h.token, h.trace
	h.mu.Unlock()
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Trace", trace)
	return http.DefaultTransport.RoundTrip(r)
}

// Given a server whose own middleware replaces the request, so that the
// handler's cannot see which call it is, when a client initializes, then it is
// refused: its events would go astray without a word. A middleware that passes
// on what it got is fine.
func TestAHiddenMiddlewareIsRefusedLoudly(t *testing.T) {
	ctx := testContext(t)
	for name, test := range map[string]struct {
		middleware mcp.Middleware
		fails      bool
	}{
		"passes on": {func(next mcp.MethodHandler) mcp.MethodHandler { return next }, false},
		"replaces": {func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if r, ok := r.(*mcp.ServerRequest[*mcp.InitializeParams]); ok {
					return next(ctx, method, &mcp.ServerRequest[*mcp.InitializeParams]{Session: r.Session, Params: r.Params})
				}
				return next(ctx, method, r)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(nil, nil)
			h, err := gosdk.NewHandler(func(*http.Request) *mcp.Server { return s }, gosdk.Options{})
			if err != nil {
				t.Fatal(err)
			}
			server := serveHTTP(t, h, h.Close)
			connectOnce := func() error {
				cs, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server.URL}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
				if err == nil {
					cs.Close()
				}
				return err
			}
			if err := connectOnce(); err != nil { // the handler's middlewares are there now
				t.Fatal(err)
			}
			s.AddReceivingMiddleware(test.middleware)
			err = connectOnce()
			if (err != nil) != test.fails || test.fails && !strings.Contains(err.Error(), "set up wrongly") {
				t.Errorf("initialize: %v, want failure %v", err, test.fails)
			}
		})
	}
}

// Ids come back as their client wrote them, also those that the SDK would
// change; and may be used again as soon as their call is answered: what ends
// with the one call does not touch the next.
func TestIDsComeBackAsTheyWere(t *testing.T) {
	ctx := testContext(t)
	_, server := serve(t, newServer(nil, map[string]toolFunc{"alive": func(ctx context.Context, _ *mcp.CallToolRequest, _ string) (string, error) {
		time.Sleep(time.Millisecond) // so that a cancellation of the call before could arrive
		return "alive", ctx.Err()
	}}), gosdk.Options{})
	c := raw(t, server.URL)
	for _, id := range []string{`1`, `0`, `-5`, `9007199254740993`, `1.5`, `1e3`, `1.0`, `"1"`, `"\u00fc\u0020"`, `""`} {
		for range 20 {
			text := c.post(ctx, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"alive","arguments":{"text":""}}}`).rest()
			if !strings.Contains(text, `"id":`+id+`,`) || !strings.Contains(text, `"alive"`) {
				t.Fatalf("id %s: %s", id, text)
			}
		}
	}
}

// A session's id is a secret: what the SDK calls its id, and logs, is not it.
func TestTheSDKNeverHearsTheSecret(t *testing.T) {
	ctx := testContext(t)
	ids := make(chan string, 1)
	s := newServer(nil, map[string]toolFunc{"id": func(_ context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		ids <- r.Session.ID()
		return "ok", nil
	}})
	_, server := serve(t, s, gosdk.Options{})
	cs := client(t, ctx, server.URL, nil)
	mustCall(t, ctx, cs, "id", "", "ok")
	if id := await(t, ctx, ids, "the call"); id == "" || id == cs.ID() || strings.Contains(cs.ID(), id) {
		t.Errorf("the server's session is called %q, the client's %q", id, cs.ID())
	}
}

// A program that makes no sense is told so: in an error, or in a panic where
// there is no room for one.
func TestOptionsThatMakeNoSense(t *testing.T) {
	one := func(*http.Request) *mcp.Server { return nil }
	if _, err := gosdk.NewHandler(nil, gosdk.Options{}); err == nil {
		t.Error("no function: no error")
	}
	bad := gosdk.Options{HTTP: streamhttp.Options{KeepAlive: -1}}
	if _, err := gosdk.NewHandler(one, bad); err == nil || !strings.Contains(err.Error(), "Options.HTTP") {
		t.Errorf("a negative keep-alive: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	gosdk.NewStreamableHTTPHandler(one, &bad)
}

// Without a server for it, there is no session.
func TestNoServerNoSession(t *testing.T) {
	h := gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return nil }, nil)
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Close()
	_, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(testContext(t), &mcp.StreamableClientTransport{Endpoint: server.URL}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err == nil || !strings.Contains(err.Error(), "no server available") {
		t.Errorf("connect: %v", err)
	}
	if n := h.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions are open", n)
	}
}

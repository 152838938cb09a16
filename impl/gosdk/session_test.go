package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
)

// asks returns a tool that samples on the stream of its call, and reports what
// came of it.
func asks(outcome chan<- error) toolFunc {
	return func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		_, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		outcome <- err
		return "asked", err
	}
}

const callAsks = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks","arguments":{"text":""}}}`

// Given a tool that waits for the client's answer, when the session ends, then
// the tool is told that the outcome is unknown, by the typed error (R16); so is
// who asked outside any call. When it is only the call that was cancelled, then
// it is a cancellation.
func TestTheServersOwnCallsEndTyped(t *testing.T) {
	ends := map[string]func(ctx context.Context, c *rawClient, h *gosdk.Handler, s *mcp.Server){
		"deleted": func(ctx context.Context, c *rawClient, _ *gosdk.Handler, _ *mcp.Server) {
			if a := c.do(ctx, http.MethodDelete, "", nil); a.StatusCode != http.StatusNoContent {
				t.Errorf("DELETE: %s", a.Status)
			}
		},
		"closed": func(_ context.Context, _ *rawClient, h *gosdk.Handler, _ *mcp.Server) { h.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			outcome, outside := make(chan error, 1), make(chan error, 1)
			s := newServer(nil, map[string]toolFunc{"asks": asks(outcome)})
			h, server := serve(t, s, gosdk.Options{})
			c := raw(t, server.URL)
			c.post(ctx, callAsks).until("sampling/createMessage")
			for ss := range s.Sessions() {
				go func() {
					_, err := ss.ListRoots(context.Background(), nil)
					outside <- err
				}()
			}
			c.get(ctx, "").until("roots/list")
			end(ctx, c, h, s)
			for what, err := range map[string]error{"in the call": await(t, ctx, outcome, "the tool's end"), "outside": await(t, ctx, outside, "the end of the question")} {
				if !errors.Is(err, streamhttp.ErrOutcomeUnknown) {
					t.Errorf("%s: %v, want an unknown outcome", what, err)
				}
			}
			awaitNoSession(t, ctx, s, h)
		})
	}
	t.Run("deleted, again and again", func(t *testing.T) { // the cancellation of the tool and the end of its question race
		ctx := testContext(t)
		outcome := make(chan error, 1)
		h, server := serve(t, newServer(nil, map[string]toolFunc{"asks": asks(outcome)}), gosdk.Options{})
		for range 60 {
			c := raw(t, server.URL)
			c.post(ctx, callAsks).until("sampling/createMessage")
			ends["deleted"](ctx, c, h, nil)
			if err := await(t, ctx, outcome, "the tool's end"); !errors.Is(err, streamhttp.ErrOutcomeUnknown) {
				t.Fatalf("%v, want an unknown outcome", err)
			}
		}
	})
	t.Run("only cancelled", func(t *testing.T) {
		ctx := testContext(t)
		outcome := make(chan error, 1)
		_, server := serve(t, newServer(nil, map[string]toolFunc{"asks": asks(outcome)}), gosdk.Options{})
		c := raw(t, server.URL)
		answer := c.post(ctx, callAsks)
		answer.until("sampling/createMessage")
		c.post(ctx, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`).rest()
		err := await(t, ctx, outcome, "the tool's end")
		if !errors.Is(err, context.Canceled) || errors.Is(err, streamhttp.ErrOutcomeUnknown) {
			t.Errorf("%v, want a cancellation and no unknown outcome", err)
		}
		if text := answer.rest(); !strings.Contains(text, `"id":1`) {
			t.Errorf("the stream of the cancelled call: %s", text)
		}
	})
}

// awaitNoSession waits until neither side has a session.
func awaitNoSession(t *testing.T, ctx context.Context, s *mcp.Server, h *gosdk.Handler) {
	t.Helper()
	for {
		n := 0
		for range s.Sessions() {
			n++
		}
		if n == 0 && h.Stats().Sessions == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the SDK has %d sessions, the handler %d", n, h.Stats().Sessions)
		case <-time.After(time.Millisecond):
		}
	}
}

// Given an open session, when the client closes it, then the SDK's session ends
// too; when the program closes the SDK's session, then the client's is gone:
// 404, and never anything else again (R6).
func TestTheTwoSessionsEndTogether(t *testing.T) {
	ctx := testContext(t)
	s := newServer(nil, nil)
	h, server := serve(t, s, gosdk.Options{})

	cs := client(t, ctx, server.URL, nil)
	if err := cs.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	awaitNoSession(t, ctx, s, h)

	c := raw(t, server.URL)
	for ss := range s.Sessions() {
		if err := ss.Close(); err != nil {
			t.Errorf("closing the SDK's session: %v", err)
		}
		if err := ss.Wait(); err != nil {
			t.Errorf("waiting for its end: %v", err)
		}
	}
	for range 2 {
		if a := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.StatusCode != http.StatusNotFound {
			t.Errorf("a ping behind the end: %s", a.Status)
		}
	}
	awaitNoSession(t, ctx, s, h)
}

// Given a call whose client is gone, when its detach budget is over, then the
// tool's context ends; and not before, a dropped connection ends nothing (R9b).
func TestATooLongAbsenceCancelsTheTool(t *testing.T) {
	ctx := testContext(t)
	began, ended := make(chan struct{}), make(chan error, 1)
	s := newServer(nil, map[string]toolFunc{"wait": func(ctx context.Context, _ *mcp.CallToolRequest, _ string) (string, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	}})
	const budget = 400 * time.Millisecond
	o := gosdk.Options{HTTP: streamhttp.Options{Session: session.Options{DetachBudget: budget, SessionBudget: time.Minute, WindowAge: budget}}}
	_, server := serve(t, s, o)
	c := raw(t, server.URL)
	here, leave := context.WithCancel(ctx)
	defer leave()
	c.post(here, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"text":""}}}`)
	await(t, ctx, began, "the call")
	gone := time.Now()
	leave()
	await(t, ctx, ended, "the tool's end")
	if after := time.Since(gone); after < budget/2 {
		t.Errorf("the tool was cancelled after %v, the budget is %v", after, budget)
	}
	if a := c.post(ctx, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); a.StatusCode != http.StatusOK {
		t.Errorf("the session is gone with the call: %s", a.Status)
	}
}

// Given a tool that closes its stream, when its client comes back with the
// cursor, then it was told when, misses nothing and sees nothing twice.
func TestAToolClosesItsStream(t *testing.T) {
	ctx := testContext(t)
	read, goOn := make(chan struct{}), make(chan struct{})
	s := newServer(nil, map[string]toolFunc{"closer": func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: "before"}); err != nil {
			return "", err
		}
		<-read // what the view has not taken yet waits for the next one
		r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		<-goOn
		return "after", r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: "between"})
	}})
	_, server := serve(t, s, gosdk.Options{})
	c := raw(t, server.URL)
	answer := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"closer","arguments":{"text":""}}}`)
	text := answer.until("before")
	close(read)
	if text += answer.rest(); !strings.Contains(text, "retry: 10\n") && !strings.Contains(text, "retry:10\n") {
		t.Errorf("the closed stream: %q, want retry", text)
	}
	close(goOn)
	text = c.get(ctx, lastID(text)).rest()
	if strings.Contains(text, "before") || !strings.Contains(text, "between") || !strings.Contains(text, `"after"`) {
		t.Errorf("the resumed stream: %q", text)
	}

	cs := client(t, ctx, server.URL, nil) // and the SDK's client does all that by itself
	mustCall(t, ctx, cs, "closer", "", "after")
}

// Given a running call, when the server drains, then the call ends as it would
// have, nothing new begins in either era, and Drain returns (R12).
func TestDraining(t *testing.T) {
	ctx := testContext(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	s := newServer(nil, map[string]toolFunc{"wait": func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		close(began)
		_, err := r.Session.ListRoots(ctx, nil) // its answer still comes in
		<-goOn
		return "done", err
	}})
	h, server := serve(t, s, gosdk.Options{})
	c := raw(t, server.URL)
	answer := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"text":""}}}`)
	await(t, ctx, began, "the call")
	answer.until("roots/list")
	drained := make(chan error, 1)
	go func() { drained <- h.Drain(ctx) }()
	for !strings.Contains(c.post(ctx, `{"jsonrpc":"2.0","id":2,"method":"ping"}`).rest(), "draining") {
		if ctx.Err() != nil {
			t.Fatal("calls are still taken")
		}
	}
	later := modern(t, server.URL)
	if a := later.post(ctx, discover); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Errorf("a request of 2026-07-28 while draining: %s", a.Status)
	}
	select {
	case err := <-drained:
		t.Fatalf("drained while a call runs: %v", err)
	default:
	}
	if a := c.post(ctx, `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`); a.StatusCode != http.StatusAccepted {
		t.Errorf("the answer to the server's own request: %s", a.Status)
	}
	close(goOn)
	if err := await(t, ctx, drained, "the end of the drain"); err != nil {
		t.Errorf("draining: %v", err)
	}
}

// Given a tool that does not end, in either era, when the server drains, then
// the drain is over in its grace period, and says that calls still run (R12).
func TestADrainIsOverInTime(t *testing.T) {
	ctx := testContext(t)
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	s := newServer(nil, map[string]toolFunc{"echo": func(context.Context, *mcp.CallToolRequest, string) (string, error) {
		began <- struct{}{}
		<-goOn
		return "done", nil
	}})
	h, server := serve(t, s, gosdk.Options{HTTP: streamhttp.Options{GracePeriod: 50 * time.Millisecond}})
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}%s}}`
	raw(t, server.URL).post(ctx, fmt.Sprintf(call, ""))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		modern(t, server.URL).post(ctx, fmt.Sprintf(call, ","+laterMeta))
	}()
	await(t, ctx, began, "the one call")
	await(t, ctx, began, "the other call")
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	drained := make(chan error, 1)
	go func() { drained <- h.Shutdown(ctx) }()
	err := await(t, ctx, drained, "the end of the drain")
	if !errors.Is(err, streamhttp.ErrStillRunning) || !strings.Contains(err.Error(), "2026-07-28") || ctx.Err() != nil {
		t.Errorf("draining: %v, want that calls of both eras still run", err)
	}
	if n := h.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions outlived the shutdown", n)
	}
	release()
	await(t, ctx, answered, "the answer of the other call")
}

// Given a program that makes a server for each session, when they end, then the
// handler holds none of them alive.
func TestServersAreNotHeld(t *testing.T) {
	ctx := testContext(t)
	collected := make(chan struct{}, 8)
	h := gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := newServer(nil, map[string]toolFunc{"echo": func(_ context.Context, _ *mcp.CallToolRequest, text string) (string, error) { return text, nil }})
		runtime.AddCleanup(s, func(int) { collected <- struct{}{} }, 0)
		return s
	}, nil)
	server := serveHTTP(t, h, h.Close)
	cs := client(t, ctx, server.URL, nil)
	mustCall(t, ctx, cs, "echo", "x", "x")
	cs.Close()
	for {
		runtime.GC()
		select {
		case <-collected:
			return
		case <-ctx.Done():
			t.Fatal("the server is still there")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Given answers that nobody waits for, and answers twice, when they arrive, then
// the session goes on and the one that counts is the first.
func TestAnswersThatNobodyWaitsFor(t *testing.T) {
	ctx := testContext(t)
	answers := make(chan string, 1)
	s := newServer(nil, map[string]toolFunc{"asks": func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		result, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		if err != nil {
			answers <- err.Error()
			return "", err
		}
		answers <- result.Model
		return "asked", nil
	}})
	_, server := serve(t, s, gosdk.Options{})
	c := raw(t, server.URL)
	said := func(id, model string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"model":%q,"role":"assistant","content":{"type":"text","text":"t"}}}`, id, model)
	}
	for _, id := range []string{"99", `"1"`, "1.5"} {
		if a := c.post(ctx, said(id, "nobody")); a.StatusCode != http.StatusAccepted {
			t.Errorf("an answer to %s: %s", id, a.Status)
		}
	}
	answer := c.post(ctx, callAsks)
	answer.until("sampling/createMessage")
	c.post(ctx, said("1", "first")).rest()
	c.post(ctx, said("1", "second")).rest()
	if got := await(t, ctx, answers, "the answer"); got != "first" {
		t.Errorf("the tool got %q, want the first answer", got)
	}
	answer.until(`"asked"`)

	answer = c.post(ctx, strings.Replace(callAsks, `"id":1`, `"id":2`, 1))
	answer.until("sampling/createMessage")
	c.post(ctx, `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"the user said no"}}`).rest()
	if got := await(t, ctx, answers, "the refusal"); !strings.Contains(got, "the user said no") {
		t.Errorf("the tool got %q, want the client's error", got)
	}
}

// A result that is larger than an event may be is answered with an error that
// says so, and the session goes on (R3).
func TestAResultThatIsTooLarge(t *testing.T) {
	ctx := testContext(t)
	s := newServer(nil, map[string]toolFunc{"large": func(context.Context, *mcp.CallToolRequest, string) (string, error) {
		return strings.Repeat("x", 64<<10), nil
	}})
	_, server := serve(t, s, gosdk.Options{HTTP: streamhttp.Options{Session: session.Options{EventBytes: 32 << 10}}})
	cs := client(t, ctx, server.URL, nil)
	if _, err := callTool(ctx, cs, "large", ""); err == nil || !strings.Contains(err.Error(), "more than an event may have") {
		t.Errorf("a result of 64 KiB: %v", err)
	}
	if err := cs.Ping(ctx, nil); err != nil {
		t.Errorf("the session ended: %v", err)
	}
}

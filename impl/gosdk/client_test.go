package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	driver "example.com/reattach/impl/client"
	"example.com/reattach/impl/gosdk"
	"example.com/reattach/spec"
)

// Given a call with progress, when its connection is cut after the first step,
// then the call goes on in the same session: the tool ran once, each step came
// once, and the caller of the SDK got the answer (R4, R21).
func TestClientCallSurvivesACut(t *testing.T) {
	ctx := testContext(t)
	shop := newWorkshop()
	_, server := serve(t, shop.server, gosdk.Options{})
	net := &wire{}
	p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client()})

	net.cutBehind(`a step 1`) // inside the event: it arrives whole the second time only
	done := p.goCall(ctx, "steps", "a")
	eventually(t, ctx, "the cut", func() bool { return net.cut() == 1 })
	shop.gate <- struct{}{}
	if got := await(t, ctx, done, "the answer"); got.err != nil || got.text != "done a" {
		t.Errorf("answered %q, %v", got.text, got.err)
	}
	p.progress.await(t, ctx, "a step 1", "a step 2")
	shop.runs.await(t, ctx, "a")
	if n := len(net.sent(http.MethodPost, "tools/call")); n != 1 {
		t.Errorf("the call was POSTed %d times, want once", n)
	}
}

// Given a client of the SDK with its defaults, which asks for a revision
// without sessions first, then it is sent to initialize without a request on
// the wire.
func TestClientNeedsNoVersion(t *testing.T) {
	ctx := testContext(t)
	_, server := serve(t, newWorkshop().server, gosdk.Options{})
	net := &wire{}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).
		Connect(ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	if v := cs.InitializeResult().ProtocolVersion; v != "2025-11-25" {
		t.Errorf("negotiated %s", v)
	}
	if len(net.sent(http.MethodPost, "server/discover")) != 0 {
		t.Error("a request of the revision without sessions left")
	}
	if cs.ID() == "" {
		t.Error("the session has no id")
	}
}

// Given a record in a file, when a process leaves in the middle of a call and
// another one connects with the same file, then it is in the same session: its
// initialize is answered from the record, no POST leaves, the call of before is
// awaited to its answer, and the ids on the wire go on (R20, R29).
func TestClientRestartWithinASession(t *testing.T) {
	ctx := testContext(t)
	shop := newWorkshop()
	_, server := serve(t, shop.server, gosdk.Options{})
	path := filepath.Join(t.TempDir(), "record")

	first := &wire{}
	p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: first.client(), Store: driver.OpenFile(path)})
	mustCall(t, ctx, p.session, "echo", "a", "echo a")
	id := p.session.ID()
	done := p.goCall(ctx, "steps", "b")
	p.progress.await(t, ctx, "b step 1")
	if err := p.transport.Detach(); err != nil {
		t.Fatal(err)
	}
	left := await(t, ctx, done, "what the caller is told")
	var e *gosdk.CallError
	var pending *driver.PendingError
	if !errors.As(left.err, &e) || e.Data.Outcome != gosdk.OutcomePending || !errors.As(left.err, &pending) {
		t.Fatalf("the caller of a process that leaves was told %v, want pending", left.err)
	}
	p.session.Close()
	if n := len(first.sent(http.MethodDelete, "")); n != 0 {
		t.Errorf("%d DELETEs: the session was to stay", n)
	}

	second := &wire{}
	q := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: second.client(), Store: driver.OpenFile(path)})
	if q.session.ID() != id || q.session.InitializeResult().ServerInfo.Name != "test" {
		t.Errorf("session %q with %v, want %q and the server of before", q.session.ID(), q.session.InitializeResult(), id)
	}
	if posts := second.sent(http.MethodPost, ""); len(posts) != 0 {
		t.Errorf("connecting sent %v, want nothing", posts)
	}
	shop.gate <- struct{}{}
	result, err := q.transport.Await(ctx, pending.Stream)
	if err != nil || !strings.Contains(string(result), "done b") {
		t.Errorf("the pending call: %s, %v", result, err)
	}
	q.progress.await(t, ctx, "b step 2") // and step 1 is not repeated
	mustCall(t, ctx, q.session, "echo", "c", "echo c")
	shop.runs.await(t, ctx, "a", "b", "c")
	seen := map[uint64]bool{}
	for _, s := range append(first.sent(http.MethodPost, "tools/call"), second.sent(http.MethodPost, "tools/call")...) {
		var m struct{ ID uint64 }
		if err := json.Unmarshal([]byte(s.body), &m); err != nil || seen[m.ID] {
			t.Errorf("request id in %s: %v, and used before: %v", s.body, err, seen[m.ID])
		}
		seen[m.ID] = true
	}
}

// Given the same, but the first process ended before it made a call, then
// nobody can tell whether it said that it is initialized, and it is said again.
func TestClientRestartBeforeTheFirstCall(t *testing.T) {
	ctx := testContext(t)
	_, server := serve(t, newWorkshop().server, gosdk.Options{})
	path := filepath.Join(t.TempDir(), "record")
	for range 2 {
		net := &wire{}
		p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client(), Store: driver.OpenFile(path)})
		if n := len(net.sent(http.MethodPost, "notifications/initialized")); n != 1 {
			t.Errorf("said %d times, want once in each process", n)
		}
		p.session.Close()
	}
}

// Given a call in flight, when the server has lost the session, then the one
// caller is told that the outcome is unknown, the connection ends with an error
// that wraps the SDK's ErrSessionMissing, and nothing is opened silently. The
// next Connect opens the next epoch in quarantine, and a decision ends it (R22,
// R23).
func TestClientLosesItsSession(t *testing.T) {
	ctx := testContext(t)
	shop := newWorkshop()
	h, server := serve(t, shop.server, gosdk.Options{})
	net := &wire{}
	store := driver.NewMemoryStore(driver.Record{})
	p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client(), Store: store})
	done := p.goCall(ctx, "steps", "a")
	p.progress.await(t, ctx, "a step 1")
	net.set(func(w *wire) {
		w.answers = func(*http.Request) *http.Response { return refuse(http.StatusNotFound, "") }
	})
	server.CloseClientConnections()

	got := await(t, ctx, done, "the outcome")
	var unknown *driver.UnknownError
	var said *jsonrpc.Error
	if !errors.As(got.err, &unknown) || !errors.Is(got.err, mcp.ErrSessionMissing) || !errors.As(got.err, &said) {
		t.Fatalf("the caller was told %v, want unknown, in a session that is gone", got.err)
	}
	var data gosdk.CallData
	if err := json.Unmarshal(said.Data, &data); err != nil || said.Code != gosdk.CodeNoAnswer ||
		data != (gosdk.CallData{Outcome: gosdk.OutcomeUnknown, Reason: spec.ReasonSessionUnknown, Call: "1/" + "1"}) {
		t.Errorf("typed data %s, %v", said.Data, err)
	}
	err := p.session.Wait()
	var over *gosdk.SessionError
	if !errors.As(err, &over) || !errors.Is(err, mcp.ErrSessionMissing) || !errors.Is(err, spec.ReasonSessionUnknown) {
		t.Errorf("the session ended with %v", err)
	}
	if n := len(net.sent(http.MethodPost, "initialize")); n > 2 { // initialize and initialized
		t.Errorf("a session was opened silently: %v", net.sent(http.MethodPost, "initialize"))
	}

	h.Close()
	_, server = serve(t, newWorkshop().server, gosdk.Options{})
	q := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, Store: store})
	_, err = callTool(ctx, q.session, "echo", "b")
	var e *gosdk.CallError
	if !errors.Is(err, spec.ReasonQuarantined) || !errors.As(err, &e) || e.Data.Outcome != gosdk.OutcomeRefused {
		t.Errorf("a call in quarantine: %v", err)
	}
	if err := q.session.Ping(ctx, nil); err != nil {
		t.Errorf("a ping in quarantine: %v", err)
	}
	unknowns := q.transport.Driver().Unknowns()
	if len(unknowns) != 1 || unknowns[0].Label != "tools/call" {
		t.Fatalf("unknowns %v", unknowns)
	}
	if err := q.transport.Driver().Resolve(ctx, unknowns[0].Stream, driver.GaveUp); err != nil {
		t.Fatal(err)
	}
	mustCall(t, ctx, q.session, "echo", "c", "echo c")
}

// Given a cut, when the server refuses the cursor with 409, then the epoch is
// over for all its calls at once (R22).
func TestClientCursorRefused(t *testing.T) {
	ctx := testContext(t)
	shop := newWorkshop()
	_, server := serve(t, shop.server, gosdk.Options{})
	net := &wire{}
	p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client()})
	a, b := p.goCall(ctx, "steps", "a"), p.goCall(ctx, "steps", "b")
	eventually(t, ctx, "both calls", func() bool {
		p.progress.mu.Lock()
		defer p.progress.mu.Unlock()
		return len(p.progress.all) == 2
	})
	net.set(func(w *wire) {
		w.answers = func(r *http.Request) *http.Response {
			if r.Method != http.MethodGet {
				return nil
			}
			return refuse(http.StatusConflict, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x","data":{"reason":"cursor_evicted"}}}`)
		}
	})
	server.CloseClientConnections()
	for name, done := range map[string]<-chan result{"a": a, "b": b} {
		got := await(t, ctx, done, name)
		if !errors.Is(got.err, mcp.ErrSessionMissing) || !errors.Is(got.err, spec.ReasonCursorEvicted) {
			t.Errorf("%s: %v", name, got.err)
		}
	}
	if err := p.session.Wait(); !errors.Is(err, spec.ReasonCursorEvicted) {
		t.Errorf("the session ended with %v", err)
	}
}

// Given a POST whose answer is lost before any header, then that call is an
// unknown outcome and the session lives (R24).
func TestClientPostWithoutAnAnswer(t *testing.T) {
	ctx := testContext(t)
	shop := newWorkshop()
	_, server := serve(t, shop.server, gosdk.Options{})
	net := &wire{}
	p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client()})
	net.set(func(w *wire) {
		w.lose = func(r *http.Request) bool { return r.Method == http.MethodPost }
	})
	_, err := callTool(ctx, p.session, "echo", "a")
	var unknown *driver.UnknownError
	if !errors.As(err, &unknown) || errors.Is(err, mcp.ErrSessionMissing) {
		t.Errorf("the caller was told %v, want unknown, in a session that lives", err)
	}
	net.set(func(w *wire) { w.lose = nil })
	mustCall(t, ctx, p.session, "echo", "b", "echo b")
	if n := len(net.sent(http.MethodPost, `"text":"a"`)); n != 1 {
		t.Errorf("the call was sent %d times, want once", n)
	}
}

// Given a server that cannot be reached, when a call's attempts are used up,
// then its caller is told that it is pending, and after Resume it has its
// answer (R26).
func TestClientSuspended(t *testing.T) {
	ctx := testContext(t)
	shop := newWorkshop()
	_, server := serve(t, shop.server, gosdk.Options{})
	net := &wire{}
	p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client(), MaxRetries: 2, DisableStandaloneSSE: true})
	done := p.goCall(ctx, "steps", "a")
	p.progress.await(t, ctx, "a step 1")
	net.set(func(w *wire) {
		w.answers = func(*http.Request) *http.Response { return refuse(http.StatusServiceUnavailable, "") }
	})
	server.CloseClientConnections()
	got := await(t, ctx, done, "what the caller is told")
	var pending *driver.PendingError
	if !errors.As(got.err, &pending) || !errors.Is(got.err, spec.ReasonStreamSuspended) {
		t.Fatalf("told %v, want pending", got.err)
	}
	if n := len(net.sent(http.MethodGet, "")); n != 2 {
		t.Errorf("%d attempts, want MaxRetries", n)
	}
	net.set(func(w *wire) { w.answers = nil })
	shop.gate <- struct{}{}
	if err := p.transport.Driver().Resume(ctx, pending.Stream); err != nil {
		t.Fatal(err)
	}
	answer, err := p.transport.Await(ctx, pending.Stream)
	if err != nil || !strings.Contains(string(answer), "done a") {
		t.Errorf("the pending call: %s, %v", answer, err)
	}
	shop.runs.await(t, ctx, "a")
}

// Given a call whose caller leaves, then the server is told under the id that
// it knows, and the answer that comes too late is dropped and counted (R29).
func TestClientCancels(t *testing.T) {
	ctx := testContext(t)
	shop := newWorkshop()
	_, server := serve(t, shop.server, gosdk.Options{})
	net := &wire{}
	path := filepath.Join(t.TempDir(), "record")
	for range 2 { // the second process's ids differ from the SDK's
		p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client(), Store: driver.OpenFile(path)})
		mustCall(t, ctx, p.session, "echo", "a", "echo a")
		leaving, leave := context.WithCancel(ctx)
		done := p.goCall(leaving, "steps", "b")
		p.progress.await(t, ctx, "b step 1")
		leave()
		if got := await(t, ctx, done, "the caller"); !errors.Is(got.err, context.Canceled) {
			t.Errorf("the caller was told %v", got.err)
		}
		eventually(t, ctx, "the late answer", func() bool { return p.transport.Stats().Late == 1 })
		var call, cancel struct {
			ID     uint64
			Params struct{ RequestID uint64 }
		}
		calls, cancels := net.sent(http.MethodPost, `"text":"b"`), net.sent(http.MethodPost, "notifications/cancelled")
		json.Unmarshal([]byte(calls[len(calls)-1].body), &call)
		json.Unmarshal([]byte(cancels[len(cancels)-1].body), &cancel)
		if call.ID == 0 || cancel.Params.RequestID != call.ID {
			t.Errorf("cancelled %d, and the call was %d", cancel.Params.RequestID, call.ID)
		}
		if r := p.transport.Driver().Snapshot().Record; len(r.Calls) != 0 {
			t.Errorf("still in flight: %v", r.Calls)
		}
		p.session.Close()
	}
}

// Given a server that asks (sampling) and tells (list changed), then both reach
// the SDK's handlers, answers reach the server, and the standalone stream
// survives a cut.
func TestClientIsAskedAndTold(t *testing.T) {
	ctx := testContext(t)
	s := newServer(nil, map[string]toolFunc{"ask": func(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error) {
		m, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}})
		if err != nil {
			return "", err
		}
		return m.Content.(*mcp.TextContent).Text, nil
	}})
	_, server := serve(t, s, gosdk.Options{})
	net := &wire{}
	changed := newTally()
	cs := connect(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client(), Options: quick(driver.Options{})}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "sampled " + r.Params.Messages[0].Content.(*mcp.TextContent).Text}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed.add("changed") },
	})
	mustCall(t, ctx, cs, "ask", "a", "sampled a")
	net.cutBehind("tools/list_changed") // inside its event
	mcp.AddTool(s, &mcp.Tool{Name: "new"}, func(context.Context, *mcp.CallToolRequest, textIn) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	changed.await(t, ctx, "changed")
	if net.cut() != 1 {
		t.Error("nothing was cut: the test shows nothing")
	}
}

// Apply sees every message of the server before its token moves, and one that
// it does not take comes again (R20).
func TestClientApplies(t *testing.T) {
	ctx := testContext(t)
	shop := newWorkshop()
	_, server := serve(t, shop.server, gosdk.Options{})
	var applied []string
	failed := false
	store := driver.NewMemoryStore(driver.Record{})
	p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, Store: store, DisableStandaloneSSE: true, Apply: func(ev driver.Event) error {
		if r, _ := store.Load(ctx); ev.ID != "" {
			if token, _ := r.Token(ev.Stream.Request); token.LastEventID == ev.ID {
				t.Errorf("the token stands at %s before it is applied", ev.ID)
			}
		}
		if ev.Answer && !failed {
			failed = true
			return errors.New("the disk is full")
		}
		applied = append(applied, string(ev.Payload))
		return nil
	}})
	shop.gate <- struct{}{}
	mustCall(t, ctx, p.session, "steps", "a", "done a")
	if len(applied) != 3 || !strings.Contains(applied[2], "done a") || !failed {
		t.Errorf("applied %q", applied)
	}
}

// Without a store nobody could go on in the session, so Close ends it.
func TestClientWithoutAStoreEndsItsSession(t *testing.T) {
	ctx := testContext(t)
	_, server := serve(t, newWorkshop().server, gosdk.Options{})
	net := &wire{}
	p := begin(t, ctx, &gosdk.ClientTransport{Endpoint: server.URL, HTTPClient: net.client()})
	if err := p.session.Close(); err != nil {
		t.Error(err)
	}
	if n := len(net.sent(http.MethodDelete, "")); n != 1 {
		t.Errorf("%d DELETEs, want one", n)
	}
}

// What makes no sense is refused before anything is sent.
func TestClientTransportsThatMakeNoSense(t *testing.T) {
	for name, tr := range map[string]*gosdk.ClientTransport{
		"no endpoint":        {},
		"a timeout":          {Endpoint: "http://localhost/", HTTPClient: &http.Client{Timeout: time.Minute}},
		"less than no retry": {Endpoint: "http://localhost/", MaxRetries: -1},
	} {
		if _, err := tr.Connect(t.Context()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	tr := &gosdk.ClientTransport{Endpoint: "http://localhost/"}
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := tr.Connect(t.Context()); err == nil {
		t.Error("connected twice")
	}
}

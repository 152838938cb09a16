package properties

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/spec"
)

// Cases from practice, with tools of the official SDK behind impl/gosdk, and
// where it matters its client in front.

type sdkText struct {
	Text string `json:"text"`
}

// serveTool serves one tool of the SDK, by any name.
func serveTool(t *testing.T, name string, tool func(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error)) *httptest.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "cases", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, r *mcp.CallToolRequest, in sdkText) (*mcp.CallToolResult, any, error) {
		text, err := tool(ctx, r, in.Text)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	h := gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// sdkClient connects the SDK's client over a round tripper, without a standalone
// stream.
func sdkClient(t *testing.T, ctx context.Context, url string, rt http.RoundTripper, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "official", Version: "1"}, o).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: rt},
	}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

func callText(ctx context.Context, cs *mcp.ClientSession, tool, text string) (string, error) {
	p := &mcp.CallToolParams{Name: tool, Arguments: sdkText{text}}
	p.SetProgressToken("p")
	result, err := cs.CallTool(ctx, p)
	if err != nil {
		return "", err
	}
	return result.Content[0].(*mcp.TextContent).Text, nil
}

// An sdkCutter breaks the answers to calls of a tool, as its client sees them, where
// reach says, and notes with which cursors the client comes back.
type sdkCutter struct {
	reach func(body []byte) int // how much of what was read still arrives, or -1: all of it

	mu      sync.Mutex
	cuts    int
	cursors []string
}

func (c *sdkCutter) RoundTrip(r *http.Request) (*http.Response, error) {
	called := false
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		called = bytes.Contains(body, []byte(`"tools/call"`))
	}
	if cursor := r.Header.Get("Last-Event-ID"); cursor != "" {
		c.mu.Lock()
		c.cursors = append(c.cursors, cursor)
		c.mu.Unlock()
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && called {
		answer.Body = &sdkCutBody{ReadCloser: answer.Body, cutter: c}
	}
	return answer, err
}

type sdkCutBody struct {
	io.ReadCloser
	cutter *sdkCutter
	seen   []byte
	err    error
}

var errSDKCut = errors.New("the connection broke")

func (b *sdkCutBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p)
	before := len(b.seen)
	b.seen = append(b.seen, p[:n]...)
	if reach := b.cutter.reach(b.seen); reach >= 0 {
		b.ReadCloser.Close()
		b.cutter.mu.Lock()
		b.cutter.cuts++
		b.cutter.mu.Unlock()
		b.err = errSDKCut
		return max(reach-before, 0), b.err
	}
	return n, err
}

// cutBehindMark cuts behind the first occurrence of a mark.
func cutBehindMark(mark string) func([]byte) int {
	return func(body []byte) int {
		if at := bytes.Index(body, []byte(mark)); at >= 0 {
			return at + len(mark)
		}
		return -1
	}
}

// Ambiguous ids: everything that a client may name, a request, a progress
// token, a tool, contains every delimiter that event ids are made with. Two
// sessions use the same names. Each is resumed: the missed and the next event
// arrive, and every event id reads one way.
func TestCase02AmbiguousIDs(t *testing.T) {
	const tool = "a.b_c-1"
	goOn := make(chan struct{})
	server := serveTool(t, tool, func(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error) {
		for i := range 3 {
			if i == 2 {
				<-goOn
			}
			message := fmt.Sprintf("%s step %d", text, i)
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: message}); err != nil {
				return "", err
			}
		}
		return text + " done", nil
	})
	names := []string{":", "1:2:3", "_", "0_1", "a_b_0", " ", "\n\n", "data: x", "id: 1:1:1:1", "00000000000000000000000000000000:1:1:1", "%3A", "é\u2028"}
	type running struct {
		p            *peer
		name, cursor string
	}
	var calls []running
	seen := map[string]bool{}
	for session := range 2 {
		p := openPeer(t, server.URL)
		for _, name := range names {
			id, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(fmt.Sprintf("%d %s", session, name))
			r := p.send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{"text":%s},"_meta":{"progressToken":%s}}}`, id, tool, text, id))
			var last string
			for !strings.Contains(last, "step 0") {
				e, err := r.events.Next()
				if err != nil {
					t.Fatalf("%q: %v", name, err)
				}
				id := string(e.ID)
				if last = string(e.Data); seen[id] {
					t.Errorf("%q: the event id %s is on another stream too", name, id)
				}
				seen[id] = true
				if parsed, err := spec.ParseEventID(id); err != nil || parsed.String() != id {
					t.Errorf("%q: the event id %q reads as %v, %v", name, id, parsed, err)
				}
				if strings.Contains(last, "step 0") {
					calls = append(calls, running{p, string(text), id})
				}
			}
			r.cancel()
		}
	}
	var resumed []*reply
	for _, c := range calls {
		resumed = append(resumed, c.p.send("GET", "", "Last-Event-ID", c.cursor))
	}
	close(goOn)
	for i, c := range calls {
		var got []string
		for {
			e, err := resumed[i].events.Next()
			if err != nil {
				break
			}
			if len(e.Data) > 0 {
				got = append(got, string(e.Data))
			}
		}
		name := strings.Trim(c.name, `"`)
		if len(got) != 3 || !strings.Contains(got[0], name+" step 1") || !strings.Contains(got[1], name+" step 2") || !strings.Contains(got[2], name+" done") {
			t.Errorf("%s resumed at %s: %q", c.name, c.cursor, got)
		}
	}
	if len(calls) != 2*len(names) {
		t.Errorf("%d calls were resumed, want %d", len(calls), 2*len(names))
	}
}

// openPeer opens a session of a server that is not a stage.
func openPeer(t *testing.T, url string) *peer {
	t.Helper()
	p := &peer{t: t, url: url}
	r := p.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"peer","version":"1"}}}`)
	if p.session = r.header.Get("Mcp-Session-Id"); p.session == "" {
		t.Fatalf("initialize: %d %s", r.status, r.all())
	}
	return p
}

// Answered and forgotten: the answer is written, and the connection dies before
// its client has read it, or in the middle of it. It arrives by the resumption,
// and the tool ran once.
func TestCase07AnsweredAndForgotten(t *testing.T) {
	for name, reach := range map[string]func([]byte) int{
		"inside the answer": cutBehindMark(`"result":{"con`),
		"before the answer": func(body []byte) int { // all of it has come, and is lost
			step, rest, _ := bytes.Cut(body, []byte(`"step"`))
			if end := bytes.Index(rest, []byte("\n\n")); end >= 0 && bytes.Contains(rest, []byte(`"result":`)) {
				return len(step) + len(`"step"`) + end + 2
			}
			return -1
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the SDK's client waits a second before it comes back
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			var runs atomic.Int64
			server := serveTool(t, "count", func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
				n := runs.Add(1)
				err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: "step"})
				return fmt.Sprint("run ", n), err
			})
			wire := &sdkCutter{reach: reach}
			cs := sdkClient(t, ctx, server.URL, wire, nil)
			if got, err := callText(ctx, cs, "count", ""); err != nil || got != "run 1" {
				t.Errorf("the call came to %q, %v", got, err)
			}
			if n := runs.Load(); n != 1 || wire.cuts != 1 || len(wire.cursors) != 1 {
				t.Errorf("%d runs, %d cuts, resumed at %q; want one each", n, wire.cuts, wire.cursors)
			}
		})
	}
}

// Priming ids: 32 calls at once, each cut behind its priming event and before
// anything else. Each has an id of its own there, and gets its own answer.
func TestCase09PrimingIDs(t *testing.T) {
	const calls = 32
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var began sync.WaitGroup
	began.Add(calls)
	server := serveTool(t, "echo", func(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error) {
		began.Done()
		began.Wait() // they really run at once
		return text, nil
	})
	wire := &sdkCutter{reach: func(body []byte) int { // the first event is the priming one
		at := bytes.Index(body, []byte("id: "))
		if at < 0 {
			return -1
		}
		if end := bytes.Index(body[at:], []byte("\n\n")); end >= 0 {
			return at + end + 2
		}
		return -1
	}}
	cs := sdkClient(t, ctx, server.URL, wire, nil)
	var running sync.WaitGroup
	for i := range calls {
		running.Go(func() {
			text := strconv.Itoa(i)
			if got, err := callText(ctx, cs, "echo", text); err != nil || got != text {
				t.Errorf("call %d came to %q, %v", i, got, err)
			}
		})
	}
	running.Wait()
	distinct := map[string]bool{}
	for _, cursor := range wire.cursors {
		distinct[cursor] = true
		if !strings.Contains(cursor, ":0:") || !strings.HasSuffix(cursor, ":0") {
			t.Errorf("a call was resumed at %s, which is not its beginning", cursor)
		}
	}
	if wire.cuts != calls || len(distinct) != calls {
		t.Errorf("%d cuts, %d distinct priming ids; want %d of both", wire.cuts, len(distinct), calls)
	}
}

// Line separators: what a tool is given and gives back, in arguments, progress
// and result, arrives byte for byte, uncut and resumed.
func TestCase27LineSeparatorsThroughTheSDK(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server := serveTool(t, "echo", func(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error) {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: text})
		return text, err
	})
	texts := []string{
		"\u2028", "\u2029", "\u0085", "\r", "\r\n", "\n", "\n\n", "\x00", "\t\v\f\x1c", "\ufeff", "data: x", "id: 1\n\n", ": comment", "event: close\n",
		"<&>", `\u2028 "quoted" \`, "\U0001F600", strings.Repeat("\u2028\r\n", 20_000),
	}
	for name, test := range map[string]struct {
		reach func([]byte) int
		texts []string
		cuts  int
	}{
		"uncut":                 {func([]byte) int { return -1 }, texts, 0},
		"cut inside the answer": {cutBehindMark(`"result":{"con`), []string{strings.Join(texts, "")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			steps := newSteps()
			wire := &sdkCutter{reach: test.reach}
			cs := sdkClient(t, ctx, server.URL, wire, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps.add(r.Params.Message) },
			})
			for _, text := range test.texts {
				if got, err := callText(ctx, cs, "echo", text); err != nil || got != text {
					t.Errorf("%.40q came back as %.40q, %v", text, got, err)
				}
			}
			steps.await(t, ctx, test.texts...)
			if wire.cuts != test.cuts {
				t.Errorf("%d cuts, want %d", wire.cuts, test.cuts)
			}
		})
	}
}

// The server's own question: a tool asks the client something, and the
// connection breaks before the client has heard of it. The question arrives by
// the resumption, once, and the tool gets its answer.
func TestOfficialClientIsAskedAcrossACut(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server := serveTool(t, "asks", func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: "step"}); err != nil {
			return "", err
		}
		said, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1})
		if err != nil {
			return "", err
		}
		return "the model said " + said.Model, nil
	})
	var asked atomic.Int64
	wire := &sdkCutter{reach: func(body []byte) int { // the question has come, and is lost
		step, rest, _ := bytes.Cut(body, []byte(`"step"`))
		if end := bytes.Index(rest, []byte("\n\n")); end >= 0 && bytes.Contains(rest, []byte("sampling/createMessage")) {
			return len(step) + len(`"step"`) + end + 2
		}
		return -1
	}}
	cs := sdkClient(t, ctx, server.URL, wire, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Model: strconv.FormatInt(asked.Add(1), 10), Role: "assistant", Content: &mcp.TextContent{Text: "t"}}, nil
		},
	})
	if got, err := callText(ctx, cs, "asks", ""); err != nil || got != "the model said 1" {
		t.Errorf("the call came to %q, %v", got, err)
	}
	if n := asked.Load(); n != 1 || wire.cuts != 1 {
		t.Errorf("the client was asked %d times, with %d cuts; want one each", n, wire.cuts)
	}
}

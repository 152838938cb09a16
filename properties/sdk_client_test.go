package properties

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
)

// counterApp is an MCP server with one tool: it reports progress three times
// and answers with how often it has run.
type counterApp struct {
	runs    atomic.Int64
	between chan struct{} // if not nil, what the tool waits for after its first progress
}

func (a *counterApp) serve(ctx context.Context, m *streamhttp.Message) {
	switch m.Method {
	case "initialize":
		m.Stream.Answer(map[string]any{
			"protocolVersion": streamhttp.Negotiate(m.Params),
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": "counter", "version": "1"},
		})
	case "tools/list":
		m.Stream.Answer(map[string]any{"tools": []any{map[string]any{
			"name": "count", "description": "counts its calls", "inputSchema": map[string]any{"type": "object"},
		}}})
	case "tools/call":
		run := a.runs.Add(1)
		for i := 1; i <= 3; i++ {
			m.Stream.Emit("notifications/progress", map[string]any{
				"progressToken": m.ProgressToken(), "progress": i, "message": fmt.Sprintf("step-%d", i),
			})
			if i == 1 && a.between != nil {
				select {
				case <-a.between:
				case <-ctx.Done():
					return
				}
			}
		}
		m.Stream.Answer(map[string]any{"content": []any{map[string]any{"type": "text", "text": fmt.Sprintf("run %d", run)}}})
	default:
		if m.Kind == streamhttp.Request {
			m.Stream.Fail(streamhttp.CodeMethodNotFound, "no such method", nil)
		}
	}
}

// sdkSession connects the official SDK's client, pinned to 2025-11-25.
func sdkSession(t *testing.T, ctx context.Context, url string, onProgress func(string)) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "official", Version: "1.8.0"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { onProgress(r.Params.Message) },
	})
	cs, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatalf("the official client cannot connect: %v", err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

// Given a server of ours, when the official Go SDK's client of MCP 2025-11-25
// initialises, lists the tools and calls one with progress, then it is served
// like any client: input that we did not write.
func TestOfficialClientIsServed(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	app := &counterApp{}
	server := serveApp(t, app.serve)
	steps := newSteps()
	cs := sdkSession(t, ctx, server.URL, steps.add)

	if v := cs.InitializeResult().ProtocolVersion; v != "2025-11-25" {
		t.Errorf("negotiated %s, want 2025-11-25", v)
	}
	tools, err := cs.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "count" {
		t.Fatalf("tools: %v, %v", tools, err)
	}
	if text := callCount(t, ctx, cs); text != "run 1" {
		t.Errorf("answered %q, want run 1", text)
	}
	steps.await(t, ctx, "step-1", "step-2", "step-3")
}

// Given the same client in the middle of a call, when its connection is reset
// after the first progress notification, then it comes back with the cursor
// that our event ids gave it, and sees the rest once each: the tool ran once.
func TestOfficialClientSurvivesACut(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	app := &counterApp{between: make(chan struct{})}
	server := serveApp(t, app.serve)
	wire := newProxy(t, strings.TrimPrefix(server.URL, "http://"))
	steps := newSteps()
	cs := sdkSession(t, ctx, wire.url(), steps.add)

	wire.cutBehind(`"progress":1,"progressToken":"p"}}` + "\n\n")
	go func() {
		for wire.happened() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		close(app.between) // the rest is emitted while nobody reads
	}()
	if text := callCount(t, ctx, cs); text != "run 1" {
		t.Errorf("answered %q, want run 1", text)
	}
	if wire.happened() != 1 {
		t.Fatal("the connection was not cut: the test shows nothing")
	}
	steps.await(t, ctx, "step-1", "step-2", "step-3")
	if n := app.runs.Load(); n != 1 {
		t.Errorf("the tool ran %d times, want once", n)
	}
}

func callCount(t *testing.T, ctx context.Context, cs *mcp.ClientSession) string {
	t.Helper()
	params := &mcp.CallToolParams{Name: "count", Arguments: json.RawMessage(`{}`)}
	params.SetProgressToken("p")
	result, err := cs.CallTool(ctx, params)
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	return result.Content[0].(*mcp.TextContent).Text
}

func serveApp(t *testing.T, app streamhttp.App) *httptest.Server {
	t.Helper()
	h, err := streamhttp.NewHandler(app, streamhttp.Options{Session: session.Options{Observe: wired.server(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// steps are the progress messages that arrived, in order. The SDK hands them
// over on goroutines of its own, so they may come after the answer.
type steps struct {
	mu   sync.Mutex
	seen []string
	more chan struct{}
}

func newSteps() *steps { return &steps{more: make(chan struct{}, 1)} }

func (s *steps) add(message string) {
	s.mu.Lock()
	s.seen = append(s.seen, message)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// await waits until these messages have arrived, each once and in this order.
func (s *steps) await(t *testing.T, ctx context.Context, want ...string) {
	t.Helper()
	for {
		s.mu.Lock()
		seen := fmt.Sprint(s.seen)
		done := len(s.seen) >= len(want)
		s.mu.Unlock()
		if done {
			if seen != fmt.Sprint(want) {
				t.Errorf("progress %v, want %v", seen, want)
			}
			return
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			t.Fatalf("progress %v, want %v", seen, want)
		}
	}
}

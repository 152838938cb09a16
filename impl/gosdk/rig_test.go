package gosdk_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

// within bounds every wait of these tests: far more than they need.
const within = 20 * time.Second

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	return ctx
}

// A tool of these tests takes a text and returns one.
type textIn struct {
	Text string `json:"text"`
}

type toolFunc func(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error)

// newServer returns a server of the SDK with these tools.
func newServer(o *mcp.ServerOptions, tools map[string]toolFunc) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, o)
	for name, f := range tools {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, r *mcp.CallToolRequest, in textIn) (*mcp.CallToolResult, any, error) {
			text, err := f(ctx, r, in.Text)
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	}
	return s
}

// serve serves one server of the SDK through a Handler.
func serve(t *testing.T, s *mcp.Server, o gosdk.Options) (*gosdk.Handler, *httptest.Server) {
	t.Helper()
	h, err := gosdk.NewHandler(func(*http.Request) *mcp.Server { return s }, o)
	if err != nil {
		t.Fatal(err)
	}
	return h, serveHTTP(t, h, h.Close)
}

func serveHTTP(t testing.TB, h http.Handler, end func()) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		end()
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// connect connects the SDK's client, with revision 2025-11-25.
func connect(t testing.TB, ctx context.Context, tr mcp.Transport, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, o).
		Connect(ctx, tr, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

func client(t *testing.T, ctx context.Context, url string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return connect(t, ctx, &mcp.StreamableClientTransport{Endpoint: url}, o)
}

// callTool calls a tool and returns the text of its answer.
func callTool(ctx context.Context, cs *mcp.ClientSession, name, text string) (string, error) {
	p := &mcp.CallToolParams{Name: name, Arguments: textIn{text}}
	p.SetProgressToken("token of " + text)
	result, err := cs.CallTool(ctx, p)
	if err != nil {
		return "", err
	}
	got := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		return "", fmt.Errorf("tool error: %s", got)
	}
	return got, nil
}

func mustCall(t *testing.T, ctx context.Context, cs *mcp.ClientSession, name, text, want string) {
	t.Helper()
	got, err := callTool(ctx, cs, name, text)
	if err != nil || got != want {
		t.Errorf("%s(%q) answered %q, %v; want %q", name, text, got, err, want)
	}
}

// A tally collects texts from any goroutine.
type tally struct {
	mu   sync.Mutex
	all  []string
	more chan struct{}
}

func newTally() *tally { return &tally{more: make(chan struct{}, 1)} }

func (s *tally) add(text string) {
	s.mu.Lock()
	s.all = append(s.all, text)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// await waits until these texts have come, in this order and no others.
func (s *tally) await(t *testing.T, ctx context.Context, want ...string) {
	t.Helper()
	for {
		s.mu.Lock()
		got := slices.Clone(s.all)
		s.mu.Unlock()
		if len(got) >= len(want) {
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			return
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// await waits for a channel.
func await[T any](t *testing.T, ctx context.Context, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-ctx.Done():
		t.Fatalf("%s: did not happen", what)
	}
	return v
}

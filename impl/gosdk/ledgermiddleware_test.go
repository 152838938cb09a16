package gosdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/impl/ledger"
	"example.com/reattach/spec"
)

// Given a server that keeps the SDK's handler, when the middleware puts a
// ledger in front of its tools, then a key runs once over sessions and restarts,
// an error is an outcome too, other arguments are refused, and the tool outlives
// its session. What the doc comment says is missing is missing: a status query.
func TestTheLedgerAsAMiddlewareOfTheSDK(t *testing.T) {
	ctx := testContext(t)
	var runs atomic.Int64
	began, goOn := make(chan struct{}, 1), make(chan struct{})
	store := ledger.NewMemoryStore()
	connect := func() (*mcp.ClientSession, string) {
		l, err := ledger.New(store, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "count"}, func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
			Text string `json:"text"`
		}) (*mcp.CallToolResult, any, error) {
			n := runs.Add(1)
			switch in.Text {
			case "wait":
				began <- struct{}{}
				<-goOn
			case "fail":
				return nil, nil, &jsonrpc.Error{Code: -32099, Message: "no"}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("run ", n)}}}, nil, ctx.Err()
		})
		s.AddReceivingMiddleware(gosdk.LedgerMiddleware(l))
		server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
		t.Cleanup(server.Close)
		c, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).
			Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		text, _ := json.Marshal(c.InitializeResult().Capabilities.Experimental[spec.CapabilityName])
		if !strings.Contains(string(text), l.Name()) {
			t.Fatalf("the answer to initialize names the ledger as %s", text)
		}
		return c, l.Name()
	}
	first, name := connect()
	nonce := 0
	key := func() string {
		nonce++
		return fmt.Sprintf("%s.%d.%032x", name, time.Now().UnixMilli(), nonce)
	}
	call := func(c *mcp.ClientSession, key any, text string) (string, spec.Reason) {
		t.Helper()
		result, err := c.CallTool(ctx, &mcp.CallToolParams{Meta: mcp.Meta{spec.MetaKey: key}, Name: "count", Arguments: map[string]string{"text": text}})
		var wire *jsonrpc.Error
		if errors.As(err, &wire) {
			var refusal spec.LedgerRefusal
			_ = json.Unmarshal(wire.Data, &refusal)
			return wire.Message, refusal.Reason
		}
		if err != nil {
			return err.Error(), ""
		}
		return result.Content[0].(*mcp.TextContent).Text, ""
	}

	k := key()
	for range 2 {
		if got, _ := call(first, k, "x"); got != "run 1" {
			t.Errorf("a call: %s", got)
		}
	}
	if got, reason := call(first, k, "y"); reason != spec.ReasonKeyReused {
		t.Errorf("other arguments: %s", got)
	}
	for _, bad := range []any{"", 7, "x"} {
		if got, reason := call(first, bad, "x"); reason != spec.ReasonKeyMalformed {
			t.Errorf("the key %v: %s", bad, got)
		}
	}
	failing := key()
	for range 2 {
		if got, _ := call(first, failing, "fail"); got != "no" || runs.Load() != 2 {
			t.Errorf("a call that fails: %s, %d runs", got, runs.Load())
		}
	}

	long := key()
	cut, cancel := context.WithCancel(ctx)
	go first.CallTool(cut, &mcp.CallToolParams{Meta: mcp.Meta{spec.MetaKey: long}, Name: "count", Arguments: map[string]string{"text": "wait"}})
	await(t, ctx, began, "the tool's beginning")
	cancel()
	close(goOn)
	if got, _ := call(first, long, "wait"); got != "run 3" {
		t.Errorf("the tool that lost its client: %s", got)
	}

	second, _ := connect()
	if got, _ := call(second, k, "x"); got != "run 1" {
		t.Errorf("after a restart: %s", got)
	}
	if got := runs.Load(); got != 3 {
		t.Errorf("%d runs of 3 keys", got)
	}
}

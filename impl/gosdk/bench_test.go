package gosdk_test

import (
	"context"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

// chatty is a tool that reports progress a thousand times.
func chatty(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
	for i := range 1000 {
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i), Message: "working on it"}); err != nil {
			return "", err
		}
	}
	return "done", nil
}

// BenchmarkToolCall1000Notifications is a tool call with 1,000 notifications
// over a loopback connection, through the SDK's own handler with its
// MemoryEventStore and through ours; at the other end the SDK's client, or a
// reader that only counts bytes.
//
// The SDK's client allocates 100 KB an event in the same process, and the SDK's
// store holds 10 MiB, which makes the collector of a small process run less
// often. A higher GC percentage takes that out of the comparison.
func BenchmarkToolCall1000Notifications(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	s := newServer(nil, map[string]toolFunc{"chatty": chatty})
	getServer := func(*http.Request) *mcp.Server { return s }
	for _, peer := range []string{"client", "reader"} {
		for _, handler := range []string{"sdk", "reattach"} {
			b.Run(peer+"/"+handler, func(b *testing.B) {
				var h http.Handler = mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
				end := func() {}
				if handler == "reattach" {
					ours := gosdk.NewStreamableHTTPHandler(getServer, nil)
					h, end = ours, ours.Close
				}
				server := serveHTTP(b, h, end)
				call := calls(b, server.URL)
				if peer == "reader" {
					call = reads(b, server.URL)
				}
				b.ReportAllocs()
				for b.Loop() {
					call()
				}
			})
		}
	}
}

// calls returns what calls the tool with the SDK's client.
func calls(b *testing.B, url string) func() {
	ctx := context.Background()
	cs := connect(b, ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	return func() {
		if _, err := callTool(ctx, cs, "chatty", ""); err != nil {
			b.Fatal(err)
		}
	}
}

// reads returns what calls the tool and reads what comes.
func reads(b *testing.B, url string) func() {
	session := ""
	post := func(body string) (n int64) {
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header = http.Header{
			"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-11-25"},
		}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer answer.Body.Close()
		if session == "" {
			session = answer.Header.Get("Mcp-Session-Id")
		}
		if n, err = io.Copy(io.Discard, answer.Body); err != nil {
			b.Fatal(err)
		}
		return n
	}
	post(rawInitialize)
	return func() {
		n := post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chatty","arguments":{"text":""},"_meta":{"progressToken":"p"}}}`)
		if n < 100_000 {
			b.Fatalf("only %d bytes: not all of a thousand events", n)
		}
	}
}

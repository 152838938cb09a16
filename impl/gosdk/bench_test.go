package gosdk_test

import (
	"context"
	"net/http"
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

// BenchmarkToolCall1000Notifications is a tool call with 1,000 notifications,
// the SDK's client at the other end of a loopback connection, through the
// SDK's own handler with its MemoryEventStore and through ours.
func BenchmarkToolCall1000Notifications(b *testing.B) {
	s := newServer(nil, map[string]toolFunc{"chatty": chatty})
	getServer := func(*http.Request) *mcp.Server { return s }
	sdk := mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	ours := gosdk.NewStreamableHTTPHandler(getServer, nil)
	defer ours.Close()
	for name, h := range map[string]http.Handler{"sdk": sdk, "reattach": ours} {
		b.Run(name, func(b *testing.B) {
			server := serveHTTP(b, h, func() {})
			ctx := context.Background()
			cs := connect(b, ctx, &mcp.StreamableClientTransport{Endpoint: server.URL}, nil)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := callTool(ctx, cs, "chatty", ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

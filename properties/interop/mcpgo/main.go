// Command mcpgo is a server of github.com/mark3labs/mcp-go with two telling
// tools and that library's own event store: what reattach's client meets in the
// wild. It is a module of its own, so that reattach does not depend on it. It
// prints its address when it can be used.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("mcp-go", "1", server.WithToolCapabilities(false))
	var counted atomic.Int64
	s.AddTool(mcp.NewTool("counter"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(fmt.Sprint(counted.Add(1))), nil
	})
	s.AddTool(mcp.NewTool("slow", mcp.WithNumber("steps"), mcp.WithNumber("pause_ms")), slow)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcpgo:", err)
		os.Exit(1)
	}
	fmt.Printf("serving MCP at http://%s/mcp\n", listener.Addr())
	handler := server.NewStreamableHTTPServer(s, server.WithEventStore(server.NewInMemoryEventStore()))
	fmt.Fprintln(os.Stderr, "mcpgo:", http.Serve(listener, handler))
	os.Exit(1)
}

// slow tells its progress step by step.
func slow(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	steps := r.GetInt("steps", 3)
	for step := 1; step <= steps; step++ {
		if meta := r.Params.Meta; meta != nil && meta.ProgressToken != nil {
			err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": meta.ProgressToken, "progress": step, "message": fmt.Sprint("step ", step),
			})
			if err != nil {
				return nil, err
			}
		}
		time.Sleep(time.Duration(r.GetInt("pause_ms", 50)) * time.Millisecond)
	}
	return mcp.NewToolResultText(fmt.Sprint("told ", steps)), nil
}

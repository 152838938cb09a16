// A server of one tool, over Streamable HTTP. It says where it listens, and
// ends when its input does.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"example.com/reattach/impl/gosdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type greeting struct {
	Name string `json:"name" jsonschema:"who is greeted"`
}

func greet(ctx context.Context, r *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
	progress := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "thinking"}
	if err := r.Session.NotifyProgress(ctx, progress); err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet", Description: "greets somebody"}, greet)

	handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)

	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	go func() { log.Fatal(http.Serve(listener, handler)) }()
	io.Copy(io.Discard, os.Stdin)
}

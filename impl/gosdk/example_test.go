package gosdk_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

type greeting struct {
	Name string `json:"name"`
}

// A server of the SDK is served by a Handler as it is.
func ExampleHandler() {
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(ctx context.Context, r *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})

	handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	defer handler.Close()
	listening := httptest.NewServer(handler) // or: http.ListenAndServe("localhost:8080", handler)
	defer listening.Close()

	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: listening.URL}, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: greeting{"Ada"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text, "by", session.InitializeResult().ProtocolVersion)
	// Output: Hello, Ada by 2025-11-25
}

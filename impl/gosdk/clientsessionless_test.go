package gosdk

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	driver "example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// Given a server that opens no session, when a client connects, then the
// transport refuses it by name, and ConnectAny serves it and says that nothing
// can be resumed; with a session it is the transport that serves.
func TestConnectAny(t *testing.T) {
	for name, stateless := range map[string]bool{"no session": true, "a session": false} {
		t.Run(name, func(t *testing.T) {
			server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
			mcp.AddTool(server, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello"}}}, nil, nil
			})
			web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
				&mcp.StreamableHTTPOptions{Stateless: stateless}))
			defer web.Close()
			client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
			if stateless {
				_, err := client.Connect(t.Context(), &ClientTransport{Endpoint: web.URL}, nil)
				if !errors.Is(err, spec.ReasonSessionMissing) {
					t.Errorf("the transport alone: %v, want %s", err, spec.ReasonSessionMissing)
				}
			}
			transport := &ClientTransport{Endpoint: web.URL}
			transport.Options.Core.Profile = driver.GoSDKProfile() // its answers name no session
			session, sessionless, err := ConnectAny(t.Context(), client, transport, nil)
			if err != nil || sessionless != stateless {
				t.Fatalf("sessionless %v, %v; want %v", sessionless, err, stateless)
			}
			defer session.Close()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello"})
			if err != nil || result.Content[0].(*mcp.TextContent).Text != "hello" {
				t.Errorf("%v, %v", result, err)
			}
		})
	}
}

// A client that calls one tool of the server at the URL it is given, and says
// what it answered.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/gosdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	c := mcp.NewClient(&mcp.Implementation{Name: "greeting-client", Version: "1.0.0"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { log.Println(r.Params.Message) },
	})

	session, err := c.Connect(ctx, &gosdk.ClientTransport{Endpoint: os.Args[1], Store: client.OpenFile("greeter.record")}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	call := &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ada"}}
	call.SetProgressToken("greeting")
	result, err := session.CallTool(ctx, call)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
}

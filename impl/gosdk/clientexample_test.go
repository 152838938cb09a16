package gosdk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	driver "example.com/reattach/impl/client"
	"example.com/reattach/impl/gosdk"
)

// A client of the SDK is given another transport, and its calls survive lost
// connections.
func ExampleClientTransport() {
	endpoint, stop := greeter(nil)
	defer stop()

	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "example"}, nil)
	session, err := client.Connect(ctx, &gosdk.ClientTransport{Endpoint: endpoint}, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: greeting{"Ada"}})
	var e *gosdk.CallError
	if errors.As(err, &e) && e.Data.Outcome == gosdk.OutcomeUnknown {
		fmt.Println("it may have run:", e.Data.Reason)
	} else if err != nil {
		panic(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text)
	// Output: Hello, Ada
}

// A process leaves in the middle of a call. The next one, with the same record,
// is in the same session, and gets the answer.
func ExampleClientTransport_restart() {
	goOn := make(chan bool)
	endpoint, stop := greeter(goOn)
	defer stop()
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	record := filepath.Join(dir, "record")

	ctx := context.Background()
	first := &gosdk.ClientTransport{Endpoint: endpoint, Store: driver.OpenFile(record)}
	client := mcp.NewClient(&mcp.Implementation{Name: "example"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { go first.Detach() },
	})
	session, err := client.Connect(ctx, first, nil)
	if err != nil {
		panic(err)
	}
	call := &mcp.CallToolParams{Name: "greet", Arguments: greeting{"Ada"}}
	call.SetProgressToken("greeting")
	_, err = session.CallTool(ctx, call)
	var e *gosdk.CallError
	fmt.Println("first process:", errors.As(err, &e) && e.Data.Outcome == gosdk.OutcomePending)
	session.Close()

	second := &gosdk.ClientTransport{Endpoint: endpoint, Store: driver.OpenFile(record)}
	session, err = client.Connect(ctx, second, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	close(goOn)
	for _, call := range second.Driver().Recovered().Pending {
		result, err := second.Await(ctx, call)
		fmt.Printf("second process: %s %v\n", result, err)
	}
	// Output:
	// first process: true
	// second process: {"content":[{"type":"text","text":"Hello, Ada"}]} <nil>
}

// greeter serves one tool, which reports progress and waits, if it is to.
func greeter(goOn <-chan bool) (endpoint string, stop func()) {
	server := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "greet"}, func(ctx context.Context, r *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
		if goOn != nil {
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
			<-goOn
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})
	handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	listening := httptest.NewServer(handler)
	return listening.URL, func() {
		handler.Close()
		listening.CloseClientConnections()
		listening.Close()
	}
}

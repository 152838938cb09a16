package streamhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"

	"example.com/reattach/impl/streamhttp"
)

// count is a whole MCP application: it opens sessions and has one method, which
// counts aloud and then answers.
func count(ctx context.Context, m *streamhttp.Message) {
	switch m.Method {
	case "initialize":
		m.Stream.Answer(map[string]any{
			"protocolVersion": streamhttp.Negotiate(m.Params),
			"capabilities":    struct{}{},
			"serverInfo":      map[string]string{"name": "counter", "version": "1"},
		})
	case "count":
		for i := range 3 {
			m.Stream.Emit("notifications/count", map[string]int{"n": i + 1})
		}
		m.Stream.Answer("done")
	default:
		m.Stream.Fail(streamhttp.CodeMethodNotFound, "method not found", nil)
	}
}

// A server is a handler around one function.
func ExampleHandler() {
	handler, err := streamhttp.NewHandler(count, streamhttp.Options{})
	if err != nil {
		panic(err)
	}
	defer handler.Close()
	server := httptest.NewServer(handler) // or: http.ListenAndServe("localhost:8080", handler)
	defer server.Close()

	client, err := streamhttp.Dial(context.Background(), server.URL, streamhttp.DialOptions{})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	result, err := client.Call(context.Background(), "count", nil, nil)
	fmt.Println(string(result), err)
	// Output: "done" <nil>
}

// A client gets every notification once and in order, and then the result,
// whatever happens to its connections on the way.
func ExampleDial() {
	handler, err := streamhttp.NewHandler(count, streamhttp.Options{})
	if err != nil {
		panic(err)
	}
	defer handler.Close()
	server := httptest.NewServer(handler)
	defer server.Close()

	ctx := context.Background()
	client, err := streamhttp.Dial(ctx, server.URL, streamhttp.DialOptions{Name: "example"})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	result, err := client.Call(ctx, "count", nil, func(n streamhttp.Incoming) {
		var p struct{ N int }
		json.Unmarshal(n.Params, &p)
		fmt.Println("counted", p.N)
	})
	if err != nil {
		panic(err) // *client.UnknownError: it may have run; *client.PendingError: it goes on
	}
	fmt.Println(string(result), client.Terminate(ctx))
	// Output:
	// counted 1
	// counted 2
	// counted 3
	// "done" <nil>
}

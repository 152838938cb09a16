// Command sdkserver serves what the public conformance suite calls by the Go
// SDK's own handler and event store: what ours is measured against. It prints
// its address when it can be used.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/properties/interop"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "sdkserver:", err)
		os.Exit(1)
	}
	server := interop.Everything()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	fmt.Printf("serving MCP at http://%s/mcp\n", listener.Addr())
	fmt.Fprintln(os.Stderr, "sdkserver:", http.Serve(listener, handler))
	os.Exit(1)
}

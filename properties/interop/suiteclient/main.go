// Command suiteclient is the client that the public conformance suite tests:
// the official SDK over reattach's client transport. The suite starts it with
// the URL of a server as its argument and the scenario's name in
// MCP_CONFORMANCE_SCENARIO.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/gosdk"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "suiteclient: want one argument, the URL of a server; the conformance suite starts it")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	if err := play(ctx, os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "suiteclient:", err)
		os.Exit(1)
	}
}

// play does what the scenario wants of a client.
func play(ctx context.Context, scenario, url string) error {
	session, err := connect(ctx, scenario, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	switch {
	case scenario == "initialize":
		return nil
	case scenario == "tools_call":
		return call(ctx, session, "add_numbers", map[string]any{"a": 5, "b": 3})
	case scenario == "elicitation-sep1034-client-defaults":
		return call(ctx, session, "test_client_elicitation_defaults", nil)
	case scenario == "sse-retry":
		return call(ctx, session, "test_reconnection", nil)
	case scenario == "json-schema-2020-12-preservation":
		for _, tool := range tools.Tools {
			if tool.Name == "json_schema_2020_12_tool" {
				return call(ctx, session, "json_schema_echo", map[string]any{"schema": tool.InputSchema})
			}
		}
		return fmt.Errorf("the server has no tool json_schema_2020_12_tool")
	case strings.HasPrefix(scenario, "auth/"):
		return call(ctx, session, "test-tool", nil)
	}
	return fmt.Errorf("no scenario is called %q", scenario)
}

func connect(ctx context.Context, scenario, url string) (*mcp.ClientSession, error) {
	transport := &gosdk.ClientTransport{Endpoint: url}
	if scenario == "sse-retry" {
		// The suite's server numbers its events. Foreign ids are opaque
		// otherwise, and a stream that has them is given up (R22).
		transport.Options.Core.Profile = client.NumberedProfile("event-")
	}
	if strings.HasPrefix(scenario, "auth/") {
		carrier, err := newAuthorized(os.Getenv("MCP_CONFORMANCE_CONTEXT"))
		if err != nil {
			return nil, err
		}
		transport.HTTPClient = carrier
	}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "reattach", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	session, _, err := gosdk.ConnectAny(ctx, sdk, transport, nil) // most of the suite's servers open no session
	return session, err
}

func call(ctx context.Context, session *mcp.ClientSession, tool string, arguments map[string]any) error {
	if arguments == nil {
		arguments = map[string]any{}
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return fmt.Errorf("call %s: %w", tool, err)
	}
	if result.IsError {
		said, _ := json.Marshal(result.Content)
		return fmt.Errorf("call %s: it failed: %s", tool, said)
	}
	return nil
}

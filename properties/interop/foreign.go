package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/gosdk"
)

// A Foreign is a server of others, for our client.
type Foreign struct {
	Name    string
	Version string
	Profile *client.Profile
	// Start starts one and returns where it is.
	Start func(ctx context.Context) (url string, stop func(), err error)
}

// Foreigners lists the servers. The one of mcp-go is a program of a module of
// its own, which has to be built before.
func (s Scripts) Foreigners(mcpgo string) []Foreign {
	return []Foreign{
		{"Go SDK", "1.8.0", client.GoSDKProfile(), startSDK},
		{"mcp-go", "1.2.1", client.MCPGoProfile(), func(ctx context.Context) (string, func(), error) {
			return startProgram(exec.CommandContext(ctx, mcpgo))
		}},
		{"TypeScript v1", "1.32.2", client.TypeScriptSampleProfile(), func(ctx context.Context) (string, func(), error) {
			command := exec.CommandContext(ctx, s.Node, "server.mjs")
			command.Dir = s.Dir
			return startProgram(command)
		}},
	}
}

func startSDK(context.Context) (string, func(), error) {
	tools := NewToolbox(benchWindow)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools.Server },
		&mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}))
	return web.URL + "/mcp", func() {
		web.CloseClientConnections()
		web.Close()
	}, nil
}

// startProgram starts a program that prints where it serves.
func startProgram(command *exec.Cmd) (string, func(), error) {
	out, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	stop := func() {
		command.Process.Kill()
		command.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), " at ")
	if err != nil || !found {
		stop()
		return "", nil, fmt.Errorf("%s prints %q: %v", command, line, err)
	}
	return url, stop, nil
}

// An Encounter is one try of our client with a server of others.
type Encounter struct {
	ID        string
	Title     string
	Profile   bool   // with the profile of the server
	Sound     string // what must come of it; "" says no more than that it is told
	cutBehind string
}

// Encounters lists what is tried with each server of others.
func Encounters() []Encounter {
	return []Encounter{
		{"plain", "connections that hold", false, "", ""},
		{"cut", "the connection is cut in the middle of a call", false, "", `"step 2"`},
		{"profile-plain", "with the profile: connections that hold", true, exactlyOnce, ""},
		{"profile-cut", "with the profile: cut in the middle of a call", true, exactlyOnce, `"step 2"`},
	}
}

// Run runs the encounter.
func (e Encounter) Run(ctx context.Context, f Foreign) (string, error) {
	url, stop, err := f.Start(ctx)
	if err != nil {
		return "", err
	}
	defer stop()
	wire, err := NewWire(url, 0)
	if err != nil {
		return "", err
	}
	web := httptest.NewServer(wire)
	defer func() {
		web.CloseClientConnections()
		web.Close()
	}()
	// Without the standalone stream: it too would make a client without a
	// profile give up, and which came first would be chance.
	transport := &gosdk.ClientTransport{Endpoint: web.URL + "/mcp", DisableStandaloneSSE: true}
	if e.Profile {
		transport.Options.Core.Profile = f.Profile
	}
	c, err := connectSDK(ctx, transport.Endpoint, transport)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if e.cutBehind != "" {
		wire.CutBehind(e.cutBehind)
	}
	l := c.Call(ToolSlow, map[string]any{"steps": 4, "pause_ms": 100}, patience)
	switch {
	case wire.Sent("tools/call") != 1:
		return "", fmt.Errorf("the call was sent %d times", wire.Sent("tools/call"))
	case wire.Cuts() != 1 && e.cutBehind != "" && l.Error == "":
		return "", errors.New("nothing was cut: the encounter shows nothing")
	case l.Error != "":
		return "not sent again, and told: " + l.Error, nil
	}
	if fault := l.fault("told 4", 4, Kind{}); fault != "" {
		return fault, nil
	}
	if e.cutBehind != "" && wire.Resumptions(http.StatusOK) == 0 {
		return "", errors.New("nothing was resumed: the encounter shows nothing")
	}
	return exactlyOnce, nil
}

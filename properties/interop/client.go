package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

// A Client is one connection of somebody's client.
type Client interface {
	// Call calls a tool and tells what its caller learns.
	Call(tool string, arguments map[string]any, timeout time.Duration) Learned
	Close()
}

// Learned is what a caller learns of one call.
type Learned struct {
	Text  string   `json:"text,omitempty"`
	Steps []string `json:"steps,omitempty"`
	Error string   `json:"error,omitempty"` // what kind of error, "" for none

	// Of clients whose calls another process can go on with:
	Tokens  []string `json:"tokens,omitempty"` // the cursors that it was given
	Session string   `json:"session,omitempty"`
}

// A Kind is a client that can be tried.
type Kind struct {
	Name    string
	Version string
	Connect func(ctx context.Context, url string) (Client, error)
	// Slow says that it waits a second or more before each resumption.
	Slow bool
	// Another connects a second process in the session of the first, nil where
	// the client has no way to.
	Another func(ctx context.Context, url, session string) (Resumer, error)
	// PerCall says that it opens a session for each call, and tells no steps.
	PerCall bool
}

// A Resumer is a client that can ask for what comes behind a token that another
// process was given.
type Resumer interface {
	Client
	Resume(tool, token string, timeout time.Duration) Learned
}

// Scripts say where the programs of others are.
type Scripts struct {
	Node string // the program that runs them
	Dir  string // where client.mjs and node_modules are
}

// Kinds lists the clients, ours last.
func (s Scripts) Kinds() []Kind {
	return []Kind{
		{Name: "Go SDK", Version: "1.8.0", Slow: true, Connect: func(ctx context.Context, url string) (Client, error) {
			return connectSDK(ctx, url, &mcp.StreamableClientTransport{Endpoint: url})
		}},
		s.typescript("v1", "1.32.2"),
		s.typescript("v2", "2.4.0"),
		{Name: "inspector CLI", Version: "2.12.0", Slow: true, PerCall: true, Connect: func(ctx context.Context, url string) (Client, error) {
			return &inspector{ctx, s, url}, nil
		}},
		{Name: "reattach", Version: "Go SDK 1.8.0", Connect: func(ctx context.Context, url string) (Client, error) {
			return connectSDK(ctx, url, &gosdk.ClientTransport{Endpoint: url})
		}},
	}
}

// An sdkClient is the Go SDK over some transport.
type sdkClient struct {
	ctx     context.Context
	session *mcp.ClientSession
	mu      sync.Mutex
	steps   map[any][]string // by progress token
	calls   int
}

func connectSDK(ctx context.Context, url string, transport mcp.Transport) (Client, error) {
	c := &sdkClient{ctx: ctx, steps: map[any][]string{}}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.steps[r.Params.ProgressToken] = append(c.steps[r.Params.ProgressToken], r.Params.Message)
		},
	})
	session, err := sdk.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		return nil, err
	}
	c.session = session
	return c, nil
}

func (c *sdkClient) Call(tool string, arguments map[string]any, timeout time.Duration) Learned {
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	c.calls++
	token := fmt.Sprint("call ", c.calls)
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	if arguments == nil {
		params.Arguments = map[string]any{}
	}
	params.SetProgressToken(token)
	result, err := c.session.CallTool(ctx, params)
	learned := Learned{Error: errorKind(ctx, err)}
	if err == nil {
		learned.Text = result.Content[0].(*mcp.TextContent).Text
	}
	// The SDK hands notifications over on goroutines of its own, which may be
	// later than the answer.
	for range 50 {
		c.mu.Lock()
		learned.Steps = slices.Clone(c.steps[token])
		c.mu.Unlock()
		if err != nil || learned.Text == fmt.Sprint("told ", len(learned.Steps)) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return learned
}

func errorKind(ctx context.Context, err error) string {
	var unknown *gosdk.CallError
	var wire *jsonrpc.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &unknown):
		return fmt.Sprintf("outcome %s, %s", unknown.Data.Outcome, unknown.Data.Reason)
	case errors.Is(err, mcp.ErrSessionMissing):
		return "session missing"
	case errors.As(err, &wire) && len(wire.Data) > 0:
		var data struct {
			Reason string `json:"reason"`
		}
		json.Unmarshal(wire.Data, &data)
		return "JSON-RPC error " + data.Reason
	case errors.Is(err, mcp.ErrConnectionClosed):
		return "connection closed"
	case ctx.Err() != nil:
		return "timeout"
	}
	for status := 400; status < 600; status++ {
		if text := http.StatusText(status); text != "" && strings.Contains(err.Error(), text) {
			return fmt.Sprint("HTTP ", status)
		}
	}
	if text := err.Error(); strings.Contains(text, "terminated without response") {
		return "no answer"
	}
	return err.Error()
}

func (c *sdkClient) Close() {
	done := make(chan struct{})
	go func() {
		c.session.Close() // may wait for a call that nobody answers
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// A scripted is a client in another process, which is told what to do line by
// line.
type scripted struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func (s Scripts) typescript(major, version string) Kind {
	return Kind{
		Name: "TypeScript " + major, Version: version,
		Connect: func(ctx context.Context, url string) (Client, error) { return s.script(ctx, major, url) },
		Another: func(ctx context.Context, url, session string) (Resumer, error) {
			return s.script(ctx, major, url, session)
		},
	}
}

func (s Scripts) script(ctx context.Context, args ...string) (*scripted, error) {
	c := &scripted{command: exec.CommandContext(ctx, s.Node, append([]string{"client.mjs"}, args...)...)}
	c.command.Dir = s.Dir
	var err error
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	if said := c.read(); said.Error != "" {
		c.Close()
		return nil, errors.New(said.Error)
	}
	return c, nil
}

func (c *scripted) read() (said Learned) {
	line, err := c.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &said)
	}
	if err != nil {
		said.Error = "the script is gone: " + err.Error()
	}
	return said
}

func (c *scripted) Call(tool string, arguments map[string]any, timeout time.Duration) Learned {
	return c.ask(map[string]any{"call": tool, "arguments": arguments, "timeout": timeout.Milliseconds()})
}

func (c *scripted) Resume(tool, token string, timeout time.Duration) Learned {
	return c.ask(map[string]any{"call": tool, "resume": token, "timeout": timeout.Milliseconds()})
}

func (c *scripted) ask(what map[string]any) Learned {
	line, err := json.Marshal(what)
	if err != nil {
		return Learned{Error: err.Error()}
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return Learned{Error: "the script is gone: " + err.Error()}
	}
	return c.read()
}

func (c *scripted) Close() {
	c.in.Close()
	timer := time.AfterFunc(2*time.Second, func() { c.command.Process.Kill() })
	c.command.Wait()
	timer.Stop()
}

// An inspector runs the MCP inspector's command line once for each call.
type inspector struct {
	ctx context.Context
	Scripts
	url string
}

func (c *inspector) Call(tool string, arguments map[string]any, timeout time.Duration) Learned {
	ctx, cancel := context.WithTimeout(c.ctx, timeout+2*time.Second) // it takes one to start
	defer cancel()
	args := []string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
		"--cli", c.url, "--transport", "http", "--method", "tools/call", "--tool-name", tool}
	for name, value := range arguments {
		args = append(args, "--tool-arg", fmt.Sprint(name, "=", value))
	}
	command := exec.CommandContext(ctx, c.Node, args...)
	command.Dir = c.Dir
	command.WaitDelay = time.Second
	out, err := command.Output()
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	switch {
	case ctx.Err() != nil:
		return Learned{Error: "timeout"}
	case err != nil:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return Learned{Error: "it prints " + printedError(exit.Stderr)}
		}
		return Learned{Error: err.Error()}
	}
	if err := json.Unmarshal(out, &result); err != nil || len(result.Content) == 0 {
		return Learned{Error: fmt.Sprintf("it prints %q", out)}
	}
	return Learned{Text: result.Content[0].Text}
}

func (c *inspector) Close() {}

// printedError is the message in what the inspector prints of an error.
func printedError(text []byte) string {
	var printed struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &printed) != nil {
		return string(text)
	}
	return printed.Error.Message
}

package interop

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Names of the telling tools: each shows one thing about a client whose
// connections are lost.
const (
	ToolSlow    = "slow"    // tells its progress step by step
	ToolCounter = "counter" // counts how often it ran: the side effect that must not be repeated
	ToolBurst   = "burst"   // tells a lot at once
	ToolCloser  = "closer"  // closes its own stream, and answers later
	ToolForget  = "forget"  // closes its own stream and outruns the window, so that the cursor is gone
	ToolSilent  = "silent"  // never answers
)

// Bounds of what a caller may ask of a tool.
const (
	maxSteps = 10_000
	maxPause = time.Minute
)

// A Toolbox is a server with the telling tools, and what they really did.
type Toolbox struct {
	Server *mcp.Server
	// Window is how many events the server keeps for a session: what
	// ToolForget has to outrun.
	Window int

	runs [2]atomic.Int64 // of the counter, of all the others
}

// NewToolbox returns a server with the telling tools and nothing else. Window
// is how many events its handler keeps for a session.
func NewToolbox(window int) *Toolbox {
	b := &Toolbox{
		Server: mcp.NewServer(&mcp.Implementation{Name: "reattach", Version: "1"}, nil),
		Window: window,
	}
	b.add()
	return b
}

// Counted is how often the counter ran.
func (b *Toolbox) Counted() int64 { return b.runs[0].Load() }

// Runs is how often any other tool was started.
func (b *Toolbox) Runs() int64 { return b.runs[1].Load() }

// paced is what the tools with steps take. The zero value of each is the tool's
// own default.
type paced struct {
	Steps   int `json:"steps,omitempty" jsonschema:"how many steps, at most 10000"`
	PauseMS int `json:"pause_ms,omitempty" jsonschema:"milliseconds between two steps, at most 60000"`
}

type closing struct {
	Times   int `json:"times,omitempty" jsonschema:"how often the stream is closed before the answer, at most 10000"`
	PauseMS int `json:"pause_ms,omitempty" jsonschema:"milliseconds after each time, at most 60000"`
	RetryMS int `json:"retry_ms,omitempty" jsonschema:"milliseconds after which the client is told to come back, at most 60000"`
}

func (b *Toolbox) add() {
	addTool(b.Server, ToolCounter, "adds one to a counter and answers with it: call it through bad connections, and see whether it ran more often than you called",
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answer("%d", b.runs[0].Add(1))
		})
	tool(b, ToolSlow, "tells its progress step by step, then answers: cut the connection in between", func(ctx context.Context, r *mcp.CallToolRequest, in paced) (*mcp.CallToolResult, error) {
		steps, pause, err := bounded(in.Steps, 5, in.PauseMS, 200)
		if err != nil {
			return nil, err
		}
		return b.walk(ctx, r, steps, pause)
	})
	tool(b, ToolBurst, "tells many steps at once, then answers: see whether each arrives, once, in order", func(ctx context.Context, r *mcp.CallToolRequest, in paced) (*mcp.CallToolResult, error) {
		steps, pause, err := bounded(in.Steps, 100, in.PauseMS, 0)
		if err != nil {
			return nil, err
		}
		return b.walk(ctx, r, steps, pause)
	})
	tool(b, ToolCloser, "closes its own stream and answers later: the client has to come back for the answer", func(ctx context.Context, r *mcp.CallToolRequest, in closing) (*mcp.CallToolResult, error) {
		times, pause, err := bounded(in.Times, 1, in.PauseMS, 300)
		if err != nil {
			return nil, err
		}
		_, retry, err := bounded(0, 1, in.RetryMS, 50)
		if err != nil {
			return nil, err
		}
		for range times {
			if err := hangUp(r, retry); err != nil {
				return nil, err
			}
			if err := sleep(ctx, pause); err != nil {
				return nil, err
			}
		}
		return answer("closed %d", times)
	})
	tool(b, ToolForget, "closes its own stream and tells more than the server keeps: the client comes back with a cursor that is gone", func(ctx context.Context, r *mcp.CallToolRequest, in closing) (*mcp.CallToolResult, error) {
		_, retry, err := bounded(0, 1, in.RetryMS, 300)
		if err != nil {
			return nil, err
		}
		if err := hangUp(r, retry); err != nil {
			return nil, err
		}
		if r.Params.GetProgressToken() == nil {
			r.Params.SetProgressToken(ToolForget) // nobody asked, and it has to tell something
		}
		for i := range b.Window + 1 {
			if err := tell(ctx, r, i+1, b.Window+1); err != nil {
				return nil, err
			}
		}
		if err := sleep(ctx, 4*retry); err != nil {
			return nil, err
		}
		return answer("told %d", b.Window+1)
	})
	tool(b, ToolSilent, "never answers: cancel it, or see what the client does when it waits for ever", func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
}

// tool adds a tool that is counted.
func tool[In any](b *Toolbox, name, does string, answer func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, error)) {
	mcp.AddTool(b.Server, &mcp.Tool{Name: name, Description: does},
		func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			b.runs[1].Add(1)
			result, err := answer(ctx, r, in)
			return result, nil, err
		})
}

func (b *Toolbox) walk(ctx context.Context, r *mcp.CallToolRequest, steps int, pause time.Duration) (*mcp.CallToolResult, error) {
	for i := range steps {
		if err := tell(ctx, r, i+1, steps); err != nil {
			return nil, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
	return answer("told %d", steps)
}

// tell tells the progress, if the caller asked for it.
func tell(ctx context.Context, r *mcp.CallToolRequest, step, of int) error {
	token := r.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(step), Total: float64(of), Message: fmt.Sprintf("step %d", step),
	})
}

func hangUp(r *mcp.CallToolRequest, retry time.Duration) error {
	if r.Extra == nil || r.Extra.CloseSSEStream == nil {
		return errors.New("this stream cannot be closed on purpose: its client cannot resume it")
	}
	r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: retry})
	return nil
}

func answer(format string, args ...any) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{text(format, args...)}}, nil
}

// bounded puts defaults in the place of zeros.
func bounded(steps, usualSteps, pauseMS, usualMS int) (int, time.Duration, error) {
	if steps == 0 {
		steps = usualSteps
	}
	if pauseMS == 0 {
		pauseMS = usualMS
	}
	pause := time.Duration(pauseMS) * time.Millisecond
	if steps < 0 || steps > maxSteps || pauseMS < 0 || pause > maxPause {
		return 0, 0, fmt.Errorf("%d steps with %d ms: want at most %d, and at most %v", steps, pauseMS, maxSteps, maxPause)
	}
	return steps, pause, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package interop

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Trial tries one thing with one client, and tells in words what became of
// it: words that are the same in each run, so no numbers that depend on time.
type Trial struct {
	ID    string
	Title string // what happens
	// Sound are the words that a client can be relied upon with; anything else
	// is told too, and is the client's.
	Sound []string
	run   func(ctx context.Context, k Kind) (string, error)
}

// Words of the results.
const (
	exactlyOnce = "every result once"
)

// patience bounds a call on which nothing depends but how long a run takes.
const patience = 20 * time.Second

// brief bounds a call that will not be answered.
const brief = 2 * time.Second

// Trials lists what is tried with each client against a server of ours.
func Trials() []Trial {
	trials := []Trial{
		{"plain", "connections that hold", []string{exactlyOnce}, func(ctx context.Context, k Kind) (string, error) { return underCuts(ctx, k, 0) }},
		{"cuts", "connections cut at random, between and inside events", []string{exactlyOnce}, func(ctx context.Context, k Kind) (string, error) {
			for seed := range uint64(3) {
				if said, err := underCuts(ctx, k, seed+1); err != nil || said != exactlyOnce {
					return said, err
				}
				if k.Slow {
					break
				}
			}
			return exactlyOnce, nil
		}},
		{"polling", "the server ends the stream with `retry`, and answers later", []string{exactlyOnce}, polling},
		{"position", "three views that end before anything came", []string{exactlyOnce}, position},
		{"answered", "the connection is lost right behind the answer", nil, answered},
		{"complete", "204: nothing will come, while the client still waits", nil, complete},
	}
	for _, at := range finishedAt {
		trials = append(trials, Trial{"finished-" + at.id, "another process asks for a finished stream, " + at.title, nil,
			func(ctx context.Context, k Kind) (string, error) { return finished(ctx, k, at.back) }})
	}
	for _, m := range Misses() {
		trials = append(trials, Trial{"miss-" + string(m), "the cursor is gone, told as " + m.told(), nil,
			func(ctx context.Context, k Kind) (string, error) { return missed(ctx, k, m) }})
	}
	return append(trials,
		Trial{"restart", "the server was restarted and knows no session", nil, restarted},
		Trial{"drain", "the server shuts down while a call runs", nil, drained})
}

func (m Miss) told() string {
	switch m {
	case MissGone:
		return "404, which ends the session"
	case MissError:
		return "an error answer on a stream of status 200"
	}
	return "409"
}

// on runs a trial with a bench and a connected client.
func on(ctx context.Context, k Kind, miss Miss, seed uint64, do func(*Bench, Client) (string, error)) (string, error) {
	b, err := NewBench(miss, seed)
	if err != nil {
		return "", err
	}
	defer b.Close()
	c, err := k.Connect(ctx, b.URL())
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer c.Close()
	return do(b, c)
}

// underCuts calls the tools in turn and sets what the caller learned against
// what the server did.
func underCuts(ctx context.Context, k Kind, seed uint64) (string, error) {
	return on(ctx, k, MissConflict, seed, func(b *Bench, c Client) (string, error) {
		rounds := 5
		if k.Slow {
			rounds = 2
		}
		for round := range rounds {
			for _, try := range []struct {
				tool  string
				steps int
				pause int
			}{{ToolSlow, 6, 5}, {ToolBurst, 40, 0}, {ToolCounter, 0, 0}} {
				arguments := map[string]any{}
				want := fmt.Sprint(round + 1)
				if try.steps > 0 {
					arguments["steps"], want = try.steps, fmt.Sprint("told ", try.steps)
				}
				if try.pause > 0 {
					arguments["pause_ms"] = try.pause
				}
				l := c.Call(try.tool, arguments, patience)
				if fault := l.fault(want, try.steps, k); fault != "" {
					return try.tool + ": " + fault, nil
				}
			}
		}
		switch {
		case b.Counted() != int64(rounds) || b.Runs() != int64(2*rounds):
			return fmt.Sprintf("the server ran %d and %d calls, want %d and %d", b.Counted(), b.Runs(), rounds, 2*rounds), nil
		case seed != 0 && b.Wire.Cuts() == 0:
			return "", fmt.Errorf("seed %d cut nothing: the trial shows nothing", seed)
		}
		return exactlyOnce, nil
	})
}

// fault tells what is wrong with what a caller learned, "" if it is right.
func (l Learned) fault(want string, steps int, k Kind) string {
	switch {
	case l.Error != "":
		return l.Error
	case l.Text != want:
		return fmt.Sprintf("answered %q, want %q", l.Text, want)
	case k.PerCall:
		return ""
	}
	for i, step := range l.Steps {
		if step != fmt.Sprint("step ", i+1) {
			return fmt.Sprintf("step %d is %q", i+1, step)
		}
	}
	if len(l.Steps) != steps {
		return fmt.Sprintf("%d steps of %d", len(l.Steps), steps)
	}
	return ""
}

func polling(ctx context.Context, k Kind) (string, error) {
	return on(ctx, k, MissConflict, 0, func(b *Bench, c Client) (string, error) {
		if fault := c.Call(ToolCloser, map[string]any{"pause_ms": 400}, patience).fault("closed 1", 0, k); fault != "" {
			return fault, nil
		}
		if b.Runs() != 1 || b.Wire.Resumptions(http.StatusOK) == 0 {
			return "", fmt.Errorf("%d runs, exchanges %v: nobody came back, the trial shows nothing", b.Runs(), b.Wire.Exchanges())
		}
		return exactlyOnce, nil
	})
}

func position(ctx context.Context, k Kind) (string, error) {
	return on(ctx, k, MissConflict, 0, func(b *Bench, c Client) (string, error) {
		// Long enough for the clients that wait a second before they come back.
		l := c.Call(ToolCloser, map[string]any{"times": 3, "pause_ms": 1500, "retry_ms": 50}, patience)
		if fault := l.fault("closed 3", 0, k); fault != "" {
			return fault, nil
		}
		if n := b.Wire.Resumptions(http.StatusOK); n < 3 {
			return "", fmt.Errorf("%d resumptions: the trial shows nothing", n)
		}
		return exactlyOnce, nil
	})
}

func answered(ctx context.Context, k Kind) (string, error) {
	return on(ctx, k, MissConflict, 0, func(b *Bench, c Client) (string, error) {
		b.Wire.CutBehind("told 3")
		if fault := c.Call(ToolSlow, map[string]any{"steps": 3, "pause_ms": 5}, patience).fault("told 3", 3, k); fault != "" {
			return fault, nil
		}
		if b.Wire.Cuts() != 1 {
			return "", fmt.Errorf("%d cuts: the trial shows nothing", b.Wire.Cuts())
		}
		time.Sleep(brief) // in which it would ask
		next := c.Call(ToolCounter, nil, patience)
		return asks(b.Wire.Resumptions(http.StatusNoContent)) + "; " + nextCall(next, "1"), nil
	})
}

func complete(ctx context.Context, k Kind) (string, error) {
	return on(ctx, k, MissConflict, 0, func(b *Bench, c Client) (string, error) {
		b.Wire.Complete()
		l := c.Call(ToolCloser, map[string]any{"pause_ms": 10_000}, 3*brief)
		said := l.Error
		if said == "" {
			said = "answered " + l.Text
		}
		return told(said) + "; " + asks(b.Wire.Resumptions(http.StatusNoContent)) + "; " + nextCall(c.Call(ToolCounter, nil, patience), "1"), nil
	})
}

// finishedAt lists where another process goes on in a stream that is finished.
var finishedAt = []struct {
	id, title string
	back      int // how many events before its end
}{{"end", "at its end", 0}, {"last", "before its last event", 1}}

func finished(ctx context.Context, k Kind, back int) (string, error) {
	if k.Another == nil {
		return "not tried: it has no call for that", nil
	}
	return on(ctx, k, MissConflict, 0, func(b *Bench, c Client) (string, error) {
		l := c.Call(ToolSlow, map[string]any{"steps": 3, "pause_ms": 5}, patience)
		if fault := l.fault("told 3", 3, k); fault != "" || len(l.Tokens) < 2 {
			return "", fmt.Errorf("before that: %s, tokens %v", fault, l.Tokens)
		}
		next, err := k.Another(ctx, b.URL(), l.Session)
		if err != nil {
			return "", err
		}
		defer next.Close()
		again := next.Resume(ToolSlow, l.Tokens[len(l.Tokens)-1-back], brief)
		said := "it is answered"
		if again.Error != "" {
			said = told(again.Error)
		} else if again.Text != l.Text {
			said = "it is answered " + again.Text
		}
		if b.Runs() != 1 {
			said += fmt.Sprintf("; the tool ran %d times", b.Runs())
		}
		return said + "; " + asks(b.Wire.Resumptions(http.StatusNoContent)), nil
	})
}

func missed(ctx context.Context, k Kind, m Miss) (string, error) {
	return on(ctx, k, m, 0, func(b *Bench, c Client) (string, error) {
		l := c.Call(ToolForget, nil, 3*brief)
		if l.Error == "" {
			return "", fmt.Errorf("answered %q: the cursor was not gone, the trial shows nothing", l.Text)
		}
		return told(l.Error) + "; " + nextCall(c.Call(ToolCounter, nil, 3*brief), "1"), nil
	})
}

func restarted(ctx context.Context, k Kind) (string, error) {
	if k.PerCall {
		return "a session for each call", nil
	}
	return on(ctx, k, MissConflict, 0, func(b *Bench, c Client) (string, error) {
		if fault := c.Call(ToolCounter, nil, patience).fault("1", 0, k); fault != "" {
			return "", fmt.Errorf("before the restart: %s", fault)
		}
		if err := b.Restart(); err != nil {
			return "", err
		}
		return nextCall(c.Call(ToolCounter, nil, 3*brief), "2"), nil
	})
}

func drained(ctx context.Context, k Kind) (string, error) {
	return on(ctx, k, MissConflict, 0, func(b *Bench, c Client) (string, error) {
		began := make(chan struct{})
		go func() {
			for b.Runs() == 0 && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond)
			close(began)
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			b.Drain(ctx)
		}()
		l := c.Call(ToolSlow, map[string]any{"steps": 10, "pause_ms": 50}, 3*brief)
		<-began
		if l.Error == "" {
			return "the running call is answered", nil
		}
		return told(l.Error), nil
	})
}

// told tells a caller's error as the result of a trial.
func told(kind string) string {
	if kind == "timeout" {
		return "the call hangs until its timeout"
	}
	return "the call ends: " + kind
}

func nextCall(l Learned, want string) string {
	switch {
	case l.Error == "timeout":
		return "the next call hangs"
	case l.Error != "":
		return "the next call fails: " + l.Error
	case l.Text != want:
		return "the next call answers " + l.Text
	}
	return "the next call works"
}

// fewAsks is how often a client may ask until that is a habit: some ask on the
// standalone stream too.
const fewAsks = 4

// asks tells whether a client asked for what is complete, and whether it ended.
func asks(n int) string {
	switch {
	case n == 0:
		return "it does not ask"
	case n <= fewAsks:
		return "it asks and takes it for the end"
	}
	return "it asks again and again"
}

// oneLine keeps a result in its cell.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Run runs the trial.
func (t Trial) Run(ctx context.Context, k Kind) (string, error) {
	said, err := t.run(ctx, k)
	return oneLine(said), err
}

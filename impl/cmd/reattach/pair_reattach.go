package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// The reattach pair: impl/streamhttp at both ends.
var reattachPair = pair{name: "reattach", server: newReattachServer, client: newReattachClient}

type reattachServer struct{ *streamhttp.Handler }

func newReattachServer(s serverSetup) (server, error) {
	h, err := streamhttp.NewHandler(s.serve, streamhttp.Options{
		Session: session.Options{
			WindowEvents:  s.window,
			DetachBudget:  s.budget,
			SessionBudget: s.budget / 4, // it begins when the last call is over
		},
		RetryHint: 20 * time.Millisecond, // nobody wants to watch a demo wait
	})
	if err != nil {
		return nil, err
	}
	return reattachServer{h}, nil
}

// Drain ends the views. It does not wait for the calls that run: the process
// they run in is about to end.
func (s reattachServer) Drain() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Handler.Drain(ctx)
}

// serve is the application of the server: it sees messages and streams.
func (s serverSetup) serve(ctx context.Context, m *streamhttp.Message) {
	switch m.Method {
	case "initialize":
		m.Stream.Answer(map[string]any{
			"protocolVersion": streamhttp.Negotiate(m.Params),
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]string{"name": "demo", "version": "0"},
		})
	case "notifications/initialized":
		if s.greeting != nil {
			s.greeting(string(m.Session.Tag()), func(params any) { m.Stream.Emit("notifications/message", params) })
		}
	case "tools/call":
		s.tool(ctx, toolCall{
			session: string(m.Session.Tag()),
			key:     keyOf(m.Params),
			emit: func(method string, params any) error {
				_, err := m.Stream.Emit(method, params)
				return err
			},
			answer: func(result any) error {
				_, err := m.Stream.Answer(result)
				return err
			},
		})
	}
}

// A reattachCaller is a client together with what its application decides.
type reattachCaller struct {
	clientSetup
	client *streamhttp.Client // nil until the first Open
	http   *http.Transport
	broken atomic.Bool // a stream was interrupted
}

func newReattachClient(s clientSetup) (caller, error) {
	return &reattachCaller{clientSetup: s, http: &http.Transport{}}, nil
}

// Open opens a session, and with it an epoch.
func (c *reattachCaller) Open(ctx context.Context) (err error) {
	if c.client != nil {
		return c.client.Open(ctx)
	}
	c.client, err = streamhttp.Dial(ctx, c.url, streamhttp.DialOptions{
		Apply: func(e client.Event) error {
			c.app.apply(e.Payload)
			return nil
		},
		Transport: streamhttp.TransportOptions{HTTP: c.http},
		Driver: client.Options{
			BackoffBase: 10 * time.Millisecond,
			BackoffMax:  100 * time.Millisecond,
			Core:        client.CoreOptions{Observe: c.observe},
		},
	})
	return err
}

// observe tells the application when a stream that was interrupted has been
// resumed: its view is proved to go on where the client was.
func (c *reattachCaller) observe(step *fsm.Step, _ *fsm.RefusedError) {
	if step == nil {
		return
	}
	switch trigger := step.Row.Trigger; {
	case trigger == spec.StreamEnds || trigger == spec.ConnectionBreaks:
		c.broken.Store(true)
	case trigger == spec.ServerAccepts && step.To == spec.Streaming && c.broken.Load():
		c.app.resumed()
	}
}

// Call makes a call. When its outcome is unknown the application begins anew:
// it opens a session, in quarantine, asks the registry behind the tool what
// became of the call, and says so; then the quarantine ends.
func (c *reattachCaller) Call(ctx context.Context, key string) error {
	_, err := c.client.Call(ctx, "tools/call", callArguments(key), nil)
	var unknown *client.UnknownError
	if !errors.As(err, &unknown) {
		return err
	}
	c.app.broken(toldAbandoned, string(unknown.Reason))
	c.app.begin()
	if err := c.Open(ctx); err != nil {
		return fmt.Errorf("the next epoch: %w", err)
	}
	found := client.DidNotExecute
	if c.app.ledger.wasExecuted(key) {
		found = client.DidExecute
	}
	if err := c.client.Driver().Resolve(ctx, unknown.Stream, found); err != nil {
		return fmt.Errorf("resolving %v: %w", unknown.Stream, err)
	}
	return nil
}

// Close stops the client. Its session is left as it is.
func (c *reattachCaller) Close() {
	if c.client != nil {
		c.client.Close()
	}
	c.http.CloseIdleConnections()
}

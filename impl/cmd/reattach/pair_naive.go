package main

import (
	"context"
	"encoding/json"

	"example.com/reattach/properties/naive"
)

// The naive pair: what the incidents had, each scenario with the faults that
// its incident shows.
var naivePair = pair{name: "naive", server: newNaiveServer, client: newNaiveClient}

func newNaiveServer(s serverSetup) (server, error) {
	o := naive.ServerOptions{
		Name:   s.instance,
		Faults: s.faults,
		Window: s.window,
		Forget: s.budget,
		Tool: func(ctx context.Context, c naive.Call) json.RawMessage {
			result := json.RawMessage("null")
			s.tool(ctx, toolCall{
				session: c.Session,
				key:     keyOf(c.Args),
				emit: func(method string, params any) error {
					c.Emit(encode(notification{"2.0", method, params}))
					return nil
				},
				answer: func(r any) error {
					result = encode(r)
					return nil
				},
			})
			return result
		},
	}
	if s.greeting != nil {
		o.Greet = func(session string, emit func(json.RawMessage)) {
			s.greeting(session, func(params any) { emit(encode(notification{"2.0", "notifications/message", params})) })
		}
	}
	return naive.NewServer(o), nil
}

type naiveClient struct {
	*naive.Client
	app *application
}

func newNaiveClient(s clientSetup) (caller, error) {
	return &naiveClient{app: s.app, Client: naive.NewClient(naive.ClientOptions{
		Faults: s.faults,
		URL:    s.url,
		Apply:  func(e naive.Event) error { s.app.apply(e.Message); return nil },
	})}, nil
}

// Call reports to the application what the client reports, which with the
// faults of the incidents is nothing.
func (c *naiveClient) Call(ctx context.Context, key string) error {
	_, err := c.Client.Call(ctx, callArguments(key))
	if err != nil && ctx.Err() == nil {
		c.app.broken(toldAbandoned, err.Error())
		return nil
	}
	return err
}

type notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params,omitempty"`
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("reattach: BUG: a message of the demo: " + err.Error())
	}
	return b
}

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"example.com/reattach/properties/naive"
)

// A pair is a server and a client that belong together. A scenario is played
// the same way with every pair: what differs is what happens.
type pair struct {
	name   string
	server func(serverSetup) (server, error)
	client func(clientSetup) (caller, error)
}

// A server runs one tool in every session.
type server interface {
	http.Handler
	Drain() // ends every view cleanly; nothing new is accepted
	Close() // ends everything
}

// A serverSetup says what a server of either kind is to do.
type serverSetup struct {
	instance string // tells the servers behind one address apart
	tool     tool
	greeting func(session string, emit func(message any)) // first events of a session, if any

	window int           // events retained a session
	budget time.Duration // how long a session, or a call that nobody reads, is kept
	faults naive.ServerFault
}

// A tool is the work that a call asks for. It emits on the call's stream and
// answers the call; a tool that returns without an answer is one whose process
// ended. stop ends when the work is cancelled.
type tool func(stop context.Context, c toolCall)

// A toolCall is one execution of the tool.
type toolCall struct {
	session string // its name on the wire
	key     string // names the call itself, in whatever session it is sent
	emit    func(method string, params any) error
	answer  func(result any) error
}

// A caller is a client: it makes calls, one at a time, and hands everything it receives to its
// application.
type caller interface {
	Open(ctx context.Context) error
	// Call returns when the call is answered, or when the client has given up.
	// What became of it after that is the pair's own affair: a client that
	// tells its application that the outcome is unknown goes on as the
	// application decides.
	Call(ctx context.Context, key string) error
	Close()
}

// A clientSetup says for whom a client works.
type clientSetup struct {
	url    string
	app    *application
	faults naive.ClientFault
}

// callArguments are the parameters of the tool call with this key.
func callArguments(key string) json.RawMessage {
	b, err := json.Marshal(map[string]any{"name": "write", "arguments": map[string]string{"key": key}})
	if err != nil {
		panic("reattach: BUG: arguments of a call: " + err.Error())
	}
	return b
}

// keyOf returns the key in the parameters of a tool call.
func keyOf(params json.RawMessage) string {
	var p struct {
		Arguments struct {
			Key string `json:"key"`
		} `json:"arguments"`
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	return p.Arguments.Key
}

package gosdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
)

// A wireRequest is a call as it leaves, with the record's request id.
type wireRequest struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      uint64          `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

const (
	methodInitialized = "notifications/initialized"
	methodPing        = "ping"
)

// Write sends a message of the SDK's. For a call it returns when the call has
// its place in the record's order; for anything else when the server took it.
func (c *clientConn) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		return c.respond(ctx, m)
	case *jsonrpc.Request:
		switch {
		case !m.IsCall():
			return c.notify(ctx, m)
		case m.Method == methodInitialize:
			go c.initialize(m)
			return nil
		case m.Method == methodDiscover:
			go c.push(&jsonrpc.Response{ID: m.ID, Error: noDiscovery()})
			return nil
		}
		return c.call(m)
	}
	return fmt.Errorf("reattach: BUG: the SDK writes a %T", m)
}

// noDiscovery sends the SDK to initialize: what is served here has sessions.
func noDiscovery() error {
	data, err := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: streamhttp.Versions()})
	if err != nil {
		panic("reattach: BUG: versions that are not JSON: " + err.Error())
	}
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "this transport resumes sessions, which revision " + firstLater + " does not have", Data: data}
}

// begin gives a call its entry. The error says that the session is over.
func (c *clientConn) begin(id jsonrpc.ID) (*clientCall, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost != nil {
		return nil, c.lost
	}
	k := &clientCall{}
	c.calls[id] = k
	c.telling++
	return k, nil
}

// call makes a call of the record out of one of the SDK's, and tells the SDK
// the outcome, whenever that is. The SDK's context does not reach the call: the
// SDK says that it gave a call up with notifications/cancelled.
func (c *clientConn) call(m *jsonrpc.Request) error {
	k, err := c.begin(m.ID)
	if err != nil {
		return err
	}
	numbered := make(chan struct{})
	number := sync.OnceFunc(func() { close(numbered) })
	go func() {
		answer, err := c.driver.Call(c.ctx, client.Request{
			Label:  m.Method,
			Passes: m.Method == methodPing,
			Build: func(request uint64) ([]byte, error) {
				c.mu.Lock()
				k.request = request
				c.mu.Unlock()
				number()
				return json.Marshal(wireRequest{"2.0", request, m.Method, m.Params})
			},
		})
		number() // where it was refused
		c.tell(m.ID, k, answer, err)
	}()
	<-numbered
	return nil
}

// tell gives the SDK the outcome of a call, under the SDK's own id.
func (c *clientConn) tell(id jsonrpc.ID, k *clientCall, answer client.Event, err error) {
	var response *jsonrpc.Response
	if err == nil {
		response, err = decodeAnswer(answer.Payload)
	}
	if err != nil {
		response = &jsonrpc.Response{Error: c.callError(client.StreamID{}, err)}
	}
	response.ID = id
	c.mu.Lock()
	if c.calls[id] == k {
		delete(c.calls, id)
	}
	givenUp := k.givenUp
	c.mu.Unlock()
	switch {
	case !givenUp:
		c.push(response)
	case err == nil:
		c.late.Add(1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.telling--
	c.endIfTold()
}

// notify sends a notification. One that the server did not take is the
// caller's to know; the session goes on unless the driver gave it up.
func (c *clientConn) notify(ctx context.Context, m *jsonrpc.Request) error {
	params := m.Params
	switch m.Method {
	case methodInitialized:
		if c.resumed && c.wasInUse() {
			return nil
		}
	case methodCancelled:
		if params = c.translated(params); params == nil {
			return nil // the call is over, or was never sent
		}
	}
	payload, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{"2.0", m.Method, params})
	if err != nil {
		return rejected(err)
	}
	passes := m.Method == methodInitialized || m.Method == methodCancelled
	return c.send(ctx, client.Message{Payload: payload, Passes: passes})
}

// respond sends an answer to the server.
func (c *clientConn) respond(ctx context.Context, m *jsonrpc.Response) error {
	c.answered(m.ID)
	payload, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return rejected(err)
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	return c.send(ctx, client.Message{Payload: payload, Passes: true})
}

func (c *clientConn) send(ctx context.Context, m client.Message) error {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if lost != nil {
		return lost
	}
	if err := c.driver.Notify(ctx, m); err != nil {
		return rejected(err)
	}
	return nil
}

// translated puts the record's request id into a cancellation, and notes that
// the SDK gave the call up. It returns nil if there is no such call.
func (c *clientConn) translated(params json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil {
		return nil
	}
	id, err := parseID(bytes.TrimSpace(members["requestId"]))
	if err != nil {
		return nil
	}
	c.mu.Lock()
	k := c.calls[id]
	if k == nil || k.request == 0 {
		c.mu.Unlock()
		return nil
	}
	k.givenUp = true
	request := k.request
	c.mu.Unlock()
	members["requestId"], _ = json.Marshal(request) // a number is JSON
	text, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return text
}

// wasInUse reports whether the record shows a call of the session's: then its
// opening was said to be over before that. Where it shows none nobody can tell,
// and saying it twice does no harm.
func (c *clientConn) wasInUse() bool {
	r := c.driver.Snapshot().Record
	if len(r.Calls) > 0 || len(r.Seen) > 0 {
		return true
	}
	for _, u := range r.Unknowns {
		if u.Stream.Epoch == r.Epoch {
			return true
		}
	}
	return false
}

package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A conn is one session as the SDK sees it: an [mcp.Connection] whose messages
// come from POSTs and go to streams.
//
// How long it lives: the SDK's session ends with ours, when the calls that still
// run have returned, and ours ends with the SDK's. Until then every call of the
// client ends by its answer or its cancellation; what the SDK asks the client
// ends typed as soon as the session is over (R16).
type conn struct {
	handler  *Handler
	session  *streamhttp.Session
	sdk      atomic.Pointer[mcp.ServerSession] // nil while it is being connected
	incoming chan jsonrpc.Message
	closed   chan struct{} // the SDK is done with the connection
	inbox    inbox

	mu     sync.Mutex
	last   uint64                  // number of the client's last call
	calls  map[jsonrpc.ID]*call    // of the client, not answered
	asked  map[jsonrpc.ID]struct{} // of the server, not answered
	over   bool                    // the session has ended: nothing begins any more
	idle   chan struct{}           // closed when it is over and no call is left
	isDone bool                    // closed is closed

	lost []jsonrpc.ID // asked when the session ended; Read's alone
	told bool         // Read knows that the session is over
}

func newConn(h *Handler, s *streamhttp.Session) *conn {
	return &conn{
		handler: h, session: s, incoming: make(chan jsonrpc.Message), closed: make(chan struct{}), idle: make(chan struct{}),
		calls: make(map[jsonrpc.ID]*call), asked: make(map[jsonrpc.ID]struct{}),
	}
}

// A transport hands one connection to the SDK.
type transport struct{ conn *conn }

// Connect returns the connection.
func (t transport) Connect(context.Context) (mcp.Connection, error) { return t.conn, nil }

// SupportsProtocolVersion reports whether a revision has sessions.
func (t transport) SupportsProtocolVersion(version string) bool { return version < firstLater }

// SessionID is the tag of the session: its id is a secret, and the SDK logs it.
func (c *conn) SessionID() string { return string(c.session.Tag()) }

// Read returns the next message of the client, or what it can no longer say.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	ended := c.session.Done()
	for {
		if len(c.lost) > 0 {
			id := c.lost[0]
			c.lost = c.lost[1:]
			return &jsonrpc.Response{ID: id, Error: streamhttp.ErrOutcomeUnknown}, nil
		}
		if c.told {
			ended = nil
		}
		select {
		case m := <-c.incoming:
			return m, nil
		case <-ended:
			c.lost, c.told = c.end(), true
		case <-c.idle:
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// end notes that the session is over, and returns what the client was asked and
// will not answer.
func (c *conn) end() (lost []jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for id := range c.asked {
		lost = append(lost, id)
	}
	clear(c.asked)
	if len(c.calls) == 0 {
		close(c.idle)
	}
	return lost
}

// Close ends the session: the SDK calls it when its own has ended.
func (c *conn) Close() error {
	c.mu.Lock()
	done := c.isDone
	c.isDone = true
	if !done {
		close(c.closed)
	}
	c.mu.Unlock()
	if !done {
		_ = c.session.End() // it may have been the one that ended first
		c.handler.leave(c)
	}
	return nil
}

// push hands a message to the SDK; it reports false when that takes none.
func (c *conn) push(m jsonrpc.Message) bool {
	select {
	case c.incoming <- m:
		return true
	case <-c.closed:
		return false
	}
}

// begin notes a call of the client, and gives it its id; it reports false if the
// session is over.
func (c *conn) begin(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false
	}
	c.last++
	id, err := jsonrpc.MakeID(float64(c.last))
	if err != nil {
		panic("reattach: BUG: the SDK takes no number for an id: " + err.Error())
	}
	k.id = id
	c.calls[id] = k
	return true
}

// runs reports whether a call has no answer yet.
func (c *conn) runs(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[k.id] == k
}

// take ends the call of the client with that id, and returns it if one runs.
func (c *conn) take(id jsonrpc.ID) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[id]
	if k == nil {
		return nil
	}
	delete(c.calls, id)
	if c.over && len(c.calls) == 0 {
		close(c.idle)
	}
	return k
}

// errRejected is what the SDK takes as the failure of one message. Any other
// error would end its session.
var errRejected = &jsonrpc.Error{Code: -32005, Message: "not sent"}

func rejected(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errRejected, err)
}

// errSessionOver is why nothing is sent to a client any more.
var errSessionOver = errors.New("reattach: the session is over")

// errAnswered is why nothing is sent in the context of a call any more.
var errAnswered = errors.New("reattach: the call in whose context this is sent has been answered")

// Write sends a message of the server. That nobody reads at the moment is no
// error: it is in the window (R11).
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		if k := c.take(m.ID); k != nil {
			return rejected(k.answer(m))
		}
		return rejected(errSessionOver)
	case *jsonrpc.Request:
		k := c.callOf(ctx)
		if k != nil && k.isAnswered() {
			return rejected(errAnswered)
		}
		var stream *streamhttp.Stream
		if k != nil {
			stream = k.stream
		} else {
			stream = c.session.Standalone()
		}
		if m.IsCall() {
			return rejected(c.ask(stream, m))
		}
		e, err := c.tell(stream, m)
		switch {
		case k == nil:
		case err == nil:
			k.keep(ctx, e, len(m.Params))
		case !errors.Is(err, spec.ReasonEventTooLarge) && !errors.Is(err, streamhttp.ErrPayload):
			// Nobody will ever read it: the stream or the session is over. If the
			// work is to stop its context says so; else a ledger answers for it,
			// and it is not to fail because of that (R22).
			err = nil
		}
		return rejected(err)
	}
	panic(fmt.Sprintf("reattach: BUG: the SDK sends a %T", m))
}

// callOf returns the call in whose course something is sent, or nil: what is
// sent to another session is not of that call.
func (c *conn) callOf(ctx context.Context) *call {
	if k, ok := ctx.Value(callKey{}).(*call); ok && k.conn == c {
		return k
	}
	return nil
}

// ask sends a request of the server.
func (c *conn) ask(stream *streamhttp.Stream, m *jsonrpc.Request) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	c.mu.Lock()
	switch {
	case c.over:
		err = errSessionOver
	case len(c.asked) >= maxAsked:
		err = fmt.Errorf("reattach: %d requests wait for this client: %w", maxAsked, spec.ReasonTooManyRequests)
	default:
		c.asked[m.ID] = struct{}{} // before the client can answer
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if _, err = stream.Send(text); err != nil {
		c.answered(m.ID)
	}
	return err
}

// maxAsked bounds the requests of the server that wait for an answer in one
// session, as streamhttp does for its own.
const maxAsked = spec.DefaultRequests

// answered ends a request of the server; it reports false if it had ended.
func (c *conn) answered(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.asked[id]
	delete(c.asked, id)
	return ok
}

const methodCancelled = "notifications/cancelled"

// tell sends a notification.
func (c *conn) tell(stream *streamhttp.Stream, m *jsonrpc.Request) (streamhttp.Emitted, error) {
	if m.Method == methodCancelled {
		var p struct {
			ID any `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &p) == nil {
			if id, err := jsonrpc.MakeID(p.ID); err == nil {
				c.answered(id) // nobody waits for it
			}
		}
	}
	var params any
	if len(m.Params) > 0 {
		params = m.Params
	}
	return stream.Emit(m.Method, params)
}

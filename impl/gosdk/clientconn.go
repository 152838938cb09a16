package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A clientConn is the [mcp.Connection] of a client: the SDK's messages on one
// side, a [client.Client] on the other.
//
//	(1) a call has one entry in calls from its Write to its outcome, which is
//	    pushed to Read unless the SDK gave the call up
//	(2) nothing of the server reaches Read before initialize was answered, and
//	    a call's answer comes after everything that came before it
//	(3) Read ends only when every call was told its outcome, or after Close
//	(4) Write returns a plain error, which ends the SDK's session, only if the
//	    session is over
type clientConn struct {
	driver *client.Client
	keeps  bool // the record outlives the process
	log    *slog.Logger

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	closed atomic.Bool

	incoming chan jsonrpc.Message
	ready    chan struct{} // closed when initialize was answered
	over     chan struct{} // closed when nothing more will be pushed, because the session is lost
	slots    chan struct{} // taken by requests of the server that the SDK has not answered

	late, dropped atomic.Uint64

	mu      sync.Mutex
	calls   map[jsonrpc.ID]*clientCall
	asked   map[jsonrpc.ID]bool // requests of the server with the SDK
	telling int                 // calls whose outcome was not told yet
	lost    error               // why the session is over
	opened  sync.Once
	resumed bool // the session is of an earlier process
}

// A clientCall is a call of the SDK.
type clientCall struct {
	request uint64 // the id in the record and on the wire; 0 until it is known
	givenUp bool   // the SDK does not wait any more
}

// maxServerRequests bounds the requests of a server that the SDK is given at a
// time: a stream that brings more waits.
const maxServerRequests = spec.DefaultRequests

// replyTimeout bounds the POST of an answer to the server.
const replyTimeout = 30 * time.Second

func newClientConn(ctx context.Context, over client.Transport, store client.Store, o client.Options, log *slog.Logger) (*clientConn, error) {
	c := &clientConn{keeps: store != nil, log: log,
		incoming: make(chan jsonrpc.Message), ready: make(chan struct{}), over: make(chan struct{}),
		slots: make(chan struct{}, maxServerRequests),
		calls: map[jsonrpc.ID]*clientCall{}, asked: map[jsonrpc.ID]bool{}}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if store == nil {
		store = client.NewMemoryStore(client.Record{})
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	onEvent, onState := o.OnEvent, o.OnState
	o.OnEvent = func(ev client.Event) {
		if onEvent != nil {
			onEvent(ev)
		}
		c.receive(ev)
	}
	o.OnState = func(change client.StateChange) {
		if onState != nil {
			onState(change)
		}
		c.stateChanged(change)
	}
	var err error
	if c.driver, err = client.New(ctx, over, store, o); err != nil {
		c.cancel()
		return nil, err
	}
	if snap := c.driver.Snapshot(); snap.State == spec.Fencing { // the record cannot be gone on from
		return nil, errors.Join(&SessionError{Reason: snap.Reason}, c.Close())
	}
	return c, nil
}

// alive reports whether the session can go on.
func (c *clientConn) alive() bool {
	switch c.driver.State() {
	case spec.Open, spec.Quarantined:
		return true
	}
	return false
}

// SessionID returns the session's id, "" without one.
func (c *clientConn) SessionID() string { return c.driver.Session().ID }

// Read returns the next message for the SDK.
func (c *clientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.incoming:
		return m, nil
	case <-c.over:
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil, c.lost
	case <-c.ctx.Done():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// push hands a message to Read. It reports false if nobody reads any more.
func (c *clientConn) push(m jsonrpc.Message) bool {
	select {
	case c.incoming <- m:
		return true
	case <-c.over:
	case <-c.ctx.Done():
	}
	return false
}

// Close ends the connection, and the session too if no record of it is kept.
func (c *clientConn) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	if !c.keeps && c.alive() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), replyTimeout)
		_ = c.driver.Terminate(ctx) // best effort: the session also ends by itself
		cancel()
	}
	c.cancel()
	return c.driver.Close()
}

var errDetached = fmt.Errorf("reattach: detached: %w", io.EOF)

// detach stops the driver. Who waits for a call is told that it is pending,
// then Read ends.
func (c *clientConn) detach() error {
	c.mu.Lock()
	if c.lost == nil {
		c.lost = errDetached
	}
	c.endIfTold()
	c.mu.Unlock()
	return c.driver.Close()
}

// stateChanged notices the end of the session.
func (c *clientConn) stateChanged(change client.StateChange) {
	switch change.To {
	case spec.Fencing, spec.Abandoned, spec.Closed:
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost != nil {
		return
	}
	why := change.Reason
	if why == "" {
		why = spec.ReasonEpochClosed
	}
	c.lost = &SessionError{Reason: why}
	c.log.Info("reattach: the session ended", "epoch", change.Epoch, "reason", string(why))
	c.endIfTold()
}

// endIfTold ends Read when the session is lost and every call was told. c.mu
// is held.
func (c *clientConn) endIfTold() {
	if c.lost != nil && c.telling == 0 {
		select {
		case <-c.over:
		default:
			close(c.over)
		}
	}
}

// receive hands what the server sent, and what was applied, to the SDK. It
// runs on the goroutine of the event's stream, which reads on when the SDK
// took the message.
func (c *clientConn) receive(ev client.Event) {
	if len(ev.Payload) == 0 || ev.Answer {
		return // an answer is told by its call
	}
	select {
	case <-c.ready:
	case <-c.over:
		return
	case <-c.ctx.Done():
		return
	}
	m, err := jsonrpc.DecodeMessage(ev.Payload)
	if err != nil {
		c.drop("a message that the SDK cannot read", ev)
		return
	}
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.drop("a response that belongs to no call", ev)
	case *jsonrpc.Request:
		if m.IsCall() && !c.ask(m.ID, ev) {
			return
		}
		c.push(m)
	}
}

func (c *clientConn) drop(what string, ev client.Event) {
	c.dropped.Add(1)
	c.log.Warn("reattach: dropped "+what, "stream", ev.Stream.String())
}

// ask notes a request of the server, and waits while the SDK has too many.
func (c *clientConn) ask(id jsonrpc.ID, ev client.Event) bool {
	select {
	case c.slots <- struct{}{}:
	case <-c.over:
		return false
	case <-c.ctx.Done():
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked[id] {
		<-c.slots
		c.drop("a request whose id is in use", ev)
		return false
	}
	c.asked[id] = true
	return true
}

// answered frees what a request of the server held.
func (c *clientConn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked[id] {
		delete(c.asked, id)
		<-c.slots
	}
}

// initialize opens a session, or answers from the record of an open one.
func (c *clientConn) initialize(r *jsonrpc.Request) {
	answer := &jsonrpc.Response{ID: r.ID}
	if c.alive() {
		c.resumed = true // known before the SDK sends anything else
	} else if payload, err := json.Marshal(wireRequest{"2.0", 0, r.Method, r.Params}); err != nil {
		answer.Error = err
	} else if err := c.driver.Open(c.ctx, payload); err != nil {
		answer.Error = c.openingError(err)
	}
	if answer.Error == nil {
		answer.Result = streamhttp.ResultOf(c.driver.Session())
	}
	if answer.Error == nil && answer.Result == nil {
		answer.Error = errNoResult
	}
	c.push(answer)
	c.opened.Do(func() { close(c.ready) })
}

var errNoResult = errors.New("reattach: the record holds no answer to initialize: it is larger than 64 KiB")

// openingError is the server's own error where there is one.
func (c *clientConn) openingError(err error) error {
	var said *streamhttp.ResponseError
	if errors.As(err, &said) {
		return &jsonrpc.Error{Code: int64(said.Code), Message: said.Message, Data: said.Data}
	}
	return c.callError(client.StreamID{}, err)
}

var _ mcp.Connection = (*clientConn)(nil)

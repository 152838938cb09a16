package streamhttp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// A Client is an MCP client whose calls survive lost connections: a thin layer
// of JSON-RPC over the driver of impl/client, which does the surviving. It is
// safe for concurrent use.
type Client struct {
	driver *client.Client
	ready  chan struct{} // closed when driver is set
	o      DialOptions

	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	slots   chan struct{} // taken by requests of the server that are being answered
	replies sync.WaitGroup
	dropped atomic.Uint64

	mu        sync.Mutex
	listeners map[uint64]func(Incoming) // by request id, until the call's outcome
}

// DialOptions of a [Client]. The zero value is useful; the record is then in
// memory, so that calls survive lost connections but not the process.
type DialOptions struct {
	// Store keeps the durable record; nil = a client.MemoryStore.
	Store client.Store
	// Apply applies an event before it counts as received: short for a store
	// in client.RepeatOnCrash. Nil: nothing is applied but by the callbacks.
	Apply func(client.Event) error
	// Driver holds the limits, tables and callbacks of the driver.
	Driver client.Options
	// Transport holds what concerns HTTP.
	Transport TransportOptions

	Name, Version   string // of the client, told to the server
	Capabilities    any    // told to the server; nil = none
	ProtocolVersion string // asked for; "" = the newest

	// NoKeys sends calls without keys, also to a server that has a ledger:
	// nobody can answer for them then (R28).
	NoKeys bool

	// OnNotification gets every notification of a stream whose call brought no
	// callback of its own, and those of the standalone stream: in order for one
	// stream, at the same time for different ones.
	OnNotification func(Incoming)
	// OnRequest answers a request of the server. An error becomes an error
	// response: a *ResponseError as it stands, any other one as an internal
	// error. Nil: pings are answered, everything else is an unknown method.
	OnRequest func(context.Context, Incoming) (any, error)
}

// An Incoming is a notification or a request of the server.
type Incoming struct {
	Stream  client.StreamID // on which it came; Request 0 is the standalone stream
	EventID string
	Kind    Kind
	Method  string
	Params  json.RawMessage
}

const (
	maxReplies   = spec.DefaultRequests // requests of the server that are answered at a time
	replyTimeout = 30 * time.Second     // for the POST of an answer
	methodPing   = "ping"
	methodReady  = "notifications/initialized"
)

// Dial makes a client of the endpoint at rawURL. If the store holds an open
// session it goes on in that, and calls that were pending can be awaited:
// see Driver and Recovered there. Else it opens one.
//
// A session that is lost later is never replaced silently (R22): calls then
// end typed, and Open begins the next epoch.
func Dial(ctx context.Context, rawURL string, o DialOptions) (*Client, error) {
	transport, err := NewTransport(rawURL, o.Transport)
	if err != nil {
		return nil, err
	}
	if o.Store == nil {
		o.Store = client.NewMemoryStore(client.Record{})
	}
	c := &Client{o: o, ready: make(chan struct{}), slots: make(chan struct{}, maxReplies), listeners: map[uint64]func(Incoming){}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	driver := o.Driver
	if driver.Apply == nil {
		driver.Apply = o.Apply
	}
	driver.OnEvent = func(ev client.Event) {
		c.receive(ev)
		if o.Driver.OnEvent != nil {
			o.Driver.OnEvent(ev)
		}
	}
	driver.OnOutcome = func(outcome client.Outcome) {
		c.forget(outcome.Stream.Request)
		if o.Driver.OnOutcome != nil {
			o.Driver.OnOutcome(outcome)
		}
	}
	if c.driver, err = client.New(ctx, transport, o.Store, driver); err != nil {
		c.cancel()
		return nil, err
	}
	close(c.ready)
	switch c.driver.State() {
	case spec.Open, spec.Quarantined:
		// The process may have ended between the two halves of the opening; the
		// second one may be said twice. What it meets, the next call meets too.
		_ = c.sayReady(ctx)
	default:
		if err := c.Open(ctx); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Open opens a session, and with it the next epoch, after the last one was
// abandoned or terminated. While unknown outcomes are unresolved, calls are
// refused: see Unknowns and Resolve of Driver (R23).
func (c *Client) Open(ctx context.Context) error {
	capabilities, version := c.o.Capabilities, c.o.ProtocolVersion
	if capabilities == nil {
		capabilities = struct{}{}
	}
	if version == "" {
		version = Version20251125
	}
	payload, err := encode(outRequest{"2.0", 0, methodInitialize, map[string]any{
		"protocolVersion": version, "capabilities": capabilities,
		"clientInfo": map[string]string{"name": orElse(c.o.Name, "reattach"), "version": orElse(c.o.Version, "0")},
	}})
	if err != nil {
		return err
	}
	if err := c.driver.Open(ctx, payload); err != nil {
		return err
	}
	return c.sayReady(ctx)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// readyTries bounds how often the end of an opening is said.
const readyTries = 4

// sayReady ends the opening. It may be said twice, so where the connection
// breaks it is said again.
func (c *Client) sayReady(ctx context.Context) error {
	payload, err := encode(outNotification{"2.0", methodReady, nil})
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		err = c.driver.Notify(ctx, client.Message{Payload: payload, Passes: true})
		var broken *url.Error
		if try == readyTries || !errors.As(err, &broken) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(cmp.Or(c.o.Driver.BackoffBase, spec.DefaultBackoffBase) << (try - 1)):
		case <-ctx.Done():
		}
	}
}

// Call calls a method and waits for its result, through any number of lost
// connections. Where the server has a ledger the call carries a key (R28). onNotification gets the call's notifications in order, before
// Call returns; nil leaves them to OnNotification.
//
// An error response is a *ResponseError. Else the error is one of the
// driver's: *client.UnknownError (see Reconcile), *client.NotRunError,
// *client.LostError, *client.PendingError (Await waits on), or a refusal such as spec.ReasonQuarantined.
func (c *Client) Call(ctx context.Context, method string, params any, onNotification func(Incoming)) (json.RawMessage, error) {
	var mine uint64
	r, err := c.request(method, params, func(request uint64) {
		mine = request
		c.listen(request, onNotification)
	})
	if err != nil {
		return nil, err
	}
	answer, err := c.driver.Call(ctx, r)
	if pending := (*client.PendingError)(nil); !errors.As(err, &pending) {
		c.forget(mine) // it is over, or was never sent
	}
	return c.result(answer, err)
}

// Await waits for a call that is pending, as Call does.
func (c *Client) Await(ctx context.Context, id client.StreamID) (json.RawMessage, error) {
	return c.result(c.driver.Await(ctx, id))
}

func (c *Client) result(answer client.Event, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	e, err := parseEnvelope(answer.Payload)
	if err != nil {
		panic(fmt.Sprintf("reattach: BUG: the answer on %v was a message when it came: %v", answer.Stream, err))
	}
	if e.fault != nil {
		return nil, parseResponseError(e.fault)
	}
	return e.result, nil
}

// Notify sends a notification, and returns when the server took it.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	payload, err := encode(outNotification{"2.0", method, params})
	if err != nil {
		return err
	}
	return c.driver.Notify(ctx, client.Message{Payload: payload})
}

// Server returns the result of initialize: what the server said of itself. It
// is nil without a session, and if it was larger than 64 KiB.
func (c *Client) Server() json.RawMessage {
	var m meta
	_ = json.Unmarshal(c.driver.Session().Meta, &m) // no session, no meta
	return m.Result
}

// Driver returns what does the work: state, unknown outcomes and how to
// resolve them, suspended streams, abandonment.
func (c *Client) Driver() *client.Client { return c.driver }

// Dropped returns how many responses came that belong to no call of this
// client, or came once more (R29).
func (c *Client) Dropped() uint64 { return c.dropped.Load() }

// Terminate ends the session by a DELETE, and the epoch with it.
func (c *Client) Terminate(ctx context.Context) error { return c.driver.Terminate(ctx) }

// Close stops the client. Record and session stay: a client made of the same
// store goes on.
func (c *Client) Close() error {
	c.cancel()
	err := c.driver.Close()
	c.replies.Wait()
	return err
}

func (c *Client) listen(request uint64, l func(Incoming)) {
	if l == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[request] = l
}

func (c *Client) forget(request uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.listeners, request)
}

// receive sorts an event that was applied.
func (c *Client) receive(ev client.Event) {
	if len(ev.Payload) == 0 || ev.Answer {
		return
	}
	e, err := parseEnvelope(ev.Payload)
	if err != nil {
		return // of a store that was filled by another transport
	}
	in := Incoming{Stream: ev.Stream, EventID: ev.ID, Kind: e.kind, Method: e.method, Params: e.params}
	switch e.kind {
	case Response:
		c.dropped.Add(1)
	case Request:
		c.answer(in, e.id)
	case Notification:
		c.mu.Lock()
		tell := c.listeners[ev.Stream.Request]
		c.mu.Unlock()
		if tell == nil {
			tell = c.o.OnNotification
		}
		if tell != nil {
			tell(in)
		}
	}
}

// answer answers a request of the server on a goroutine of its own. A server
// that asks more than can be answered at a time waits: its stream is read on
// when there is room.
func (c *Client) answer(in Incoming, id json.RawMessage) {
	select {
	case c.slots <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	c.replies.Go(func() {
		defer func() { <-c.slots }()
		<-c.ready
		payload, err := c.reply(in, id)
		if err != nil {
			payload, err = failure(id, CodeInternal, "the answer is not JSON", nil)
		}
		if err != nil {
			panic("reattach: BUG: a failure that is not JSON: " + err.Error())
		}
		ctx, cancel := context.WithTimeout(c.ctx, replyTimeout)
		defer cancel()
		// One that does not arrive is the server's to miss: it may ask again.
		_ = c.driver.Notify(ctx, client.Message{Payload: payload, Passes: true})
	})
}

func (c *Client) reply(in Incoming, id json.RawMessage) ([]byte, error) {
	switch {
	case in.Method == methodPing:
		return encode(outResult{"2.0", id, struct{}{}})
	case c.o.OnRequest == nil:
		return failure(id, CodeMethodNotFound, "method not found", nil)
	}
	result, err := c.o.OnRequest(c.ctx, in)
	if err == nil {
		return encode(outResult{"2.0", id, result})
	}
	if e := (*ResponseError)(nil); errors.As(err, &e) {
		var data any
		if e.Data != nil {
			data = e.Data
		}
		return failure(id, e.Code, e.Message, data)
	}
	return failure(id, CodeInternal, err.Error(), nil)
}

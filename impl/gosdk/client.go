package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
)

// A ClientTransport takes the place of [mcp.StreamableClientTransport]: one
// Connect, one session, over any number of lost connections and, with a Store,
// of processes.
//
//	session, err := c.Connect(ctx, &gosdk.ClientTransport{Endpoint: url}, nil)
//
// What the caller of the SDK sees:
//
//	(1) a call that loses its connection goes on, on the same session, and its
//	    answer is delivered once (R4, R21)
//	(2) a call whose outcome nobody can tell ends with a [*CallError] that says
//	    so; the session goes on if it can (R23, R24). So does one that is
//	    pending because its stream is suspended: see Await (R26)
//	(3) a session that is lost is never replaced silently (R22): what is in
//	    flight ends as in (2), then the connection ends with a [*SessionError],
//	    which wraps [mcp.ErrSessionMissing]. Another Connect, with another
//	    ClientTransport on the same Store, is the caller's decision to go on. It
//	    is in quarantine until every unknown outcome is resolved: see Driver
//	(4) if the Store holds an open session, Connect goes on in that one: the
//	    SDK's initialize is answered from the record, and nothing is sent. The
//	    server keeps the capabilities that the first process told it
//	(5) request ids on the wire are the record's and never repeat (R29); the
//	    SDK, which counts from 1 in every process, does not notice
//
// What a crash means for messages. A message is committed first and handed to
// the SDK afterwards, which dispatches it on goroutines of its own: that it was
// handed over does not say that a handler ran, nor that the caller of a call
// read the answer. So for what the SDK's handlers and callers do with a message
// a crash between the two loses it (LoseOnCrash of impl/client). Who needs more
// has two seams, both called before the token moves:
//
//   - Apply, which may see a message again after a crash, and never misses one
//     (RepeatOnCrash);
//   - a Store that writes the message's effect in the transaction that moves
//     the token: exactly once (R20). See properties/sqlcommit.
//
// A call that the application leaves (its context ends) is cancelled at the
// server and stays in the record until its outcome is known.
//
// Fields must not be changed after Connect.
type ClientTransport struct {
	Endpoint string

	// HTTPClient carries the requests: its Transport and Jar are used.
	// Redirects are never followed (R25); a Timeout would cut every stream, and
	// is refused. Nil: as streamhttp.TransportOptions.HTTP says.
	HTTPClient *http.Client
	// MaxRetries bounds the resumptions in a row without progress until a
	// stream is suspended (R26); 0 = spec.DefaultResumeAttempts.
	MaxRetries int
	// DisableStandaloneSSE leaves the standalone stream alone.
	DisableStandaloneSSE bool
	// MaxEventSize bounds one event, in bytes; 0 = sse.DefaultMaxEvent.
	MaxEventSize int

	// Store keeps the durable record. Nil: in memory; then Close ends the
	// session, for nobody could go on in it.
	Store client.Store
	// Apply applies an event before its token moves: short for a Store in
	// client.RepeatOnCrash. It is given every message of the server, answers
	// too, and must not wait for the SDK's session.
	Apply func(client.Event) error
	// Headers gives headers to every request, such as Authorization.
	Headers func(context.Context) (http.Header, error)
	// Options are the driver's: limits, callbacks, and in Core the profile of a
	// foreign server.
	Options client.Options
	// Logger is told what was dropped and why a session ended, never a session
	// id. Nil is silent.
	Logger *slog.Logger

	used atomic.Bool
	conn atomic.Pointer[clientConn]
}

var _ mcp.Transport = (*ClientTransport)(nil)

// SupportsProtocolVersion: what is older than the revision without sessions.
func (t *ClientTransport) SupportsProtocolVersion(version string) bool { return version < firstLater }

// Connect makes the connection of one [mcp.ClientSession]. It sends nothing
// but the resumptions of an open record. An error may be the store's, such as
// that another process holds the record (R30).
func (t *ClientTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	if t.used.Swap(true) {
		return nil, errors.New("reattach: a ClientTransport is for one Connect: make another one with the same Store")
	}
	o := t.Options
	if t.MaxRetries < 0 {
		return nil, fmt.Errorf("reattach: ClientTransport.MaxRetries is %d, want 0 or more; Options.Core.Strict gives up what is cut", t.MaxRetries)
	}
	if t.MaxRetries > 0 {
		o.Core.ResumeAttempts = t.MaxRetries
	}
	o.NoStandalone = o.NoStandalone || t.DisableStandaloneSSE
	if o.Apply == nil {
		o.Apply = t.Apply
	}
	carry, err := roundTripperOf(t.HTTPClient)
	if err != nil {
		return nil, err
	}
	over, err := streamhttp.NewTransport(t.Endpoint, streamhttp.TransportOptions{HTTP: carry, Headers: t.Headers, MaxEvent: t.MaxEventSize})
	if err != nil {
		return nil, err
	}
	c, err := newClientConn(ctx, over, t.Store, o, t.Logger)
	if err != nil {
		return nil, err
	}
	t.conn.Store(c)
	return c, nil
}

// Driver returns what does the work, nil before Connect: its state, the unknown
// outcomes and how to resolve them, what was pending when the process began
// (Recovered), suspended streams and how to resume them.
func (t *ClientTransport) Driver() *client.Client {
	if c := t.conn.Load(); c != nil {
		return c.driver
	}
	return nil
}

// Await waits for a call that is pending: its [*CallError] said so, or it is in
// Driver().Recovered().Pending. It returns the result, or the server's error as
// a *jsonrpc.Error, or a [*CallError] again.
func (t *ClientTransport) Await(ctx context.Context, id client.StreamID) (json.RawMessage, error) {
	c := t.conn.Load()
	if c == nil {
		return nil, client.ErrNoStream
	}
	answer, err := c.driver.Await(ctx, id)
	if err != nil {
		return nil, c.callError(id, err)
	}
	response, err := decodeAnswer(answer.Payload)
	if err != nil {
		return nil, err
	}
	if response.Error != nil {
		return nil, response.Error
	}
	return response.Result, nil
}

// Terminate ends the session by a DELETE, and the connection with it.
func (t *ClientTransport) Terminate(ctx context.Context) error {
	c := t.conn.Load()
	if c == nil {
		return client.ErrClosed
	}
	return c.driver.Terminate(ctx)
}

// Detach stops everything at once and leaves session and record as they are:
// calls in flight end with a [*CallError] that says pending, and the next
// process goes on with them. ClientSession.Close, which waits for the calls in
// flight, returns after it.
func (t *ClientTransport) Detach() error {
	c := t.conn.Load()
	if c == nil {
		return nil
	}
	return c.detach()
}

// ClientStats count what came and was delivered to nobody.
type ClientStats struct {
	Late    uint64 // answers of calls that the SDK had given up
	Dropped uint64 // responses that belong to no call (R29), and messages that the SDK cannot read
}

// Stats returns the counts so far.
func (t *ClientTransport) Stats() ClientStats {
	c := t.conn.Load()
	if c == nil {
		return ClientStats{}
	}
	return ClientStats{Late: c.late.Load(), Dropped: c.dropped.Load()}
}

// decodeAnswer reads the response to a call.
func decodeAnswer(payload []byte) (*jsonrpc.Response, error) {
	m, err := jsonrpc.DecodeMessage(payload)
	if err != nil {
		return nil, fmt.Errorf("reattach: an answer that the SDK cannot read: %w", err)
	}
	response, ok := m.(*jsonrpc.Response)
	if !ok {
		return nil, fmt.Errorf("reattach: an answer that is a %T to the SDK", m)
	}
	return response, nil
}

// roundTripperOf takes of an HTTP client what a transport may use.
func roundTripperOf(h *http.Client) (http.RoundTripper, error) {
	switch {
	case h == nil:
		return nil, nil
	case h.Timeout != 0:
		return nil, fmt.Errorf("reattach: HTTPClient.Timeout is %v: it would cut every stream; bound a call by its context", h.Timeout)
	}
	next := h.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	if h.Jar == nil {
		return next, nil
	}
	return withCookies{next, h.Jar}, nil
}

// withCookies carries a jar's cookies, by which balancers find the server that
// holds a session.
type withCookies struct {
	next http.RoundTripper
	jar  http.CookieJar
}

func (w withCookies) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, cookie := range w.jar.Cookies(r.URL) {
		r.AddCookie(cookie)
	}
	response, err := w.next.RoundTrip(r)
	if err == nil {
		w.jar.SetCookies(r.URL, response.Cookies())
	}
	return response, err
}

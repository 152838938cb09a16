package gosdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A Handler stands in the place of [mcp.StreamableHTTPHandler]: an
// [http.Handler] for one path that serves the SDK's servers under the
// resumption contract. End it with Close, a process with Drain before that.
//
// What differs from the SDK's handler, beside the contract:
//
//   - What a tool sends in the context of its call, requests and notifications
//     alike, goes to the stream of that call; everything else to the standalone
//     stream of the session that it is sent to. The SDK looks up the number of
//     the call in whatever session it is sent to.
//   - A handler's context has the values of the HTTP request that brought the
//     call, so that [auth.TokenInfoFromContext] names the caller of this call,
//     not the one who opened the session (R13).
//   - A request to the client that is open when its session ends fails with
//     [streamhttp.ErrOutcomeUnknown] (R16).
//   - ServerSession.ID is the session's tag and not its id, which is a bearer
//     secret: the SDK writes it to the log.
//   - ServerOptions.GetSessionID is not asked: ids are made here. Leave
//     ServerOptions.KeepAlive at zero: its pings end the session of a client
//     that is away for a while, which the contract lets resume; streams carry
//     their own keep-alive (R15).
//   - Revision 2024-11-05, which had another transport, is not negotiated.
//
// It adds two middlewares to every server that getServer returns. They must
// stay reachable: a receiving middleware that is added later and replaces the
// context or the request hides the calls' streams from them, and such a server
// is refused at initialize, loudly, because its events would go astray.
type Handler struct {
	getServer func(*http.Request) *mcp.Server
	subject   func(*http.Request) (string, error)
	http      *streamhttp.Handler
	later     *later // serves revisions without sessions
	pace      *pace
	grace     time.Duration // within which a drain is over
	log       *slog.Logger

	calls sync.Map // *mcp.RequestExtra to *call, between its arrival and the middleware
	conns sync.Map // *mcp.ServerSession to *conn, while it is connected

	mu     sync.Mutex
	has    map[weak.Pointer[mcp.Server]]struct{} // the middlewares
	noUser sync.Once                             // a warning
}

// Options of a Handler. The zero value is useful and safe: the defaults of
// [streamhttp.Options], sessions that belong to the user of the bearer token,
// and clients of both eras led to sessions.
type Options struct {
	// HTTP holds limits, budgets, names of hosts and origins, and the logger of
	// what is served with sessions. Hosts, Origins and Subject hold for all.
	//
	// HTTP.Subject is who owns a session (R13). Nil: UserID of the token that
	// [auth.RequireBearerToken] has verified; without one, everybody is the
	// same subject and a session belongs to whoever knows its id, so raise
	// HTTP.Session.SubjectSessions to serve more than 1,000 of them.
	HTTP streamhttp.Options

	// Ledger remembers what ran, so that a client of ours whose call ended in
	// doubt learns what became of it, and no call runs twice (R28, R23). A tool
	// whose client has lost its session then runs to its end. Nil: none. It
	// stays the program's to close.
	Ledger *ledger.Ledger

	// Unpaced lets tools emit as fast as they can. False: a notification that
	// is sent in the context of a call returns when no more than half of the
	// session's window waits for its readers, so that a tool does not push out
	// what its own client has not read (R3, R9). See pace.go.
	Unpaced bool

	// OfferSessionless answers server/discover as the SDK does. Clients that
	// speak both eras then choose 2026-07-28, in which nothing can be resumed.
	// False: server/discover is answered so that they fall back to sessions;
	// a request of 2026-07-28 that asks nothing before is served either way.
	OfferSessionless bool

	// Sessionless holds the options of the SDK's handler for 2026-07-28.
	// Stateless, EventStore and DisableLocalhostProtection are set here: Hosts
	// and Origins of HTTP hold for both eras.
	Sessionless mcp.StreamableHTTPOptions
}

// NewStreamableHTTPHandler returns a handler that serves what getServer returns
// for the request that opens a session; nil refuses the session. It has the
// shape of [mcp.NewStreamableHTTPHandler]; o may be nil. Options that make no
// sense are the program's own fault: it panics. See [NewHandler] for an error
// instead.
func NewStreamableHTTPHandler(getServer func(*http.Request) *mcp.Server, o *Options) *Handler {
	if o == nil {
		o = &Options{}
	}
	h, err := NewHandler(getServer, *o)
	if err != nil {
		panic("reattach: NewStreamableHTTPHandler: " + err.Error())
	}
	return h
}

// NewHandler is NewStreamableHTTPHandler with an error that says which of the
// options makes no sense.
func NewHandler(getServer func(*http.Request) *mcp.Server, o Options) (*Handler, error) {
	if getServer == nil {
		return nil, errors.New("reattach: no function that returns the server")
	}
	if o.HTTP.Session.Store != nil {
		return nil, errors.New("reattach: Options.HTTP.Session.Store: the SDK's own session cannot be made anew from a store")
	}
	h := &Handler{getServer: getServer, grace: cmp.Or(o.HTTP.GracePeriod, spec.DefaultGracePeriod), log: o.HTTP.Logger, has: make(map[weak.Pointer[mcp.Server]]struct{})}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if o.HTTP.Subject == nil {
		o.HTTP.Subject = h.user
	}
	h.subject = o.HTTP.Subject
	app := streamhttp.App(h.serve)
	if o.Ledger != nil {
		app = o.Ledger.Wrap(app)
	}
	served, err := streamhttp.NewHandler(app, o.HTTP)
	if err != nil {
		return nil, fmt.Errorf("reattach: Options.HTTP: %w", err)
	}
	h.http = served
	h.later = newLater(getServer, o)
	if !o.Unpaced {
		h.pace = newPace(o.HTTP.Session)
	}
	return h, nil
}

// user is who the bearer token names. Its text may be refreshed, so a token
// without a user names nobody.
func (h *Handler) user(r *http.Request) (string, error) {
	info := auth.TokenInfoFromContext(r.Context())
	if info == nil {
		return "", nil
	}
	if info.UserID == "" {
		h.noUser.Do(func() {
			h.log.Warn("bearer tokens name no user: a session belongs to whoever knows its id; set TokenInfo.UserID or Options.HTTP.Subject")
		})
	}
	return info.UserID, nil
}

// requestKey is where a request finds itself in the context of its message.
type requestKey struct{}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isLater(r.Header) {
		h.http.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
		return
	}
	if !h.http.Admits(w, r) {
		return
	}
	if _, err := h.subject(r); err != nil {
		http.Error(w, "not authenticated", http.StatusUnauthorized)
		return
	}
	h.later.ServeHTTP(w, r)
}

// Drain begins the shutdown of both eras, as [streamhttp.Handler.Drain] does for
// its own (R12): what is new is refused with 503, running calls are let finish,
// subscriptions of 2026-07-28 end. It is over within HTTP.GracePeriod; its error
// wraps [streamhttp.ErrStillRunning] if calls still run then. After it come
// http.Server.Shutdown, and Close; or Shutdown in the place of both.
func (h *Handler) Drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.grace)
	defer cancel()
	h.later.drain()
	return errors.Join(h.http.Drain(ctx), h.later.wait(ctx))
}

// Shutdown is Drain and then Close: whatever is left of the sessions ends. The
// error is Drain's. It leaves the listener to http.Server.
func (h *Handler) Shutdown(ctx context.Context) error {
	err := h.Drain(ctx)
	h.Close()
	return err
}

// Close ends every session, its views, and the contexts of its calls. The SDK's
// sessions end when their handlers have returned.
func (h *Handler) Close() {
	h.http.Close()
	h.later.close()
}

// Stats tells how full the handler is: what is served with sessions.
func (h *Handler) Stats() session.Stats { return h.http.Stats() }

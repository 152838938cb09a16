package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/streamhttp"
)

const methodInitialize = "initialize"

// open connects a new session to the server that its request is for, and hands
// it the initialize. If that is refused, the session ends, and the connection
// with it.
func (h *Handler) open(ctx context.Context, m *streamhttp.Message, request *http.Request, extra *mcp.RequestExtra) {
	server := h.getServer(request)
	if server == nil {
		_, _ = m.Stream.Fail(streamhttp.CodeInvalidRequest, "no server available", nil)
		return
	}
	h.install(server)
	c := newConn(h, m.Session)
	// A bare context: what the SDK is given here stands behind every handler of
	// the session, and the values of this request are not those of the next.
	mcpSession, err := server.Connect(context.Background(), transport{c}, nil)
	if err != nil {
		h.log.Error("the SDK's server cannot be connected", "error", err)
		_, _ = m.Stream.Fail(streamhttp.CodeInternal, "no server available", nil)
		return
	}
	m.Session.SetValue(c)
	h.enter(c, mcpSession)
	m.Params = servedVersion(m.Params)
	h.call(ctx, c, m, extra)
}

// enter makes a connection known by the SDK's session, until it is closed.
func (h *Handler) enter(c *conn, s *mcp.ServerSession) {
	c.sdk.Store(s)
	h.conns.Store(s, c)
	select {
	case <-c.closed: // it may have been too early to leave
		h.conns.Delete(s)
	default:
	}
}

// leave is called when the connection is closed.
func (h *Handler) leave(c *conn) {
	if s := c.sdk.Load(); s != nil {
		h.conns.Delete(s)
	}
}

// servedVersion asks for the newest revision with sessions where the client
// asks for one that is not served here: the SDK would agree to it.
func servedVersion(params json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var asked string
	if json.Unmarshal(params, &fields) != nil || json.Unmarshal(fields["protocolVersion"], &asked) != nil {
		return params // the SDK says what is wrong with it
	}
	versions := streamhttp.Versions()
	if slices.Contains(versions, asked) {
		return params
	}
	fields["protocolVersion"], _ = json.Marshal(versions[len(versions)-1])
	changed, err := json.Marshal(fields)
	if err != nil {
		panic("reattach: BUG: JSON that was read cannot be written: " + err.Error())
	}
	return changed
}

// install adds the middlewares to a server, once. It holds no server alive:
// some programs make one for each session.
func (h *Handler) install(server *mcp.Server) {
	key := weak.Make(server)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.has[key]; ok {
		return
	}
	h.has[key] = struct{}{}
	server.AddReceivingMiddleware(h.receiving)
	server.AddSendingMiddleware(h.sending)
	runtime.AddCleanup(server, h.forget, key)
}

func (h *Handler) forget(key weak.Pointer[mcp.Server]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.has, key)
}

// receiving puts the call into the context of its handler.
func (h *Handler) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if extra := r.GetExtra(); extra != nil {
			if v, ok := h.calls.LoadAndDelete(extra); ok {
				k := v.(*call)
				k.seen.Store(true)
				ctx = callContext{ctx, k}
			}
		}
		if c := h.connOf(r); c != nil && isNotification(method) {
			c.inbox.begin()
			defer c.inbox.end()
		}
		return next(ctx, method, r)
	}
}

// connOf returns the connection of a request's session, or nil: a server may
// have sessions that are not served here.
func (h *Handler) connOf(r mcp.Request) *conn {
	mcpSession, _ := r.GetSession().(*mcp.ServerSession)
	if v, ok := h.conns.Load(mcpSession); ok {
		return v.(*conn)
	}
	return nil
}

// sending tells a handler that asked the client something and was cancelled
// because the session ended that nobody knows whether it was done (R16).
func (h *Handler) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		if err == nil || !errors.Is(err, context.Canceled) || strings.HasPrefix(method, "notifications/") {
			return result, err
		}
		if errors.Is(err, streamhttp.ErrOutcomeUnknown) || errors.Is(err, errRejected) {
			return result, err
		}
		c := h.connOf(r)
		if c == nil {
			return result, err
		}
		select {
		case <-c.session.Done():
			return result, fmt.Errorf("%w: %w", streamhttp.ErrOutcomeUnknown, err)
		default:
			return result, err
		}
	}
}

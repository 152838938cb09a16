package gosdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A call is a request of the client on its way through the SDK, and back to its
// stream.
//
// The SDK does not tell a connection in the course of which call something is
// sent. So the call travels with the request, by the pointer of its
// RequestExtra, to the receiving middleware, and from there in the context, in
// which Write finds it.
type call struct {
	conn   *conn
	id     jsonrpc.ID // towards the SDK: never used again, whatever ids the client chooses
	method string
	stream *streamhttp.Stream
	values context.Context // of the HTTP request that brought it
	seen   atomic.Bool     // by the middleware
	done   chan struct{}   // closed when it is answered
	log    *slog.Logger

	pace    *pace         // nil: it is not paced
	largest atomic.Uint64 // event sent in its course, in bytes
}

// callKey is where a call is found in the context of its handler.
type callKey struct{}

// callContext is the context of a call's handler: the SDK's, with the values
// of the HTTP request behind its own.
type callContext struct {
	context.Context
	call *call
}

// Value returns the call, what the SDK has, or what the request has.
func (c callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.call.values.Value(key)
}

func (k *call) isAnswered() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// answer sends the answer.
func (k *call) answer(m *jsonrpc.Response) error {
	defer close(k.done)
	if k.method == methodInitialize && m.Error == nil && !k.seen.Load() {
		k.log.Error("a receiving middleware hides the SDK's requests from the handler: no event could be routed. Middlewares must pass on context and request as they are")
		_, err := k.stream.Fail(streamhttp.CodeInternal, "this server is set up wrongly: its log says how", nil)
		return err
	}
	if m.Error != nil {
		return k.fail(m)
	}
	_, err := k.stream.Answer(m.Result)
	if errors.Is(err, spec.ReasonEventTooLarge) {
		k.log.Error("a result is too large to be sent", "method", k.method, "bytes", len(m.Result))
		message := fmt.Sprintf("the result has %d bytes, which is more than an event may have", len(m.Result))
		_, err = k.stream.Fail(streamhttp.CodeInternal, message, nil)
	}
	return err
}

// fail sends an error response. The SDK knows how errors look on the wire.
func (k *call) fail(m *jsonrpc.Response) error {
	var answer struct {
		Error struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	text, err := jsonrpc.EncodeMessage(m)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	e := &answer.Error
	if err != nil {
		k.log.Error("an error response that is not JSON", "method", k.method, "error", err)
		e.Code, e.Message, e.Data = streamhttp.CodeInternal, "internal error", nil
	}
	var data any
	if len(e.Data) > 0 {
		data = e.Data
	}
	if _, err = k.stream.Fail(e.Code, e.Message, data); errors.Is(err, spec.ReasonEventTooLarge) {
		_, err = k.stream.Fail(streamhttp.CodeInternal, "the error is larger than an event may be", nil)
	}
	return err
}

// serve is the application of the HTTP handler.
func (h *Handler) serve(ctx context.Context, m *streamhttp.Message) {
	request, ok := ctx.Value(requestKey{}).(*http.Request)
	if !ok {
		panic("reattach: BUG: a message without its request")
	}
	extra := &mcp.RequestExtra{TokenInfo: auth.TokenInfoFromContext(request.Context()), Header: request.Header}
	if m.Kind == streamhttp.Request && m.Method == methodInitialize {
		h.open(ctx, m, request, extra)
		return
	}
	c, ok := m.Session.Value().(*conn)
	if !ok {
		panic("reattach: BUG: a session that was not opened")
	}
	switch m.Kind {
	case streamhttp.Request:
		h.call(ctx, c, m, extra)
	case streamhttp.Notification:
		if m.Method == methodCancelled || !isNotification(m.Method) || !c.inbox.enter(ctx, request.Context()) {
			return // the call's context says so; nobody would hear of it; it came to nothing
		}
		c.push(&jsonrpc.Request{Method: m.Method, Params: m.Params, Extra: extra})
	case streamhttp.Response:
		c.respond(m)
	}
}

// call hands a request to the SDK and returns when its work is over.
func (h *Handler) call(ctx context.Context, c *conn, m *streamhttp.Message, extra *mcp.RequestExtra) {
	k := &call{conn: c, method: m.Method, stream: m.Stream, values: ctx, done: make(chan struct{}), log: h.log, pace: h.pace}
	if !c.begin(k) {
		_, _ = m.Stream.Fail(streamhttp.CodeInvalidRequest, errSessionOver.Error(), nil)
		return
	}
	defer c.take(k.id)
	stream := m.Stream
	extra.CloseSSEStream = func(a mcp.CloseSSEStreamArgs) { _ = stream.EndView(a.RetryAfter) } // without a view there is nothing to end
	h.calls.Store(extra, k)
	defer h.calls.Delete(extra) // the SDK refuses some requests before the middleware
	if !c.push(&jsonrpc.Request{ID: k.id, Method: m.Method, Params: m.Params, Extra: extra}) {
		return
	}
	select {
	case <-k.done:
		return
	case <-c.closed:
		return
	case <-ctx.Done():
	}
	if c.runs(k) { // the context ends with the answer, too
		// Whoever ends the work, the SDK knows one way: its client's.
		reason, _ := json.Marshal(struct {
			ID     any    `json:"requestId"`
			Reason string `json:"reason"`
		}{k.id.Raw(), context.Cause(ctx).Error()})
		c.push(&jsonrpc.Request{Method: methodCancelled, Params: reason})
	}
	select {
	case <-k.done:
	case <-c.closed:
	}
}

// respond hands an answer of the client to the SDK. One that nobody waits for
// is dropped.
func (c *conn) respond(m *streamhttp.Message) {
	id, err := parseID(m.ID)
	if err != nil || !c.answered(id) {
		return
	}
	response := &jsonrpc.Response{ID: id, Result: m.Result}
	if m.Error != nil {
		fault := &jsonrpc.Error{}
		if err := json.Unmarshal(m.Error, fault); err != nil {
			fault = &jsonrpc.Error{Code: streamhttp.CodeInternal, Message: "an error response that could not be read"}
		}
		response.Error = fault
	}
	c.push(response)
}

// maxWhole is the largest number of an id that every implementation keeps.
const maxWhole = 1 << 53

// parseID returns the SDK's form of the id of an answer, if it has one: no
// request of the SDK has a fraction for an id.
func parseID(text json.RawMessage) (jsonrpc.ID, error) {
	if len(text) > 0 && text[0] == '"' {
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return jsonrpc.ID{}, fmt.Errorf("an id that is not JSON: %w", err)
		}
		return jsonrpc.MakeID(s)
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n > maxWhole || n < -maxWhole {
		return jsonrpc.ID{}, errors.New("the id is neither a text nor a whole number up to 2^53")
	}
	return jsonrpc.MakeID(float64(n))
}

// isWhole reports whether a value of encoding/json is such a number.
func isWhole(v any) bool {
	n, ok := v.(float64)
	return ok && n == float64(int64(n)) && n <= maxWhole && n >= -maxWhole
}

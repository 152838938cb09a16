package streamhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// An App is the application of a server: it is given every JSON-RPC message of
// every session, and never sees HTTP.
//
// A request is handed over on a goroutine of its own, after its stream was
// opened together with its view (R7). The function returns when the work is
// done; a request that it did not answer by then is answered with an internal
// error. Its context ends when the call is answered or cancelled by its client,
// when its stream was without a reader for the detach budget (R9b), and when
// the session ends; a dropped connection does not end it.
//
// A notification or a response is handed over before its POST is answered, so
// that a client which waits for the answer knows its messages in order.
//
// The first message of a session is the request "initialize". What the
// application answers decides: with a result the session is opened and its id
// goes out beside that result, with an error there is no session. Of the
// result this package reads protocolVersion only, which must be one of
// [Versions]; [Negotiate] chooses it.
type App func(ctx context.Context, m *Message)

// A Message is one JSON-RPC message of a client. Its parts are the
// application's to keep.
type Message struct {
	Session *Session
	// Stream is where events that belong to this message go: the stream of
	// the call for a request, the standalone stream for everything else.
	Stream *Stream
	Kind   Kind
	Method string          // "" for a response
	ID     json.RawMessage // a string or a number; nil for a notification
	Params json.RawMessage // nil if there are none
	Result json.RawMessage // of a response
	Error  json.RawMessage // of a response

	// Header is that of the HTTP request which brought the message: to be read
	// only. What middleware put into that request's context, such as who asks,
	// is in the context that the application is given: its values live as long
	// as the work does, its end is not the request's.
	Header http.Header
}

// ProgressToken returns the token with which the client asked for progress, or
// nil if it did not.
func (m *Message) ProgressToken() json.RawMessage {
	var params struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return nil
	}
	return params.Meta.Token
}

// Negotiate returns the protocol revision to answer an initialize request
// with: the one that it asks for if it is served, else the newest.
func Negotiate(params json.RawMessage) string {
	var asked struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &asked) // nothing readable asks for nothing
	versions := Versions()
	for _, v := range versions {
		if v == asked.Version {
			return v
		}
	}
	return versions[len(versions)-1]
}

// ErrNotACall is what Answer and Fail return on a stream that answers no call,
// and when the call is answered already.
var ErrNotACall = errors.New("reattach: this stream has no call left to answer")

// ErrPayload is what emitting returns for what no client could take for a
// message: it would stop every reader at that place of the stream.
var ErrPayload = errors.New("reattach: not a message to emit")

// The JSON forms of what is emitted.
type (
	outNotification struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}
	outRequest struct {
		JSONRPC string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}
	outResult struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}
)

// encode returns the JSON text of a value on one line: event streams are made
// of lines, and a lone CR cannot be carried at all.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrPayload, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// oneLine returns a JSON text on one line, copying it only if it has more.
func oneLine(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, fmt.Errorf("%w: nothing", ErrPayload)
	}
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return text, nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, text); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrPayload, err)
	}
	return buf.Bytes(), nil
}

// whole takes apart a message that an application composed itself.
func whole(message []byte) (payload []byte, e envelope, err error) {
	if payload, err = oneLine(message); err != nil {
		return nil, e, err
	}
	if e, err = parseEnvelope(payload); err != nil {
		return nil, e, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	return payload, e, checkControl(e)
}

// checkMethod refuses what is no method, and what is not the application's.
func checkMethod(method string) error {
	if method == "" {
		return fmt.Errorf("%w: no method", ErrPayload)
	}
	return checkControl(envelope{kind: Notification, method: method})
}

func checkControl(e envelope) error {
	if e.isControl() {
		return fmt.Errorf("%w: methods that begin with %s are not the application's", ErrPayload, ControlPrefix)
	}
	return nil
}

// failure returns the JSON text of an error response.
func failure(id json.RawMessage, code int, message string, data any) ([]byte, error) {
	return encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   any             `json:"error"`
	}{"2.0", id, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{code, message, data}})
}

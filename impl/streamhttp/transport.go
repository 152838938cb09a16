package streamhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// A Transport is the [client.Transport] over net/http: one URL, from which
// nothing leads away. Redirects are not followed, so that session id and
// cursor never reach another origin (R25); what a server sends is bounded.
//
// It sends every request once. What net/http re-sends by itself is safe: a
// request without a body, which asks for the same once more, and a POST that
// could not be written whole.
type Transport struct {
	url  string
	http *http.Client
	opts TransportOptions
}

var _ client.Transport = (*Transport)(nil)

// TransportOptions of a [Transport]. The zero value is useful and safe.
type TransportOptions struct {
	// HTTP carries the requests. Nil: a copy of http.DefaultTransport that
	// takes at most 64 KiB of headers, does not decompress, and drops idle
	// connections before servers usually do.
	HTTP http.RoundTripper
	// Headers gives headers to every request, such as Authorization; the
	// headers of the protocol cannot be changed so, nor can a POST be given an
	// idempotency key, with which net/http sends it again by itself (R23). An
	// error keeps the request from being sent. Nil: none.
	Headers func(context.Context) (http.Header, error)
	// MaxEvent bounds one event, and one JSON answer, in bytes;
	// 0 = sse.DefaultMaxEvent.
	MaxEvent int
	// Notify asks the server for control notifications (R8). They are for
	// people who watch the wire: this transport needs and delivers none.
	Notify bool
}

// NewTransport returns a transport for the MCP endpoint at rawURL, which is
// http or https.
func NewTransport(rawURL string, o TransportOptions) (*Transport, error) {
	u, err := url.Parse(rawURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("reattach: %q is not the http or https URL of an endpoint", rawURL)
	}
	if o.MaxEvent < 0 {
		return nil, fmt.Errorf("reattach: TransportOptions.MaxEvent is %d, want 0 or more", o.MaxEvent)
	}
	if o.MaxEvent == 0 {
		o.MaxEvent = sse.DefaultMaxEvent
	}
	if o.HTTP == nil {
		o.HTTP = defaultRoundTripper()
	}
	return &Transport{url: u.String(), opts: o, http: &http.Client{
		Transport:     once{o.HTTP},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

const (
	maxResponseHeader = 64 << 10
	idleConnTimeout   = 15 * time.Second // a call on a connection that the server just closed is an unknown outcome
)

func defaultRoundTripper() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxResponseHeader
	t.DisableCompression = true
	t.IdleConnTimeout = idleConnTimeout
	return t
}

// meta is what a transport must know of a session after a restart.
type meta struct {
	Version string          `json:"version"`
	Result  json.RawMessage `json:"result,omitempty"` // of initialize, unless it is large
}

// maxKeptResult bounds the result of initialize that is kept in the record.
const maxKeptResult = 64 << 10

// Open sends the initialize request and reads its answer, which is one JSON
// object or, from servers of others, an event stream. An error response is a
// *ResponseError, any other refusal a *Refusal.
func (t *Transport) Open(ctx context.Context, r client.OpenRequest) (client.Opened, error) {
	asked, err := parseEnvelope(r.Payload)
	if err != nil || asked.kind != Request || asked.method != methodInitialize {
		return client.Opened{}, fmt.Errorf("reattach: the opening is not an initialize request: %w", errors.Join(err, ErrMessage))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := t.send(ctx, http.MethodPost, client.Session{}, r.Payload, client.GetRequest{})
	if err != nil {
		return client.Opened{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return client.Opened{}, refusalOfServer(response, cancel)
	}
	answer, err := t.readOpening(response, asked.id)
	if err != nil {
		return client.Opened{}, err
	}
	if answer.fault != nil {
		return client.Opened{}, parseResponseError(answer.fault)
	}
	var result struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(answer.result, &result) != nil || !slices.Contains(Versions(), result.Version) {
		return client.Opened{}, fmt.Errorf("reattach: the server chose protocol version %.32q, want one of %v", result.Version, Versions())
	}
	keep := meta{Version: result.Version}
	if len(answer.result) <= maxKeptResult {
		keep.Result = answer.result
	}
	kept, err := json.Marshal(keep)
	if err != nil {
		panic("reattach: BUG: what was JSON is not: " + err.Error())
	}
	standalone, _ := one(response.Header, HeaderStandalone)
	return client.Opened{SessionID: sessionOf(response.Header), Standalone: standalone, Meta: kept, Ledger: ledgerOf(answer.result)}, nil
}

// readOpening reads the answer to initialize from either form.
func (t *Transport) readOpening(response *http.Response, id json.RawMessage) (envelope, error) {
	if isMedia(response.Header, mediaJSON) {
		text, err := t.readAll(response.Body)
		if err != nil {
			return envelope{}, err
		}
		e, err := parseEnvelope(text)
		if err == nil && !answers(e, id) {
			err = fmt.Errorf("%w: not the answer to initialize", ErrMessage)
		}
		return e, err
	}
	if !isMedia(response.Header, mediaEventStream) {
		return envelope{}, fmt.Errorf("reattach: initialize was answered with %.64q", response.Header.Get("Content-Type"))
	}
	events := sse.NewReader(response.Body, sse.Options{MaxEvent: t.opts.MaxEvent})
	for ev, err := range events.Events() {
		if err != nil {
			return envelope{}, err
		}
		if ev.Kind != sse.Message {
			continue
		}
		if e, err := parseEnvelope(bytes.Clone(ev.Data)); err == nil && answers(e, id) {
			return e, nil
		}
	}
	return envelope{}, fmt.Errorf("reattach: the answer to initialize is missing: %w", io.ErrUnexpectedEOF)
}

// Post sends a call or another message.
func (t *Transport) Post(ctx context.Context, r client.PostRequest) (client.Response, error) {
	var id json.RawMessage
	if r.Request != 0 {
		id = requestID(r.Request)
	}
	return t.ask(ctx, http.MethodPost, r.Session, r.Payload, client.GetRequest{}, r.Key, id)
}

// Get asks for a view: the standalone stream, or the stream of the cursor.
func (t *Transport) Get(ctx context.Context, r client.GetRequest) (client.Response, error) {
	var id json.RawMessage
	if r.Request != 0 {
		id = requestID(r.Request)
	}
	return t.ask(ctx, http.MethodGet, r.Session, nil, r, "", id)
}

// Delete ends the session. That it is gone already, or that the server does
// not let clients end sessions, is no error.
func (t *Transport) Delete(ctx context.Context, s client.Session) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := t.send(ctx, http.MethodDelete, s, nil, client.GetRequest{})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code/100 == 2, code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		return nil
	default:
		return refusalOfServer(response, cancel)
	}
}

// ask sends a request and sorts the answer. id is that of the call whose
// response is the answer, nil if there is none; key is the call's.
func (t *Transport) ask(ctx context.Context, method string, s client.Session, payload []byte, get client.GetRequest, key string, id json.RawMessage) (client.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	response, err := t.send(ctx, method, s, payload, get)
	if err != nil {
		cancel(nil)
		return client.Response{}, err
	}
	answer := client.Response{Status: response.StatusCode, SessionID: sessionOf(response.Header)}
	answer.Position, _ = one(response.Header, HeaderPosition)
	if response.StatusCode == http.StatusOK && isMedia(response.Header, mediaEventStream) {
		answer.Kind = client.ResponseStream
		answer.Events = newEventReader(response, cancel, t.opts.MaxEvent, id)
		return answer, nil
	}
	defer cancel(nil)
	defer response.Body.Close()
	err = t.sort(&answer, response, method == http.MethodPost, key, id, func() { cancel(nil) })
	return answer, err
}

// sort reads an answer that is not an event stream.
func (t *Transport) sort(answer *client.Response, response *http.Response, post bool, key string, id json.RawMessage, cancel func()) error {
	switch code := response.StatusCode; {
	case code == http.StatusNoContent && (!post || id != nil):
		answer.Kind = client.ResponseComplete
	case code/100 == 2 && post && id == nil, code == http.StatusAccepted:
		answer.Kind = client.ResponseTaken
	case code == http.StatusOK && isMedia(response.Header, mediaJSON):
		text, err := t.readAll(response.Body)
		if err != nil {
			return err
		}
		e, err := parseEnvelope(text)
		if err == nil && id != nil && !answers(e, id) {
			err = fmt.Errorf("%w: not the answer to the call", ErrMessage)
		}
		if err != nil {
			return err
		}
		answer.Kind = client.ResponseOnce
		answer.Event = client.Event{Payload: text, Answer: id != nil}
		if id != nil {
			answer.Event.Means, answer.Event.Reason = meaningOf(e)
		}
	case code == http.StatusOK:
		return fmt.Errorf("reattach: an answer of type %.64q", response.Header.Get("Content-Type"))
	default:
		refused := refusalOfServer(response, cancel)
		answer.Kind, answer.Reason, answer.RetryAfter = client.ResponseRefused, refused.Reason, refused.RetryAfter
		answer.Sealed = key != "" && refused.sealed == key
	}
	return nil
}

// refusalPatience bounds the wait for the body of a refusal, whose status says
// enough already.
const refusalPatience = 10 * time.Second

// refusalOfServer reads a refusal; cancel ends its request.
func refusalOfServer(response *http.Response, cancel func()) *Refusal {
	defer time.AfterFunc(refusalPatience, cancel).Stop()
	return parseRefusal(response.StatusCode, response.Header, response.Body)
}

// send sends one request. An error that says client.ErrNotSent is a dial that
// never connected: nothing of the request has left this process.
func (t *Transport) send(ctx context.Context, method string, s client.Session, payload []byte, get client.GetRequest) (*http.Response, error) {
	var body io.Reader
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	r, err := http.NewRequestWithContext(ctx, method, t.url, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrNotSent, err)
	}
	if t.opts.Headers != nil {
		h, err := t.opts.Headers(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", client.ErrNotSent, err)
		}
		for name, values := range h {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if err := t.setHeaders(r.Header, s, payload != nil, get); err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrNotSent, err)
	}
	response, err := t.http.Do(r)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return nil, fmt.Errorf("%w: %w", client.ErrNotSent, err)
		}
		return nil, err
	}
	return response, nil
}

// setHeaders sets the headers of the protocol, whatever the caller's say.
func (t *Transport) setHeaders(h http.Header, s client.Session, hasBody bool, get client.GetRequest) error {
	for _, name := range [...]string{HeaderSessionID, HeaderLastEventID, HeaderProtocolVersion, HeaderNotify, HeaderAttempt, "Content-Type", "Accept",
		"Idempotency-Key", "X-Idempotency-Key", // net/http would send a POST twice (R23, R28)
	} {
		h.Del(name)
	}
	h.Set("Accept", mediaEventStream)
	if hasBody {
		h.Set("Accept", mediaJSON+", "+mediaEventStream)
		h.Set("Content-Type", mediaJSON)
	}
	h.Set(HeaderNotify, "0") // whatever its value, it says who we are: one that comes back (R9b)
	if t.opts.Notify {
		h.Set(HeaderNotify, "1")
	}
	if s.ID == "" {
		return nil
	}
	if !isSessionID(s.ID) {
		return fmt.Errorf("reattach: a session id that is not visible ASCII of at most %d bytes", maxSessionID)
	}
	var m meta
	if err := json.Unmarshal(s.Meta, &m); err != nil || m.Version == "" {
		return fmt.Errorf("reattach: the record of the session names no protocol version")
	}
	h.Set(HeaderSessionID, s.ID)
	h.Set(HeaderProtocolVersion, m.Version)
	if get.Cursor != "" {
		h.Set(HeaderLastEventID, get.Cursor)
	}
	if !get.Attempt.IsZero() {
		h.Set(HeaderAttempt, get.Attempt.String())
	}
	return nil
}

// readAll reads one JSON answer within its bound.
func (t *Transport) readAll(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, int64(t.opts.MaxEvent)+1))
	if err != nil {
		return nil, err
	}
	if len(text) > t.opts.MaxEvent {
		return nil, fmt.Errorf("reattach: an answer of more than %d bytes: %w", t.opts.MaxEvent, spec.ReasonEventTooLarge)
	}
	return text, nil
}

// sessionOf is the session id of an answer, or "" if there is not exactly one
// that can be one.
func sessionOf(h http.Header) string {
	if id, ok := one(h, HeaderSessionID); ok && isSessionID(id) {
		return id
	}
	return ""
}

// requestID is the JSON-RPC id of a call.
func requestID(request uint64) json.RawMessage {
	return strconv.AppendUint(nil, request, 10)
}

// answers reports whether a message is the response to the request with id.
func answers(e envelope, id json.RawMessage) bool {
	return e.kind == Response && bytes.Equal(e.id, id)
}

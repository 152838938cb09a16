package naive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A Client makes calls over one session and, when a stream breaks, resumes it,
// more or less. It makes one call at a time.
type Client struct {
	o       ClientOptions
	http    *http.Client
	token   Token
	request int // id of the newest request
}

// ClientOptions say whom a client talks to, who applies what it receives, and
// what it does wrong.
type ClientOptions struct {
	Faults ClientFault
	URL    string

	// Apply hands an event to the application. An error of it is a crash: the
	// client stops where it is.
	Apply func(Event) error

	Token    Token         // a token that was kept from before
	Attempts int           // resumptions in a row before it gives up; 0 means 20
	Pause    time.Duration // between two of them; 0 means 10 ms
}

// A Token is what a client keeps to resume.
type Token struct{ Session, LastEventID string }

// An Event is what the application is given.
type Event struct {
	Session string // the one that the client believes it is in
	ID      string
	Message json.RawMessage
}

// Errors of a client that does not paper over what it sees.
var (
	ErrSessionGone    = errors.New("naive: the session is gone")
	ErrRefused        = errors.New("naive: the resumption was refused")
	ErrSessionChanged = errors.New("naive: the answer is of another session")
	ErrNotNext        = errors.New("naive: the event does not follow the last one")
	ErrUnanswered     = errors.New("naive: nobody knows whether the call was executed")
)

// NewClient returns a client.
func NewClient(o ClientOptions) *Client {
	if o.Attempts == 0 {
		o.Attempts = 20
	}
	if o.Pause == 0 {
		o.Pause = 10 * time.Millisecond
	}
	return &Client{o: o, http: &http.Client{Transport: &http.Transport{}}, token: o.Token}
}

// Close drops the client's connections. It leaves the session as it is.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Token returns what the client would keep across a restart.
func (c *Client) Token() Token { return c.token }

// Open starts a session. The last event id of an earlier one, if any, stays.
func (c *Client) Open(ctx context.Context) error {
	c.request++
	c.token.Session = ""
	res, err := c.post(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize",`+
		`"params":{"protocolVersion":"2025-11-25","capabilities":{},`+
		`"clientInfo":{"name":"naive","version":"0"}}}`, c.request))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("naive: initialize: %s", res.Status)
	}
	c.token.Session = res.Header.Get(sessionHeader)
	return nil
}

// Call sends a call and returns its result when its stream has ended. When the
// stream breaks it resumes; a stream that ends before the answer has broken too.
func (c *Client) Call(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
	c.request++
	id, before := c.request, c.token.LastEventID
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, id, args)
	send := func() (*http.Response, error) { return c.post(ctx, call) }
	resume := func() (*http.Response, error) { return c.get(ctx) }

	answer, err := c.exchange(id, send)
	for n := 0; errors.Is(err, errInterrupted) && n < c.o.Attempts; n++ {
		if answer != nil && errors.Is(err, errEarly) {
			return answer, nil
		}
		if err := c.pause(ctx); err != nil {
			return answer, err
		}
		next := resume
		if answer == nil && (c.token.LastEventID == before || n > 0 && errors.Is(err, errEarly)) {
			// There is nothing to resume from, or the resumed stream knew
			// nothing of the call. Was it executed? This fault never asks.
			if !c.o.Faults.Has(RetryPOST) {
				return nil, ErrUnanswered
			}
			next = send
		}
		var more json.RawMessage
		more, err = c.exchange(id, next)
		if errors.Is(err, ErrSessionGone) && c.o.Faults.Has(RenewOn404) {
			// With the session went all knowledge of what became of the call.
			// This fault goes on as if nothing had happened.
			if err = c.Open(ctx); err == nil {
				more, err = c.exchange(id, send)
			}
		}
		if more != nil {
			answer = more
		}
	}
	return answer, err
}

// Resume continues the stream from the token, once, to its end or next break.
func (c *Client) Resume(ctx context.Context) error {
	_, err := c.exchange(0, func() (*http.Response, error) { return c.get(ctx) })
	if errors.Is(err, errEarly) {
		return nil
	}
	return err
}

// Two ways for a stream to be interrupted.
var (
	errInterrupted = errors.New("naive: the stream was interrupted")
	errEarly       = fmt.Errorf("%w: it ended before the answer", errInterrupted)
)

// exchange sends one request and applies the events of its response. It
// returns the answer to request id if that was among them.
func (c *Client) exchange(id int, do func() (*http.Response, error)) (answer json.RawMessage, err error) {
	res, err := do()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInterrupted, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return nil, ErrSessionGone
	case res.StatusCode >= 500:
		return nil, fmt.Errorf("%w: %s", errInterrupted, res.Status)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: %s", ErrRefused, res.Status)
	}
	if got := res.Header.Get(sessionHeader); got != c.token.Session {
		if !c.o.Faults.Has(TrustStatus) {
			return nil, ErrSessionChanged
		}
		c.token.Session = got // the old log goes on with another session's events
	}
	return c.read(id, res.Body)
}

// read applies the events of one response.
func (c *Client) read(id int, body io.Reader) (answer json.RawMessage, err error) {
	r := &reader{in: bufio.NewReader(body)}
	if c.o.Faults.Has(TokenFirst) {
		r.sawID = func(id string) { c.token.LastEventID = id }
	}
	for {
		eventID, data, err := r.next()
		switch {
		case err == io.EOF && answer != nil:
			return answer, nil
		case err == io.EOF:
			return nil, errEarly
		case err != nil:
			if data != nil && c.o.Faults.Has(ApplyPartial) {
				if err := c.apply(eventID, data); err != nil {
					return answer, err
				}
			}
			return answer, fmt.Errorf("%w: %w", errInterrupted, err)
		}
		if err := c.apply(eventID, data); err != nil {
			return answer, err
		}
		if result := answerTo(id, data); result != nil {
			answer = result
		}
	}
}

// apply hands one event to the application, then moves the token.
func (c *Client) apply(id string, data []byte) error {
	if !c.o.Faults.Has(AppendBlindly) && !c.follows(id) {
		return fmt.Errorf("%w: %q after %q", ErrNotNext, id, c.token.LastEventID)
	}
	if err := c.o.Apply(Event{Session: c.token.Session, ID: id, Message: data}); err != nil {
		return err
	}
	c.token.LastEventID = id
	return nil
}

// follows reports whether id is the next one of the session after the token.
// A token that has already been moved to id cannot tell.
func (c *Client) follows(id string) bool {
	if c.o.Faults.Has(TokenFirst) {
		return true
	}
	owner, n, ok := splitID(id)
	before, last, had := splitID(c.token.LastEventID)
	return ok && owner == c.token.Session && (!had || before != owner || n == last+1)
}

// answerTo returns the result in a response to request id, or nil.
func answerTo(id int, data []byte) json.RawMessage {
	var m struct {
		ID     *int            `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(data, &m) != nil || m.ID == nil || *m.ID != id {
		return nil
	}
	return m.Result
}

func (c *Client) post(ctx context.Context, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.URL, bytes.NewBufferString(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	return c.do(req)
}

func (c *Client) get(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.o.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if c.token.LastEventID != "" {
		req.Header.Set(cursorHeader, c.token.LastEventID)
	}
	return c.do(req)
}

func (c *Client) do(req *http.Request) (*http.Response, error) {
	if c.token.Session != "" {
		req.Header.Set(sessionHeader, c.token.Session)
	}
	return c.http.Do(req)
}

func (c *Client) pause(ctx context.Context) error {
	select {
	case <-time.After(c.o.Pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

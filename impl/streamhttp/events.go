package streamhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/sse"
)

// An eventReader is the [client.EventReader] of one response: it tells a clean
// end from every other one, and notices a server that fell silent (R24, R15).
type eventReader struct {
	body   io.Closer
	cancel context.CancelCauseFunc
	events *sse.Reader
	call   json.RawMessage // id of the call whose response is the answer; nil = of none
}

// ErrSilent is the error of a connection on which nothing came for three of
// the keep-alive intervals that the server announced (R15).
var ErrSilent = errors.New("reattach: the server fell silent")

const (
	silentIntervals = 3
	maxKeepAlive    = 10 * time.Minute // a longer one announced counts as this
)

func newEventReader(response *http.Response, cancel context.CancelCauseFunc, maxEvent int, call json.RawMessage) *eventReader {
	var body io.Reader = response.Body
	if seconds, err := strconv.ParseUint(response.Header.Get(HeaderKeepAlive), 10, 16); err == nil && seconds > 0 {
		interval := min(time.Duration(seconds)*time.Second, maxKeepAlive)
		body = newAlertReader(body, silentIntervals*interval, cancel)
	}
	return &eventReader{
		body: response.Body, cancel: cancel, call: call,
		events: sse.NewReader(body, sse.Options{MaxEvent: maxEvent, Comments: true}),
	}
}

// Next returns the next event that arrived whole. Comments and control
// messages come as events without anything: signs of life.
func (r *eventReader) Next() (client.Event, error) {
	ev, err := r.events.Next()
	if err != nil {
		return client.Event{}, err
	}
	out := client.Event{ID: string(ev.ID), HasID: ev.HasID, Retry: ev.Retry, HasRetry: ev.HasRetry}
	if ev.Kind != sse.Message || ev.Name != "" && ev.Name != "message" {
		return out, nil // MCP delivers nothing by other names
	}
	e, err := parseEnvelope(ev.Data)
	switch {
	case err != nil:
		return client.Event{}, fmt.Errorf("reattach: an event that is no message: %w", err)
	case e.isControl():
		return out, nil // with an id, which none of ours has, it is a position
	}
	out.Payload = bytes.Clone(ev.Data)
	if out.Answer = r.call != nil && answers(e, r.call); out.Answer {
		out.Means, out.Reason = meaningOf(e)
	}
	return out, nil
}

// Close ends the connection, and with it a Next that waits.
func (r *eventReader) Close() error {
	r.cancel(nil)
	return r.body.Close()
}

// An alertReader calls off a read that waits too long for a byte. Time that
// its own user takes between two reads does not count.
type alertReader struct {
	from     io.Reader
	patience time.Duration
	timer    *time.Timer
	once     sync.Once
	fired    chan struct{}
}

func newAlertReader(from io.Reader, patience time.Duration, cancel context.CancelCauseFunc) *alertReader {
	r := &alertReader{from: from, patience: patience, fired: make(chan struct{})}
	r.timer = time.AfterFunc(patience, func() {
		r.once.Do(func() { close(r.fired) })
		cancel(ErrSilent)
	})
	r.timer.Stop()
	return r
}

func (r *alertReader) Read(p []byte) (n int, err error) {
	r.timer.Reset(r.patience)
	n, err = r.from.Read(p)
	if r.timer.Stop(); err == nil || err == io.EOF {
		return n, err
	}
	select {
	case <-r.fired: // the error is only that the request was called off
		return n, fmt.Errorf("%w for %v", ErrSilent, r.patience)
	default:
		return n, err
	}
}

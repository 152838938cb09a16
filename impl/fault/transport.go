package fault

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ErrLost is what a request gets whose answer never came.
var ErrLost = errors.New("fault: the connection broke")

// An Exchange says what befalls one request and its answer. The zero Exchange
// leaves both alone.
type Exchange struct {
	Wait       time.Duration // before the request is sent
	Lose       bool          // it never arrives: ErrLost
	LoseAnswer bool          // it arrives and is answered, and the sender gets ErrLost
	// Double sends a copy too, so long after the request was sent (the copy
	// may well arrive first); its answer is read and dropped. 0: none.
	Double time.Duration
	Body   Direction         // what befalls the answer's body; Stall and Drop last until the request's context ends
	Header func(http.Header) // changes the answer's header in place
}

// A Transport is an http.RoundTripper that passes requests on to another one,
// with what was planned for each. It is safe for concurrent use.
type Transport struct {
	// Base carries the requests; nil = http.DefaultTransport.
	Base http.RoundTripper
	// Plan says what befalls the n-th request, counted from 0; nil: nothing.
	Plan func(n int, r *http.Request) Exchange

	count  atomic.Int64
	copies sync.WaitGroup
}

// Requests returns how many requests there were, copies not counted.
func (t *Transport) Requests() int { return int(t.count.Load()) }

// Wait waits until every copy that was sent has been answered.
func (t *Transport) Wait() { t.copies.Wait() }

// RoundTrip sends one request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	n := int(t.count.Add(1) - 1)
	var x Exchange
	if t.Plan != nil {
		x = t.Plan(n, r)
	}
	if x.Wait > 0 && !sleep(r.Context(), x.Wait) {
		closeBody(r)
		return nil, r.Context().Err()
	}
	if x.Lose {
		closeBody(r)
		return nil, ErrLost
	}
	if x.Double > 0 {
		second, err := twin(r)
		if err != nil {
			return nil, err
		}
		t.copies.Go(func() {
			time.Sleep(x.Double)
			if res, err := base.RoundTrip(second); err == nil {
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
	res, err := base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if x.LoseAnswer {
		res.Body.Close()
		return nil, ErrLost
	}
	if x.Header != nil {
		x.Header(res.Header)
	}
	if x.Body != (Direction{}) {
		res.Body = newBody(r.Context(), res.Body, x.Body)
		res.ContentLength = -1
		res.Header.Del("Content-Length")
	}
	return res, nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// twin reads the request's body, and returns a copy that outlives its sender.
func twin(r *http.Request) (*http.Request, error) {
	c := r.Clone(context.WithoutCancel(r.Context()))
	if r.Body == nil {
		return c, nil
	}
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	c.Body = io.NopCloser(bytes.NewReader(text))
	return c, nil
}

// A body is an answer's body with what befalls it.
type body struct {
	*io.PipeReader
	under  io.Closer
	cancel context.CancelFunc
}

func newBody(ctx context.Context, under io.ReadCloser, d Direction) *body {
	ctx, cancel := context.WithCancel(ctx)
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(context.Canceled) })
	source := &remembering{Reader: under}
	go func() {
		defer stop()
		defer under.Close()
		switch d.pump(ctx, in, source) {
		case sourceEnded, cutClean:
			in.Close()
		case cutBroken:
			in.CloseWithError(io.ErrUnexpectedEOF)
		case sourceBroke:
			in.CloseWithError(source.err)
		case contextEnded:
			in.CloseWithError(context.Cause(ctx))
		}
	}()
	return &body{out, under, cancel}
}

// A remembering reader keeps the error that it ended with.
type remembering struct {
	io.Reader
	err error
}

func (r *remembering) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil {
		r.err = err
	}
	return n, err
}

// Close ends the body, and what is under it.
func (b *body) Close() error {
	b.cancel()
	b.PipeReader.Close()
	return b.under.Close()
}

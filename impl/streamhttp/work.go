package streamhttp

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// start runs the application's work for a call. It belongs to the call and not
// to the request that brought it: a dropped connection does not end it (R9b).
func (h *Handler) start(r *http.Request, c *call, stream *Stream, e envelope) {
	ctx, cancel := workContext(r, stream.core.Done())
	stream.session.started(c, stream, cancel)
	h.calls.add()
	go func() {
		defer h.calls.done()
		defer func() {
			stream.session.end(c)
			stream.session.started(c, nil, nil) // what is kept of the stream does not keep the context
			cancel(nil)
		}()
		h.invoke(ctx, r.Header, stream, e)
		if stream.last.Load() {
			return
		}
		code, message := CodeInternal, "the application gave no answer"
		if context.Cause(ctx) == ErrCancelled {
			code, message = CodeCancelled, "cancelled"
		}
		var data any
		if stream.unstored.Load() { // it ran, and its answer is lost: no error of its own
			code, message, data = CodeOutcomeUnknown, "outcome unknown: the answer could not be stored", errorData{Reason: reasonOutcomeUnknown}
		}
		_, err := stream.Fail(code, message, data)
		for errors.Is(err, spec.ReasonStoreUnavailable) && h.later(stream) { // somebody waits for an end
			_, err = stream.Fail(code, message, data)
		}
		select {
		case <-stream.core.Done(): // nobody reads it any more
			err = nil
		default:
		}
		if err != nil {
			h.log.Error("a call could not be answered", "session", stream.session.Tag(), "stream", stream.Number(), "error", err)
		}
	}()
}

// later waits before a store is asked again, and reports whether it is to be:
// not for a call that nobody waits for.
func (h *Handler) later(stream *Stream) bool {
	select {
	case <-time.After(h.opts.RetryAfter):
		return true
	case <-stream.core.Done():
		return false
	}
}

// runNow runs the application's work for a message while its POST waits.
func (h *Handler) runNow(r *http.Request, s *Session, stream *Stream, e envelope) {
	ctx, cancel := workContext(r, s.Done())
	defer cancel(nil)
	h.invoke(ctx, r.Header, stream, e)
}

// invoke calls the application. A panic of it, like one of an HTTP handler,
// ends its work and not the process; a bug of ours is not hidden so.
func (h *Handler) invoke(ctx context.Context, header http.Header, stream *Stream, e envelope) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if text, ok := p.(string); ok && strings.HasPrefix(text, "reattach: BUG") {
			panic(p)
		}
		h.log.Error("the application panicked", "session", stream.session.Tag(), "panic", p, "stack", string(debug.Stack()))
	}()
	h.app(ctx, &Message{
		Session: stream.session, Stream: stream, Kind: e.kind, Method: e.method,
		ID: e.id, Params: e.params, Result: e.result, Error: e.fault, Header: header,
	})
}

// workContext keeps the values of the request's context and not its end: it
// ends with the work.
func workContext(r *http.Request, over <-chan struct{}) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	go func() {
		select {
		case <-over:
			cancel(ErrWorkOver)
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// unknownOutcome is the typed error answer of a call whose work was cancelled
// because its stream had no view for the detach budget (R9b).
func unknownOutcome(lost session.LostCall) []byte {
	stream, ok := lost.Call.(*Stream)
	if !ok {
		panic("reattach: BUG: a call that is not the handler's")
	}
	payload, err := failure(stream.id, CodeOutcomeUnknown, "outcome unknown: nobody read the answer for the detach budget", errorData{Reason: reasonOutcomeUnknown})
	if err != nil {
		panic("reattach: BUG: a failure that is not JSON: " + err.Error())
	}
	return payload
}

// reasonOutcomeUnknown is the reason in the data of that answer.
const reasonOutcomeUnknown = "outcome_unknown"

package streamhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A Stream is where an application emits: the stream of one call, or the
// standalone one. What is emitted is recorded before it is on any wire and
// reaches the client whether or not it reads at the moment (R11); emitting
// never waits for a reader (R3). It is safe for concurrent use.
//
// Every error is typed: errors.Is with spec.ReasonEventTooLarge, where the
// event did not fit and the stream goes on; spec.ReasonStreamFinished and
// spec.ReasonStreamForgotten, where nothing can follow; ErrPayload; and with a
// store spec.ReasonStoreUnavailable (a [*session.StoreError]): nothing was
// recorded, and trying again may work.
type Stream struct {
	session *Session
	core    *session.Stream
	id      json.RawMessage // of the call that it answers; nil = of none
	call    *call           // while it is in flight; nil for initialize
	last    atomic.Bool     // the call is answered
	// unstored: the store did not take the answer that there was.
	unstored atomic.Bool
	opening  *opening // of the call that opens the session

	intercept func(answer []byte) []byte // nil: nobody looks at the answer first
}

// An opening takes the answer to initialize: it goes out beside the id of the
// session and not on a stream, because a client that loses it knows no session
// in which it could ask again.
type opening struct{ answer []byte }

// An Emitted tells what became of an event: its id, whether a view is there to
// carry it, how far that view lags, and how many events it evicted.
type Emitted = session.Emitted

// Emit emits a notification, such as notifications/progress.
func (s *Stream) Emit(method string, params any) (Emitted, error) {
	if err := checkMethod(method); err != nil {
		return Emitted{}, err
	}
	payload, err := encode(outNotification{"2.0", method, params})
	if err != nil {
		return Emitted{}, err
	}
	return s.core.Emit(payload)
}

// Send emits one JSON-RPC message that is whole already and is not the answer:
// what a binding to an SDK needs.
func (s *Stream) Send(message []byte) (Emitted, error) {
	payload, e, err := whole(message)
	if err != nil {
		return Emitted{}, err
	}
	if s.id != nil && answers(e, s.id) {
		return Emitted{}, fmt.Errorf("%w: it is the answer, see SendAnswer", ErrPayload)
	}
	return s.core.Emit(payload)
}

// Answer answers the call with a result: the last event of its stream. The
// stream stays resumable while its events are retained (R11).
func (s *Stream) Answer(result any) (Emitted, error) {
	if s.id == nil {
		return Emitted{}, ErrNotACall
	}
	payload, err := encode(outResult{"2.0", s.id, result})
	if err != nil {
		return Emitted{}, err
	}
	return s.finish(payload)
}

// Fail answers the call with an error. Data may be nil.
func (s *Stream) Fail(code int, message string, data any) (Emitted, error) {
	if s.id == nil {
		return Emitted{}, ErrNotACall
	}
	payload, err := failure(s.id, code, message, data)
	if err != nil {
		return Emitted{}, err
	}
	return s.finish(payload)
}

// SendAnswer answers the call with a response that is whole already.
func (s *Stream) SendAnswer(message []byte) (Emitted, error) {
	if s.id == nil {
		return Emitted{}, ErrNotACall
	}
	payload, e, err := whole(message)
	if err != nil {
		return Emitted{}, err
	}
	if !answers(e, s.id) {
		return Emitted{}, fmt.Errorf("%w: it is not the answer to this call", ErrPayload)
	}
	return s.finish(payload)
}

func (s *Stream) finish(payload []byte) (Emitted, error) {
	if s.last.Swap(true) {
		return Emitted{}, ErrNotACall
	}
	if s.intercept != nil {
		payload = s.intercept(payload)
	}
	if s.opening != nil {
		s.opening.answer = payload
		return Emitted{}, nil
	}
	s.session.end(s.call) // before the client can know: it may use the id again, and not cancel it
	emitted, err := s.core.Answer(payload)
	if err != nil { // too large, perhaps: a smaller one may follow
		s.unstored.Store(errors.Is(err, spec.ReasonStoreUnavailable))
		s.session.begin(s.call)
		s.last.Store(false)
		return emitted, err
	}
	s.session.stop(s.call, nil)
	return emitted, nil
}

// EndView ends the view of the stream on purpose: a client that can resume
// comes back after the time given (0 = Options.RetryHint) and misses nothing.
func (s *Stream) EndView(retry time.Duration) error {
	if v := s.session.viewOf(s.core.Number()); v != nil && retry > 0 {
		v.retry.Store(int64(retry))
	}
	return s.core.EndView()
}

// Number is the number of the stream in its session; 0 is the standalone one.
func (s *Stream) Number() uint64 { return s.core.Number() }

// Request asks the client something on this stream, such as
// sampling/createMessage, and waits for the answer. An error response is a
// *ResponseError. Once the request is on its way, every other end is an
// ErrOutcomeUnknown: that the session ended (R16), and with its cause, that the
// context did. At most 64 of a session wait at a time.
func (s *Stream) Request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	if err := checkMethod(method); err != nil {
		return nil, err
	}
	id, answer, ok := s.session.ask()
	if !ok {
		return nil, fmt.Errorf("reattach: %d requests wait for this client: %w", maxAsked, spec.ReasonTooManyRequests)
	}
	defer s.session.unask(id)
	payload, err := encode(outRequest{"2.0", id, method, params})
	if err != nil {
		return nil, err
	}
	if _, err := s.core.Emit(payload); err != nil {
		return nil, err
	}
	unknown := ErrOutcomeUnknown
	select {
	case e := <-answer:
		return outcome(e)
	case <-s.session.Done():
	case <-ctx.Done():
		unknown = fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
	}
	select {
	case e := <-answer: // it came, and the end was only looked at first
		return outcome(e)
	default:
		return nil, unknown
	}
}

// outcome is what a response says.
func outcome(e envelope) (json.RawMessage, error) {
	if e.fault != nil {
		return nil, parseResponseError(e.fault)
	}
	return e.result, nil
}

// A ResponseError is an error response: the other side's word that the request
// failed.
type ResponseError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *ResponseError) Error() string {
	return fmt.Sprintf("reattach: error response %d: %s", e.Code, e.Message)
}

func parseResponseError(text json.RawMessage) *ResponseError {
	var e ResponseError
	if json.Unmarshal(text, &e) != nil {
		return &ResponseError{Code: CodeInternal, Message: "an error response that could not be read"}
	}
	return &e
}

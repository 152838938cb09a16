package streamhttp

import (
	"context"
	"errors"
	"testing"
	"time"
)

// What no client could read is refused before it has a number: on the wire it
// would stop its reader at that place for ever. And control messages are the
// handler's alone (R8).
func TestNothingUnreadableIsEmitted(t *testing.T) {
	type step struct {
		name string
		emit func(*Stream) (Emitted, error)
		want error
	}
	send := func(text string) func(*Stream) (Emitted, error) {
		return func(s *Stream) (Emitted, error) { return s.Send([]byte(text)) }
	}
	answer := func(text string) func(*Stream) (Emitted, error) {
		return func(s *Stream) (Emitted, error) { return s.SendAnswer([]byte(text)) }
	}
	emit := func(method string) func(*Stream) (Emitted, error) {
		return func(s *Stream) (Emitted, error) { return s.Emit(method, nil) }
	}
	steps := []step{
		{"nothing", send(``), ErrPayload},
		{"no JSON", send(`nonsense`), ErrPayload},
		{"two values", send(`{"jsonrpc":"2.0","method":"m"}{}`), ErrPayload},
		{"no message", send(`{"method":"m"}`), ErrPayload},
		{"the answer, as if it were none", send(`{"jsonrpc":"2.0","id":1,"result":{}}`), ErrPayload},
		{"a notification", send("{\"jsonrpc\":\"2.0\",\r\n\"method\":\"m\"}"), nil},
		{"a request", send(`{"jsonrpc":"2.0","id":1,"method":"m"}`), nil},
		{"no method", emit(""), ErrPayload},
		{"a control message", emit(MethodResumed), ErrPayload},
		{"a control message, whole", send(`{"jsonrpc":"2.0","method":"` + MethodResumed + `"}`), ErrPayload},
		{"a method", emit("m"), nil},
		{"a request without a method", func(s *Stream) (Emitted, error) {
			over, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := s.Request(over, "", nil)
			return Emitted{}, err
		}, ErrPayload},
		{"no answer", answer(`{"jsonrpc":"2.0","method":"m"}`), ErrPayload},
		{"another call's answer", answer(`{"jsonrpc":"2.0","id":2,"result":{}}`), ErrPayload},
		{"the answer", answer(` {"jsonrpc":"2.0","id":1,"result":{}}`), nil},
	}
	errs := make(chan error, len(steps))
	r := newRig(t, bench{"x": func(_ context.Context, m *Message) {
		for _, s := range steps {
			_, err := s.emit(m.Stream)
			errs <- err
		}
	}}.app, Options{})
	r.open()
	if got := ids(r.call(1, "x", `{}`).all()); got != "1:1:1 2:1:2 3:1:3 4:1:4" {
		t.Errorf("on the wire: %s", got)
	}
	for _, s := range steps {
		if err := within(t, errs, s.name); !errors.Is(err, s.want) {
			t.Errorf("%s: %v, want %v", s.name, err, s.want)
		}
	}
}

// A call's context ends with its answer, whatever its function goes on to do.
func TestContextEndsWithTheAnswer(t *testing.T) {
	causes := make(chan error, 1)
	r := newRig(t, bench{"x": func(ctx context.Context, m *Message) {
		if _, err := m.Stream.Emit("m", nil); err != nil || ctx.Err() != nil {
			t.Errorf("before the answer: %v, %v", err, ctx.Err())
		}
		_, _ = m.Stream.Answer(1)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // the test's own patience: nothing else ends it
		}
		causes <- context.Cause(ctx)
	}}.app, Options{})
	r.open()
	r.call(1, "x", `{}`).all()
	if cause := within(t, causes, "the end of the context"); !errors.Is(cause, context.Canceled) {
		t.Errorf("it ended because: %v", cause)
	}
	if err := r.handler.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

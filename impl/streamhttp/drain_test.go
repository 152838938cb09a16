package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// farewell reads to the end: how many messages came, and the last retry.
func (w *wire) farewell() (messages int, retry time.Duration, err error) {
	for {
		ev, err := w.next()
		if err != nil {
			return messages, retry, err
		}
		if ev.Kind == sse.Message {
			messages++
		}
		if ev.HasRetry {
			retry = ev.Retry
		}
	}
}

// R12: while a server drains, what is new is refused with a time to come back,
// answers to its own requests are taken, the standalone view ends cleanly with
// retry, and the running call is answered on the view that waits; then it is
// over, long before its time is.
func TestDrainLetsCallsFinish(t *testing.T) {
	asked := make(chan error, 1)
	gate := make(chan struct{})
	r := newRig(t, bench{"ask": func(ctx context.Context, m *Message) {
		_, err := m.Stream.Request(ctx, "roots/list", nil)
		asked <- err
		<-gate
		_, _ = m.Stream.Answer(1)
	}}.app, Options{})
	r.open()
	standalone := r.resume("")
	w := r.call(1, "ask", `{}`)
	question := w.message()
	drained := make(chan error, 1)
	go func() { drained <- r.handler.Drain(context.Background()) }()
	if _, retry, err := standalone.farewell(); err != io.EOF || retry == 0 {
		t.Errorf("the standalone view ended with %v, retry %v", err, retry)
	}
	for name, resp := range map[string]*http.Response{
		"initialize": r.post(initializeOf(Version20251125), HeaderSessionID, "-"),
		"call":       r.post(request(2, "count", `{}`)),
		"GET":        r.request(t.Context(), http.MethodGet, ""),
		"resumption": r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, string(question.ID)),
	} {
		if got := refusalOf(t, resp); got.Status != 503 || got.Reason != spec.ReasonDraining || got.RetryAfter == 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if resp := r.post(`{"jsonrpc":"2.0","id":"s1","result":{}}`); resp.StatusCode != http.StatusAccepted {
		t.Errorf("an answer to the server: %s", resp.Status)
	}
	if err := within(t, asked, "the answer to the server"); err != nil {
		t.Errorf("the server's own request, while draining: %v", err)
	}
	select {
	case err := <-drained:
		t.Fatalf("drained while a call runs: %v", err)
	default:
	}
	close(gate)
	if got := ids(w.all()); got != "2:1:2" {
		t.Errorf("the waiting view got %s", got)
	}
	if err := within(t, drained, "the drain"); err != nil {
		t.Error(err)
	}
}

// R12, R16: calls that do not end in time keep nobody: within the grace period
// their views have ended cleanly with retry, and then their contexts end, and
// requests of the server that wait have an unknown outcome.
func TestShutdownIsOverInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcome := make(chan error, 1)
		r := newPipeRig(t, bench{
			"ask": func(ctx context.Context, m *Message) {
				_, err := m.Stream.Request(ctx, "roots/list", nil)
				outcome <- err
			},
			"wait": func(ctx context.Context, m *Message) { <-ctx.Done() },
		}.app, Options{GracePeriod: 10 * time.Second})
		r.open()
		ask, wait := r.call(1, "ask", `{}`), r.call(2, "wait", `{}`)
		ask.message()
		start := time.Now()
		down := make(chan error, 1)
		go func() { down <- r.handler.Shutdown(context.Background()) }()
		for name, w := range map[string]*wire{"ask": ask, "wait": wait} {
			messages, retry, err := w.farewell()
			if messages != 0 || err != io.EOF || retry == 0 {
				t.Errorf("%s: %d messages, %v, retry %v", name, messages, err, retry)
			}
		}
		if took := time.Since(start); took < 8*time.Second || took >= 10*time.Second {
			t.Errorf("the views ended after %v", took)
		}
		err := <-down
		if took := time.Since(start); !errors.Is(err, ErrStillRunning) || took > 10*time.Second {
			t.Errorf("shut down after %v: %v", took, err)
		}
		if err := <-outcome; !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("the server's own request: %v", err)
		}
		synctest.Wait()
		if r.handler.Stats().Sessions != 0 {
			t.Error("a session is left")
		}
	})
}

// R12: a context that has ended waits for nobody, and says so.
func TestImpatientDrain(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	r := newRig(t, bench{"gated": gated(gate)}.app, Options{})
	r.open()
	w := r.call(1, "gated", `{"n":0}`)
	cause := errors.New("no time")
	impatient, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := r.handler.Drain(impatient); !errors.Is(err, ErrStillRunning) || !errors.Is(err, cause) {
		t.Errorf("while a call runs: %v", err)
	}
	if _, err := w.rest(); err != io.EOF {
		t.Errorf("its view ended with %v", err)
	}
}

// R16: however a wait of the server for its client ends, it is the answer or an
// unknown outcome: the session ended by DELETE or by the application, the
// call's work was over, the application's own patience was; an answer that is
// there already wins.
func TestServersOwnCallsEndTyped(t *testing.T) {
	type told struct {
		result string
		err    error
	}
	impatience := errors.New("the application's own patience")
	outcome := make(chan told, 1)
	stop := make(chan struct{})
	r := newRig(t, bench{"ask": func(ctx context.Context, m *Message) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() {
			select {
			case <-stop:
				cancel(impatience)
			case <-ctx.Done():
			}
		}()
		result, err := m.Stream.Request(ctx, "roots/list", nil)
		outcome <- told{string(result), err}
	}}.app, Options{})
	for i, c := range []struct {
		name string
		end  func(w *wire)
		also error
	}{
		{"DELETE", func(*wire) { r.request(t.Context(), http.MethodDelete, "") }, nil},
		{"cancelled", func(*wire) {
			r.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
		}, ErrCancelled},
		{"impatient", func(*wire) { stop <- struct{}{} }, impatience},
	} {
		r.open()
		w := r.call(9, "ask", `{}`)
		w.message()
		c.end(w)
		got := within(t, outcome, c.name)
		if !errors.Is(got.err, ErrOutcomeUnknown) || c.also != nil && !errors.Is(got.err, c.also) {
			t.Errorf("%d %s: %+v", i, c.name, got)
		}
	}
	r.open()
	w := r.call(9, "ask", `{}`)
	e, err := parseEnvelope(w.message().Data)
	if err != nil {
		t.Fatal(err)
	}
	r.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, e.id))
	if got := within(t, outcome, "the answer"); got.err != nil || got.result != `{"roots":[]}` {
		t.Errorf("answered: %+v", got)
	}
}

package streamhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// gated is a method that emits one event for each token of the gate, and one
// more token lets it answer.
func gated(gate chan struct{}) func(context.Context, *Message) {
	return func(_ context.Context, m *Message) { countTo(m, gate) }
}

// A quiet view carries a comment every 15 seconds, counted from the last byte
// (R15), and its end is not moved by them.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		r := newPipeRig(t, bench{"gated": gated(gate)}.app, Options{})
		r.open()
		start := time.Now()
		w := r.call(1, "gated", `{"n":1}`)
		at := func(kind sse.Kind, comment string, want time.Duration) {
			t.Helper()
			ev, err := w.next()
			if err != nil || ev.Kind != kind || kind == sse.Comment && !strings.HasPrefix(string(ev.Comment), comment) {
				t.Fatalf("got %v %q %v, want %v %q", ev.Kind, ev.Comment, err, kind, comment)
			}
			if got := time.Since(start); got != want {
				t.Fatalf("%v %q after %v, want %v", kind, comment, got, want)
			}
		}
		at(sse.Comment, commentPosition, 0)
		at(sse.Position, "", 0)
		at(sse.Comment, commentKeepAlive, 15*time.Second)
		at(sse.Comment, commentKeepAlive, 30*time.Second)
		go func() {
			time.Sleep(10 * time.Second)
			gate <- struct{}{}
		}()
		at(sse.Message, "", 40*time.Second)
		at(sse.Comment, commentKeepAlive, 55*time.Second)
		gate <- struct{}{}
		at(sse.Message, "", 55*time.Second)
		if _, err := w.next(); err != io.EOF {
			t.Fatalf("the end: %v", err)
		}
	})
}

// The first event leaves at once, and a burst leaves together: with a network
// that has no buffers, one read takes what one write gave.
func TestBurstLeavesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPipeRig(t, bench{}.app, Options{})
		r.open()
		w := r.call(1, "count", `{"n":100}`)
		synctest.Wait() // the view waits for its reader, the application is done
		buf := make([]byte, 1<<20)
		reads := 0
		for {
			n, err := w.resp.Body.Read(buf)
			if n > 0 {
				reads++
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if reads > 12 {
			t.Errorf("100 events in %d reads", reads)
		}
	})
}

// A reader that takes nothing is cut when the write budget is used up; the
// emitter never waits for it, and it resumes where it stood (R3, R9).
func TestStuckReaderIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan time.Time, 1)
		app := bench{"count": func(_ context.Context, m *Message) { countTo(m, nil); done <- time.Now() }}.app
		r := newPipeRig(t, app, Options{})
		r.open()
		start := time.Now()
		w := r.call(1, "count", `{"n":20,"size":100000}`)
		if took := (<-done).Sub(start); took != 0 {
			t.Errorf("the emitter waited %v", took)
		}
		first := w.message()
		time.Sleep(31 * time.Second)
		_, err := w.rest()
		if !errors.Is(err, sse.ErrTruncated) {
			t.Fatalf("the stuck view ended with %v", err)
		}
		if got := len(r.resume(string(first.ID)).all()); got != 20 {
			t.Errorf("%d events after the first", got)
		}
	})
}

// A slow reader that does take something within each budget is not cut, even
// if one event takes it longer than that (R9).
func TestSlowReaderIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPipeRig(t, bench{}.app, Options{})
		r.open()
		w := r.call(1, "count", `{"n":1,"size":1000000}`)
		start := time.Now()
		total, buf := 0, make([]byte, 32<<10)
		for {
			n, err := w.resp.Body.Read(buf)
			total += n
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("after %d bytes and %v: %v", total, time.Since(start), err)
			}
			time.Sleep(5 * time.Second)
		}
		if took := time.Since(start); total < 1000000 || took < time.Minute {
			t.Errorf("%d bytes in %v: not a slow reader", total, took)
		}
	})
}

// A reader that falls behind the window finishes the event that was begun, is
// told between two events that it must resume, and then gets the truth (R9, R5).
func TestOvertakenView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		app := bench{"count": func(_ context.Context, m *Message) {
			_, _ = m.Stream.Emit("first", strings.Repeat("x", 10000))
			<-gate
			countTo(m, nil)
		}}.app
		r := newPipeRig(t, app, Options{Session: session.Options{WindowEvents: 4}})
		r.open()
		w := r.call(1, "count", `{"n":1000,"size":10000}`, HeaderNotify, "1")
		synctest.Wait() // the view is stuck inside the first event
		gate <- struct{}{}
		synctest.Wait() // and 1000 others were emitted meanwhile
		var last sse.Event
		var told []string
		for {
			ev, err := w.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("not between two events: %v", err)
			}
			switch {
			case ev.Kind == sse.Message && ev.HasID:
				last = ev
			case ev.Kind == sse.Message:
				told = append(told, string(ev.Data))
			case ev.Kind == sse.Comment && string(ev.Comment) == commentRequired:
				told = append(told, "comment")
			case ev.HasRetry:
				told = append(told, "retry "+ev.Retry.String())
			}
		}
		if len(told) != 4 || told[1] != "comment" || !strings.Contains(told[2], MethodResumptionRequired) || told[3] != "retry 1s" {
			t.Errorf("told %q", told)
		}
		if last.ID == nil {
			t.Fatal("nothing was delivered before the view was overtaken")
		}
		resp := r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, string(last.ID))
		if got := refusalOf(t, resp); got.Reason != spec.ReasonCursorEvicted {
			t.Errorf("resumed: %v", got)
		}
	})
}

// TestCase32DropIsNotCancel: a dropped connection does not end the work; a
// client that stays away for the detach budget does, and what it then finds is
// the typed word that the outcome is unknown (R9b).
func TestCase32DropIsNotCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		over := make(chan error, 1)
		app := bench{
			"gated": gated(gate),
			"wait":  func(ctx context.Context, m *Message) { <-ctx.Done(); over <- context.Cause(ctx) },
		}.app
		r := newPipeRig(t, app, Options{})
		r.open()
		w := r.call(1, "gated", `{"n":1}`)
		position := w.position()
		w.drop()
		time.Sleep(4 * time.Minute)
		w = r.resume(position)
		gate <- struct{}{}
		gate <- struct{}{}
		if got := ids(w.all()); got != "1:1:1 2:1:2" {
			t.Errorf("resumed within the budget: %s", got)
		}

		w = r.call(2, "wait", `{}`)
		position = w.position()
		w.drop()
		synctest.Wait()
		start := time.Now()
		if cause := <-over; cause != ErrWorkOver {
			t.Errorf("the work ended with %v", cause)
		}
		if took := time.Since(start); took < 5*time.Minute || took > 5*time.Minute+10*time.Second {
			t.Errorf("the work ended after %v", took)
		}
		answer := r.resume(position).all()
		if len(answer) != 1 || !strings.Contains(string(answer[0].Data), `"id":2,"error":{"code":-32002`) || !strings.Contains(string(answer[0].Data), reasonOutcomeUnknown) {
			t.Errorf("the answer: %v", answer)
		}
	})
}

// A body that does not arrive within its budget is not waited for.
func TestSlowBodyIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPipeRig(t, bench{}.app, Options{})
		r.open()
		conn, err := r.network.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		start := time.Now()
		_, err = io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: pipe\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn)
		if !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
			t.Errorf("answered %.100q", answer)
		}
		if took := time.Since(start); took < 30*time.Second || took > 40*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

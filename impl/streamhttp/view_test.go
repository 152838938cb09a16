package streamhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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

// TestCase20HalfOpen: a connection that does not read does not lock its client
// out. The newer view begins at once, and not another byte reaches the older
// one (R10).
func TestCase20HalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{}, 100)
		r := newPipeRig(t, bench{"gated": gated(gate)}.app, Options{})
		r.open()
		old := r.call(1, "gated", `{"n":5,"size":100000}`)
		gate <- struct{}{}
		first := old.message()
		gate <- struct{}{}
		gate <- struct{}{}
		if _, err := io.ReadFull(old.resp.Body, make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the old view is stuck inside the second event
		start := time.Now()
		w := r.resume(string(first.ID))
		second := w.message()
		if took := time.Since(start); took > time.Second {
			t.Errorf("the newer view began after %v", took)
		}
		left, err := io.ReadAll(old.resp.Body)
		if err == nil || len(left) > 70_000 || strings.Contains(string(left), `"i":3`) {
			t.Errorf("the older view went on, to the end of its event at least: %d bytes, %v", len(left), err)
		}
		for range 3 {
			gate <- struct{}{}
		}
		if got := ids(append([]sse.Event{first, second}, w.all()...)); got != "1:1:1 2:1:2 3:1:3 4:1:4 5:1:5 6:1:6" {
			t.Errorf("delivered %s", got)
		}
	})
}

// A writer that was superseded writes nothing more, however the two raced: the
// deadline of the superseding may have been overwritten by the writer's own.
func TestSupersededWriterIsSilent(t *testing.T) {
	h, err := NewHandler(bench{}.app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s, ok := h.registry.Find("", openDirectly(t, h))
	if !ok {
		t.Fatal("no session")
	}
	mine := s.Meta().(*Session)
	_, core, err := s.Call(&Stream{session: mine})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	v := h.newView(w, httptest.NewRequest(http.MethodGet, "/", nil), mine, core)
	v.comment("before")
	if !v.flush() || w.Body.String() != ": before\n" {
		t.Fatalf("a writer that was not: %q", w.Body)
	}
	v.supersede()
	v.comment("after")
	if v.flush() || strings.Contains(w.Body.String(), "after") {
		t.Errorf("wrote %q", w.Body)
	}
	if v.end(session.ErrSuperseded) {
		t.Error("a superseded view ended as if it were whole")
	}
}

// Resumptions of one stream that race: whichever came last has the view, and
// exactly that one gets the next event (R10).
func TestRacingResumptions(t *testing.T) {
	gate := make(chan struct{})
	r := newRig(t, bench{"gated": gated(gate)}.app, Options{Session: session.Options{WindowEvents: 1000}})
	r.open()
	w := r.call(1, "gated", `{"n":1000}`)
	cursor := w.position()
	for round := range 60 {
		got := make(chan string, 4)
		var began sync.WaitGroup
		for range 4 {
			began.Add(1)
			go func() {
				w, err := r.tryResume(cursor)
				began.Done()
				if err != nil { // superseded before its head was written
					got <- ""
					return
				}
				for {
					ev, err := w.next()
					if err != nil {
						got <- ""
						return
					}
					if ev.Kind == sse.Message {
						got <- string(ev.ID)
						w.drop()
						return
					}
				}
			}()
		}
		began.Wait()
		gate <- struct{}{}
		delivered := 0
		for range 4 {
			if id := within(t, got, "the end of a view"); id != "" {
				delivered++
				cursor = id
			}
		}
		if delivered != 1 {
			t.Fatalf("round %d: %d views got the event", round, delivered)
		}
	}
}

// A client that has everything is told so, and the view that still stands on
// the finished stream, stuck inside an event, writes nothing more: complete is
// a granted request (R10, row ST31). A refused one touches nothing.
func TestCompleteSupersedes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newPipeRig(t, bench{}.app, Options{})
		r.open()
		events := r.call(1, "count", `{"n":1,"size":100000}`).all()
		old := r.resume(string(events[0].ID[:32]) + ":0:1:0")
		synctest.Wait()
		if resp := r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, string(events[0].ID[:32])+":9:1:9"); resp.StatusCode != http.StatusConflict {
			t.Fatalf("a wrong cursor: %s", resp.Status)
		}
		first := old.message()
		if string(first.ID) != string(events[0].ID) {
			t.Errorf("after a refusal the view gave %s", first.ID)
		}
		old = r.resume(string(events[0].ID[:32]) + ":0:1:0")
		synctest.Wait()
		start := time.Now()
		if resp := r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, string(events[1].ID)); resp.StatusCode != http.StatusNoContent {
			t.Fatalf("at the head: %s", resp.Status)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("told after %v", took)
		}
		left, err := io.ReadAll(old.resp.Body)
		if err == nil || len(left) > 100000 {
			t.Errorf("the view went on: %d bytes, %v", len(left), err)
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

package streamhttp

import (
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
)

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

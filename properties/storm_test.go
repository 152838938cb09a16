package properties

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

var stormClients = flag.Int("storm", 300, "clients of TestStormOfResumes")

// A storm: all clients lose their connections at once, miss three events, and
// come back together, each with three requests that race, numbered as ours are
// (R10, R26). What each gets is what it missed, once (R4); one view of each
// lives, the newest attempt's; and the work is bounded by what was asked for:
// one decision a request, at most the missed events a view.
//
//	go test ./properties -run StormOfResumes -v -storm 10000
func TestStormOfResumes(t *testing.T) {
	n := *stormClients
	if raceDetector {
		n = min(n, 50)
	}
	const seen, missed, racing = 1, 3, 3
	first := make([]atomic.Int64, n)
	s := newStall(t, n, time.Hour, func(int) readerKind { return readsAll }, func(i int) { first[i].Add(1) })
	defer s.close()
	cursors := make([]string, n)
	emitAll := func(times int, what string) {
		for range times {
			for i, m := range s.sessions {
				id, err := m.Standalone().Emit("said", what)
				if err != nil {
					t.Fatal(err)
				}
				if cursors[i] == "" {
					cursors[i] = id.ID.String()
				}
			}
		}
	}
	emitAll(seen, "seen")
	eventually(t, "every client has the first event", func() bool { return s.takes.Load() == int64(n*seen) })
	s.lose()
	emitAll(missed, "missed")

	s.rows.Store(0)
	s.takes.Store(0)
	s.resumes.Store(0)
	got := make([][racing]atomic.Int64, n)
	readers := make([][racing]*reader, n)
	began := time.Now()
	for a := range racing {
		for i := range n {
			readers[i][a] = s.attach(i, readsAll, func() { got[i][a].Add(1) },
				streamhttp.HeaderLastEventID, cursors[i], streamhttp.HeaderAttempt, fmt.Sprintf("1.%d", a+1))
		}
	}
	s.begun.Wait()
	whole := func() bool {
		for i := range n {
			if got[i][racing-1].Load() < missed {
				return false
			}
		}
		return true
	}
	eventually(t, "every newest attempt has what was missed", whole)
	t.Logf("%d clients with %d requests each: %v, %d rows", n, racing, time.Since(began), s.rows.Load())
	if asked := s.resumes.Load(); asked != int64(n*racing) {
		t.Errorf("%d decisions for %d requests", asked, n*racing)
	}
	if taken := s.takes.Load(); taken < int64(n*missed) || taken > int64(n*missed*racing) {
		t.Errorf("%d events were taken, want %d to %d", taken, n*missed, n*missed*racing)
	}
	// A request: its decision, and the end of the view that it may get.
	if rows, most := s.rows.Load(), int64(n*racing*(missed+4)); rows > most {
		t.Errorf("%d rows for %d requests, want at most %d", rows, n*racing, most)
	}
	eventually(t, "one view of each session lives", func() bool {
		for _, m := range s.sessions {
			if m.Views() != 1 {
				return false
			}
		}
		return true
	})
	emitAll(1, "after")
	eventually(t, "what comes after is delivered", func() bool {
		for i := range n {
			if got[i][racing-1].Load() < missed+1 {
				return false
			}
		}
		return true
	})
	for i := range n {
		for a := range racing {
			count := got[i][a].Load()
			if _, over := readers[i][a].end(); a < racing-1 && (over.IsZero() || count > missed) {
				t.Fatalf("client %d, attempt %d: %d events, over at %v", i, a+1, count, over)
			}
			if a == racing-1 && count != missed+1 {
				t.Fatalf("client %d: the newest attempt got %d events, want %d", i, count, missed+1)
			}
		}
	}
}

// eventually waits until it holds, for as long as a busy machine may take.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not so", what)
		}
	}
}

// Fairness between sessions: while one session is held in the middle of an
// emission, as long as one likes, others are opened, found, called, emit,
// deliver, are resumed and ended. No lock of one session is in another's way; so
// one that emits as fast as it can takes a share of the processor, and nothing
// else. Nor does it evict what another retains (R3).
func TestBusySessionIsInNobodysWay(t *testing.T) {
	var busy atomic.Pointer[spec.Tag] // nothing may be asked of a session from inside it
	var armed atomic.Bool
	inside, release := make(chan struct{}), make(chan struct{})
	registry, err := session.NewRegistry(session.Options{WindowEvents: 8, Observe: func(o session.Observation) {
		if b := busy.Load(); b != nil && o.Tag == *b && o.Step.Row != nil && o.Step.Row.Trigger == spec.HandlerEmits && o.Stream == 0 && armed.CompareAndSwap(true, false) {
			close(inside)
			<-release
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	loud, err := registry.Open("loud", nil)
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := registry.Open("quiet", nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, view, err := quiet.Call(nil)
	if err != nil {
		t.Fatal(err)
	}
	oldest, err := kept.Emit([]byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 { // a thousand windows full
		if _, err := loud.Standalone().Emit([]byte("loud")); err != nil {
			t.Fatal(err)
		}
	}
	tag := loud.Tag()
	busy.Store(&tag)
	armed.Store(true)
	held := make(chan struct{})
	go func() {
		defer close(held)
		_, _ = loud.Standalone().Emit([]byte("held"))
	}()
	<-inside

	done := make(chan error, 1)
	go func() {
		done <- func() error {
			d, err := view.Next(t.Context(), nil)
			if err != nil || string(d.Payload) != "kept" {
				return fmt.Errorf("the first event: %q, %v", d.Payload, err)
			}
			for i := range 100 {
				if _, err := registry.Lookup("quiet", quiet.ID(), spec.ClientResumes); err != nil {
					return err
				}
				if _, err := kept.Emit([]byte("more")); err != nil {
					return err
				}
				if i < 3 {
					at := spec.EventID{Tag: quiet.Tag(), Stream: oldest.ID.Stream, Seq: 1, Ordinal: 1}
					if view, _, err = quiet.Resume(session.Request{Cursors: []string{at.String()}}); err != nil {
						return fmt.Errorf("what was kept has gone: %w", err)
					}
				}
				if d, err := view.Next(t.Context(), nil); err != nil || string(d.Payload) != "more" {
					return fmt.Errorf("%q, %v", d.Payload, err)
				}
			}
			other, err := registry.Open("other", nil)
			if err != nil {
				return err
			}
			return other.Terminate()
		}()
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("others wait for the busy session")
	}
	select {
	case <-held:
		t.Error("it was not held at all")
	default:
	}
	close(release)
	<-held
}

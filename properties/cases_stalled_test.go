package properties

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Stalled reader: one that stops reading while 10,000 events of 64 KiB are
// emitted. Emitting never waits, memory stays bounded, the view is cut at its
// budget, another session gets its own, and a resumption is exact or refused
// (R3, R5, R9).
func TestCase19StalledReader(t *testing.T) {
	events := 10_000
	if raceDetector {
		events = 500
	}
	synctest.Test(t, func(t *testing.T) {
		const budget = 30 * time.Second
		var got [2]int
		s := newStall(t, 2, budget, func(i int) readerKind { return [...]readerKind{readsNothing, readsAll}[i] }, func(i int) { got[i]++ })
		defer s.close()
		synctest.Wait()
		before, large := heapInUse(), strings.Repeat("x", stalledEvent)
		began := time.Now()
		var ids []string
		for n := range events {
			e, err := s.sessions[0].Standalone().Emit("said", large)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, e.ID.String())
			if n%100 == 0 {
				if _, err := s.sessions[1].Standalone().Emit("said", "small"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("emitting waited for %v", took)
		}
		if grown, most := heapInUse()-before, int64(memoryFormula(2, stalledWindow, stalledEvent)+2*viewBytes+bufferBytes+100*events); grown > most && !raceDetector {
			t.Errorf("%d bytes for %d events, the formula says %d at most", grown, events, most)
		}
		time.Sleep(2 * budget)
		synctest.Wait()
		if last, over := s.readers[0].end(); over.IsZero() || over.Sub(began) > budget+budget/4 || strings.HasSuffix(last, "required\n\n") {
			t.Errorf("cut after %v, with %q as the last thing", over.Sub(began), last)
		}
		if _, over := s.readers[1].end(); !over.IsZero() || got[1] != (events+99)/100 {
			t.Errorf("the other session's reader: %d events, over at %v", got[1], over)
		}
		// What is retained is resumed exactly, what is not is refused.
		if r := s.ask(ids[0]); r.Code != spec.ReasonCursorEvicted.Status() || !strings.Contains(r.Body.String(), string(spec.ReasonCursorEvicted)) {
			t.Errorf("resumed at the first event: %d %.200q", r.Code, r.Body)
		}
		resumed := 0
		s.attach(0, readsAll, func() { resumed++ }, "Last-Event-ID", ids[len(ids)-1-stalledWindow])
		synctest.Wait()
		if resumed != stalledWindow {
			t.Errorf("resumed at the floor came %d events, want %d", resumed, stalledWindow)
		}
	})
}

// ask resumes the first session's standalone stream, and waits for the refusal.
func (s *stall) ask(cursor string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set(streamhttp.HeaderSessionID, s.ids[0])
	r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	r.Header.Set("Last-Event-ID", cursor)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

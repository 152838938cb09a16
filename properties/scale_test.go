package properties

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

var (
	scaleSessions = flag.Int("scale.sessions", 5000, "sessions without a view of TestScaleOfSessions")
	scaleViews    = flag.Int("scale.views", 500, "sessions with a view of TestScaleOfViews")
)

// Many sessions: what it takes to open them, to find one among them, to sweep
// while nothing is due, and to expire them all. The figures are logged, those of
// docs/operating.md with -scale.sessions 1000000; what is checked is that
// nothing is lost, and that a sweep costs what is due and not what is open.
func TestScaleOfSessions(t *testing.T) {
	n := *scaleSessions
	if raceDetector {
		n = min(n, 500)
	}
	var clock atomic.Int64
	registry, err := session.NewRegistry(session.Options{
		Sessions: n, SubjectSessions: n, RememberedEnds: 1,
		Now: func() time.Time { return time.Unix(0, clock.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	ids := make([]string, n)
	before := heapInUse()
	open := each(n, func(i int) {
		s, err := registry.Open("", nil)
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = s.ID()
	})
	texts := int64(n) * 24 // of the ids, which are the test's own
	memory := heapInUse() - before - texts
	if limit := int64(memoryFormula(n, 0, 0)); memory > limit {
		t.Errorf("%d sessions take %d bytes, by the formula at most %d", n, memory, limit)
	}
	const stride = 7919 // a prime: neighbours in time are none in the table
	lookUp := each(n, func(i int) {
		if _, ok := registry.Find("", ids[i*stride%n]); !ok {
			t.Fatal("a session is gone")
		}
	})
	stranger := strings.Repeat("A", len(ids[0]))
	miss := each(n, func(int) {
		if _, err := registry.Lookup("", stranger, spec.ClientResumes); err == nil {
			t.Fatal("a session was found that never was")
		}
	})
	clock.Add(int64(time.Minute))
	registry.Sweep() // the ticks that have passed
	nothing := each(20, func(int) { registry.Sweep() })
	if got := registry.Stats().Sessions; got != n {
		t.Fatalf("%d sessions after a sweep with nothing due, want %d", got, n)
	}
	clock.Add(int64(time.Hour))
	all := each(1, func(int) { registry.Sweep() })
	if got := registry.Stats().Sessions; got != 0 {
		t.Fatalf("%d sessions after their budget", got)
	}
	if nothing > all/10 {
		t.Errorf("a sweep with nothing due took %v, one with all %d due %v", nothing, n, all)
	}
	left := heapInUse() - before - texts
	if left > memory/10+1<<20 {
		t.Errorf("%d bytes are left of %d", left, memory)
	}
	t.Logf("%d sessions: %d bytes each; open %v, find %v, find nobody %v each; sweep with nothing due %v, with all due %v each; left %d bytes",
		n, memory/int64(n), open, lookUp, miss, nothing, all/time.Duration(n), left)
	runtime.KeepAlive(ids)
}

// each returns what one of n takes.
func each(n int, f func(int)) time.Duration {
	began := time.Now()
	for i := range n {
		f(i)
	}
	return time.Since(began) / time.Duration(n)
}

// A scaleWriter is an HTTP response in memory: it counts what it is given.
type scaleWriter struct {
	header http.Header
	begun  func()
	got    func()
}

func (w *scaleWriter) Header() http.Header              { return w.header }
func (w *scaleWriter) WriteHeader(int)                  { w.begun() }
func (w *scaleWriter) SetWriteDeadline(time.Time) error { return nil }
func (w *scaleWriter) SetReadDeadline(time.Time) error  { return nil }
func (w *scaleWriter) Flush()                           {}
func (w *scaleWriter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), `"method":"hello"`) {
		w.got()
	}
	return len(b), nil
}

// Many sessions with a view each, on connections in memory: what a view takes
// beside its session, how soon an event for each of them is on its wire, and
// that everything is given back when the clients have gone. The connection's own
// share, net/http's and the kernel's, is not in it.
func TestScaleOfViews(t *testing.T) {
	n := *scaleViews
	if raceDetector {
		n = min(n, 100)
	}
	var mu sync.Mutex
	var sessions []*streamhttp.Session
	handler, err := streamhttp.NewHandler(func(_ context.Context, m *streamhttp.Message) {
		if m.Method == "initialize" {
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
			mu.Lock()
			sessions = append(sessions, m.Session)
			mu.Unlock()
		}
	}, streamhttp.Options{Session: session.Options{Sessions: n, SubjectSessions: n}})
	if err != nil {
		t.Fatal(err)
	}
	defer handler.Close()
	empty, goroutines := heapInUse(), runtime.NumGoroutine()
	ids := make([]string, n)
	open := each(n, func(i int) {
		r := httptest.NewRequest("POST", "http://127.0.0.1/", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if ids[i] = w.Header().Get(streamhttp.HeaderSessionID); ids[i] == "" {
			t.Fatalf("no session: %d %s", w.Code, w.Body)
		}
	})
	without := heapInUse()

	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	var begun, got, gone sync.WaitGroup
	attach := each(1, func(int) {
		for _, id := range ids {
			begun.Add(1)
			got.Add(1)
			w := &scaleWriter{header: http.Header{}, begun: begun.Done, got: got.Done}
			r, err := http.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "text/event-stream")
			r.Header.Set(streamhttp.HeaderSessionID, id)
			r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
			gone.Go(func() {
				defer func() { _ = recover() }() // a view whose client has gone aborts its handler
				handler.ServeHTTP(w, r)
			})
		}
		begun.Wait()
	})
	with := heapInUse()
	tell := each(1, func(int) {
		for _, s := range sessions {
			if _, err := s.Standalone().Emit("hello", nil); err != nil {
				t.Fatal(err)
			}
		}
		got.Wait()
	})
	told := heapInUse()
	leave()
	gone.Wait()
	views := 0
	for _, s := range sessions {
		views += s.Views()
	}
	after, running := heapInUse(), runtime.NumGoroutine()
	if views > 0 || running > goroutines+10 {
		t.Errorf("%d views and %d goroutines are left, before there were %d", views, running, goroutines)
	}
	t.Logf("%d sessions with a view: a session %d bytes, a view %d more, once it has carried an event %d more; left of it %d; open %v, attach %v, an event to each %v, each",
		n, (without-empty)/int64(n), (with-without)/int64(n), (told-with)/int64(n), (after-without)/int64(n), open, attach/time.Duration(n), tell/time.Duration(n))
	runtime.KeepAlive(ids)
}

package properties

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// Cases from practice, under load and on bad lines.

// Burst: six events within one tick of the clock, which also steps back; a
// resume at each of them. Order is that of emission, and nothing depends on
// the time of day.
func TestCase03Burst(t *testing.T) {
	for name, step := range map[string]time.Duration{"one tick": 0, "a clock that steps back": -time.Second} {
		t.Run(name, func(t *testing.T) {
			clock := &jumpingClock{}
			s := newStage(t, streamhttp.Options{Session: session.Options{Now: clock.now}})
			p := s.open()
			r, m := s.call(p)
			var ids []string
			for i := 1; i <= 6; i++ {
				ids = append(ids, emit(t, m.Stream, "e", i, i)...)
				clock.jump(step)
			}
			r.drop()
			for i, id := range ids[:5] {
				same(t, fmt.Sprintf("resumed at %d", i+1), p.attach(id).read(5-i), span("e", i+2, 6))
			}
			answer(t, m.Stream, "done")
			same(t, "resumed at 6", p.attach(ids[5]).rest(), []string{"done"})
		})
	}
}

// Seam: an append is held at a gate, inside its critical section, and a resume
// comes meanwhile; and the other way round. The event is delivered exactly once
// in both orders.
func TestCase08Seam(t *testing.T) {
	for _, first := range []spec.Trigger{spec.HandlerEmits, spec.ClientResumes} {
		t.Run(first.String()+" is held", func(t *testing.T) {
			var armed atomic.Bool
			inside, release := make(chan struct{}), make(chan struct{})
			registry, err := session.NewRegistry(session.Options{Observe: func(o session.Observation) {
				if o.Step.Row != nil && o.Step.Row.Trigger == first && armed.CompareAndSwap(true, false) {
					close(inside)
					<-release
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer registry.Close()
			s, err := registry.Open("", nil)
			if err != nil {
				t.Fatal(err)
			}
			stream, view, err := s.Call(nil)
			if err != nil {
				t.Fatal(err)
			}
			before, err := stream.Emit([]byte("e1"))
			if err != nil {
				t.Fatal(err)
			}
			if err := view.Break(); err != nil {
				t.Fatal(err)
			}
			var resumed *session.View
			emits := func() {
				if _, err := stream.Emit([]byte("e2")); err != nil {
					t.Error(err)
				}
			}
			resumes := func() {
				var err error
				if resumed, _, err = s.Resume(session.Request{Cursors: []string{before.ID.String()}}); err != nil {
					t.Error(err)
				}
			}
			one, other := emits, resumes
			if first == spec.ClientResumes {
				one, other = resumes, emits
			}
			armed.Store(true)
			var both sync.WaitGroup
			both.Go(one)
			<-inside
			both.Go(other)
			time.Sleep(20 * time.Millisecond) // it reaches the lock, or comes later: both are the seam
			close(release)
			both.Wait()
			if _, err := stream.Answer([]byte("done")); err != nil {
				t.Fatal(err)
			}
			var got []string
			for d, err := range resumed.Events(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(d.Payload))
			}
			same(t, "the resumed view", got, []string{"e2", "done"})
		})
	}
}

// Long session: a million calls in one session. What it holds afterwards is
// what the caps allow, and not what it has done.
func TestCase16LongSession(t *testing.T) {
	registry, err := session.NewRegistry(session.Options{WindowEvents: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	s, err := registry.Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte(strings.Repeat("x", 256))
	buf := make([]byte, 0, 512)
	calls := func(n int) {
		for range n {
			stream, view, err := s.Call(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Answer(payload); err != nil {
				t.Fatal(err)
			}
			if d, err := view.Next(t.Context(), buf); err != nil || !d.Last {
				t.Fatalf("%+v, %v", d, err)
			}
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	total := 1_000_000
	if raceDetector {
		total = 100_000
	}
	calls(10_000) // the window and the records are full
	before := heap()
	calls(total - 10_000)
	after := heap()
	// A record for each of a million streams would be tens of megabytes.
	if grown := after - before; grown > 1<<20 {
		t.Errorf("%d calls left %d bytes more than 10,000 did", total, grown)
	}
}

// Half-open: the first connection is held and nobody reads it; the second one
// is answered at once, and the first gets nothing more.
func TestCase20HalfOpen(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	first, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 3)
	second := p.attach(ids[0]) // or it waits for the first one until the test gives up
	emit(t, m.Stream, "e", 4, 5)
	same(t, "the second", second.read(4), span("e", 2, 5))
	if got := first.over(); len(got) > 3 {
		t.Errorf("the first got %v", got)
	}
	answer(t, m.Stream, "done")
	same(t, "and then", second.rest(), []string{"done"})
}

// Too large: an event above the cap, and one that no window could hold. Typed,
// before it gets a seq, and the stream goes on.
func TestCase48TooLarge(t *testing.T) {
	for name, o := range map[string]session.Options{
		"above the cap of one event": {EventBytes: 2000},
		"above what a window holds":  {WindowBytes: 2000, EventBytes: 1999},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, streamhttp.Options{Session: o})
			p := s.open()
			r, m := s.call(p)
			emit(t, m.Stream, "e", 1, 1)
			_, err := m.Stream.Emit("notifications/said", map[string]string{"text": strings.Repeat("x", 2000)})
			large := (*window.TooLargeError)(nil)
			if !errors.Is(err, spec.ReasonEventTooLarge) || !errors.As(err, &large) || large.Size < 2000 || large.Max >= 2001 {
				t.Fatalf("too large: %v", err)
			}
			ids := emit(t, m.Stream, "e", 2, 2)
			if id, err := spec.ParseEventID(ids[0]); err != nil || id.Seq != 2 || id.Ordinal != 2 {
				t.Errorf("the next event is %s, %v: the refused one used up a number", ids[0], err)
			}
			answer(t, m.Stream, "done")
			same(t, "the view", r.rest(), []string{"e1", "e2", "done"})
		})
	}
}

// A quietLine is a connection through a proxy that forgets it once nothing has
// passed for a while: it tells nobody, and nothing passes any more.
type quietLine struct {
	net.Conn
	patience time.Duration
	line     *quietState
}

type quietState struct {
	mu   sync.Mutex
	last time.Time
	gone bool
	lost func()
}

func (q quietLine) passes() bool {
	q.line.mu.Lock()
	defer q.line.mu.Unlock()
	if now := time.Now(); now.Sub(q.line.last) >= q.patience && !q.line.gone {
		q.line.gone = true
		q.line.lost()
	} else {
		q.line.last = now
	}
	return !q.line.gone
}

func (q quietLine) Write(b []byte) (int, error) {
	if !q.passes() {
		return len(b), nil // taken, and never delivered
	}
	return q.Conn.Write(b)
}

// Quiet line: a proxy forgets connections that are silent for 20 s. Keep-alives
// hold them. Where they do not, because the proxy has less patience than they
// need, the client notices within 45 s and resumes.
func TestCase50QuietLine(t *testing.T) {
	for _, test := range []struct {
		name     string
		patience time.Duration
		quiet    time.Duration // of the call: where nothing gets through for long, its stream is suspended (R26)
		lost     bool
	}{{"keep-alives hold it", 20 * time.Second, 8 * time.Minute, false}, {"they come too late", 10 * time.Second, 100 * time.Second, true}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lost, got []time.Time // when a line was forgotten, when the client asked again
				var mu sync.Mutex
				app := func(ctx context.Context, m *streamhttp.Message) {
					if m.Method == "work" {
						select {
						case <-time.After(test.quiet):
						case <-ctx.Done():
						}
						m.Stream.Answer(map[string]string{"text": "done"})
						return
					}
					m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
				}
				began := time.Now()
				line := newBubble(t, app, streamhttp.Options{Session: session.Options{Now: time.Now}}, func(near, far net.Conn) (net.Conn, net.Conn) {
					state := &quietState{last: time.Now(), lost: func() {
						mu.Lock()
						lost = append(lost, time.Now())
						mu.Unlock()
					}}
					return quietLine{near, test.patience, state}, quietLine{far, test.patience, state}
				})
				line.asked = func(r *http.Request) {
					if r.Method == "GET" && r.Header.Get("Last-Event-ID") != "" {
						mu.Lock()
						got = append(got, time.Now())
						mu.Unlock()
					}
				}
				c, log := line.dial(streamhttp.DialOptions{Driver: client.Options{NoStandalone: true}})
				text, err := workWithin(c, time.Hour)
				if err != nil || text != "done" {
					t.Fatalf("%q, %v", text, err)
				}
				if took := time.Since(began); took < test.quiet || took > test.quiet+time.Minute {
					t.Errorf("the answer came after %v", took)
				}
				same(t, "applied", log.all(), []string{"done"})
				mu.Lock()
				defer mu.Unlock()
				if !test.lost {
					if len(lost)+len(got) > 0 {
						t.Errorf("%d lines were forgotten, %d resumptions", len(lost), len(got))
					}
					return
				}
				if len(got) < 2 {
					t.Errorf("%d resumptions in %v", len(got), test.quiet)
				}
				before := began
				for _, at := range got {
					if at.Sub(before) > 46*time.Second {
						t.Errorf("noticed after %v", at.Sub(before))
					}
					before = at
				}
			})
		})
	}
}

// Quiet call: a call of 20 minutes without any output, behind a balancer that
// recycles every connection after a minute. It is resumed for ever, never
// suspended, never cancelled, and its answer comes once.
func TestCase56QuietCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const quiet = 20 * time.Minute
		var cancelled atomic.Bool
		app := func(ctx context.Context, m *streamhttp.Message) {
			if m.Method == "work" {
				select {
				case <-time.After(quiet):
				case <-ctx.Done():
					cancelled.Store(true)
				}
				m.Stream.Answer(map[string]string{"text": "done"})
				return
			}
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		}
		line := newBubble(t, app, streamhttp.Options{Session: session.Options{Now: time.Now}}, func(near, far net.Conn) (net.Conn, net.Conn) {
			time.AfterFunc(time.Minute, func() { near.Close(); far.Close() })
			return near, far
		})
		var resumptions atomic.Int64
		line.asked = func(r *http.Request) {
			if r.Method == "GET" && r.Header.Get("Last-Event-ID") != "" {
				resumptions.Add(1)
			}
		}
		var suspended atomic.Bool
		c, log := line.dial(streamhttp.DialOptions{Driver: client.Options{NoStandalone: true, OnStream: func(s client.StreamReport) {
			suspended.Store(suspended.Load() || s.Kind == client.StreamSuspended)
		}}})
		text, err := workWithin(c, time.Hour)
		if err != nil || text != "done" {
			t.Fatalf("%q, %v", text, err)
		}
		same(t, "applied", log.all(), []string{"done"})
		if suspended.Load() || cancelled.Load() {
			t.Errorf("suspended: %v, cancelled: %v", suspended.Load(), cancelled.Load())
		}
		if n := resumptions.Load(); n < 19 {
			t.Errorf("%d resumptions in %v of minutes", n, quiet)
		}
	})
}

// A bubble is a server and clients of it over lines in memory, in virtual time.
type bubble struct {
	t         *testing.T
	transport *http.Transport
	asked     func(*http.Request)
	handler   *streamhttp.Handler
}

// newBubble serves app; wrap makes a line of a connection's two ends, the
// client's first.
func newBubble(t *testing.T, app streamhttp.App, o streamhttp.Options, wrap func(near, far net.Conn) (net.Conn, net.Conn)) *bubble {
	t.Helper()
	o.Session.Observe = wired.server(o.Session.Observe)
	handler, err := streamhttp.NewHandler(app, o)
	if err != nil {
		t.Fatal(err)
	}
	b := &bubble{t: t, handler: handler}
	listener := newWiredListener()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.asked != nil {
			b.asked(r)
		}
		handler.ServeHTTP(w, r)
	})}
	served := make(chan struct{})
	go func() { server.Serve(listener); close(served) }()
	b.transport = &http.Transport{DisableCompression: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := newWiredPipe()
		near, far = wrap(near, far)
		listener.conns <- far
		return near, nil
	}}
	t.Cleanup(func() {
		b.transport.CloseIdleConnections()
		handler.Close()
		server.Close()
		<-served
	})
	return b
}

func (b *bubble) dial(o streamhttp.DialOptions) (*streamhttp.Client, *appliedLog) {
	o.Transport.HTTP = b.transport
	return dial(b.t, "http://bubble/mcp", o)
}

func workWithin(c *streamhttp.Client, limit time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	result, err := c.Call(ctx, "work", nil, nil)
	return textOf(slices.Concat([]byte(`{"jsonrpc":"2.0","id":0,"result":`), result, []byte("}"))), err
}

// Finished: a resume at the head of a finished stream, at its last but one
// event, and after it was forgotten.
func TestCase39Finished(t *testing.T) {
	clock := &jumpingClock{}
	s := newStage(t, streamhttp.Options{Session: session.Options{Now: clock.now}})
	p := s.open()
	r, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 2)
	answer(t, m.Stream, "done")
	same(t, "uncut", r.rest(), []string{"e1", "e2", "done"})
	head := elsewhere(t, ids[1], func(id *spec.EventID) { id.Seq++; id.Ordinal++ })

	if complete := p.attach(head); complete.status != http.StatusNoContent {
		t.Errorf("at the head: %d %s, want 204", complete.status, complete.all())
	}
	same(t, "at the last but one", p.attach(ids[1]).rest(), []string{"done"})
	clock.jump(6 * time.Minute) // nothing of it is retained
	s.await(spec.RetentionEnds)
	p.attach(head).refused(spec.ReasonCursorEvicted)
	p.attach(ids[1]).refused(spec.ReasonCursorEvicted)
}

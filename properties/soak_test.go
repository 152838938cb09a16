package properties

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/fault"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
)

var (
	soakFor  = flag.Duration("soak", 2*time.Second, "how long TestSoak runs")
	soakSeed = flag.Uint64("soak.seed", 0, "seed of TestSoak; 0: drawn")
)

// Soak: everything at once, for as long as -soak says, best under the race
// detector: real servers on real sockets that restart and drain, clients that
// call, resume, restart and give up, behind a proxy that breaks connections,
// readers that never read, sessions that nobody ends. Afterwards nothing is
// left: goroutines, file descriptors, memory.
//
//	go test ./properties -race -run Soak -soak 10m
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d, %v", seed, *soakFor)
	before := leftovers()
	s := newSoak(t, seed)
	ctx, cancel := context.WithTimeout(context.Background(), *soakFor)
	defer cancel()
	var running sync.WaitGroup
	for i := range 12 {
		running.Go(func() { s.client(ctx, uint64(i)) })
	}
	for i := range 3 {
		running.Go(func() { s.stranger(ctx, uint64(i)) })
	}
	running.Go(func() { s.weather(ctx) })
	running.Wait()
	s.stop()
	t.Logf("%d calls, %d answered, %d unknown, %d other; %d epochs abandoned, %d restarts of a client, %d of the server, %d connections",
		s.calls.Load(), s.answered.Load(), s.unknown.Load(), s.others.Load(), s.abandoned.Load(), s.clientRestarts.Load(), s.serverRestarts.Load(), s.proxy.Connections())
	if s.answered.Load() == 0 || s.proxy.Connections() < 20 {
		t.Error("nothing was soaked")
	}
	s.mu.Lock()
	for label, n := range s.ran {
		if n.Load() > 1 {
			t.Errorf("%s ran %d times", label, n.Load())
		}
	}
	s.ran = nil
	s.mu.Unlock()
	var after leftover
	for range 100 { // connections end in their own time
		if after = leftovers(); after.goroutines <= before.goroutines+2 && after.files <= before.files+2 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("before %+v, after %+v", before, after)
	if after.goroutines > before.goroutines+2 {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines are left of %d:\n%s", after.goroutines, before.goroutines, buf[:runtime.Stack(buf, true)])
	}
	if after.files > before.files+2 {
		t.Errorf("%d file descriptors are open, %d were", after.files, before.files)
	}
	if grown := after.heap - before.heap; grown > 32<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// A leftover is what a process holds.
type leftover struct {
	goroutines, files int
	heap              int64
}

func leftovers() (l leftover) {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	l.goroutines, l.heap = runtime.NumGoroutine(), int64(m.HeapAlloc)
	if files, err := os.ReadDir("/proc/self/fd"); err == nil { // elsewhere: 0 and 0
		l.files = len(files)
	}
	return l
}

type soak struct {
	t     *testing.T
	seed  uint64
	proxy *fault.Proxy

	mu      sync.Mutex
	server  *httptest.Server
	handler *streamhttp.Handler
	ran     map[string]*atomic.Int64

	calls, answered, unknown, others, abandoned, clientRestarts, serverRestarts atomic.Int64
}

func newSoak(t *testing.T, seed uint64) *soak {
	s := &soak{t: t, seed: seed, ran: map[string]*atomic.Int64{}}
	s.serve()
	seeded := fault.Seeded(seed, 6000, 300*time.Millisecond)
	var err error
	if s.proxy, err = fault.NewProxy(s.server.Listener.Addr().String(), seeded); err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts a server, and returns what ends the one before.
func (s *soak) serve() (end func(drain bool)) {
	handler, err := streamhttp.NewHandler(s.app, streamhttp.Options{
		KeepAlive: time.Second,
		Session:   session.Options{WindowEvents: 32, DetachBudget: time.Second, SessionBudget: 3 * time.Second, Observe: wired.server(nil)},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	old, oldHandler := s.server, s.handler
	s.handler, s.server = handler, httptest.NewUnstartedServer(handler)
	s.server.Config.ErrorLog = silent
	s.server.Start()
	s.mu.Unlock()
	return func(drain bool) {
		if drain {
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			_ = oldHandler.Drain(ctx)
			cancel()
		}
		oldHandler.Close()
		old.CloseClientConnections()
		old.Close()
	}
}

// app: "work" emits as many events as asked, and answers.
func (s *soak) app(ctx context.Context, m *streamhttp.Message) {
	switch m.Method {
	case "initialize":
		m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
	case "work":
		var p soakWork
		if err := json.Unmarshal(m.Params, &p); err != nil {
			panic(err)
		}
		s.mu.Lock()
		ran := s.ran[p.Label]
		s.mu.Unlock()
		ran.Add(1)
		for i := 1; i <= p.Events; i++ {
			select {
			case <-time.After(p.Gap):
			case <-ctx.Done():
				return
			}
			if _, err := m.Stream.Emit("notifications/said", map[string]string{"text": fmt.Sprintf("%s#%d", p.Label, i), "more": strings.Repeat("x", p.Size)}); err != nil {
				return
			}
			_, _ = m.Session.Standalone().Emit("notifications/said", map[string]string{"text": "aside"})
		}
		m.Stream.Answer(map[string]string{"text": p.Label + " done"})
	}
}

type soakWork struct {
	Label  string        `json:"label"`
	Events int           `json:"events"`
	Size   int           `json:"size"`
	Gap    time.Duration `json:"gap"`
}

// client is one application that does not give up until the time is over.
func (s *soak) client(ctx context.Context, number uint64) {
	r := rand.New(rand.NewPCG(s.seed, number))
	store := &client.MemoryStore{}
	for life := 0; ctx.Err() == nil; life++ {
		if life > 0 {
			s.clientRestarts.Add(1)
		}
		s.life(ctx, r, store, fmt.Sprintf("%d.%d", number, life))
	}
}

// life is one process of a client: it goes on where the record of the one
// before stands.
func (s *soak) life(ctx context.Context, r *rand.Rand, store client.Store, name string) {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 2}
	defer transport.CloseIdleConnections()
	var mu sync.Mutex
	applied := map[string][]string{} // by label
	o := streamhttp.DialOptions{Store: store, Transport: streamhttp.TransportOptions{HTTP: transport}}
	o.Driver.BackoffBase, o.Driver.BackoffMax = 5*time.Millisecond, 100*time.Millisecond
	o.Driver.Core.Observe = wired.client(nil)
	o.Apply = func(ev client.Event) error {
		text := textOf(ev.Payload)
		label, _, _ := strings.Cut(text, "#")
		mu.Lock()
		defer mu.Unlock()
		applied[label] = append(applied[label], text)
		return nil
	}
	dialling, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	c, err := streamhttp.Dial(dialling, s.proxy.URL(), o)
	cancel()
	if err != nil {
		time.Sleep(20 * time.Millisecond)
		return
	}
	defer c.Close()
	for n := range 1 + r.IntN(12) {
		if ctx.Err() != nil {
			return
		}
		p := soakWork{Label: fmt.Sprintf("%s.%d", name, n), Events: r.IntN(20), Size: r.IntN(2000), Gap: time.Duration(r.IntN(10)) * time.Millisecond}
		s.mu.Lock()
		s.ran[p.Label] = new(atomic.Int64)
		s.mu.Unlock()
		calling, cancel := context.WithTimeout(context.Background(), time.Duration(1+r.IntN(20))*time.Second)
		_, err := c.Call(calling, "work", p, nil)
		cancel()
		s.calls.Add(1)
		mu.Lock()
		got := slices.Clone(applied[p.Label])
		mu.Unlock()
		for i, text := range got {
			if text != fmt.Sprintf("%s#%d", p.Label, i+1) {
				s.t.Errorf("seed %d: event %d of %s is %q", s.seed, i+1, p.Label, text)
			}
		}
		switch unknown := (*client.UnknownError)(nil); {
		case err == nil:
			if s.answered.Add(1); len(got) != p.Events {
				s.t.Errorf("seed %d: %s was answered after %d of %d events", s.seed, p.Label, len(got), p.Events)
			}
		case errors.As(err, &unknown):
			s.unknown.Add(1)
		default:
			s.others.Add(1)
		}
		if err != nil {
			s.recover(c)
		}
	}
}

// recover decides about what is unknown, and opens the next epoch.
func (s *soak) recover(c *streamhttp.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, u := range c.Driver().Unknowns() {
		_ = c.Driver().Resolve(ctx, u.Stream, client.GaveUp)
	}
	if c.Open(ctx) == nil {
		s.abandoned.Add(1)
	}
	for _, u := range c.Driver().Unknowns() {
		_ = c.Driver().Resolve(ctx, u.Stream, client.GaveUp)
	}
}

// stranger opens sessions and leaves them: it reads nothing, or half of
// something, and ends none.
func (s *soak) stranger(ctx context.Context, number uint64) {
	r := rand.New(rand.NewPCG(s.seed, 1000+number))
	for n := 0; ctx.Err() == nil; n++ {
		func() {
			transport := &http.Transport{DisableCompression: true}
			defer transport.CloseIdleConnections()
			rude, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(600))*time.Millisecond)
			defer cancel()
			post := func(method, session, body string) *http.Response {
				request, _ := http.NewRequestWithContext(rude, method, s.proxy.URL(), strings.NewReader(body))
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Accept", "application/json, text/event-stream")
				if session != "" {
					request.Header.Set("Mcp-Session-Id", session)
				}
				res, err := transport.RoundTrip(request)
				if err != nil {
					return nil
				}
				return res
			}
			opened := post("POST", "", initializeText)
			if opened == nil {
				return
			}
			id := opened.Header.Get("Mcp-Session-Id")
			io.Copy(io.Discard, opened.Body)
			opened.Body.Close()
			label := fmt.Sprintf("s%d.%d", number, n)
			s.mu.Lock()
			s.ran[label] = new(atomic.Int64)
			s.mu.Unlock()
			text, _ := json.Marshal(soakWork{Label: label, Events: 50, Size: 50_000})
			if res := post("POST", id, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"work","params":%s}`, text)); res != nil {
				_, _ = io.ReadFull(res.Body, make([]byte, r.IntN(100_000)))
				<-rude.Done()
				res.Body.Close()
			}
		}()
	}
}

// weather breaks all connections now and then, restarts the server, drains it.
func (s *soak) weather(ctx context.Context) {
	r := rand.New(rand.NewPCG(s.seed, 2000))
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+r.IntN(1500)) * time.Millisecond):
		}
		if r.IntN(3) > 0 {
			s.proxy.ResetAll()
			continue
		}
		end := s.serve()
		s.serverRestarts.Add(1)
		s.mu.Lock()
		s.proxy.Target(s.server.Listener.Addr().String())
		s.mu.Unlock()
		end(r.IntN(2) == 0)
	}
}

func (s *soak) stop() {
	s.proxy.Close()
	s.handler.Close()
	s.server.CloseClientConnections()
	s.server.Close()
}

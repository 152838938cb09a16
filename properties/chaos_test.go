package properties

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Chaos: the real client over wires, in virtual time, with a server that
// answers anything, a store that fails in every way, and callers that call,
// listen, abandon, terminate and open again. Where the wired runs meet a right
// server, this one meets every wrong one, and comes to the rows that nobody
// reaches otherwise. Whatever happens, an event of ours is applied at most once
// and in order, nothing is applied behind a fence, and every call ends once.

// A chaosServer opens sessions, and does as it likes with everything else.
type chaosServer struct {
	mu      sync.Mutex
	r       *rand.Rand
	opened  int
	session string
	foreign bool // the session's event ids are not of our form
	seq     uint64
	streams uint64
	heads   map[uint64]uint64 // by stream
	owner   map[uint64]json.RawMessage
}

func (s *chaosServer) chance(n int) bool { return s.r.IntN(n) == 0 }

// next is the id of the next event of a stream, right or, seldom, wrong.
func (s *chaosServer) next(stream uint64) string {
	s.seq++
	s.heads[stream]++
	if s.foreign {
		return fmt.Sprintf("%d_%d", stream, s.heads[stream])
	}
	id := spec.EventID{Tag: spec.TagOf(s.session, ""), Seq: s.seq, Stream: stream, Ordinal: s.heads[stream]}
	switch s.r.IntN(40) {
	case 0:
		id.Ordinal++
	case 1:
		id.Tag = spec.TagOf("another", "")
	case 2:
		return "foreign-1"
	case 3:
		return ""
	}
	return id.String()
}

func (s *chaosServer) position(stream uint64) string {
	return spec.EventID{Tag: spec.TagOf(s.session, ""), Seq: 0, Stream: stream}.String()
}

// A burst is what a view says, decided at once and written without the lock.
type burst struct {
	head    func(http.Header)
	status  int
	text    []string
	pause   time.Duration // before the second half of the text
	abort   bool          // else the end is clean
	forever bool          // nothing more comes, and no end
}

func (b burst) write(w http.ResponseWriter, r *http.Request) {
	if b.head != nil {
		b.head(w.Header())
	}
	if b.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(b.status)
	for i, text := range b.text {
		if i == len(b.text)/2 && b.pause > 0 {
			w.(http.Flusher).Flush()
			select {
			case <-time.After(b.pause):
			case <-r.Context().Done():
			}
		}
		fmt.Fprint(w, text)
	}
	w.(http.Flusher).Flush()
	if b.forever {
		<-r.Context().Done()
	}
	if b.abort {
		panic(http.ErrAbortHandler)
	}
}

// answer decides what comes of a request for a view: of a call, of the
// standalone stream, or of a resumption.
func (s *chaosServer) answer(stream uint64, request json.RawMessage, cursor string) burst {
	session := s.session
	if s.chance(15) {
		session = []string{"", "another"}[s.r.IntN(2)]
	}
	named := func(h http.Header) {
		if session != "" {
			h.Set("Mcp-Session-Id", session)
		}
	}
	switch s.r.IntN(30) {
	case 0, 1: // a refusal
		if s.chance(2) { // typed, as ours are
			reason := spec.WireReasons()[s.r.IntN(len(spec.WireReasons()))]
			return burst{head: func(h http.Header) { named(h); h.Set("Content-Type", "application/json") }, status: reason.Status(),
				text: []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no","data":{"reason":%q}}}`, orSome(request), reason)}}
		}
		status := []int{400, 401, 403, 404, 405, 408, 409, 429, 503}[s.r.IntN(9)]
		return burst{head: named, status: status}
	case 2:
		return burst{head: named, status: http.StatusNoContent}
	case 3:
		return burst{head: func(h http.Header) { named(h); h.Set("Content-Type", "application/json") }, status: 200,
			text: []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"once"}}`, orSome(request))}}
	case 4:
		return burst{} // no answer at all
	case 5:
		return burst{head: named, status: http.StatusAccepted}
	}
	b := burst{status: 200, pause: time.Duration(s.r.IntN(20)) * time.Second, abort: s.chance(3), forever: s.chance(20)}
	at := cursor
	if at == "" {
		at = s.position(stream)
	}
	if s.chance(30) {
		at = s.position(stream + 1)
	}
	announces := !s.chance(3) && !s.foreign
	b.head = func(h http.Header) {
		named(h)
		h.Set("Content-Type", "text/event-stream")
		if announces {
			h.Set("Reattach-Position", at)
		}
	}
	if s.chance(3) && !s.foreign {
		b.text = append(b.text, fmt.Sprintf("id: %s\ndata: \n\n", at))
	}
	for range s.r.IntN(4) {
		switch s.r.IntN(12) {
		case 0:
			b.text = append(b.text, ": alive\n")
		case 1:
			b.text = append(b.text, fmt.Sprintf("id: %s\ndata: \n\n", s.next(stream))) // a position that moves
		case 2:
			b.text = append(b.text, "id\ndata: \n\n") // clears
		case 3:
			b.text = append(b.text, "retry: 10\n\n")
		default:
			b.text = append(b.text, s.event(stream, `"method":"notifications/said","params":{"text":"x"}`))
		}
	}
	if request != nil && s.chance(2) {
		b.text = append(b.text, s.event(stream, fmt.Sprintf(`"id":%s,"result":{"text":"done"}`, request)))
	}
	return b
}

func orSome(request json.RawMessage) json.RawMessage {
	if request == nil {
		return json.RawMessage("7")
	}
	return request
}

func (s *chaosServer) event(stream uint64, message string) string {
	text := ""
	if id := s.next(stream); id != "" {
		text = "id: " + id + "\n"
	}
	return text + `data: {"jsonrpc":"2.0",` + message + "}\n\n"
}

func (s *chaosServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	json.NewDecoder(r.Body).Decode(&m)
	s.mu.Lock()
	b := s.decide(r, m.ID, m.Method)
	wait := time.Duration(0)
	if s.chance(4) {
		wait = time.Duration(s.r.IntN(8000)) * time.Millisecond
	}
	s.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-r.Context().Done():
	}
	b.write(w, r)
}

func (s *chaosServer) decide(r *http.Request, id json.RawMessage, method string) burst {
	switch {
	case r.Method == http.MethodDelete:
		return burst{status: []int{200, 204, 404}[s.r.IntN(3)]}
	case method == "initialize":
		if s.chance(8) {
			return burst{status: 503}
		}
		s.opened++
		s.session, s.seq, s.streams = fmt.Sprintf("session-%d", s.opened), 0, 0
		s.foreign = s.chance(4)
		s.heads, s.owner = map[uint64]uint64{}, map[uint64]json.RawMessage{}
		session, standalone := s.session, ""
		if !s.chance(3) && !s.foreign {
			standalone = s.position(0)
		}
		return burst{status: 200, head: func(h http.Header) {
			h.Set("Content-Type", "application/json")
			h.Set("Mcp-Session-Id", session)
			if standalone != "" {
				h.Set("Reattach-Standalone", standalone)
			}
		}, text: []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, orSome(id))}}
	case r.Header.Get("Mcp-Session-Id") != s.session:
		return burst{status: 404}
	case r.Method == http.MethodGet:
		cursor := r.Header.Get("Last-Event-ID")
		if cursor == "" {
			return s.answer(0, nil, "")
		}
		stream := uint64(0)
		if p, err := spec.ParseEventID(cursor); err == nil {
			stream = p.Stream
			if !s.chance(8) {
				s.heads[stream] = p.Ordinal // it goes on there, but numbers the session's way
			}
		}
		return s.answer(stream, s.owner[stream], cursor)
	case id == nil:
		return burst{status: []int{202, 202, 202, 202, 202, 404, 500}[s.r.IntN(7)]}
	default:
		s.streams++
		s.owner[s.streams] = id
		return s.answer(s.streams, id, "")
	}
}

// A chaosStore is a store in memory that fails: in passing, for good, without
// knowing whether it did, and late.
type chaosStore struct {
	*client.MemoryStore
	mu      sync.Mutex
	r       *rand.Rand
	applied []client.Event
	fault   error
	seen    map[string]bool
}

func (s *chaosStore) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	s.mu.Lock()
	what, wait := s.r.IntN(40), time.Duration(0)
	if s.r.IntN(4) == 0 {
		wait = time.Duration(s.r.IntN(9000)) * time.Millisecond
	}
	s.mu.Unlock()
	time.Sleep(wait)
	switch what {
	case 0:
		return client.Record{}, fmt.Errorf("another process: %w", spec.ReasonRecordStale)
	case 1, 2:
		return client.Record{}, errors.New("the disk is full")
	case 3:
		if what%2 == 1 {
			_, _ = s.MemoryStore.Commit(ctx, ch, events)
		}
		return client.Record{}, client.ErrUncertain
	}
	record, err := s.MemoryStore.Commit(ctx, ch, events)
	if err == nil {
		s.note(record, events)
	}
	return record, err
}

// note judges what was applied: each event of ours once.
func (s *chaosStore) note(record client.Record, events []client.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range events {
		if id, err := spec.ParseEventID(ev.ID); err == nil && len(ev.Payload) > 0 {
			if s.seen[ev.ID] {
				s.fault = errors.Join(s.fault, fmt.Errorf("%s was applied twice", ev.ID))
			}
			s.seen[ev.ID] = true
			if id.Tag != record.Tag {
				s.fault = errors.Join(s.fault, fmt.Errorf("%s was applied in the epoch of %s", ev.ID, record.Tag))
			}
		}
		if record.State != client.RecordOpen {
			s.fault = errors.Join(s.fault, fmt.Errorf("applied in state %v: %+v", record.State, ev))
		}
		s.applied = append(s.applied, ev)
	}
}

// TestChaos runs so many seeds that the client comes to each of its rows some
// times: TestMain holds that against the tables.
func TestChaos(t *testing.T) {
	seeds := uint64(1200)
	if raceDetector {
		seeds = 200
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func chaos(t *testing.T, seed uint64) {
	server := &chaosServer{r: rand.New(rand.NewPCG(seed, 1)), heads: map[uint64]uint64{}, owner: map[uint64]json.RawMessage{}}
	listener, served := newWiredListener(), make(chan struct{})
	hs := &http.Server{Handler: server, ErrorLog: silent}
	go func() { hs.Serve(listener); close(served) }()
	away := false
	var mu sync.Mutex
	dialer := func(context.Context, string, string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if away {
			return nil, &net.OpError{Op: "dial", Err: errors.New("nobody is there")}
		}
		near, far := newWiredPipe()
		listener.conns <- far
		return near, nil
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true, DialContext: dialer}
	tr, err := streamhttp.NewTransport("http://chaos/mcp", streamhttp.TransportOptions{HTTP: transport})
	if err != nil {
		t.Fatal(err)
	}
	store := &chaosStore{MemoryStore: &client.MemoryStore{}, r: rand.New(rand.NewPCG(seed, 2)), seen: map[string]bool{}}
	outcomes := map[client.StreamID]int{}
	r := rand.New(rand.NewPCG(seed, 3))
	options := client.Options{
		NoStandalone:  r.IntN(4) == 0,
		AnswerTimeout: 20 * time.Second,
		Core:          client.CoreOptions{Observe: wired.client(nil), Strict: r.IntN(4) == 0, NoResending: r.IntN(2) == 0, ResumeAttempts: 3, FenceAttempts: 2},
		Refresh:       func(context.Context) error { return nil },
		Rand:          func() float64 { return 0.5 },
		OnOutcome: func(o client.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			outcomes[o.Stream]++
		},
	}
	c, err := client.New(t.Context(), tr, store, options)
	for err != nil { // it could not take the lease
		time.Sleep(time.Second)
		c, err = client.New(t.Context(), tr, store, options)
	}
	ctx := context.Background()
	var callers sync.WaitGroup
	act := func(r *rand.Rand) {
		limited, cancel := context.WithTimeout(ctx, time.Duration(1+r.IntN(300))*time.Second)
		defer cancel()
		switch n := r.IntN(40); {
		case c.State() == spec.Open && n < 22, n < 6:
			_, _ = c.Call(limited, client.Request{Label: "work", Passes: n%3 == 0, Build: func(request uint64) ([]byte, error) {
				return []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"work"}`, request)), nil
			}})
		case n < 26:
			_ = c.Notify(limited, client.Message{Payload: []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`), Passes: n%2 == 0})
		case n < 28:
			_ = c.Listen(limited)
		case n < 33:
			for _, u := range c.Unknowns() {
				_ = c.Resolve(limited, u.Stream, client.Decision(r.IntN(3)))
			}
		case n == 33:
			_ = c.Abandon(limited)
		case n == 34:
			_ = c.Terminate(limited)
		case n == 35:
			mu.Lock()
			away = !away
			mu.Unlock()
		case n == 36:
			for _, s := range c.Snapshot().Streams {
				_ = c.Resume(limited, s.ID)
			}
		default:
			_ = c.Open(limited, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`))
		}
	}
	for i := range 3 {
		r := rand.New(rand.NewPCG(seed, 10+uint64(i)))
		callers.Go(func() {
			for range 40 {
				act(r)
				time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
			}
		})
	}
	callers.Wait()
	mu.Lock()
	away = false
	mu.Unlock()
	c.Close()
	transport.CloseIdleConnections()
	hs.Close()
	<-served
	if store.fault != nil {
		t.Errorf("seed %d: %v", seed, store.fault)
	}
	for id, n := range outcomes {
		if n != 1 {
			t.Errorf("seed %d: call %v ended %d times", seed, id, n)
		}
	}
}

// silent is the log of a server whose handlers break connections on purpose.
var silent = log.New(io.Discard, "", 0)

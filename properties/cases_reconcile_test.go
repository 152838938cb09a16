package properties

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	outcomes "example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Cases from practice: what becomes of calls whose outcome is unknown, and of
// records that two processes want.

// A stream is cut at each stage, and no resumption is ever answered: the caller
// is told within the budget that its call is pending, or unknown where there was
// no position; and in the end each call has exactly one outcome (R23, R26).
func TestCase24NeverHang(t *testing.T) {
	server := serveApp(t, func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "work":
			m.Stream.Emit("notifications/said", map[string]string{"text": "one"})
			m.Stream.Answer(map[string]string{"text": "done"})
		}
	})
	pending, unknown := 0, 0
	for _, after := range []int{0, 1, 60, 150, 200, 260} {
		for _, how := range []error{io.EOF, io.ErrUnexpectedEOF} {
			c := &cutter{base: http.DefaultTransport, after: after, how: how}
			o := streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: noResumption{c}}}
			var mu sync.Mutex
			told := map[client.StreamID]int{}
			o.Driver.NoStandalone, o.Driver.Core.ResumeAttempts = true, 3
			o.Driver.OnOutcome = func(o client.Outcome) {
				mu.Lock()
				defer mu.Unlock()
				told[o.Stream]++
			}
			cl, _ := dial(t, server.URL, o)
			_, err := work(cl)
			var still *client.PendingError
			var lost *client.UnknownError
			switch {
			case errors.As(err, &still) && errors.Is(err, spec.ReasonStreamSuspended):
				pending++
				if err := cl.Driver().Abandon(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := cl.Await(t.Context(), still.Stream); !errors.As(err, &lost) {
					t.Errorf("cut after %d bytes (%v), pending, abandoned: %v", after, how, err)
				}
			case errors.As(err, &lost):
				unknown++
			default:
				t.Errorf("cut after %d bytes (%v): %v", after, how, err)
			}
			if err := cl.Close(); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			if len(told) != 1 || lost != nil && told[lost.Stream] != 1 {
				t.Errorf("cut after %d bytes (%v): outcomes %v", after, how, told)
			}
			mu.Unlock()
		}
	}
	if pending == 0 || pending+unknown != 12 {
		t.Errorf("%d calls were pending, %d unknown: the test shows little", pending, unknown)
	}
}

// noResumption answers no GET.
type noResumption struct{ http.RoundTripper }

func (n noResumption) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return nil, io.ErrUnexpectedEOF
	}
	return n.RoundTripper.RoundTrip(r)
}

// Three streams wait to be resumed when the session is lost, and the next one is
// opened at once: no request ever pairs the new session with an old cursor (R25).
func TestCase25OldCursorNewEpoch(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	s, wire := newTill(t, outcomes.NewMemoryStore(), gate), &snip{}
	c, log := dial(t, s.URL, quick(streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: wire}}))
	told := make(chan error, 3)
	for range 3 {
		go func() { _, err := pay(c); told <- err }()
	}
	waitApplied(t, log, 3)
	s.loseSessions(t)
	s.CloseClientConnections()
	for range 3 {
		if err := <-told; err == nil {
			t.Error("a call was answered by a session that is gone")
		}
	}
	for c.Driver().State() == spec.Fencing {
		time.Sleep(time.Millisecond)
	}
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.CloseClientConnections() // the new standalone stream is resumed too
	sessions, cursors := map[string]bool{}, 0
	for deadline := time.Now().Add(10 * time.Second); len(sessions) < 2 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		wire.mu.Lock()
		cursors = 0
		for _, r := range wire.gets {
			session := r.Header.Get(streamhttp.HeaderSessionID)
			cursor, err := spec.ParseEventID(r.Header.Get(streamhttp.HeaderLastEventID))
			if err != nil {
				continue
			}
			sessions[session] = true
			cursors++
			if cursor.Tag != spec.TagOf(session, "") {
				t.Errorf("session %v is asked for %v", spec.TagOf(session, ""), cursor)
			}
		}
		wire.mu.Unlock()
	}
	if len(sessions) != 2 || cursors < 2 {
		t.Errorf("%d sessions and %d cursors: the test shows little", len(sessions), cursors)
	}
}

// The session is gone when eight calls run and another one is sent: one
// abandonment, one new session in quarantine, each call resolved, then open.
// What the 404 to the ninth POST says decides what is known of that call: only
// that its key is sealed proves that it did not run (R22, R23).
func TestCase28SessionGone(t *testing.T) {
	const page = "<html>not found</html>"
	for name, test := range map[string]struct {
		body   func(key string) string
		media  string
		proven bool
	}{
		"our plain 404": {func(string) string {
			return `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"gone","data":{"reason":"session_unknown"}}}`
		}, "application/json", false},
		"a gateway's": {func(string) string { return page }, "text/html", false},
		"sealed": {func(key string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"sealed","data":{"reason":"key_sealed","key":%q}}}`, spec.CodeLedger, key)
		}, "application/json", true},
		"another key sealed": {func(string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"sealed","data":{"reason":"key_sealed","key":"another"}}}`, spec.CodeLedger)
		}, "application/json", false},
	} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			s := newTill(t, outcomes.NewMemoryStore(), gate)
			refuse := &refusing{media: test.media, body: test.body}
			c, log := dial(t, s.URL, quick(streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: refuse}}))
			told := make(chan error, 8)
			for range 8 {
				go func() { _, err := pay(c); told <- err }()
			}
			waitApplied(t, log, 8)
			s.loseSessions(t)
			refuse.on()
			_, err := pay(c)
			if proven := errors.Is(err, spec.ReasonNotExecuted); proven != test.proven || err == nil {
				t.Errorf("the ninth call: %v", err)
			}
			for range 8 {
				var unknown *client.UnknownError
				if err := <-told; !errors.As(err, &unknown) {
					t.Errorf("a running call: %v", err)
				}
			}
			if err := c.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			close(gate)
			all, err := c.Reconcile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			executed, not := 0, 0
			for _, r := range all {
				switch {
				case r.Resolved() && r.State == spec.KeyExecuted:
					executed++
				case r.Resolved():
					not++
				}
			}
			if want := map[bool]int{true: 0, false: 1}[test.proven]; executed != 8 || not != want || len(all) != 8+want {
				t.Errorf("%d executed, %d not, of %d", executed, not, len(all))
			}
			if c.Driver().State() != spec.Open || s.ran() != 8 {
				t.Errorf("%v, and %d ran", c.Driver().State(), s.ran())
			}
			log.mu.Lock()
			defer log.mu.Unlock()
			fences := 0
			for _, change := range log.states {
				if change.To == spec.Fencing {
					fences++
				}
			}
			if fences != 1 {
				t.Errorf("%d abandonments: %v", fences, log.states)
			}
		})
	}
}

// refusing answers one call with a 404, once it is on.
type refusing struct {
	mu    sync.Mutex
	armed bool
	media string
	body  func(key string) string
}

func (r *refusing) on() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armed = true
}

func (r *refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	armed := r.armed && req.Method == http.MethodPost
	r.armed = r.armed && !armed
	r.mu.Unlock()
	if !armed {
		return http.DefaultTransport.RoundTrip(req)
	}
	sent, _ := io.ReadAll(req.Body)
	_, rest, _ := strings.Cut(string(sent), `"`+spec.MetaKey+`":"`)
	key, _, _ := strings.Cut(rest, `"`)
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", r.media)
	w.WriteHeader(http.StatusNotFound)
	io.WriteString(w, r.body(key))
	return w.Result(), nil
}

// holderOf is set in the process of TestCase42TwoProcesses that holds the record.
const holderOf = "REATTACH_TEST_HOLDS"

// Two processes start from one record file: the second is refused the lease at
// once, typed. When the first is killed, the second has it, with a greater
// generation (R30).
func TestCase42TwoProcesses(t *testing.T) {
	if path := os.Getenv(holderOf); path != "" {
		c, err := client.New(context.Background(), idle{}, client.OpenFile(path), client.Options{})
		fmt.Println("holds:", err, c.Snapshot().Record.Lease)
		select {} // until it is killed
	}
	path := filepath.Join(t.TempDir(), "record")
	first := exec.Command(os.Args[0], "-test.run=^TestCase42TwoProcesses$")
	first.Env = append(os.Environ(), holderOf+"="+path)
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("holds: <nil> 1"))
	if _, err := io.ReadFull(out, said); err != nil || string(said) != "holds: <nil> 1" {
		t.Fatalf("the first process said %q, %v", said, err)
	}
	start := time.Now()
	var held *client.HeldError
	if _, err := client.New(t.Context(), idle{}, client.OpenFile(path), client.Options{}); !errors.Is(err, spec.ReasonLeaseHeld) || !errors.As(err, &held) || held.Store != path {
		t.Errorf("the second client: %v", err)
	}
	if waited := time.Since(start); waited > 5*time.Second {
		t.Errorf("it was refused after %v, not at once", waited)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	c, err := client.New(t.Context(), idle{}, client.OpenFile(path), client.Options{})
	if err != nil {
		t.Fatalf("after the first was killed: %v", err)
	}
	if lease := c.Snapshot().Record.Lease; lease != 2 {
		t.Errorf("the lease's generation is %d, want 2", lease)
	}
	if _, err := client.New(t.Context(), idle{}, client.OpenFile(path), client.Options{}); !errors.Is(err, spec.ReasonLeaseHeld) {
		t.Errorf("another client of this process: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// idle is a transport that nobody uses.
type idle struct{ client.Transport }

// Two clients hold one record, in a store that keeps nobody out. The one that
// lost its lease applies nothing more, fences nothing, deletes nothing, and tells
// its caller that the call is pending; the other goes on in the same session, and
// gets the answer (R10, R30).
func TestCase42LostLease(t *testing.T) {
	gate := make(chan struct{})
	s := newTill(t, outcomes.NewMemoryStore(), gate)
	var store client.Store = struct{ client.Store }{client.NewMemoryStore(client.Record{})}
	first, log := dial(t, s.URL, quick(streamhttp.DialOptions{Store: store}))
	told := make(chan error, 1)
	go func() { _, err := pay(first); told <- err }()
	waitApplied(t, log, 1)
	session := first.Driver().Session()
	second, _ := dial(t, s.URL, quick(streamhttp.DialOptions{Store: store}))
	var pending *client.PendingError
	if err := <-told; !errors.As(err, &pending) || !errors.Is(err, spec.ReasonAttemptSuperseded) && !errors.Is(err, spec.ReasonLeaseLost) {
		t.Fatalf("the caller of the one that lost the lease was told %v", err)
	}
	if _, err := pay(first); !errors.Is(err, spec.ReasonEpochAbandoned) {
		t.Errorf("it goes on calling: %v", err)
	}
	close(gate)
	result, err := second.Await(t.Context(), pending.Stream)
	if err != nil || string(result) != `{"text":"paid"}` || s.ran() != 1 {
		t.Errorf("the other one got %q, %v, and %d ran", result, err, s.ran())
	}
	if second.Driver().State() != spec.Open || second.Driver().Session().ID != session.ID {
		t.Errorf("the other one is %v in %v", second.Driver().State(), second.Driver().Session())
	}
	if record, err := store.Load(t.Context()); err != nil || record.State != client.RecordOpen || record.Lease != 2 {
		t.Errorf("the record is %v under lease %d, %v", record.State, record.Lease, err)
	}
}

// A client restarts inside a session and calls; a late answer to an earlier id
// arrives on the call's stream: ids go on, and the answer is dropped and counted
// (R29).
func TestCase51IDReuse(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	server := serveApp(t, func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "work":
			mu.Lock()
			ids = append(ids, string(m.ID))
			earlier := ids[0]
			mu.Unlock()
			if earlier != string(m.ID) {
				m.Stream.Send([]byte(`{"jsonrpc":"2.0","id":` + earlier + `,"result":{"text":"late"}}`))
			}
			m.Stream.Answer(map[string]string{"text": "for " + string(m.ID)})
		}
	})
	store := client.NewMemoryStore(client.Record{})
	for life := range 3 {
		c, _ := dial(t, server.URL, streamhttp.DialOptions{Store: store})
		got, err := work(c)
		mu.Lock()
		if want := "for " + ids[life]; err != nil || got != want {
			t.Errorf("life %d: %q, %v, want %q", life, got, err, want)
		}
		mu.Unlock()
		if want := uint64(min(life, 1)); c.Dropped() != want {
			t.Errorf("life %d: %d answers were dropped, want %d", life, c.Dropped(), want)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
		t.Errorf("ids %v", ids)
	}
}

// mortal is the store of a process that dies after so many writes.
type mortal struct {
	client.Store
	mu   sync.Mutex
	left int
}

func (m *mortal) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 {
		return client.Record{}, client.ErrUncertain
	}
	m.left--
	return m.Store.Commit(ctx, ch, events)
}

func (m *mortal) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left == 0
}

// Two epochs are lost in a row before the first unknown outcome is resolved, and
// the process dies between any two writes: the unknown outcome is in the record
// and the epoch in quarantine, until the ledger is asked (R23).
func TestCase54UnknownTwice(t *testing.T) {
	died := 0
	for writes := 1; ; writes++ {
		gate := make(chan struct{})
		s := newTill(t, outcomes.NewMemoryStore(), gate)
		keep := client.NewMemoryStore(client.Record{})
		store := &mortal{Store: keep, left: writes}
		c, err := streamhttp.Dial(t.Context(), s.URL, quick(streamhttp.DialOptions{Store: store}))
		if err == nil {
			lose(t, c, s)
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if store.dead() {
			died++
		}
		before, _ := keep.Load(t.Context())
		made := len(before.Calls)+len(before.Unknowns) > 0
		if s.ran() > 0 && !made {
			t.Fatalf("%d writes: the call ran, and the record says %+v", writes, before)
		}
		c, _ = dial(t, s.URL, quick(streamhttp.DialOptions{Store: keep}))
		for range 2 { // lost once more, and once more
			if c.Driver().State() != spec.Abandoned {
				if err := c.Driver().Abandon(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		unknowns := c.Driver().Unknowns()
		if quarantined := c.Driver().State() == spec.Quarantined; quarantined != made || (len(unknowns) == 1) != made {
			t.Errorf("%d writes: %v, unknown are %v, and the record had the call: %v", writes, c.Driver().State(), unknowns, made)
		}
		close(gate)
		all, err := c.Reconcile(t.Context())
		if err != nil || c.Driver().State() != spec.Open {
			t.Errorf("%d writes: reconciled %v, %v: %v", writes, all, err, c.Driver().State())
		}
		for _, r := range all {
			if ran := s.ran() == 1; (r.State == spec.KeyExecuted) != ran {
				t.Errorf("%d writes: the ledger says %v, and %d ran", writes, r.State, s.ran())
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if !store.dead() {
			break
		}
	}
	if died < 6 {
		t.Errorf("the process died at %d places", died)
	}
}

// lose makes a call, and loses two epochs in a row.
func lose(t *testing.T, c *streamhttp.Client, s *till) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Call(ctx, "pay", map[string]int{"amount": 1}, nil)
	}()
	for s.ran() == 0 && ctx.Err() == nil {
		select {
		case <-done: // the process died before
			return
		case <-time.After(time.Millisecond):
		}
	}
	for range 2 {
		if c.Driver().Abandon(ctx) != nil || c.Open(ctx) != nil {
			break
		}
	}
	cancel()
	<-done
}

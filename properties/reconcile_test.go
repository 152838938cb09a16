package properties

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	outcomes "example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Reconciliation end to end: the client of streamhttp, a server of ours with a
// ledger in front of its application, and a wire between them that breaks.

// A till is a server with a ledger and a tool that counts: what must not run
// twice.
type till struct {
	*httptest.Server
	ledger *outcomes.Ledger
	gate   chan struct{} // the tool waits here, unless it is nil

	mu      sync.Mutex
	handler *streamhttp.Handler
	runs    int
	gone    bool // the session is not known any more
}

func newTill(t *testing.T, store outcomes.Store, gate chan struct{}) *till {
	t.Helper()
	l, err := outcomes.New(store, outcomes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &till{ledger: l, gate: gate}
	s.handler = s.newHandler(t)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		h := s.handler
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		l.Close()
	})
	return s
}

func (s *till) newHandler(t *testing.T) *streamhttp.Handler {
	h, err := streamhttp.NewHandler(s.ledger.Wrap(func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "pay":
			s.mu.Lock()
			s.runs++
			s.mu.Unlock()
			m.Stream.Emit("notifications/said", map[string]string{"text": "paying"})
			if s.gate != nil {
				<-s.gate
			}
			m.Stream.Answer(map[string]string{"text": "paid"})
		}
	}), streamhttp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// loseSessions is a server that forgot every session, and kept its ledger.
func (s *till) loseSessions(t *testing.T) {
	h := s.newHandler(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = h
}

func (s *till) ran() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs
}

// A snip breaks exchanges on the client's side of the wire.
type snip struct {
	mu    sync.Mutex
	posts func(body string) string // "" passes; "unsent", "before" (never arrives) or "after" (arrives, the answer is lost)
	sent  []string                 // bodies of POSTs
	gets  []*http.Request
}

func (s *snip) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	if r.Method != http.MethodPost {
		s.gets = append(s.gets, r)
		s.mu.Unlock()
		return http.DefaultTransport.RoundTrip(r)
	}
	body, _ := io.ReadAll(r.Body)
	s.sent = append(s.sent, string(body))
	how := ""
	if s.posts != nil {
		how = s.posts(string(body))
	}
	s.mu.Unlock()
	r = r.Clone(r.Context())
	r.Body, r.GetBody = io.NopCloser(strings.NewReader(string(body))), nil
	if how == "before" {
		return nil, io.ErrUnexpectedEOF
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && how == "after" {
		io.Copy(io.Discard, response.Body) // its head says nothing of the tool, which may not have begun
		response.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return response, err
}

// cutOnce breaks the first POST that has a mark in it.
func (s *snip) cutOnce(mark, how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := false
	s.posts = func(body string) string {
		if done || !strings.Contains(body, mark) {
			return ""
		}
		done = true
		return how
	}
}

func (s *snip) count(mark string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, body := range s.sent {
		if strings.Contains(body, mark) {
			n++
		}
	}
	return n
}

func quick(o streamhttp.DialOptions) streamhttp.DialOptions {
	o.Driver.BackoffBase, o.Driver.BackoffMax = time.Millisecond, 20*time.Millisecond
	return o
}

func pay(c *streamhttp.Client) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	result, err := c.Call(ctx, "pay", map[string]any{"amount": 1, "_meta": map[string]string{"progressToken": "p"}}, nil)
	return string(result), err
}

// Given a session that names a ledger, when a call's POST is cut before any
// header of its answer, then the ledger is asked for it at once: the caller gets
// the answer of a call that ran, and is told that one did not which never
// arrived (R23, last sentence).
func TestWiredReconcileInTheSameSession(t *testing.T) {
	for how, want := range map[string]struct {
		answer string
		runs   int
	}{"after": {`{"text":"paid"}`, 1}, "before": {"", 0}} {
		t.Run(how, func(t *testing.T) {
			s, wire := newTill(t, outcomes.NewMemoryStore(), nil), &snip{}
			var mu sync.Mutex
			var told []client.Outcome
			o := quick(streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: wire}})
			o.Driver.OnOutcome = func(o client.Outcome) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, o)
			}
			c, log := dial(t, s.URL, o)
			wire.cutOnce(`"pay"`, how)
			answer, err := pay(c)
			if answer != want.answer || s.ran() != want.runs {
				t.Errorf("the caller got %q, %v, and the tool ran %d times", answer, err, s.ran())
			}
			if want.runs == 0 && !errors.Is(err, spec.ReasonNotExecuted) {
				t.Errorf("the caller was told %v, want that it did not run", err)
			}
			if n := wire.count(`"pay"`); n != 1 {
				t.Errorf("the call was sent %d times", n)
			}
			if left := c.Driver().Unknowns(); len(left) != 0 || c.Driver().State() != spec.Open {
				t.Errorf("unknown are %v, and the epoch is %v", left, c.Driver().State())
			}
			if want.runs == 1 {
				waitApplied(t, log, 1) // the answer went through Apply, in the transaction that resolved it
			}
			if err := c.Close(); err != nil { // every callback was called then
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			calls := 0
			for _, o := range told {
				if !o.Call.Query {
					calls++
				}
			}
			if calls != 1 {
				t.Errorf("%d outcomes of one call: %+v", calls, told)
			}
		})
	}
}

// Given a call that was running when its session was lost, when the next epoch
// is open, then it is in quarantine; Reconcile waits for the call, hands its
// answer over, and ends the quarantine. The tool ran once.
func TestWiredReconcileAcrossEpochs(t *testing.T) {
	gate := make(chan struct{})
	s, wire := newTill(t, outcomes.NewMemoryStore(), gate), &snip{}
	c, log := dial(t, s.URL, quick(streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: wire}}))
	outcome := make(chan error, 1)
	go func() { _, err := pay(c); outcome <- err }()
	waitApplied(t, log, 1)
	s.loseSessions(t)
	s.CloseClientConnections()
	var unknown *client.UnknownError
	if err := <-outcome; !errors.As(err, &unknown) {
		t.Fatalf("the caller was told %v, want unknown", err)
	}
	u := c.Driver().Unknowns()
	if len(u) != 1 || u[0].Method != "pay" || u[0].Digest != spec.DigestCall("pay", []byte(`{"amount":1}`)) {
		t.Fatalf("the record says %+v", u)
	}
	if k, err := spec.ParseKey(u[0].Key); err != nil || k.Ledger != s.ledger.Name() {
		t.Fatalf("its key is %q, %v", u[0].Key, err)
	}
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(c); !errors.Is(err, spec.ReasonQuarantined) {
		t.Fatalf("a new call in quarantine: %v", err)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(gate) })
	all, err := c.Reconcile(t.Context())
	if err != nil || len(all) != 1 || !all[0].Resolved() || all[0].State != spec.KeyExecuted {
		t.Fatalf("reconciled %+v, %v", all, err)
	}
	if result, err := streamhttp.Result(all[0].Answer); err != nil || string(result) != `{"text":"paid"}` {
		t.Errorf("the result is %q, %v", result, err)
	}
	if wire.count(spec.MethodOutcome) < 2 {
		t.Error("it was not asked again while the call was running")
	}
	waitApplied(t, log, 2)
	if answer, err := pay(c); err != nil || answer != `{"text":"paid"}` || s.ran() != 2 {
		t.Errorf("a call after the quarantine: %q, %v; in all %d ran", answer, err, s.ran())
	}
}

// Given an unknown outcome, when its caller re-sends the call under its key,
// then what never arrived runs, what ran is answered, and what is another call
// is not sent. Each time the tool has run once in the end, and the quarantine is
// over.
func TestWiredReconcileByKeyedResend(t *testing.T) {
	for _, how := range []string{"before", "after"} {
		t.Run(how, func(t *testing.T) {
			s, wire := newTill(t, outcomes.NewMemoryStore(), nil), &snip{}
			o := quick(streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: wire}})
			o.Driver.NoAsking = true
			c, _ := dial(t, s.URL, o)
			wire.cutOnce(`"pay"`, how)
			if _, err := pay(c); !errors.Is(err, spec.ReasonStreamTruncated) {
				t.Fatalf("the caller was told %v", err)
			}
			if err := c.Driver().Abandon(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			u := c.Driver().Unknowns()[0]
			if _, err := c.Resend(t.Context(), u.Stream, "pay", map[string]int{"amount": 2}, nil); !errors.Is(err, client.ErrOtherCall) {
				t.Errorf("other arguments: %v", err)
			}
			result, err := c.Resend(t.Context(), u.Stream, "pay", map[string]int{"amount": 1}, nil)
			if err != nil || string(result) != `{"text":"paid"}` || s.ran() != 1 {
				t.Errorf("re-sent: %q, %v, ran %d times", result, err, s.ran())
			}
			if left := c.Driver().Unknowns(); len(left) != 0 || c.Driver().State() != spec.Open {
				t.Errorf("unknown are %v, and the epoch is %v", left, c.Driver().State())
			}
		})
	}
}

// Given a server that names another ledger than the one of the key, or none,
// then nothing is asked and nothing sent: the caller decides (R28).
func TestWiredReconcileWithAnotherLedger(t *testing.T) {
	s, wire := newTill(t, outcomes.NewMemoryStore(), nil), &snip{}
	way := newProxy(t, strings.TrimPrefix(s.URL, "http://"))
	o := quick(streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: wire}})
	o.Driver.NoAsking = true
	c, _ := dial(t, way.url(), o)
	wire.cutOnce(`"pay"`, "after")
	if _, err := pay(c); err == nil {
		t.Fatal("the call was not cut")
	}
	other := newTill(t, outcomes.NewMemoryStore(), nil)
	way.switchTo(strings.TrimPrefix(other.URL, "http://"))
	way.cutAll()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if err := c.Driver().Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := c.Reconcile(t.Context())
	if err != nil || len(all) != 1 || all[0].Resolved() || !errors.Is(all[0].Err, spec.ReasonLedgerForeign) {
		t.Fatalf("reconciled %+v, %v", all, err)
	}
	u := all[0].Unknown
	if _, err := c.Resend(t.Context(), u.Stream, "pay", map[string]int{"amount": 1}, nil); !errors.Is(err, spec.ReasonLedgerForeign) {
		t.Errorf("re-sent to another ledger: %v", err)
	}
	if wire.count(spec.MethodOutcome) != 0 || wire.count(u.Key) != 1 || other.ran() != 0 {
		t.Errorf("%d queries; the key left %d times, the other server ran %d calls", wire.count(spec.MethodOutcome), wire.count(u.Key), other.ran())
	}
	if err := c.Driver().Resolve(t.Context(), u.Stream, client.GaveUp); err != nil || c.Driver().State() != spec.Open {
		t.Errorf("decided: %v, %v", err, c.Driver().State())
	}
}

// R10: every GET of a client carries the lease and a number that grows; a key is
// in the body and in no header.
func TestWiredRequestsAreNumbered(t *testing.T) {
	s, wire := newTill(t, outcomes.NewMemoryStore(), nil), &snip{}
	store := client.NewMemoryStore(client.Record{})
	for life := uint64(1); life <= 2; life++ {
		o := quick(streamhttp.DialOptions{Store: store, Transport: streamhttp.TransportOptions{HTTP: wire}})
		c, err := streamhttp.Dial(t.Context(), s.URL, o)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			wire.mu.Lock()
			n := len(wire.gets)
			wire.mu.Unlock()
			if n > 0 || time.Now().After(deadline) {
				break
			}
		}
		if _, err := pay(c); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		wire.mu.Lock()
		last := uint64(0)
		for _, r := range wire.gets {
			a, err := spec.ParseAttempt(r.Header.Get(streamhttp.HeaderAttempt))
			if err != nil || a.Generation != life || a.Counter <= last {
				t.Errorf("in life %d a GET is numbered %q after %d", life, r.Header.Get(streamhttp.HeaderAttempt), last)
			}
			last = a.Counter
		}
		if len(wire.gets) == 0 {
			t.Error("there was no GET")
		}
		wire.gets = nil
		wire.mu.Unlock()
	}
}

package properties_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Cases from practice: calls whose outcome is unknown, and the ledger.

// opened returns a client with a session.
func (town *township) opened(t *testing.T) *caller {
	t.Helper()
	c := town.caller()
	if err := c.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !spec.IsLedgerName(c.ledger) {
		t.Fatalf("the answer to initialize names the ledger %q", c.ledger)
	}
	return c
}

func (c *caller) says(t *testing.T, k spec.Key, want spec.KeyState) {
	t.Helper()
	if got, a := c.query(t.Context(), k); got.State != want {
		t.Errorf("asked, the server says %+v (%+v), want %s", got, a, want)
	}
}

func (c *caller) refusedFor(t *testing.T, k spec.Key, want spec.Reason) {
	t.Helper()
	if a := c.call(t.Context(), k); a.reason != want {
		t.Errorf("sent again it comes to %+v, want it refused for %s", a, string(want))
	}
}

func (c *caller) executes(t *testing.T, k spec.Key) {
	t.Helper()
	if a := c.call(t.Context(), k); a.result == nil {
		t.Errorf("a call comes to %+v, want a result", a)
	}
}

func (town *township) mustHaveRun(t *testing.T, k spec.Key, want int) {
	t.Helper()
	if ran := town.ran(k); ran != want {
		t.Errorf("%s ran %d times, want %d", k, ran, want)
	}
}

// Double execution: the connection is cut after the tool ran and before its
// answer, and then the session is lost too. The client asks, or sends again
// with the key: the counter is 1 (R23, R28).
func TestCase31DoubleExecution(t *testing.T) {
	for _, sessionLost := range []bool{false, true} {
		for _, again := range []bool{false, true} {
			store := ledger.NewMemoryStore()
			town := newTownship(t, func() ledger.Store { return store })
			ctx, cut := context.WithCancel(t.Context())
			gone := make(chan struct{})
			town.work = func(ctx context.Context, m *streamhttp.Message, run func() bool) {
				run()
				cut()
				<-gone
				if ctx.Err() != nil {
					t.Error("the end of the session cancelled work that the ledger answers for") // R22
				}
				_, _ = m.Stream.Answer("counted")
			}
			town.start()
			c := town.opened(t)
			k := c.mint(time.Now())
			if a := c.call(ctx, k); a.err == nil {
				t.Fatalf("the cut call has an answer: %+v", a)
			}
			c.says(t, k, spec.KeyRunning)
			if sessionLost {
				c.end(t.Context())
				c = town.opened(t)
				c.says(t, k, spec.KeyRunning)
			}
			close(gone)
			if again {
				if a := c.call(t.Context(), k); string(a.result) != `"counted"` {
					t.Errorf("sent again it comes to %+v", a)
				}
			}
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				if got, _ := c.query(t.Context(), k); got.State != spec.KeyRunning {
					break
				}
			}
			if got, _ := c.query(t.Context(), k); got.State != spec.KeyExecuted || string(got.Response) != `{"result":"counted"}` {
				t.Errorf("asked, the server says %s %s", got.State, got.Response)
			}
			town.mustHaveRun(t, k, 1)
			c.executes(t, c.mint(time.Now())) // another key is another call
		}
	}
}

// Late POST: the query says "not executed", then the delayed POST arrives: in
// the old session, in the new one, at another instance. It is refused (R28).
func TestCase45LatePOST(t *testing.T) {
	store, foreign := ledger.NewMemoryStore(), ledger.NewMemoryStore()
	town := newTownship(t, func() ledger.Store { return store })
	town.start()
	elsewhere := newTownship(t, func() ledger.Store { return foreign })
	elsewhere.start()

	old, other := town.opened(t), elsewhere.opened(t)
	k := old.mint(time.Now())
	fresh := town.opened(t)
	fresh.says(t, k, spec.KeyNotExecuted)
	old.refusedFor(t, k, spec.ReasonKeySealed)
	fresh.refusedFor(t, k, spec.ReasonKeySealed)
	other.refusedFor(t, k, spec.ReasonKeyUnknown)
	town.kill()
	town.start()
	town.opened(t).refusedFor(t, k, spec.ReasonKeySealed)
	town.mustHaveRun(t, k, 0)
	elsewhere.mustHaveRun(t, k, 0)
	town.opened(t).executes(t, old.mint(time.Now())) // one that nobody asked for runs
}

// Beyond the horizon: what the ledger may have forgotten is unknown, and not
// executed (R28).
func TestCase46BeyondTheHorizon(t *testing.T) {
	store, now := ledger.NewMemoryStore(), time.Now()
	town := newTownship(t, func() ledger.Store { return store })
	town.opts = ledger.Options{Age: time.Hour, Now: func() time.Time { return now }}
	town.start()
	c := town.opened(t)
	ran, never := c.mint(now), c.mint(now.Add(-time.Minute))
	c.executes(t, ran)
	now = now.Add(2 * time.Hour)
	c.executes(t, c.mint(now))
	for range 2 {
		for _, k := range []spec.Key{ran, never} {
			c.says(t, k, spec.KeyUnknown)
			c.refusedFor(t, k, spec.ReasonKeyUnknown)
		}
		town.kill()
		town.start()
		c = town.opened(t)
	}
	town.mustHaveRun(t, ran, 1)
	town.mustHaveRun(t, never, 0)
}

// Lost ledger: the call ran, its server restarts without the store, and the
// client sends again with the key: unknown, and not executed again (R28).
func TestCase52LostLedger(t *testing.T) {
	town := newTownship(t, func() ledger.Store { return ledger.NewMemoryStore() })
	town.start()
	c := town.opened(t)
	k := c.mint(time.Now())
	c.executes(t, k)
	town.kill()
	town.start()
	before := c.ledger
	c.http.CloseIdleConnections() // they died with the server
	if a := c.call(t.Context(), k); a.status != http.StatusNotFound {
		t.Errorf("the old session: %+v", a)
	}
	c = town.opened(t)
	if c.ledger == before {
		t.Fatal("the ledger that lost its entries has the same name")
	}
	c.refusedFor(t, k, spec.ReasonKeyUnknown)
	c.says(t, k, spec.KeyUnknown)
	town.mustHaveRun(t, k, 1)
}

// Clocks: that of the client is ahead or behind, that of the server steps back
// after entries were forgotten; a doubled POST comes after each. No key runs
// twice, and what is refused has not run (R28).
func TestCase53Clocks(t *testing.T) {
	store, now := ledger.NewMemoryStore(), time.Now()
	town := newTownship(t, func() ledger.Store { return store })
	town.opts = ledger.Options{Age: time.Hour, Now: func() time.Time { return now }}
	town.start()
	c := town.opened(t)
	var keys []spec.Key
	var ran int
	twice := func(off time.Duration) {
		t.Helper()
		k := c.mint(now.Add(off))
		keys = append(keys, k)
		first, second := c.call(t.Context(), k), c.call(t.Context(), k)
		if (first.result != nil) != (second.result != nil) {
			t.Errorf("a clock %v off: first %+v, then %+v", off, first, second)
		}
		if first.result != nil {
			ran++
		}
	}
	for _, step := range []time.Duration{0, 3 * time.Hour, -2 * time.Hour, -24 * time.Hour, 48 * time.Hour} {
		now = now.Add(step)
		for _, off := range []time.Duration{0, -30 * time.Minute, -48 * time.Hour, time.Minute, 5 * time.Hour} {
			twice(off)
		}
		for _, k := range keys {
			_ = c.call(t.Context(), k)
		}
		town.kill()
		town.start()
		c = town.opened(t)
	}
	total := 0
	for _, k := range keys {
		if n := town.ran(k); n > 1 {
			t.Errorf("%s ran %d times", k, n)
		} else {
			total += n
		}
	}
	if total != ran || ran == 0 || ran == len(keys) {
		t.Errorf("%d of %d keys ran, %d were answered: want some, and as many", total, len(keys), ran)
	}
}

// The ledger in front of an application: what it adds to initialize, what
// passes as it is, what is no key, and what ends work: its client's word, or that
// nobody asks for it any more (R22, R28).
func TestWiredLedgerWrap(t *testing.T) {
	store := ledger.NewMemoryStore()
	town := newTownship(t, func() ledger.Store { return store })
	town.opts.Orphan = 50 * time.Millisecond
	began := make(chan struct{}, 10)
	ended := make(chan error, 10)
	town.work = func(ctx context.Context, m *streamhttp.Message, run func() bool) {
		run()
		switch text, _ := ledger.KeyOf(m.Params); {
		case text == "":
			_, _ = m.Stream.Answer("no key")
		default:
			began <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
		}
	}
	town.start()
	c := town.opened(t)
	if a, _ := c.post(t.Context(), c.session, 900, "count", struct{}{}); string(a.result) != `"no key"` {
		t.Errorf("a call without a key: %+v", a)
	}
	for _, bad := range []any{"", "x", 7, nil} {
		a, _ := c.post(t.Context(), c.session, 901, "count", map[string]any{"_meta": map[string]any{spec.MetaKey: bad}})
		if a.reason != spec.ReasonKeyMalformed {
			t.Errorf("a key %v: %+v", bad, a)
		}
	}
	if _, a := c.query(t.Context(), spec.Key{}); a.reason != spec.ReasonKeyMalformed {
		t.Errorf("a query for no key: %+v", a)
	}

	cancelled, orphan := c.mint(time.Now()), c.mint(time.Now())
	heard := make(chan keyedAnswer, 1)
	go func() { heard <- c.call(t.Context(), cancelled) }()
	<-began
	cancel := town.caller()
	cancel.session, cancel.ledger = c.session, c.ledger
	cancel.cancel(t.Context(), 2) // the query was 1
	if err := <-ended; err != streamhttp.ErrCancelled {
		t.Errorf("a cancelled call ends with %v", err)
	}
	<-heard
	c.says(t, cancelled, spec.KeyExecuted)

	other := town.opened(t)
	ctx, cut := context.WithCancel(t.Context())
	go other.call(ctx, orphan)
	<-began
	cut()
	other.end(t.Context())
	if err := <-ended; err != ledger.ErrOrphan {
		t.Errorf("a call that nobody asks for ends with %v", err)
	}
}

// cancel tells the server that a request is cancelled.
func (c *caller) cancel(ctx context.Context, id int) {
	body := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + strconv.Itoa(id) + `}}`
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.town.server.URL, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(streamhttp.HeaderSessionID, c.session)
	r.Header.Set(streamhttp.HeaderProtocolVersion, streamhttp.Version20251125)
	if response, err := c.http.Do(r); err == nil {
		response.Body.Close()
	}
}

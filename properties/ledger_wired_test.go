package properties_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

var (
	ledgerCalls = flag.Int("ledger.calls", 50, "calls of each seed of TestWiredLedger")
	ledgerSeeds = flag.Int("ledger.seeds", 20, "seeds of TestWiredLedger")
)

// A counter is called with keys, while connections are cut, sessions are lost,
// POSTs come doubled and late, and the server is killed and started again on
// its file. Whatever the client was told is true at the end (R23, R28):
//
//	always     no key ran twice; executed: it ran once; not executed: it did not run
//	always     unknown only where a handler had no outcome when its process was killed
//	sometimes  each of the three, joined, repeated, sealed, and killed amid a run
func TestWiredLedger(t *testing.T) {
	var seen chaos
	for seed := range *ledgerSeeds {
		run := newChaos(t, uint64(seed))
		run.drive(*ledgerCalls)
		run.judge()
		seen.add(run)
	}
	t.Logf("%d calls: executed %d, not executed %d, unknown %d; of these learned by asking or sending again %d; kills %d, sessions lost %d, cut %d, doubled %d, late %d; ledgers joined %d, repeated %d, sealed %d",
		seen.executed+seen.notExecuted+seen.unknown, seen.executed, seen.notExecuted, seen.unknown, seen.reconciled,
		seen.kills, seen.lost, seen.cut, seen.doubled, seen.delayed, seen.stats.Joined, seen.stats.Repeated, seen.stats.Sealed)
	for name, n := range map[string]int{
		"executed": seen.executed, "not executed": seen.notExecuted, "unknown": seen.unknown, "reconciled": seen.reconciled,
		"kills": seen.kills, "sessions lost": seen.lost, "cut": seen.cut, "doubled": seen.doubled, "late": seen.delayed,
		"joined": int(seen.stats.Joined), "repeated": int(seen.stats.Repeated), "sealed": int(seen.stats.Sealed),
	} {
		if n == 0 {
			t.Errorf("never: %s", name)
		}
	}
}

// A chaos is one seed of it.
type chaos struct {
	*township
	seed uint64
	each func() // what each of the clients does; nil: calls of its own

	guard                             sync.Mutex // of what follows
	random                            *rand.Rand
	calm                              bool
	outcomes                          map[spec.Key]spec.KeyState
	executed, notExecuted, unknown    int
	reconciled, kills, lost           int
	cut, doubled, delayed, unanswered int
}

func newChaos(t *testing.T, seed uint64) *chaos {
	path := filepath.Join(t.TempDir(), "ledger")
	c := &chaos{seed: seed, random: rand.New(rand.NewPCG(seed, 28)), outcomes: map[spec.Key]spec.KeyState{}}
	c.township = newTownship(t, func() ledger.Store { return ledger.OpenFile(path) })
	c.township.network = c.disturb
	c.township.work = func(_ context.Context, m *streamhttp.Message, run func() bool) {
		time.Sleep(c.upTo(3 * time.Millisecond))
		if c.odds(3) {
			_, _ = m.Stream.Emit("notifications/progress", map[string]int{"progress": 1})
		}
		if !run() {
			return
		}
		time.Sleep(c.upTo(3 * time.Millisecond))
		_, _ = m.Stream.Answer(map[string]string{"text": "done"})
	}
	c.start()
	return c
}

func (c *chaos) odds(of int) bool {
	c.guard.Lock()
	defer c.guard.Unlock()
	return !c.calm && c.random.IntN(of) == 0
}

func (c *chaos) upTo(d time.Duration) time.Duration {
	c.guard.Lock()
	defer c.guard.Unlock()
	return time.Duration(c.random.Int64N(int64(d)))
}

func (c *chaos) count(n *int) {
	c.guard.Lock()
	defer c.guard.Unlock()
	*n++
}

// disturb is the network: it delays, doubles, holds back and cuts.
func (c *chaos) disturb(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	switch {
	case r.Method != http.MethodPost:
	case c.odds(12): // it arrives late, and nobody hears of it
		c.count(&c.delayed)
		c.copied(r, body, c.upTo(40*time.Millisecond))
		panic(http.ErrAbortHandler)
	case c.odds(8): // twice
		c.count(&c.doubled)
		c.copied(r, body, c.upTo(20*time.Millisecond))
	case c.odds(30): // never
		panic(http.ErrAbortHandler)
	}
	if c.odds(5) {
		c.count(&c.cut)
		w = &cutWriter{ResponseWriter: w, left: int(c.upTo(600))}
	}
	serve(w, r)
}

// A cutWriter breaks the connection behind so many bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
func (w *cutWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(p)
}

// drive makes the calls, from several clients at a time, and kills the server
// between them.
func (c *chaos) drive(calls int) {
	var clients sync.WaitGroup
	over := make(chan struct{})
	for n := range 4 {
		clients.Go(func() {
			if c.each != nil {
				c.each()
				return
			}
			client := c.caller()
			for range (calls + n) / 4 {
				c.one(client)
			}
		})
	}
	killer := make(chan struct{})
	go func() {
		defer close(killer)
		for {
			select {
			case <-over:
				return
			case <-time.After(5*time.Millisecond + c.upTo(60*time.Millisecond)):
			}
			c.kill()
			time.Sleep(c.upTo(2 * time.Millisecond))
			c.start()
			c.count(&c.kills)
		}
	}()
	clients.Wait()
	close(over)
	<-killer
	c.guard.Lock()
	c.calm = true
	c.guard.Unlock()
	c.late.Wait()
	c.kill()
}

// one makes one call and sees to its outcome.
func (c *chaos) one(client *caller) {
	ctx := context.Background()
	limited := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, 30*time.Millisecond+c.upTo(30*time.Millisecond))
	}
	reopen := func() {
		for patience := time.Now().Add(20 * time.Second); ; {
			bounded, cancel := limited()
			err := client.open(bounded)
			cancel()
			if err == nil {
				return
			}
			if time.Now().After(patience) {
				c.t.Errorf("seed %d: no session: %v", c.seed, err)
				return
			}
			time.Sleep(time.Millisecond) // a server that starts answers nothing for a while
		}
	}
	if client.session == "" {
		reopen()
	}
	minted := time.Now().Add(c.upTo(2*time.Minute) - time.Minute)
	if c.odds(20) {
		minted = minted.Add(time.Hour)
	}
	k := client.mint(minted)
	state, a := c.send(ctx, client, k)
	for try := 0; state == ""; try++ {
		if try > 1000 {
			c.t.Errorf("seed %d: no outcome of %s: %+v", c.seed, k, a)
			return
		}
		if a.status == http.StatusNotFound || c.odds(15) {
			c.count(&c.lost)
			if a.status != http.StatusNotFound {
				client.end(ctx)
			}
			reopen()
		}
		if c.odds(2) && client.ledger == k.Ledger {
			state, a = c.send(ctx, client, k)
		} else {
			state, a = c.ask(ctx, client, k)
		}
		if state != "" {
			c.count(&c.reconciled)
		}
		time.Sleep(c.upTo(2 * time.Millisecond))
	}
	c.guard.Lock()
	defer c.guard.Unlock()
	c.outcomes[k] = state
}

// send sends the call and returns its state, if that is known then.
func (c *chaos) send(ctx context.Context, client *caller, k spec.Key) (spec.KeyState, keyedAnswer) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	a := client.call(ctx, k)
	switch {
	case a.err != nil:
	case a.result != nil:
		return spec.KeyExecuted, a
	case a.reason.KnownNotExecuted():
		return spec.KeyNotExecuted, a
	case a.reason == spec.ReasonKeyUnknown:
		return spec.KeyUnknown, a
	case a.reason != spec.ReasonLedgerUnavailable && a.reason != "code -32603" && a.reason != "code -32003":
		c.t.Errorf("seed %d: %s is keyedAnswer with %s", c.seed, k, string(a.reason))
	}
	return "", a
}

func (c *chaos) ask(ctx context.Context, client *caller, k spec.Key) (spec.KeyState, keyedAnswer) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	result, a := client.query(ctx, k)
	if a.err != nil || a.result == nil || result.State == spec.KeyRunning {
		return "", a
	}
	return result.State, a
}

// judge compares what the client was told with what is true.
func (c *chaos) judge() {
	for k, state := range c.outcomes {
		ran := c.ran(k)
		switch {
		case state == spec.KeyExecuted && ran == 1:
			c.executed++
		case state == spec.KeyNotExecuted && ran == 0:
			c.notExecuted++
		case state == spec.KeyUnknown && c.orphaned[k.String()]:
			c.unknown++
		default:
			c.t.Errorf("seed %d: %s was said to be %s and ran %d times; without outcome when its process was killed: %v",
				c.seed, k, state, ran, c.orphaned[k.String()])
		}
	}
	for text, ran := range c.runs {
		if ran > 1 {
			c.t.Errorf("seed %d: %s ran %d times", c.seed, text, ran)
		}
	}
	if len(c.outcomes) == 0 {
		c.t.Errorf("seed %d: no call", c.seed)
	}
}

func (c *chaos) add(o *chaos) {
	if c.township == nil {
		c.township = &township{}
	}
	for _, n := range [...]struct{ to, from *int }{
		{&c.executed, &o.executed}, {&c.notExecuted, &o.notExecuted}, {&c.unknown, &o.unknown}, {&c.reconciled, &o.reconciled},
		{&c.kills, &o.kills}, {&c.lost, &o.lost}, {&c.cut, &o.cut}, {&c.doubled, &o.doubled}, {&c.delayed, &o.delayed},
	} {
		*n.to += *n.from
	}
	c.stats.Joined += o.stats.Joined
	c.stats.Repeated += o.stats.Repeated
	c.stats.Sealed += o.stats.Sealed
}

package properties_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// bySubjectHeader names who asks, as authentication would.
func bySubjectHeader(r *http.Request) (string, error) { return r.Header.Get("Subject"), nil }

func (town *township) openedAs(t *testing.T, subject string) *caller {
	t.Helper()
	c := town.caller()
	c.subject = subject
	if err := c.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Over the wire: a subject's keys are its own, and so is its share; a full
// ledger refuses with proof, and clocks decide nothing but that (R3, R13, R28).
func TestWiredLedgerBounds(t *testing.T) {
	store, now := ledger.NewMemoryStore(), time.Now()
	town := newTownship(t, func() ledger.Store { return store })
	town.http.Subject = bySubjectHeader
	town.opts = ledger.Options{Entries: 16, Age: time.Hour, Keep: time.Minute, Now: func() time.Time { return now }}
	town.start()
	alice, bob := town.openedAs(t, "alice"), town.openedAs(t, "bob")

	k := alice.mint(now)
	alice.executes(t, k)
	bob.says(t, k, spec.KeyNotExecuted)
	bob.refusedFor(t, k, spec.ReasonKeySealed)
	alice.says(t, k, spec.KeyExecuted)
	if a, _ := alice.post(t.Context(), alice.session, 800, "count", map[string]any{"of": "other", "_meta": map[string]any{spec.MetaKey: k.String()}}); a.reason != spec.ReasonKeyReused {
		t.Errorf("other arguments: %+v", a)
	}

	ahead := alice.mint(now.Add(time.Hour))
	alice.refusedFor(t, ahead, spec.ReasonKeyFuture)
	alice.says(t, ahead, spec.KeyNotExecuted)
	alice.refusedFor(t, alice.mint(now.Add(time.Hour)), spec.ReasonLedgerUnavailable) // there is one of them in her share
	town.mustHaveRun(t, ahead, 0)

	for range 2 { // a quarter of 16, and two are there
		alice.executes(t, alice.mint(now))
	}
	over := alice.mint(now)
	alice.refusedFor(t, over, spec.ReasonLedgerFull)
	alice.refusedFor(t, over, spec.ReasonKeySealed)
	alice.says(t, over, spec.KeyNotExecuted)
	town.mustHaveRun(t, over, 0)
	bob.executes(t, bob.mint(now))
	now = now.Add(2 * time.Minute)
	alice.executes(t, alice.mint(now)) // what is old makes room
	alice.refusedFor(t, k, spec.ReasonKeyUnknown)

	late := bob.mint(now.Add(2 * time.Hour)) // younger than all that are there; the clock jumps, and takes no key with it that was never here
	now = now.AddDate(50, 0, 0)
	town.openedAs(t, "carol").executes(t, bob.mint(now))
	bob.executes(t, late)
}

// Nothing passes the bound on all, whoever comes.
func TestWiredLedgerBoundOnAll(t *testing.T) {
	store := ledger.NewMemoryStore()
	town := newTownship(t, func() ledger.Store { return store })
	town.http.Subject = bySubjectHeader
	town.opts = ledger.Options{Entries: 32, SubjectEntries: 32}
	p := town.start()
	for n := range 40 {
		c := town.openedAs(t, fmt.Sprint("s", n))
		k := c.mint(time.Now())
		a := c.call(t.Context(), k)
		if ran := a.result != nil; ran != (n < 30) || !ran && a.reason != spec.ReasonLedgerFull && a.reason != spec.ReasonLedgerUnavailable {
			t.Errorf("call %d: %+v", n, a)
		}
		if n < 3 { // seals of the future, too, have a bound for all of them: two
			ahead := c.mint(time.Now().Add(time.Hour))
			c.refusedFor(t, ahead, []spec.Reason{spec.ReasonKeyFuture, spec.ReasonKeyFuture, spec.ReasonLedgerUnavailable}[n])
		}
		if entries := p.ledger.Stats().Entries; entries > 36 {
			t.Fatalf("%d entries", entries)
		}
	}
}

// A response that is too large, alone or together with others, is not kept; that
// the call ran is, and that is what the client is told (R28).
func TestWiredLedgerLargeResponses(t *testing.T) {
	for name, o := range map[string]ledger.Options{"alone": {ResponseBytes: 2000}, "together": {Bytes: 2000}} {
		t.Run(name, func(t *testing.T) {
			store := ledger.NewMemoryStore()
			town := newTownship(t, func() ledger.Store { return store })
			town.opts = o
			town.work = func(_ context.Context, m *streamhttp.Message, run func() bool) {
				run()
				_, _ = m.Stream.Answer(strings.Repeat("x", 3000))
			}
			town.start()
			c := town.opened(t)
			k := c.mint(time.Now())
			c.executes(t, k)
			if got, _ := c.query(t.Context(), k); got.State != spec.KeyExecuted || !got.ResponseLost {
				t.Errorf("asked, the server says %s, lost %v", got.State, got.ResponseLost)
			}
			c.refusedFor(t, k, spec.ReasonResponseLost)
			town.mustHaveRun(t, k, 1)
		})
	}
}

// brittle is a store that fails while it is told to.
type brittle struct {
	ledger.Store
	broken atomic.Bool
}

var errBrittle = errors.New("no space left")

func (b *brittle) Append(g uint64, batch ledger.Batch) error {
	if b.broken.Load() {
		return errBrittle
	}
	return b.Store.Append(g, batch)
}

func (b *brittle) Rewrite(i ledger.Image) error {
	if b.broken.Load() {
		return errBrittle
	}
	return b.Store.Rewrite(i)
}

// A store that fails: nothing runs, nothing is proved; what runs is answered,
// and is known when the store is back, to the next process too (R28).
func TestWiredLedgerStoreFails(t *testing.T) {
	store := &brittle{Store: ledger.NewMemoryStore()}
	town := newTownship(t, func() ledger.Store { return store })
	began, goOn := make(chan struct{}), make(chan struct{})
	town.work = func(_ context.Context, m *streamhttp.Message, run func() bool) {
		if run(); bytes.Contains(m.Params, []byte(`"progressToken":1,`)) {
			began <- struct{}{}
			<-goOn
		}
		_, _ = m.Stream.Answer("counted")
	}
	town.start()
	c := town.opened(t)
	running, refused := c.mint(time.Now()), c.mint(time.Now())
	heard := make(chan keyedAnswer, 1)
	go func() { heard <- c.call(t.Context(), running) }()
	<-began
	other := town.opened(t)
	other.ids = 100
	store.broken.Store(true)
	other.refusedFor(t, refused, spec.ReasonLedgerUnavailable)
	if got, a := other.query(t.Context(), refused); a.reason != spec.ReasonLedgerUnavailable {
		t.Errorf("asked, the server says %+v, %+v", got, a)
	}
	close(goOn)
	if a := <-heard; string(a.result) != `"counted"` {
		t.Errorf("what ran when the store failed is answered with %+v", a)
	}
	other.says(t, running, spec.KeyExecuted)
	town.mustHaveRun(t, refused, 0)
	store.broken.Store(false)
	other.executes(t, refused)
	town.kill()
	town.start()
	after := town.opened(t)
	for _, k := range []spec.Key{running, refused} {
		after.says(t, k, spec.KeyExecuted)
		town.mustHaveRun(t, k, 1)
	}
}

// What a server finds in the place of its ledger: a line that was being written
// is dropped; damage is refused, and with a new ledger in its place everything
// is unknown and nothing runs again; a start of the process before is unknown.
func TestWiredLedgerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	town := newTownship(t, func() ledger.Store { return ledger.OpenFile(path).ReplaceDamaged() })
	began := make(chan struct{}, 1)
	town.work = func(_ context.Context, m *streamhttp.Message, run func() bool) {
		run()
		if began <- struct{}{}; bytes.Contains(m.Params, []byte(`"progressToken":2,`)) {
			<-town.over
		}
		<-began
		_, _ = m.Stream.Answer("counted")
	}
	town.start()
	c := town.opened(t)
	k, begun := c.mint(time.Now()), c.mint(time.Now())
	c.executes(t, k)
	go c.call(t.Context(), begun)
	for len(began) == 0 {
		time.Sleep(time.Millisecond)
	}
	town.kill()
	<-began
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, found := range map[string][]byte{
		"torn":          append(bytes.Clone(whole), lines[len(lines)-2][:30]...),
		"a flipped bit": bytes.Replace(whole, []byte("started"), []byte("ttarted"), 1),
		"a lost line":   bytes.Join(append(append([][]byte{}, lines[:1]...), lines[2:]...), nil),
		"half an image": lines[0][:len(lines[0])/2],
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, found, 0o600); err != nil {
				t.Fatal(err)
			}
			town.start()
			defer town.kill()
			next := town.opened(t)
			next.ids = 100
			if kept := next.ledger == c.ledger; kept != (name == "torn") {
				t.Fatalf("the ledger is %s and was %s", next.ledger, c.ledger)
			}
			for _, key := range []spec.Key{k, begun} {
				want := spec.KeyUnknown
				if name == "torn" && key == k {
					want = spec.KeyExecuted
				}
				next.says(t, key, want)
				_ = next.call(t.Context(), key)
				town.mustHaveRun(t, key, 1)
			}
			_, err := os.Stat(path + ".damaged")
			if kept := err == nil; kept && name == "torn" {
				t.Error("a torn line was taken for damage")
			}
			_ = os.Remove(path + ".damaged")
		})
	}
}

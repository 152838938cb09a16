package properties_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// The ledger and its model side by side: calls, doubled and late copies,
// queries, handlers that run and finish, clocks that step either way, a store
// that fails before or after it changed something, crashes, lost ledgers.
//
// What the store acknowledged is the model's entries and horizon: after every
// step each difference must be an action of the model that is enabled, and what
// the ledger answered must be what the model answers (R28).
func TestLedgerLockstep(t *testing.T) {
	hits := map[string]int{}
	for seed := range uint64(4000) {
		newLedgerPair(t, hits, rand.New(rand.NewPCG(seed, 28)).IntN).drive(200)
	}
	for _, name := range []string{"execute", "running", "executed", "sealed", "unknown", "refused", "asked: running", "asked: executed", "asked: sealed", "asked: unknown",
		"unavailable", "not durable, and told", "found after a crash", "dead start", "foreign", "below", "reused", "future", "full", "forgotten", "lost"} {
		if hits[name] == 0 {
			t.Errorf("never: %s", name)
		}
	}
	t.Log(hits)
}

// The same with what rapid draws, which shrinks.
func TestLedgerLockstepRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SampledFrom([]int{10, 60, 250}).Draw(t, "steps")
		newLedgerPair(t, map[string]int{}, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }).drive(steps)
	})
}

// drive makes so many steps.
func (p *ledgerPair) drive(n int) {
	rare := []func(){p.fails, p.crash, p.clock, p.reuse}
	often := []func(){p.client, p.client, p.call, p.post, p.post, p.post, p.query, p.query, p.work, p.work, p.work}
	for range n {
		steps := often
		if p.dice(8) == 0 {
			steps = rare
		}
		steps[p.dice(len(steps))]()
	}
}

// A ledgerPair is both of them.
type ledgerPair struct {
	t      rapid.TB
	dice   func(n int) int
	hits   map[string]int
	m      *model.Ledger
	s      model.LedgerState
	real   *ledger.Ledger
	store  *ledgerBooks
	opts   ledger.Options
	now    time.Time
	names  []string // by the model's number
	keys   [4]spec.Key
	runs   [4]*ledger.Run // of this process, not finished
	ran    [4]int
	untold [4]bool // finished, and the store did not take it
	sealed [4]bool // somebody was told that it never runs
}

const ledgerBase = 1_800_000_000_000 // minting time t is so many milliseconds and t seconds

func newLedgerPair(t rapid.TB, hits map[string]int, dice func(int) int) *ledgerPair {
	p := &ledgerPair{t: t, dice: dice, hits: hits, now: time.UnixMilli(ledgerBase + 2000)}
	p.m = model.NewLedger(model.LedgerScope{Keys: 4, Instances: 1, Epochs: 4, Sends: 4, Crashes: 200, Names: 4, Times: 3, Shared: true})
	p.s = p.m.Initial()
	p.store = &ledgerBooks{}
	p.opts = ledger.Options{Entries: 2, SubjectEntries: 3, Age: 3 * time.Second, Keep: time.Second, Skew: time.Second, Now: func() time.Time { return p.now }}
	p.store.lose()
	p.open()
	p.names = []string{p.real.Name()}
	return p
}

func (p *ledgerPair) open() {
	real, err := ledger.New(p.store, p.opts)
	if err != nil {
		p.t.Fatal(err)
	}
	p.real = real
}

func (p *ledgerPair) key() uint8 { return uint8(p.dice(4)) }
func (p *ledgerPair) yes() bool  { return p.dice(2) == 1 }

// apply makes a step of the model that must be enabled, and asks its
// invariants.
func (p *ledgerPair) apply(a model.LedgerAction, why string) {
	p.t.Helper()
	before := p.s
	if !p.m.Apply(&p.s, a) {
		p.t.Fatalf("%s: the model has no %v in %+v", why, a, p.s)
	}
	for _, inv := range model.LedgerInvariants() {
		if !inv.Holds(p.m, &before, &p.s) {
			p.t.Fatalf("%s: after %v not so: %s", why, a, inv.Name)
		}
	}
}

// maybe makes a step of the model if it is enabled.
func (p *ledgerPair) maybe(a model.LedgerAction) bool {
	if next := p.s; !p.m.Apply(&next, a) {
		return false
	}
	p.apply(a, "the client")
	return true
}

// client makes the steps of the client and the network that no ledger sees.
func (p *ledgerPair) client() {
	names := []model.LedgerStep{model.LOpen, model.LOpen, model.LOpen, model.LCallBroken, model.LCallBroken, model.LResend, model.LResend, model.LResend,
		model.LLift, model.LLift, model.LDouble, model.LDouble}
	if p.dice(12) == 0 {
		names = []model.LedgerStep{model.LDecide, model.LAbandon, model.LEndSession}
	}
	name, k, e := names[p.dice(len(names))], p.key(), uint8(p.dice(4))
	if name == model.LOpen {
		e = p.s.Epoch
	}
	p.maybe(model.LedgerAction{Name: name, K: k, E: e})
}

func (p *ledgerPair) call() {
	k, minted := p.key(), uint8(1+p.dice(3))
	if p.s.Epoch == 0 {
		p.maybe(model.LedgerAction{Name: model.LOpen})
	}
	if p.maybe(model.LedgerAction{Name: model.LCall, K: k, N: minted}) {
		p.keys[k] = spec.Key{Ledger: p.names[p.s.Key[k].Name-1], Minted: ledgerBase + uint64(minted)*1000, Nonce: fmt.Sprintf("%032x", k)}
	}
}

// post delivers a copy of a call's POST.
func (p *ledgerPair) post() {
	k, heard := p.key(), p.yes()
	for e := range uint8(4) {
		if p.s.Posts[k][e] == 0 {
			continue
		}
		if p.s.Session[e].St != model.HostLive {
			p.hits["refused"]++
			p.apply(model.LedgerAction{Name: model.LArrive, K: k, E: e, Answer: model.AnswerRefused, Heard: heard}, "no session")
			return
		}
		p.arrive(k, e, heard)
		return
	}
}

func (p *ledgerPair) arrive(k, e uint8, heard bool) {
	below := p.keys[k].Minted < p.store.acked.Horizon
	entry := p.s.Entry[p.s.Uses[0]-1][k]
	a, err := p.real.Arrive("", p.keys[k], digestOf(k))
	answer := model.AnswerUnknown
	switch {
	case err == nil && a.Execute != nil:
		answer, p.runs[k] = model.AnswerExecute, a.Execute
	case err == nil && a.Join != nil:
		answer = model.AnswerRunning
	case err == nil && a.Executed != nil:
		answer = model.AnswerExecuted
		if string(a.Executed.Response) != responseOf(k) {
			p.t.Fatalf("key %d: the response is %s", k, a.Executed.Response)
		}
		if p.untold[k] { // this process knows more than the store
			p.hits["not durable, and told"]++
			answer = model.AnswerRunning
		}
	case errors.Is(err, spec.ReasonLedgerUnavailable):
		p.hits["unavailable"]++
		p.explain("nothing was told")
		p.same("nothing was told")
		return // the copy proves nothing: it may as well be on its way
	case errors.Is(err, spec.ReasonKeyFuture), errors.Is(err, spec.ReasonLedgerFull), errors.Is(err, spec.ReasonKeySealed):
		answer, p.sealed[k] = model.AnswerSealed, true
		if errors.Is(err, spec.ReasonKeyFuture) {
			p.hits["future"]++
		} else if errors.Is(err, spec.ReasonLedgerFull) {
			p.hits["full"]++
		}
	case errors.Is(err, spec.ReasonKeyUnknown):
		switch {
		case below:
			p.hits["below"]++
		case entry.St == model.EntryStarted:
			p.hits["dead start"]++
		}
	default:
		p.t.Fatalf("key %d: %+v, %v", k, a, err)
	}
	p.hits[answer.String()]++
	p.explain("an arrival")
	heard = heard && answer != model.AnswerExecute && answer != model.AnswerRunning
	p.apply(model.LedgerAction{Name: model.LArrive, K: k, E: e, Answer: answer, Heard: heard}, fmt.Sprintf("the ledger answers a POST with %v (%v)", a, err))
	p.same("an arrival")
}

// query asks for the outcome of a key.
func (p *ledgerPair) query() {
	k, heard := p.key(), p.yes()
	if p.s.Epoch == 0 || p.s.Record != model.KeeperOpen && p.s.Record != model.KeeperQuarantined ||
		p.s.Outcome[k] != model.KeyUnknown || p.s.Session[p.s.Epoch-1].St != model.HostLive {
		return
	}
	got, err := p.real.Query("", p.keys[k])
	if err != nil {
		if !errors.Is(err, spec.ReasonLedgerUnavailable) {
			p.t.Fatal(err)
		}
		p.hits["unavailable"]++
		p.explain("nothing was told")
		p.same("nothing was told")
		return
	}
	if p.keys[k].Ledger != p.real.Name() {
		p.hits["foreign"]++
	}
	answer := map[spec.KeyState]model.LedgerAnswer{spec.KeyExecuted: model.AnswerExecuted, spec.KeyRunning: model.AnswerRunning,
		spec.KeyNotExecuted: model.AnswerSealed, spec.KeyUnknown: model.AnswerUnknown}[got.State]
	if got.State == spec.KeyExecuted && string(got.Response) != responseOf(k) {
		p.t.Fatalf("key %d: the response is %s", k, got.Response)
	}
	if got.State == spec.KeyExecuted && p.untold[k] {
		answer, heard = model.AnswerRunning, false
	}
	p.sealed[k] = p.sealed[k] || answer == model.AnswerSealed
	p.hits["asked: "+answer.String()]++
	p.explain("a query")
	p.apply(model.LedgerAction{Name: model.LQuery, K: k, Answer: answer, Heard: heard}, fmt.Sprintf("the ledger says %s", got.State))
	p.same("a query")
}

// work lets a handler run, or finish.
func (p *ledgerPair) work() {
	k, heard := p.key(), p.yes()
	run := p.runs[k]
	if run == nil {
		return
	}
	if p.s.Handler[0][k] == model.HandlerBegun {
		if p.ran[k]++; p.ran[k] > 1 || p.sealed[k] {
			p.t.Fatalf("key %d runs, and ran %d times before; it was said never to run: %v", k, p.ran[k]-1, p.sealed[k])
		}
		p.apply(model.LedgerAction{Name: model.LRun, K: k}, "the handler")
		return
	}
	p.runs[k] = nil
	if err := run.Finish([]byte(responseOf(k))); err != nil {
		p.untold[k] = true
		p.explain("an outcome that is not durable")
		p.same("an outcome that is not durable")
		return
	}
	p.explain("an outcome")
	p.apply(model.LedgerAction{Name: model.LFinish, K: k, Heard: heard}, "an outcome")
	p.same("an outcome")
}

// reuse sends other arguments with a key that is known: nothing changes.
func (p *ledgerPair) reuse() {
	k := p.key()
	if e := p.s.Entry[p.s.Uses[0]-1][k]; e.St != model.EntryStarted && e.St != model.EntryDone || p.m.Verdict(&p.s, 0, k) == model.AnswerUnknown {
		return
	}
	p.hits["reused"]++
	if a, err := p.real.Arrive("", p.keys[k], "other"); a != (ledger.Arrival{}) || !errors.Is(err, spec.ReasonKeyReused) {
		p.t.Fatalf("other arguments: %+v, %v", a, err)
	}
	p.same("other arguments")
}

func (p *ledgerPair) clock() {
	p.now = time.UnixMilli(ledgerBase).Add(time.Duration(p.dice(11000)-2000) * time.Millisecond)
}

func (p *ledgerPair) fails() {
	p.store.failing = p.dice(3)
	p.store.after = p.yes()
}

// crash ends the process, and sometimes its ledger is lost with it.
func (p *ledgerPair) crash() {
	lost := p.dice(10) == 0
	p.adopt()
	p.store.failing = 0
	p.runs, p.untold = [4]*ledger.Run{}, [4]bool{}
	p.apply(model.LedgerAction{Name: model.LCrash}, "a crash")
	if old := p.s.Uses[0] - 1; lost && p.maybe(model.LedgerAction{Name: model.LLose, L: old}) {
		p.hits["lost"]++
		p.store.lose()
		p.open()
		if slices.Contains(p.names, p.real.Name()) {
			p.t.Fatal("the lost ledger's name comes again")
		}
		p.names = append(p.names, p.real.Name())
		return
	}
	p.open()
	p.same("a crash")
}

// adopt takes over what the store holds and never acknowledged: a change that
// failed after it was made. It is what the change would have been, without the
// answer: a start that nobody runs, a seal that nobody was told, an outcome.
func (p *ledgerPair) adopt() {
	l := p.s.Uses[0] - 1
	p.s.Horizon[l] = max(p.s.Horizon[l], p.horizon(p.store.actual.Horizon))
	for k := range uint8(4) {
		e, was := p.entry(p.store.actual, k), &p.s.Entry[l][k]
		switch {
		case e == *was:
			continue
		case was.St == model.EntryNone && (e.St == model.EntrySealed || e.St == model.EntryStarted && e.G == p.s.Gen[0]):
		case was.St == model.EntryStarted && e.St == model.EntryDone && p.s.Runs[k] == 1:
		case e.St == model.EntryNone && p.s.Key[k].Minted < p.s.Horizon[l]:
		default:
			p.t.Fatalf("key %d: the store holds %+v and the model %+v", k, e, *was)
		}
		p.hits["found after a crash"]++
		*was = e
	}
	p.store.acked = p.store.actual
}

// horizon is the model's horizon for one of the store's.
func (p *ledgerPair) horizon(of uint64) (h uint8) {
	for h = 1; h <= 3 && ledgerBase+uint64(h)*1000 < of; h++ {
	}
	return h
}

// entry is what an image says of a key, as the model has it.
func (p *ledgerPair) entry(i ledger.Image, k uint8) (e model.LedgerEntry) {
	for _, found := range i.Entries {
		if found.Key != p.keys[k] {
			continue
		}
		switch found.State {
		case ledger.Started:
			return model.LedgerEntry{St: model.EntryStarted, I: 1, G: uint8(found.Generation - p.store.first)}
		case ledger.Done:
			return model.LedgerEntry{St: model.EntryDone}
		}
		return model.LedgerEntry{St: model.EntrySealed}
	}
	return e
}

// explain makes the model's steps for what the store acknowledged beside the
// matter at hand: outcomes that it did not take at first, a horizon that rose,
// entries that were forgotten.
func (p *ledgerPair) explain(after string) {
	p.t.Helper()
	l := p.s.Uses[0] - 1
	for k := range uint8(4) {
		if p.untold[k] && p.entry(p.store.acked, k).St == model.EntryDone {
			p.untold[k] = false
			p.apply(model.LedgerAction{Name: model.LFinish, K: k}, after)
		}
	}
	if h := p.horizon(p.store.acked.Horizon); h != p.s.Horizon[l] {
		p.apply(model.LedgerAction{Name: model.LRaiseHorizon, L: l, N: h}, after)
	}
	for k := range uint8(4) {
		if p.s.Entry[l][k].St != model.EntryNone && p.entry(p.store.acked, k).St == model.EntryNone {
			p.hits["forgotten"]++
			p.apply(model.LedgerAction{Name: model.LForget, K: k, L: l}, after)
		}
	}
}

// same compares what the store acknowledged with the model's entries.
func (p *ledgerPair) same(after string) {
	p.t.Helper()
	l := p.s.Uses[0] - 1
	if h := p.horizon(p.store.acked.Horizon); h != p.s.Horizon[l] {
		p.t.Fatalf("after %s: horizon %d, the model's is %d", after, h, p.s.Horizon[l])
	}
	for k := range uint8(4) {
		if e := p.entry(p.store.acked, k); e != p.s.Entry[l][k] {
			p.t.Fatalf("after %s: key %d is %+v, in the model %+v", after, k, e, p.s.Entry[l][k])
		}
	}
	if s := p.real.Stats(); s.Entries > p.opts.Entries+max(1, p.opts.Entries/8) {
		p.t.Fatalf("after %s: %d entries", after, s.Entries)
	}
}

func digestOf(k uint8) string   { return spec.DigestCall("count", []byte(fmt.Sprint(k))) }
func responseOf(k uint8) string { return fmt.Sprintf(`{"result":%d}`, k) }

// ledgerBooks is a store that can fail before or after a change, and tells what
// it acknowledged from what it holds.
type ledgerBooks struct {
	acked, actual ledger.Image
	first         uint64 // generation before the first
	failing       int    // changes that fail from now on
	after         bool   // they are made all the same
	generations   uint64
}

var errBooks = errors.New("the store fails")

func (b *ledgerBooks) lose() {
	b.acked = ledger.Image{Name: ledger.NewName()}
	b.actual = b.acked
}

func (b *ledgerBooks) Open() (ledger.Image, error) {
	b.generations++
	b.acked.Generation = b.generations
	b.actual = b.acked
	return b.acked, nil
}

func (b *ledgerBooks) change(generation uint64, to func(ledger.Image) ledger.Image) error {
	if generation != b.generations {
		return ledger.ErrSuperseded
	}
	if b.failing > 0 {
		if b.failing--; b.after {
			b.actual = to(b.actual)
		}
		return errBooks
	}
	b.acked = to(b.acked)
	b.actual = b.acked
	return nil
}

func (b *ledgerBooks) Append(generation uint64, batch ledger.Batch) error {
	if !imagesEqual(b.acked, b.actual) && b.failing == 0 {
		panic("a batch behind a change whose outcome is unknown")
	}
	return b.change(generation, func(i ledger.Image) ledger.Image {
		i.Horizon = max(i.Horizon, batch.Horizon)
		entries := map[spec.Key]ledger.Entry{}
		for _, e := range append(slices.Clone(i.Entries), batch.Entries...) {
			if e.Key.Minted >= i.Horizon {
				entries[e.Key] = e
			}
		}
		i.Entries = slices.Collect(maps.Values(entries))
		return i
	})
}

func imagesEqual(a, b ledger.Image) bool {
	return a.Horizon == b.Horizon && len(a.Entries) == len(b.Entries)
}

func (b *ledgerBooks) Outdated() bool { return false }
func (b *ledgerBooks) Rewrite(i ledger.Image) error {
	return b.change(i.Generation, func(ledger.Image) ledger.Image { i.Entries = slices.Clone(i.Entries); return i })
}
func (b *ledgerBooks) Close() error { return nil }

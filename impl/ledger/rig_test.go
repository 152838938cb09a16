package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/reattach/spec"
)

// A rig is a ledger over a store that can be made to fail, with a clock that
// tests set.
type rig struct {
	t     testing.TB
	store *faulty
	now   time.Time
	opts  Options
	*Ledger
}

// faulty is a store whose next changes fail, before or after they are made.
type faulty struct {
	Store
	fail  error
	after bool // the change is made, and fails all the same
	count int  // changes that were asked for
}

func (f *faulty) Append(g uint64, b Batch) error {
	return f.do(func() error { return f.Store.Append(g, b) })
}
func (f *faulty) Rewrite(i Image) error { return f.do(func() error { return f.Store.Rewrite(i) }) }
func (f *faulty) do(change func() error) error {
	f.count++
	if f.fail != nil && !f.after {
		return f.fail
	}
	if err := change(); err != nil {
		return err
	}
	return f.fail
}

func newRig(t testing.TB, store Store, o Options) *rig {
	t.Helper()
	r := &rig{t: t, store: &faulty{Store: store}, now: time.UnixMilli(1_800_000_000_000), opts: o}
	r.opts.Now = func() time.Time { return r.now }
	r.restart()
	return r
}

// restart is the next process on the same store.
func (r *rig) restart() {
	r.t.Helper()
	l, err := New(r.store, r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Ledger = l
}

// key is the n-th key, minted so long ago.
func (r *rig) key(n int, ago time.Duration) spec.Key {
	return spec.Key{Ledger: r.Name(), Minted: uint64(r.now.Add(-ago).UnixMilli()), Nonce: fmt.Sprintf("%032x", n)}
}

func (r *rig) start(k spec.Key) *Run {
	r.t.Helper()
	a, err := r.Arrive("", k, "digest")
	if err != nil || a.Execute == nil {
		r.t.Fatalf("a new call is not executed: %+v, %v", a, err)
	}
	return a.Execute
}

func (r *rig) refused(k spec.Key, want spec.Reason) {
	r.t.Helper()
	a, err := r.Arrive("", k, "digest")
	if a != (Arrival{}) || !errors.Is(err, want) {
		r.t.Fatalf("arrives: %+v, %v; want it refused for %s", a, err, string(want))
	}
}

func (r *rig) is(k spec.Key, want spec.KeyState) spec.OutcomeResult {
	r.t.Helper()
	got, err := r.Query("", k)
	if err != nil || got.State != want {
		r.t.Fatalf("a query says %+v, %v; want %s", got, err, want)
	}
	return got
}

var response = json.RawMessage(`{"result":{"n":1}}`)

func finish(t testing.TB, r *Run) {
	t.Helper()
	if err := r.Finish(response); err != nil {
		t.Fatal(err)
	}
}

var errDisk = errors.New("the disk is gone")

package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/reattach/spec"
)

// An oracle is a server with a ledger that says what the test wants.
type oracle struct {
	*server
	says  func() Told
	asked int
}

var ledgerName = strings.Repeat("7", spec.LedgerNameLen)

func (o *oracle) Open(ctx context.Context, r OpenRequest) (Opened, error) {
	opened, err := o.server.Open(ctx, r)
	opened.Ledger = ledgerName
	return opened, err
}

func (o *oracle) Ask(request uint64, key string) ([]byte, error) {
	o.asked++
	return fmt.Appendf(nil, "what of %s", key), nil
}

func (o *oracle) Told([]byte, uint64) (Told, error) { return o.says(), nil }

// newOracle loses every POST of a payment, after it was sent.
func newOracle(told func() Told) *oracle {
	o := &oracle{server: &server{handle: says("told")}, says: told}
	o.before = func(context.Context, string, bool) (Response, error, bool) {
		last := o.posts[len(o.posts)-1]
		return Response{}, errCut, strings.HasPrefix(string(last.Payload), "pay")
	}
	return o
}

func payment() Request {
	return Request{Method: "pay", Digest: "of 5 euros", BuildKeyed: func(request uint64, key string) ([]byte, error) {
		return fmt.Appendf(nil, "pay %d under %s", request, key), nil
	}}
}

// R23, R28: what a ledger says is believed word for word: only "executed" and "not
// executed" resolve an unknown outcome.
func TestWhatALedgerSaysIsBelieved(t *testing.T) {
	for state, resolved := range map[spec.KeyState]bool{spec.KeyUnknown: false, spec.KeyExecuted: true, spec.KeyNotExecuted: true} {
		story(t, func(t *testing.T, ctx context.Context) {
			told := Told{State: state}
			if state == spec.KeyExecuted {
				told.Answer = []byte("paid")
			}
			o := newOracle(func() Told { return told })
			var decided []Decision
			c := dial(t, o, &MemoryStore{}, Options{NoStandalone: true, NoAsking: true,
				OnResolved: func(_ StreamID, d Decision) { decided = append(decided, d) }})
			var unknown *UnknownError
			if _, err := c.Call(ctx, payment()); !errors.As(err, &unknown) || len(c.Unknowns()) != 1 {
				t.Fatalf("%v, unknown are %v", err, c.Unknowns())
			}
			all, err := c.Reconcile(ctx)
			if err != nil || len(all) != 1 || all[0].State != state || all[0].Resolved() != resolved || len(c.Unknowns()) == 0 != resolved {
				t.Errorf("%s: %+v, %v, unknown are %v", state, all, err, c.Unknowns())
			}
			c.Close()
			want := map[spec.KeyState]int{spec.KeyExecuted: int(DidExecute), spec.KeyNotExecuted: int(DidNotExecute)}
			if resolved && (len(decided) != 1 || int(decided[0]) != want[state]) || !resolved && len(decided) != 0 {
				t.Errorf("%s: decided %v", state, decided)
			}
		})
	}
}

// R28: what is sent again is the call of which the outcome is unknown, or nothing.
func TestAnotherCallIsNotSentUnderAKey(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		o := newOracle(func() Told { return Told{State: spec.KeyUnknown} })
		c := dial(t, o, &MemoryStore{}, Options{NoStandalone: true, NoAsking: true})
		var unknown *UnknownError
		if _, err := c.Call(ctx, payment()); !errors.As(err, &unknown) {
			t.Fatal(err)
		}
		another, more := payment(), payment()
		another.Method, more.Digest = "refund", "of 500 euros"
		for _, r := range []Request{another, more} {
			if _, err := c.Resend(ctx, unknown.Stream, r); !errors.Is(err, ErrOtherCall) || len(o.posts) != 1 {
				t.Errorf("%s %s: %v, and %d POSTs", r.Method, r.Digest, err, len(o.posts))
			}
		}
		o.before = nil
		if got, err := c.Resend(ctx, unknown.Stream, payment()); err != nil || string(got.Payload) != "told" || len(c.Unknowns()) != 0 {
			t.Errorf("%q, %v, unknown are %v", got.Payload, err, c.Unknowns())
		}
	})
}

// R23: a call that was lost with its process is asked for as soon as somebody
// reconciles, also while its loss is still being written down.
func TestWhoReconcilesWaitsForTheRecord(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		o := newOracle(func() Told { return Told{State: spec.KeyNotExecuted} })
		store := &MemoryStore{}
		c := dial(t, o, store, Options{NoStandalone: true, NoAsking: true})
		var died Record // as it is when the payment leaves
		lose := o.before
		o.before = func(ctx context.Context, cursor string, post bool) (Response, error, bool) {
			died, _ = store.Load(ctx)
			return lose(ctx, cursor, post)
		}
		_, _ = c.Call(ctx, payment())
		c.Close()
		o.before = lose
		next := dial(t, o, leisurely{NewMemoryStore(died)}, Options{NoStandalone: true, NoAsking: true})
		if len(died.Calls) != 1 || len(next.Unknowns()) != 0 {
			t.Fatalf("recovered %v, and unknown are %v already", died.Calls, next.Unknowns())
		}
		all, err := next.Reconcile(ctx)
		if err != nil || len(all) != 1 || !all[0].Resolved() || o.asked != 1 {
			t.Errorf("%+v, %v, and the ledger was asked %d times", all, err, o.asked)
		}
	})
}

// leisurely takes a second for every write.
type leisurely struct{ Store }

func (s leisurely) Commit(ctx context.Context, ch Change, events []Event) (Record, error) {
	time.Sleep(time.Second)
	return s.Store.Commit(ctx, ch, events)
}

// R23: for a call that still runs the ledger is asked again, until it says what
// came of it.
func TestACallThatRunsIsWaitedFor(t *testing.T) {
	story(t, func(t *testing.T, ctx context.Context) {
		states := []spec.KeyState{spec.KeyRunning, spec.KeyRunning, spec.KeyNotExecuted}
		o := newOracle(nil)
		o.says = func() Told { return Told{State: states[min(o.asked, len(states))-1]} }
		c := dial(t, o, &MemoryStore{}, Options{NoStandalone: true, NoAsking: true})
		_, _ = c.Call(ctx, payment())
		all, err := c.Reconcile(ctx)
		if err != nil || len(all) != 1 || all[0].State != spec.KeyNotExecuted || !all[0].Resolved() || o.asked != len(states) {
			t.Errorf("%+v, %v, asked %d times", all, err, o.asked)
		}
	})
}

// R23: a call whose POST was cut is asked for by itself, unless that is left to
// the caller.
func TestALostCallIsAskedForByItself(t *testing.T) {
	for _, leave := range []bool{false, true} {
		story(t, func(t *testing.T, ctx context.Context) {
			o := newOracle(func() Told { return Told{State: spec.KeyExecuted, Answer: []byte("paid")} })
			c := dial(t, o, &MemoryStore{}, Options{NoStandalone: true, NoAsking: leave})
			got, err := c.Call(ctx, payment())
			var unknown *UnknownError
			if leave && (!errors.As(err, &unknown) || o.asked != 0) || !leave && (err != nil || string(got.Payload) != "paid" || o.asked != 1) {
				t.Errorf("left to the caller %v: %q, %v, asked %d times", leave, got.Payload, err, o.asked)
			}
		})
	}
}

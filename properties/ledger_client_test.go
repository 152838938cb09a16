package properties_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// The same chaos with the client of this module: it resumes, asks in the same
// session, abandons, and reconciles in the next epoch. Whatever its caller was
// told is true at the end (R23, R28).
func TestWiredLedgerAndClient(t *testing.T) {
	total := map[spec.KeyState]int{}
	reconciled, kills := 0, 0
	for seed := range uint64(6) {
		c := newChaos(t, 100+seed)
		var mu sync.Mutex
		ran, told, orphan := map[int]int{}, map[int]spec.KeyState{}, map[int]string{}
		inner := c.township.work
		c.township.work = func(ctx context.Context, m *streamhttp.Message, run func() bool) {
			var p struct{ Of int }
			_ = json.Unmarshal(m.Params, &p)
			inner(ctx, m, func() bool {
				ok := run()
				mu.Lock()
				defer mu.Unlock()
				if ok {
					ran[p.Of]++
				}
				return ok
			})
		}
		next := 0
		c.each = func() {
			mu.Lock()
			first := next
			next += 10
			mu.Unlock()
			for _, o := range callAsClient(t, c.server.URL, first, 10) {
				mu.Lock()
				told[o.of], orphan[o.of] = o.state, o.key
				if o.reconciled {
					reconciled++
				}
				mu.Unlock()
			}
		}
		c.drive(0)
		kills += c.kills
		for of, state := range told {
			total[state]++
			n := ran[of]
			if ok := state == spec.KeyExecuted && n == 1 || state == spec.KeyNotExecuted && n == 0 || state == spec.KeyUnknown && n <= 1 && c.orphaned[orphan[of]]; !ok {
				t.Errorf("seed %d: call %d was said to be %q and ran %d times; without outcome when its process was killed: %v", seed, of, state, n, c.orphaned[orphan[of]])
			}
		}
		for of, n := range ran {
			if n > 1 {
				t.Errorf("seed %d: call %d ran %d times", seed, of, n)
			}
		}
	}
	t.Logf("%v, reconciled in a later epoch %d, kills %d", total, reconciled, kills)
	if total[spec.KeyExecuted] == 0 || total[spec.KeyNotExecuted] == 0 || reconciled == 0 || kills == 0 {
		t.Errorf("never: %v, reconciled %d, kills %d", total, reconciled, kills)
	}
}

type toldOf struct {
	of         int
	state      spec.KeyState
	key        string // of an unknown one
	reconciled bool
}

// callAsClient makes calls with a client of ours, and sees to every outcome.
func callAsClient(t *testing.T, url string, first, calls int) (told []toldOf) {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	o := streamhttp.DialOptions{}
	o.Driver.BackoffBase, o.Driver.BackoffMax = time.Millisecond, 10*time.Millisecond
	o.Driver.NoStandalone = true
	var c *streamhttp.Client
	var err error
	for try := 0; ; try++ {
		if c, err = streamhttp.Dial(ctx, url, o); err == nil {
			break
		}
		if try > 500 {
			t.Errorf("no session: %v", err)
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	defer c.Close()
	for of := first; of < first+calls; of++ {
		one := toldOf{of: of}
		for try := 0; one.state == "" && try < 200; try++ {
			bounded, stop := context.WithTimeout(ctx, 5*time.Second)
			_, err := c.Call(bounded, "count", map[string]int{"of": of}, nil)
			stop()
			var pending *client.PendingError
			for errors.As(err, &pending) && ctx.Err() == nil && try < 200 {
				try++
				_ = c.Driver().Abandon(ctx) // the caller demands it
				_, err = c.Await(ctx, pending.Stream)
			}
			one.state = stateOf(err)
			if one.state == spec.KeyUnknown {
				one.state = ""
				reconcile(ctx, c, &one)
			} else if one.state == "" {
				reopen(ctx, c) // it was not sent
			}
		}
		if one.state == "" {
			t.Errorf("call %d: no outcome", of)
			return told
		}
		told = append(told, one)
	}
	return told
}

// stateOf is what the caller of a call was told; "" if it was never made.
func stateOf(err error) spec.KeyState {
	var response *streamhttp.ResponseError
	var unknown *client.UnknownError
	var notRun *client.NotRunError
	var lost *client.LostError
	switch {
	case err == nil, errors.As(err, &response), errors.As(err, &lost):
		return spec.KeyExecuted
	case errors.As(err, &notRun):
		return spec.KeyNotExecuted
	case errors.As(err, &unknown):
		return spec.KeyUnknown
	}
	return ""
}

func reopen(ctx context.Context, c *streamhttp.Client) {
	if state := c.Driver().State(); state == spec.Abandoned || state == spec.Closed || state == spec.Idle {
		_ = c.Open(ctx) // the next try will tell
	}
	time.Sleep(time.Millisecond)
}

// reconcile asks, in as many epochs as it takes, and decides where the ledger
// does not know.
func reconcile(ctx context.Context, c *streamhttp.Client, one *toldOf) {
	for ctx.Err() == nil {
		if left := c.Driver().Unknowns(); len(left) == 0 {
			one.state = "gone without an outcome"
			return
		}
		reopen(ctx, c)
		bounded, stop := context.WithTimeout(ctx, time.Second)
		all, _ := c.Reconcile(bounded)
		stop()
		for _, r := range all {
			switch {
			case r.Resolved():
				one.state = r.State
			case r.Err == nil && r.State == spec.KeyUnknown:
				if c.Driver().Resolve(ctx, r.Unknown.Stream, client.DidExecute) != nil {
					continue
				}
				one.state = spec.KeyUnknown
			default:
				continue
			}
			one.key, one.reconciled = r.Unknown.Key, true
			return
		}
	}
}

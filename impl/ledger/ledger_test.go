package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/reattach/spec"
)

// A call runs once: whoever comes while it runs joins it, whoever comes later
// gets what came of it (R28).
func TestASecondArrivalJoinsAndThenGetsTheOutcome(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	k := r.key(1, 0)
	run := r.start(k)
	r.is(k, spec.KeyRunning)
	a, err := r.Arrive("", k, "digest")
	if err != nil || a.Join != run {
		t.Fatalf("a second arrival: %+v, %v", a, err)
	}
	heard := make(chan Outcome)
	go func() {
		o, _ := a.Join.Wait(context.Background())
		heard <- o
	}()
	finish(t, run)
	if o := <-heard; string(o.Response) != string(response) {
		t.Errorf("who joined heard %s", o.Response)
	}
	if a, err = r.Arrive("", k, "digest"); err != nil || a.Executed == nil || string(a.Executed.Response) != string(response) {
		t.Errorf("a third arrival: %+v, %v", a, err)
	}
	if got := r.is(k, spec.KeyExecuted); string(got.Response) != string(response) {
		t.Errorf("a query: %s", got.Response)
	}
	if err := run.Finish([]byte(`{"result":2}`)); err != nil || string(r.is(k, spec.KeyExecuted).Response) != string(response) {
		t.Error("a second outcome took the place of the first")
	}
}

func TestOtherArgumentsAreRefused(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	k := r.key(1, 0)
	run := r.start(k)
	for _, state := range []string{"while it runs", "when it is done"} {
		if a, err := r.Arrive("", k, "other"); a != (Arrival{}) || !errors.Is(err, spec.ReasonKeyReused) {
			t.Errorf("%s: %+v, %v", state, a, err)
		}
		finish(t, run)
	}
}

// A key means something together with its subject (R13): another one's query
// neither tells nor seals.
func TestAKeyIsItsSubjects(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	k := r.key(1, 0)
	if got, err := r.Query("mallory", k); err != nil || got.State != spec.KeyNotExecuted {
		t.Fatal(got, err)
	}
	finish(t, r.start(k))
	if got, _ := r.Query("mallory", k); got.State != spec.KeyNotExecuted {
		t.Errorf("mallory is told %s", got.State)
	}
	r.is(k, spec.KeyExecuted)
}

// A query for a key that never came seals it, in this process and the next.
func TestAQuerySeals(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	k := r.key(1, 0)
	r.is(k, spec.KeyNotExecuted)
	r.refused(k, spec.ReasonKeySealed)
	r.restart()
	r.refused(k, spec.ReasonKeySealed)
	r.is(k, spec.KeyNotExecuted)
}

// What a generation had started and not finished is unknown to the next, and
// never runs again; what it had finished is known.
func TestAStartOfADeadGenerationIsUnknown(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	done, begun := r.key(1, 0), r.key(2, 0)
	finish(t, r.start(done))
	late := r.start(begun)
	r.restart()
	r.is(begun, spec.KeyUnknown)
	r.refused(begun, spec.ReasonKeyUnknown)
	r.is(done, spec.KeyExecuted)
	if err := late.Finish(response); !errors.Is(err, ErrSuperseded) {
		t.Errorf("a handler of the generation before writes: %v", err)
	}
	r.is(begun, spec.KeyUnknown)
}

func TestAKeyOfAnotherLedgerIsUnknown(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	k := r.key(1, 0)
	k.Ledger = "0123456789abcdef"
	r.is(k, spec.KeyUnknown)
	r.refused(k, spec.ReasonKeyUnknown)
	if r.store.count != 0 {
		t.Error("something was written of it")
	}
}

// The future: within the skew it runs, beyond it is sealed and refused, also
// when its time has come (R28).
func TestAKeyFromTheFuture(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{Skew: time.Minute})
	r.start(r.key(1, -time.Minute))
	k := r.key(2, -time.Minute-time.Millisecond)
	r.refused(k, spec.ReasonKeyFuture)
	r.now = r.now.Add(time.Hour)
	r.refused(k, spec.ReasonKeySealed)
	r.is(k, spec.KeyNotExecuted)
}

// Seals of the future are few: nothing forgets them. Beyond that a refusal
// proves nothing, and says so.
func TestSealsOfTheFutureAreFew(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{Entries: 64})
	for n := range 4 {
		r.refused(r.key(n, -time.Hour), spec.ReasonKeyFuture)
	}
	r.refused(r.key(5, -time.Hour), spec.ReasonLedgerUnavailable)
	if _, err := r.Query("", r.key(6, -time.Hour)); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a query: %v", err)
	}
	r.start(r.key(7, 0))
}

// Nor do many subjects have many of them together.
func TestSealsOfTheFutureAreFewForAll(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{Entries: 64})
	for n, subject := range []string{"a", "b", "c", "d", "e"} {
		_, err := r.Arrive(subject, r.key(n, -time.Hour), "digest")
		if want := map[bool]spec.Reason{true: spec.ReasonKeyFuture, false: spec.ReasonLedgerUnavailable}[n < 4]; !errors.Is(err, want) {
			t.Errorf("of subject %s: %v, want %s", subject, err, string(want))
		}
	}
}

// The horizon: what is forgotten lies below it, what lies below it is unknown
// and never runs, and it never falls, whatever the clock does and also in the
// next process (R28).
func TestTheHorizon(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{Age: time.Hour, Keep: time.Minute})
	old := r.key(1, 0)
	finish(t, r.start(old))
	r.now = r.now.Add(2 * time.Hour)
	finish(t, r.start(r.key(2, 0)))
	if s := r.Stats(); s.Entries != 1 || s.Forgotten != 1 || s.Horizon != old.Minted+1 {
		t.Fatalf("%+v; want the old one forgotten, and the horizon just above it", s)
	}
	never := old
	never.Nonce = strings.Repeat("f", 32)
	for _, step := range []func(){func() {}, func() { r.now = r.now.Add(-3 * time.Hour) }, r.restart} {
		step()
		for _, k := range []spec.Key{old, never} {
			r.is(k, spec.KeyUnknown)
			r.refused(k, spec.ReasonKeyUnknown)
		}
	}
}

// A clock that jumps ahead takes no key with it that was never here: the
// horizon goes no further than what is forgotten.
func TestAClockThatJumpsAhead(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	finish(t, r.start(r.key(1, 0)))
	k := r.key(2, -time.Second)
	r.now = r.now.AddDate(100, 0, 0)
	r.start(k)
}

// At a bound the oldest are forgotten, but nothing that was minted within Keep:
// then the call is refused, sealed, and never runs.
func TestAFullLedger(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{Entries: 4, Age: time.Hour, Keep: time.Minute})
	for n := range 4 {
		finish(t, r.start(r.key(n, 2*time.Second)))
	}
	k := r.key(4, 0)
	r.refused(k, spec.ReasonLedgerFull)
	r.refused(r.key(5, 0), spec.ReasonLedgerUnavailable) // the room for seals is used up
	r.now = r.now.Add(time.Minute)
	finish(t, r.start(r.key(6, 0)))
	r.refused(k, spec.ReasonKeySealed)
	if s := r.Stats(); s.Entries > 5 || s.Forgotten == 0 {
		t.Errorf("%+v", s)
	}
	if r.Stats().Horizon <= k.Minted-2000 {
		t.Errorf("room was made without the horizon: %+v", r.Stats())
	}
}

// A subject has its share, and at most that.
func TestASubjectHasItsShare(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{Entries: 16})
	arrive := func(subject string, n int) error {
		_, err := r.Arrive(subject, r.key(n, 0), "digest")
		return err
	}
	for n := range 4 {
		if err := arrive("greedy", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := arrive("greedy", 4); !errors.Is(err, spec.ReasonLedgerFull) {
		t.Errorf("one beyond the share: %v", err)
	}
	if err := arrive("modest", 5); err != nil {
		t.Errorf("another subject: %v", err)
	}
}

// A key that is older than all for which there is room is unknown, and so is
// whoever comes with it again.
func TestAnOldKeyAtAFullLedger(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{Entries: 2, Age: time.Hour, Keep: time.Minute})
	finish(t, r.start(r.key(1, 10*time.Minute)))
	finish(t, r.start(r.key(2, 10*time.Minute)))
	k := r.key(3, 20*time.Minute)
	r.refused(k, spec.ReasonKeyUnknown)
	r.is(k, spec.KeyUnknown)
}

// A response that is too large is not kept, and that is said.
func TestALargeResponse(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{ResponseBytes: 100})
	k := r.key(1, 0)
	large := []byte(`{"result":"` + strings.Repeat("x", 100) + `"}`)
	if err := r.start(k).Finish(large); err != nil {
		t.Fatal(err)
	}
	if got := r.is(k, spec.KeyExecuted); !got.ResponseLost || got.Response != nil {
		t.Errorf("%+v", got)
	}
	a, err := r.Arrive("", k, "digest")
	if err != nil || a.Executed == nil || !a.Executed.Lost {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestResponsesAreBoundedTogether(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{Bytes: 4096, ResponseBytes: 4096})
	large := []byte(`{"result":"` + strings.Repeat("x", 3000) + `"}`)
	for n := range 3 {
		if err := r.start(r.key(n, 0)).Finish(large); err != nil {
			t.Fatal(err)
		}
		if got := r.is(r.key(n, 0), spec.KeyExecuted); got.ResponseLost != (n > 0) {
			t.Errorf("response %d: %+v", n, got)
		}
	}
	if s := r.Stats(); s.Bytes > 4096 {
		t.Errorf("%+v", s)
	}
}

// Nothing runs whose start is not durable, and no refusal proves what is not
// (R28): for a store that fails before the change, and after it.
func TestAStoreThatFails(t *testing.T) {
	for _, after := range []bool{false, true} {
		r := newRig(t, NewMemoryStore(), Options{})
		running, k := r.key(1, 0), r.key(2, 0)
		run := r.start(running)
		r.store.fail, r.store.after = errDisk, after
		for range 2 {
			r.refused(k, spec.ReasonLedgerUnavailable)
			r.refused(r.key(3, -time.Hour), spec.ReasonLedgerUnavailable)
			if _, err := r.Query("", k); !errors.Is(err, spec.ReasonLedgerUnavailable) || !errors.Is(err, errDisk) {
				t.Fatalf("a query: %v", err)
			}
		}
		if err := run.Finish(response); !errors.Is(err, errDisk) {
			t.Fatalf("an outcome that is not durable: %v", err)
		}
		r.is(running, spec.KeyExecuted) // this process knows
		if r.Stats().Store == nil {
			t.Error("nobody is told that the store fails")
		}
		r.store.fail = nil
		finish(t, r.start(k))
		r.is(r.key(3, -time.Hour), spec.KeyNotExecuted)
		r.restart()
		r.is(running, spec.KeyExecuted) // written when the store came back
		r.is(k, spec.KeyExecuted)
	}
}

// What failed and is in the store all the same has no consequence but "unknown".
func TestAStartThatFailedAndIsThere(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	k := r.key(1, 0)
	r.store.fail, r.store.after = errDisk, true
	r.refused(k, spec.ReasonLedgerUnavailable)
	r.store.fail = nil
	r.restart()
	r.is(k, spec.KeyUnknown)
	r.refused(k, spec.ReasonKeyUnknown)
}

func TestAClosedLedger(t *testing.T) {
	r := newRig(t, NewMemoryStore(), Options{})
	done, running := r.key(1, 0), r.key(2, 0)
	finish(t, r.start(done))
	run := r.start(running)
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	r.refused(r.key(3, 0), spec.ReasonLedgerUnavailable)
	if err := run.Finish(response); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []Options{{Entries: -1}, {Bytes: -1}, {Skew: -1}, {Age: time.Minute, Keep: time.Hour}, {SubjectEntries: -1}} {
		if _, err := New(NewMemoryStore(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := New(NewMemoryStore(), Options{Age: time.Minute}); err != nil {
		t.Errorf("a short age alone: %v", err)
	}
}

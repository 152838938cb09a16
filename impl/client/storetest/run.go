package storetest

import (
	"errors"
	"reflect"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// Run checks a store.
//
// open returns the store of one record, which is empty at first: called again it
// returns what another process would find, the same record. The store of the
// process before is not used any more then, except where the suite is about two
// processes with one record.
//
//	(1) what Commit returned is what is loaded, also by the next process
//	(2) a change whose preconditions fail is stale, and changes nothing
//	(3) who lost the lease writes nothing more: no token, call, fence, decision
//	    or epoch (R30)
//	(4) a store that is a Holder refuses a second one at once, until the first
//	    released it
func Run(t *testing.T, open func(t *testing.T) client.Store) {
	t.Run("durable", func(t *testing.T) { durable(t, open) })
	t.Run("stale", func(t *testing.T) { staleChanges(t, open) })
	t.Run("lost lease", func(t *testing.T) { lostLease(t, open) })
	t.Run("held", func(t *testing.T) { held(t, open) })
}

const session = "a session"

// position is the id of an event of the call's stream, or its position 0.
func position(ordinal uint64) string {
	return spec.EventID{Tag: spec.TagOf(session, ""), Seq: ordinal, Stream: 1, Ordinal: ordinal}.String()
}

// life returns the changes of one epoch with one call, made under a lease.
func life(lease, epoch, request uint64) []client.Change {
	begin := client.Change{Kind: client.BeginEpoch, Lease: lease, Epoch: epoch - 1, Session: session, Tag: spec.TagOf(session, ""), Meta: []byte("meta")}
	call := client.Call{Request: request, Key: "key", Method: "method", Digest: "digest", Label: "label"}
	return []client.Change{begin,
		{Kind: client.AddCall, Lease: lease, Epoch: epoch, Request: request, Call: call},
		{Kind: client.AdvanceToken, Lease: lease, Epoch: epoch, Request: request, After: position(0), Opens: 1},
		{Kind: client.AdvanceToken, Lease: lease, Epoch: epoch, Request: request, Before: position(0), After: position(1)},
		{Kind: client.FenceEpoch, Lease: lease, Epoch: epoch, Reason: spec.ReasonSessionUnknown},
		{Kind: client.ResolveUnknown, Lease: lease, Epoch: epoch, Unknown: client.StreamID{Epoch: epoch, Request: request}, Decision: client.GaveUp},
	}
}

func load(t *testing.T, s client.Store) client.Record {
	t.Helper()
	r, err := s.Load(t.Context())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return r
}

func commit(t *testing.T, s client.Store, ch client.Change) client.Record {
	t.Helper()
	r, err := s.Commit(t.Context(), ch, nil)
	if err != nil {
		t.Fatalf("Commit of %v: %v", ch.Kind, err)
	}
	return r
}

func durable(t *testing.T, open func(*testing.T) client.Store) {
	s := open(t)
	was := load(t, s)
	lease, request := was.Lease+1, max(was.NextRequest, 1)
	want := commit(t, s, client.Change{Kind: client.TakeLease, Lease: was.Lease})
	for _, ch := range life(lease, was.Epoch+1, request) {
		expected, err := ch.Apply(want)
		if err != nil {
			t.Fatalf("%v: %v", ch.Kind, err)
		}
		want = commit(t, s, ch)
		if !reflect.DeepEqual(want, expected) {
			t.Errorf("Commit of %v returns %+v, want %+v", ch.Kind, want, expected)
		}
		if got := load(t, s); !reflect.DeepEqual(got, want) {
			t.Errorf("after %v %+v is loaded, want %+v", ch.Kind, got, want)
		}
		s = open(t)
		if got := load(t, s); !reflect.DeepEqual(got, want) {
			t.Errorf("after %v the next process finds %+v, want %+v", ch.Kind, got, want)
		}
	}
}

func staleChanges(t *testing.T, open func(*testing.T) client.Store) {
	s := open(t)
	was := load(t, s)
	epoch, request := was.Epoch+1, max(was.NextRequest, 1)
	changes := life(was.Lease, epoch, request)
	for _, ch := range changes[:3] {
		was = commit(t, s, ch)
	}
	for name, ch := range map[string]client.Change{
		"another token":      changes[2],
		"another epoch":      {Kind: client.AdvanceToken, Lease: was.Lease, Epoch: epoch + 1, Request: request, Before: position(0), After: position(1)},
		"an open epoch":      {Kind: client.BeginEpoch, Lease: was.Lease, Epoch: epoch, Session: "another", Tag: spec.TagOf("another", "")},
		"no such call":       {Kind: client.RemoveCall, Lease: was.Lease, Epoch: epoch, Request: request + 1},
		"an epoch long gone": {Kind: client.FenceEpoch, Lease: was.Lease, Epoch: epoch + 1},
	} {
		if _, err := s.Commit(t.Context(), ch, nil); !errors.Is(err, spec.ReasonRecordStale) {
			t.Errorf("%s: %v, want %s", name, err, spec.ReasonRecordStale)
		}
		if got := load(t, s); !reflect.DeepEqual(got, was) {
			t.Errorf("%s changed the record to %+v, it was %+v", name, got, was)
		}
	}
	was = commit(t, s, changes[4])
	if _, err := s.Commit(t.Context(), changes[3], nil); !errors.Is(err, spec.ReasonRecordStale) {
		t.Errorf("an event behind the fence: %v, want %s", err, spec.ReasonRecordStale)
	}
	if got := load(t, s); !reflect.DeepEqual(got, was) {
		t.Errorf("an event behind the fence changed the record to %+v", got)
	}
}

func lostLease(t *testing.T, open func(*testing.T) client.Store) {
	was := load(t, open(t))
	for i, ch := range life(was.Lease, was.Epoch+1, max(was.NextRequest, 1)) {
		// Another process takes the lease right before each change, and gives it back.
		taker := open(t)
		mine := load(t, taker)
		commit(t, taker, client.Change{Kind: client.TakeLease, Lease: mine.Lease})
		before := load(t, taker)
		loser := open(t)
		load(t, loser)
		ch.Lease = mine.Lease
		if _, err := loser.Commit(t.Context(), ch, nil); !errors.Is(err, spec.ReasonLeaseLost) || !errors.Is(err, spec.ReasonRecordStale) {
			t.Errorf("%d: %v by who lost the lease: %v", i, ch.Kind, err)
		}
		if got := load(t, loser); !reflect.DeepEqual(got, before) {
			t.Errorf("%d: %v by who lost the lease made %+v of %+v", i, ch.Kind, got, before)
		}
		ch.Lease = before.Lease
		commit(t, loser, ch)
	}
}

func held(t *testing.T, open func(*testing.T) client.Store) {
	first, ok := open(t).(client.Holder)
	if !ok {
		return
	}
	release, err := first.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second := open(t).(client.Holder)
	if _, err := second.Hold(t.Context()); !errors.Is(err, spec.ReasonLeaseHeld) {
		t.Errorf("a second holder: %v, want %s", err, spec.ReasonLeaseHeld)
	}
	load(t, first) // the holder goes on
	if err := release(); err != nil {
		t.Fatal(err)
	}
	again, err := second.Hold(t.Context())
	if err != nil {
		t.Fatalf("after it was released: %v", err)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
}

package properties

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	outcomes "example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
)

// slowDoubt is a store that takes its time to write that an outcome is unknown.
type slowDoubt struct{ client.Store }

func (s slowDoubt) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	if ch.Kind == client.DoubtCall {
		time.Sleep(50 * time.Millisecond)
	}
	return s.Store.Commit(ctx, ch, events)
}

// Given a client that died before it heard anything of a call, when the next one
// reconciles as the first thing it does, then that call is among what it asks
// for, though the record does not call it unknown yet (R23).
func TestWiredReconcileRightAfterARestart(t *testing.T) {
	s, wire := newTill(t, outcomes.NewMemoryStore(), nil), &snip{}
	store := client.NewMemoryStore(client.Record{})
	var died client.Record // what the first one's record said when the call left
	wire.posts = func(body string) string {
		if strings.Contains(body, `"pay"`) {
			died, _ = store.Load(t.Context())
		}
		return ""
	}
	first, _ := dial(t, s.URL, quick(streamhttp.DialOptions{Store: store, Transport: streamhttp.TransportOptions{HTTP: wire}}))
	if _, err := pay(first); err != nil || len(died.Calls) != 1 {
		t.Fatalf("%v, and the record has %v", err, died.Calls)
	}
	second, log := dial(t, s.URL, quick(streamhttp.DialOptions{Store: slowDoubt{client.NewMemoryStore(died)}}))
	lost := second.Driver().Recovered().Lost
	if len(lost) != 1 {
		t.Fatalf("recovered as lost: %v", lost)
	}
	if _, err := second.Driver().Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if record := second.Driver().Snapshot().Record; len(record.Calls)+len(record.Unknowns) != 0 {
		t.Errorf("reconciled, and in flight are %v, unknown %v", record.Calls, record.Unknowns)
	}
	waitApplied(t, log, 1)
	if result, err := second.Await(t.Context(), lost[0]); err != nil || string(result) != `{"text":"paid"}` || s.ran() != 1 {
		t.Errorf("%q, %v, and it ran %d times", result, err, s.ran())
	}
}

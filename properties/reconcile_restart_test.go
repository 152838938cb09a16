package properties

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	outcomes "example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
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

// Given a server whose ledger answers a call with each of its refusals, then
// only a seal lets the client say that the call did not run (R23).
func TestWiredRefusalsOfALedger(t *testing.T) {
	refuse := make(chan spec.Reason, 1)
	s := serveApp(t, func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			named := map[string]any{spec.CapabilityName: spec.LedgerCapability{Ledger: strings.Repeat("5", spec.LedgerNameLen)}}
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": map[string]any{"experimental": named}})
		default: // a status query, too
			if m.Method != "pay" {
				m.Stream.Fail(spec.CodeLedger, "no", spec.LedgerRefusal{Reason: spec.ReasonKeyUnknown})
				return
			}
			m.Stream.Fail(spec.CodeLedger, "no", spec.LedgerRefusal{Reason: <-refuse})
		}
	})
	c, _ := dial(t, s.URL, quick(streamhttp.DialOptions{}))
	for _, reason := range []spec.Reason{spec.ReasonKeySealed, spec.ReasonLedgerUnavailable, spec.ReasonKeyUnknown, spec.ReasonKeyReused} {
		refuse <- reason
		_, err := pay(c)
		var unknown *client.UnknownError
		if notRun := errors.Is(err, spec.ReasonNotExecuted); notRun != (reason == spec.ReasonKeySealed) || errors.As(err, &unknown) == notRun {
			t.Errorf("%s: the caller was told %v", reason, err)
		}
	}
	if unknown := c.Driver().Unknowns(); len(unknown) != 3 {
		t.Errorf("unknown are %v, want three", unknown)
	}
}

// Given a call that is being built when its session ends, then it ends as not
// run, and the server never sees it, in this session or the next (R22, R23).
func TestWiredEndWhileACallIsBuilt(t *testing.T) {
	s, wire := newTill(t, outcomes.NewMemoryStore(), nil), &snip{}
	c, _ := dial(t, s.URL, quick(streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: wire}}))
	_, err := c.Driver().Call(t.Context(), client.Request{Build: func(request uint64) ([]byte, error) {
		if err := c.Terminate(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Open(t.Context()); err != nil {
			t.Error(err)
		}
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"pay"}`, request), nil
	}})
	var notRun *client.NotRunError
	if !errors.As(err, &notRun) || wire.count(`"pay"`) != 0 || s.ran() != 0 {
		t.Errorf("%v, %d were sent, %d ran", err, wire.count(`"pay"`), s.ran())
	}
	if result, err := pay(c); err != nil || result != `{"text":"paid"}` {
		t.Errorf("the next one: %q, %v", result, err)
	}
}

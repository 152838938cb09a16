package session_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A core that remembers what its machine said of a plain event against one that
// asks it every time, because it is observed: over random histories both tell
// their emitters the same, and are the same.
func TestPlainEmitIsEmit(t *testing.T) {
	for name, machines := range map[string]*fsm.Server{"the tables": fsm.DefaultServer(), "no event without a view": strictServer(t)} {
		t.Run(name, func(t *testing.T) { comparePlain(t, machines) })
	}
}

func comparePlain(t *testing.T, machines *fsm.Server) {
	asked, emitted, refused, taken := 0, 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		limits := session.DefaultConfig()
		limits.Machines = machines
		limits.Window.Events = rapid.IntRange(1, 8).Draw(t, "window")
		limits.Window.MaxEvent = 10
		limits.Streams, limits.Requests, limits.Views = 5, 3, 3
		observed := *limits
		observed.Observe = func(o session.Observation) {
			switch {
			case o.Step.Row == nil:
			case o.Step.Row.Trigger == spec.HandlerEmits:
				asked++
			case o.Step.Row.Trigger == spec.ViewDelivers:
				taken++
			}
		}
		plain, slow := session.NewCore(limits), session.NewCore(&observed)
		both := func(do func(c *session.Core) string) {
			t.Helper()
			if got, want := do(plain), do(slow); got != want {
				t.Fatalf("with the memory of a row\n%s\nwithout it\n%s", got, want)
			}
			if plain.Snapshot() != slow.Snapshot() {
				t.Fatalf("with the memory of a row\n%s\nwithout it\n%s", plain.Snapshot(), slow.Snapshot())
			}
		}
		both(func(c *session.Core) string { return fmt.Sprint(c.Initialize(session.SessionID{7}, nil, false, false)) })
		for range 100 {
			n := rapid.Uint64Range(0, plain.NextStream()).Draw(t, "stream")
			payload := make([]byte, rapid.SampledFrom([]int{1, 1, 1, 0, 10, 11}).Draw(t, "size"))
			switch rapid.IntRange(0, 19).Draw(t, "step") {
			case 0:
				both(func(c *session.Core) string { _, err := c.Call(nil); return fmt.Sprint(err) })
			case 1:
				both(func(c *session.Core) string {
					d, _, err := c.Resume(session.Request{}, 0)
					return fmt.Sprint(d, err)
				})
			case 2:
				both(func(c *session.Core) string { e, err := c.Answer(n, payload, 0); return fmt.Sprint(e, err) })
			case 3:
				both(func(c *session.Core) string { return fmt.Sprint(c.Break(n, 0)) })
			case 4:
				both(func(c *session.Core) string { return fmt.Sprint(c.ElapseDetach(n, 0)) })
			case 5, 13, 14, 15:
				both(func(c *session.Core) string { d, err := c.Deliver(n, 0); return fmt.Sprint(d, err) })
			case 6:
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					both(func(c *session.Core) string { return fmt.Sprint(c.Terminate()) })
				}
			default:
				both(func(c *session.Core) string {
					e, err := c.Emit(n, payload, 0)
					if c == plain && err == nil {
						emitted++
					} else if c == plain {
						refused++
					}
					return fmt.Sprint(e, err)
				})
			}
		}
	})
	if asked != emitted || emitted < 100 || refused < 100 || taken < 100 {
		t.Errorf("%d events, of which the observer saw %d; %d refused, %d taken", emitted, asked, refused, taken)
	}
}

// strictServer has another table of the stream: an event is refused while nobody
// reads it. So the memory of a row must not outlive the state, and must not be
// of a row that forbids.
func strictServer(t *testing.T) *fsm.Server {
	table := spec.StreamTable()
	table.Rows = append(table.Rows, spec.Row{
		ID: "ST99", Trigger: spec.HandlerEmits, From: []spec.State{spec.Detached},
		Guard:  spec.Guard{True: spec.FactsOf(spec.EventFits)},
		Forbid: spec.ReasonNoView,
	})
	machines := *fsm.DefaultServer()
	m, err := fsm.New(table)
	if err != nil {
		t.Fatal(err)
	}
	machines.Stream = m
	return &machines
}

// A store is given every event, however busy the session is: what it has not
// been given is on no wire (R14).
func TestAStoreIsGivenEveryEvent(t *testing.T) {
	cfg := session.DefaultConfig()
	cfg.Window.Events = 3
	var given []uint64
	cfg.Persist = func(_ *session.Core, e session.Entry) error {
		if e.Kind == session.AppendsEvent {
			given = append(given, e.Ordinal)
		}
		return nil
	}
	core := session.NewCore(cfg)
	if err := core.Initialize(session.SessionID{7}, nil, false, false); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(20) {
		if _, err := core.Emit(0, []byte("x"), 0); err != nil {
			t.Fatal(err)
		}
		if len(given) != int(n)+1 || given[n] != n+1 {
			t.Fatalf("after %d events the store was given %v", n+1, given)
		}
	}
}

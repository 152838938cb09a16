package properties

import (
	"strings"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// A composedFault is a mistake planted into the clients, to show that the
// ledgers notice. The zero value is none.
type composedFault struct {
	name   string
	says   string // what the ledgers must say
	action func(p *party, a *client.Action)
	apply  func(p *party, a client.Action, next client.Record, err error) (client.Record, error)
	event  func(p *party, st client.StreamSnapshot, ev client.Event) client.Event
	crash  func(p *party)
	told   func(o *client.Outcome)
}

func composedFaults() []composedFault {
	return []composedFault{
		{name: "the token is written, and the process dies before the event is applied", says: "lost silently", crash: func(p *party) {
			for _, a := range p.pending {
				if next, err := a.Change.Apply(p.record); err == nil && len(a.Events) > 0 && !a.Change.Answers {
					p.record = next
				}
			}
		}},
		{name: "the event is applied, and the process dies before the token is written", says: "duplicate", crash: func(p *party) {
			for _, a := range p.pending {
				if _, err := a.Change.Apply(p.record); err == nil && len(a.Events) > 0 {
					_ = p.apply(a, p.record) // the first time it is in order
				}
			}
		}},
		{name: "an event is applied behind the fence", says: "is applied when the record's epoch", apply: func(p *party, a client.Action, next client.Record, err error) (client.Record, error) {
			if err != nil && len(a.Events) > 0 && p.record.Epoch == a.Stream.Epoch {
				return p.record, nil
			}
			return next, err
		}},
		{name: "the old session's token goes into the new epoch", says: "a cursor of another one", apply: func(p *party, a client.Action, next client.Record, err error) (client.Record, error) {
			if at := p.applied[client.StreamID{Epoch: p.record.Epoch}]; a.Change.Kind == client.BeginEpoch && err == nil && len(at) > 0 {
				next.Tag = at[len(at)-1].Tag
				next.Streams = []client.Token{{LastEventID: at[len(at)-1].String()}}
			}
			return next, err
		}},
		{name: "a call is sent again instead of resumed", says: "books: ", action: func(p *party, a *client.Action) {
			if a.Do == spec.SendResume && a.Stream.Request != 0 {
				a.Do = spec.SendPost
			}
		}},
		{name: "an unknown outcome is taken for one that did not run", says: "is said not to have run", told: func(o *client.Outcome) {
			if o.Kind == client.OutcomeUnknown {
				o.Kind = client.OutcomeNotRun
			}
		}},
		{name: "the next epoch forgets the unknown outcomes", says: "is lost silently", apply: func(p *party, a client.Action, next client.Record, err error) (client.Record, error) {
			if a.Change.Kind == client.BeginEpoch {
				next.Unknowns = nil
			}
			return next, err
		}},
		{name: "an event's bytes are changed on the way", says: "was emitted as", event: func(p *party, _ client.StreamSnapshot, ev client.Event) client.Event {
			if len(ev.Payload) > 3 && p.life > 1 {
				ev.Payload = append([]byte("!"), ev.Payload[1:]...)
			}
			return ev
		}},
	}
}

// Given clients with a mistake planted into them, when they speak with the
// servers over the network of the composed lockstep, then the ledgers notice,
// and say what is wrong.
func TestComposedLockstepNotices(t *testing.T) {
	if fault := composedNotices(composedFault{}); fault != nil {
		t.Fatalf("the ledgers notice a mistake where none is planted: %v", fault)
	}
	for _, f := range composedFaults() {
		t.Run(f.name, func(t *testing.T) {
			switch fault := composedNotices(f); {
			case fault == nil:
				t.Error("the ledgers do not notice")
			case !strings.Contains(fault.Error(), f.says):
				t.Errorf("want one that says %q, got %v", f.says, fault)
			}
		})
	}
}

func composedNotices(f composedFault) error {
	for seed := range uint64(30) {
		d := seeded(seed)
		w := newComposedWorld(drawComposedSetting(d), 1+d(3), hits{})
		w.fault = f
		steps := make([]composedStep, 600)
		for i := range steps {
			steps[i] = drawComposedStep(d)
		}
		if err := w.run(steps); err != nil {
			return err
		}
	}
	return nil
}

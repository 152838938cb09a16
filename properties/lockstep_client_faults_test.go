package properties

import (
	"strings"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// A clientFault is a mistake planted between the suite and the core, to show
// that the suite notices. The zero value is none.
type clientFault struct {
	name     string
	says     string                                                                                     // part of what the suite must say
	action   func(p *clientPair, a *client.Action)                                                      // what the core is said to have handed out
	apply    func(p *clientPair, a client.Action, next client.Record, err error) (client.Record, error) // what the store made of it
	accepts  func(p *clientPair, st client.StreamSnapshot, position string) (told, session string)      // what reaches the core of an answer
	event    func(p *clientPair, st client.StreamSnapshot, ev client.Event) client.Event                // and of an event
	oldHeard bool                                                                                       // an old connection is taken for the current one
}

// followerOf returns the id that must follow a stream's token.
func followerOf(st client.StreamSnapshot) (spec.EventID, bool) {
	id, ok := at(st)
	id.Seq, id.Ordinal = id.Seq+1, id.Ordinal+1
	return id, ok
}

func clientFaults() []clientFault {
	keep := func(p *clientPair, position string) (string, string) { return position, p.record.SessionID }
	return []clientFault{
		{name: "the token moves before the event is applied", says: "applied, the model counts", action: func(p *clientPair, a *client.Action) {
			if a.Do == spec.Commit && !a.Change.Answers && a.Stream.Request%2 == 0 {
				a.Events = nil
			}
		}},
		{name: "an event is applied behind the fence", says: "is applied when the record's epoch", apply: func(p *clientPair, a client.Action, next client.Record, err error) (client.Record, error) {
			if err != nil && len(a.Events) > 0 {
				return p.record, nil
			}
			return next, err
		}},
		{name: "the fence forgets a call in flight", says: "is lost silently", apply: func(p *clientPair, a client.Action, next client.Record, err error) (client.Record, error) {
			if a.Change.Kind == client.FenceEpoch {
				next.Unknowns = p.record.Unknowns
			}
			return next, err
		}},
		{name: "the next epoch forgets the unknown outcomes", says: "is lost silently", apply: func(p *clientPair, a client.Action, next client.Record, err error) (client.Record, error) {
			if a.Change.Kind == client.BeginEpoch {
				next.Unknowns = nil
			}
			return next, err
		}},
		{name: "a call is sent again instead of resumed", says: "for the 2. time", action: func(p *clientPair, a *client.Action) {
			if a.Do == spec.SendResume && a.Stream.Request != 0 {
				a.Do = spec.SendPost
			}
		}},
		{name: "a resumption begins at the start", says: "SendResume", action: func(p *clientPair, a *client.Action) {
			if id, err := spec.ParseEventID(a.Cursor); a.Do == spec.SendResume && err == nil {
				a.Cursor = spec.PositionZero(id.Tag, id.Stream).String()
			}
		}},
		{name: "a hole is accepted", event: func(p *clientPair, st client.StreamSnapshot, ev client.Event) client.Event {
			if id, err := spec.ParseEventID(ev.ID); err == nil && len(ev.Payload) > 0 {
				if next, ok := followerOf(st); ok && id.Ordinal > next.Ordinal {
					ev.ID = next.String()
				}
			}
			return ev
		}},
		{name: "a repeat is accepted", event: func(p *clientPair, st client.StreamSnapshot, ev client.Event) client.Event {
			if id, err := spec.ParseEventID(ev.ID); err == nil && len(ev.Payload) > 0 {
				if next, ok := followerOf(st); ok && id.Ordinal < next.Ordinal {
					ev.ID = next.String()
				}
			}
			return ev
		}},
		{name: "a clamped position is accepted", accepts: func(p *clientPair, st client.StreamSnapshot, position string) (string, string) {
			if st.State == spec.Resuming && position != "" {
				position = st.Cursor
			}
			return keep(p, position)
		}},
		{name: "a missing session id is overlooked", accepts: func(p *clientPair, st client.StreamSnapshot, position string) (string, string) {
			return keep(p, position)
		}},
		{name: "an old connection is heard", says: "was heard", oldHeard: true},
	}
}

// Given a client with a mistake planted before it, when the steps of the
// lockstep are taken, then the suite fails, and says what is wrong.
func TestClientLockstepNotices(t *testing.T) {
	if fault := clientNotices(clientFault{}); fault != nil {
		t.Fatalf("the lockstep notices a mistake where none is planted: %v", fault)
	}
	for _, f := range clientFaults() {
		t.Run(f.name, func(t *testing.T) {
			switch fault := clientNotices(f); {
			case fault == nil:
				t.Error("the lockstep does not notice")
			case !strings.Contains(fault.Error(), f.says):
				t.Errorf("want one that says %q, got %v", f.says, fault)
			}
		})
	}
}

func clientNotices(f clientFault) error {
	for seed := range uint64(40) {
		d := seeded(seed)
		p := newClientPair(d(4) == 0, d(2) == 0, hits{})
		p.fault = f
		steps := make([]clientStep, 400)
		for i := range steps {
			steps[i] = drawClientStep(d)
		}
		if err := p.run(steps); err != nil {
			return err
		}
	}
	return nil
}

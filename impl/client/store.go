package client

import (
	"context"
	"sync"

	"example.com/reattach/spec"
)

// A Store keeps the durable record. Commit is the one seam of this package
// through which an application applies events: a store that can apply them and
// the change in one transaction, such as a database that holds both, gives
// exactly-once (R20). Where an application's effects lie outside the store it
// chooses what a crash between the two does, by name: [RepeatOnCrash] or
// [LoseOnCrash].
//
// One client uses a store at a time (see [Holder]), and calls Commit from one
// goroutine at a time, in the order in which its core handed the changes out.
type Store interface {
	// Load returns the record as it is durable; the zero Record if there is
	// none yet.
	Load(ctx context.Context) (Record, error)
	// Commit applies the events and [Change.Apply] in one transaction and
	// returns the record as it is durable then.
	//
	// An error says that nothing was applied, unless it wraps ErrUncertain.
	// One that wraps spec.ReasonRecordStale, as those of Change.Apply do, says
	// that the record is not what the change expects. Both end the epoch; any
	// other error is a fault that may pass.
	Commit(ctx context.Context, ch Change, events []Event) (Record, error)
}

// A MemoryStore keeps the record in memory: for tests, and for clients that
// need not survive a restart. It applies events nowhere; what it commits is
// handed on afterwards.
//
// Its zero value is an empty store. It is safe for concurrent use.
type MemoryStore struct {
	mu     sync.Mutex
	record Record
	held   bool
}

// NewMemoryStore returns a store that holds a record, which may be zero.
func NewMemoryStore(r Record) *MemoryStore { return &MemoryStore{record: r} }

// Load returns the record.
func (m *MemoryStore) Load(context.Context) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.record, nil
}

// Commit applies the change.
func (m *MemoryStore) Commit(_ context.Context, ch Change, _ []Event) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := ch.Apply(m.record)
	if err != nil {
		return Record{}, err
	}
	m.record = next
	return next, nil
}

// RepeatOnCrash returns a store that calls apply for each event before it
// commits to s. It is the default policy of this module: nothing is lost, and
// a crash between the two applies the event again after the restart, so apply
// should recognise a repeat by the event's stream and id.
//
//	(1) every event of a committed change was applied
//	(2) without a crash each event is applied once, also where s fails and the
//	    change is tried again
//	(3) an event whose change is stale is not applied, as far as this process
//	    can know before it asks s (R22)
//	(4) if apply fails nothing is committed, and the event comes again
//
// apply runs in the client's one committing goroutine: it must not wait for
// the client.
func RepeatOnCrash(s Store, apply func(Event) error) Store {
	return &repeatOnCrash{store: s, apply: apply, done: map[StreamID]spec.ResumeToken{}}
}

type repeatOnCrash struct {
	store Store
	apply func(Event) error
	last  Record // as last seen durable

	// done holds, per stream, the event that was applied and whose change did
	// not become durable: it must not be applied again when it comes again.
	done map[StreamID]spec.ResumeToken
}

func (p *repeatOnCrash) Load(ctx context.Context) (Record, error) {
	r, err := p.store.Load(ctx)
	if err == nil {
		p.last = r
	}
	return r, err
}

func (p *repeatOnCrash) Commit(ctx context.Context, ch Change, events []Event) (Record, error) {
	if len(events) > 0 {
		if _, err := ch.Apply(p.last); err != nil {
			return Record{}, err
		}
	}
	for _, ev := range events {
		mark := spec.ResumeToken{SessionID: p.last.SessionID, LastEventID: ev.ID}
		if p.done[ev.Stream] == mark {
			continue
		}
		if err := p.apply(ev); err != nil {
			return Record{}, err
		}
		if ev.ID != "" {
			p.done[ev.Stream] = mark
		}
	}
	r, err := p.store.Commit(ctx, ch, events)
	if err == nil {
		p.last = r
		for _, ev := range events {
			delete(p.done, ev.Stream)
		}
		if ch.Kind == BeginEpoch {
			clear(p.done) // nothing of an earlier epoch comes again
		}
	}
	return r, err
}

// LoseOnCrash returns a store that commits to s first and then calls apply for
// each event: nothing is ever applied twice, and a crash between the two loses
// the event. apply cannot fail, for there would be no way back.
//
// apply runs in the client's one committing goroutine: it must not wait for
// the client.
func LoseOnCrash(s Store, apply func(Event)) Store { return loseOnCrash{s, apply} }

type loseOnCrash struct {
	Store
	apply func(Event)
}

func (p loseOnCrash) Commit(ctx context.Context, ch Change, events []Event) (Record, error) {
	r, err := p.Store.Commit(ctx, ch, events)
	if err != nil {
		return r, err
	}
	for _, ev := range events {
		p.apply(ev)
	}
	return r, nil
}

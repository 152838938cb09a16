package properties

import (
	"fmt"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// ClientBooks are what the suite itself knows of a client: what was applied,
// which calls left, and what their callers were told. They judge without the
// model (R20, R22, R23, R25, R29).
type clientBooks struct {
	applied  map[string]client.StreamID       // event id → who applied it
	last     map[client.StreamID]spec.EventID // the last event that a stream applied
	posted   map[client.StreamID]int          // how often a call left
	told     map[client.StreamID]client.OutcomeKind
	toldLife map[client.StreamID]bool // in this life of the process
	owed     map[client.StreamID]bool // calls in the record whose outcome is open
	about    map[client.StreamID]bool // status queries (false) and re-sends (true)
}

func newClientBooks() clientBooks {
	return clientBooks{applied: map[string]client.StreamID{}, last: map[client.StreamID]spec.EventID{}, posted: map[client.StreamID]int{},
		told: map[client.StreamID]client.OutcomeKind{}, toldLife: map[client.StreamID]bool{}, owed: map[client.StreamID]bool{}, about: map[client.StreamID]bool{}}
}

// crashed: the next life knows nothing of the calls that never entered the
// record, and gives their request ids to others. Their POSTs never left (R29).
func (b *clientBooks) crashed(record client.Record) error {
	clear(b.toldLife)
	for id := range b.told {
		if id.Request >= record.NextRequest {
			if b.posted[id] > 0 {
				return fmt.Errorf("books: the request id of %v left, and is to be given to another call", id)
			}
			delete(b.told, id)
		}
	}
	return nil
}

// handedOut judges an action against the record that the client knows.
func (b *clientBooks) handedOut(a client.Action, record client.Record) error {
	switch a.Do {
	case spec.SendPost:
		b.posted[a.Stream]++
		if _, about := b.about[a.Stream]; !b.owed[a.Stream] && !about || b.posted[a.Stream] > 1 || a.Session.ID != record.SessionID {
			return fmt.Errorf("books: the POST of %v leaves for the %d. time, in the record: %v", a.Stream, b.posted[a.Stream], b.owed[a.Stream])
		}
	case spec.SendResume:
		token, ok := record.Token(a.Stream.Request)
		if !ok || token.LastEventID != a.Cursor || record.SessionID != a.Session.ID || record.Epoch != a.Stream.Epoch || record.State != client.RecordOpen {
			return fmt.Errorf("books: %v resumes session %q at %q, and the record says %+v", a.Stream, a.Session.ID, a.Cursor, record)
		}
	}
	outcomes := a.Outcomes
	if a.Outcome != nil {
		outcomes = append(outcomes, *a.Outcome)
	}
	for _, o := range outcomes {
		if b.toldLife[o.Stream] {
			return fmt.Errorf("books: the caller of %v is told twice: %v", o.Stream, o.Kind)
		}
		// A process that dies forgets what it was about to write: in the next
		// life a call may be unknown again. What was applied stays, and of two
		// truths only one is ever told.
		before, ok := b.told[o.Stream]
		if ok && (before == client.OutcomeAnswered || before == client.OutcomeNotRun && o.Kind == client.OutcomeAnswered) {
			return fmt.Errorf("books: %v was %v and is now %v", o.Stream, before, o.Kind)
		}
		b.told[o.Stream], b.toldLife[o.Stream] = o.Kind, true
	}
	return nil
}

// committed judges a write that became durable.
func (b *clientBooks) committed(a client.Action, before, after client.Record) error {
	for _, ev := range a.Events {
		if before.State != client.RecordOpen || before.Epoch != ev.Stream.Epoch {
			return fmt.Errorf("books: %v of %v is applied when the record's epoch %d is %v", ev.ID, ev.Stream, before.Epoch, before.State)
		}
		if err := b.applies(ev, before.Tag); err != nil {
			return err
		}
		if ev.Answer && ev.Means != client.MeansUnknown {
			delete(b.owed, ev.Stream)
			delete(b.owed, ev.Resolves)
		}
	}
	id := client.StreamID{Epoch: a.Change.Epoch, Request: a.Change.Request}
	switch a.Change.Kind {
	case client.AddCall:
		id := client.StreamID{Epoch: before.Epoch, Request: a.Change.Call.Request}
		if _, about := b.about[id]; !about { // what is about another call is owed to nobody
			b.owed[id] = true
		}
	case client.RemoveCall:
		delete(b.owed, id)
	case client.ResolveUnknown:
		delete(b.owed, a.Change.Unknown)
	}
	return b.carries(after)
}

// applies judges one event: of this session, the next one of its stream, and
// never applied before.
func (b *clientBooks) applies(ev client.Event, tag spec.Tag) error {
	if ev.ID == "" {
		return nil // a stream without ids: nothing can be known of it
	}
	id, err := spec.ParseEventID(ev.ID)
	if err != nil {
		return nil // another server's ids
	}
	if who, again := b.applied[ev.ID]; again {
		return fmt.Errorf("books: duplicate: %v is applied by %v, and was by %v", ev.ID, ev.Stream, who)
	}
	b.applied[ev.ID] = ev.Stream
	last, positioned := b.last[ev.Stream]
	b.last[ev.Stream] = id
	switch {
	case id.Tag != tag:
		return fmt.Errorf("books: merged: %v is applied in the session %v", ev.ID, tag)
	case !positioned:
		return nil
	case last.Stream != id.Stream || last.Ordinal+1 != id.Ordinal || last.Seq >= id.Seq:
		return fmt.Errorf("books: %v follows %v on %v", id, last, ev.Stream)
	}
	return nil
}

// carries: a call that entered the record leaves it with its answer, with the
// proof that it did not run, or by the caller's decision (R23).
func (b *clientBooks) carries(r client.Record) error {
	has := map[client.StreamID]bool{}
	for _, c := range r.Calls {
		has[client.StreamID{Epoch: r.Epoch, Request: c.Request}] = true
	}
	for _, u := range r.Unknowns {
		has[u.Stream] = true
	}
	for id := range b.owed {
		if !has[id] {
			return fmt.Errorf("books: the call %v is lost silently: %+v", id, r)
		}
	}
	return nil
}

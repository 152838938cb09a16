package properties

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// A party is one client: its real core, its durable record, and what its
// application applied. A write becomes durable in one step, and its core learns
// of it in another one; between the two anything may happen, a crash too.
type party struct {
	world   *composedWorld
	index   int
	life    int // of the process
	options client.CoreOptions
	core    *client.Core
	record  client.Record
	pending []client.Action // writes that were handed out
	written []outcome       // what became of one, not yet reported
	due     map[client.StreamID]bool
	asleep  map[client.StreamID]bool
	woken   map[client.StreamID]int
	misled  bool // a durable write was said to have failed, in this life

	books    clientBooks
	applied  map[client.StreamID][]spec.EventID
	executed map[client.StreamID]int // how often the server ran a call
	told     map[client.StreamID]client.Outcome
	sessions map[uint64]string // epoch → session id
}

// An outcome is what became of a write.
type outcome struct {
	action client.Action
	record client.Record
	err    error
}

func newParty(w *composedWorld, index int) *party {
	p := &party{world: w, index: index, books: newClientBooks(), applied: map[client.StreamID][]spec.EventID{},
		executed: map[client.StreamID]int{}, told: map[client.StreamID]client.Outcome{}, sessions: map[uint64]string{}}
	p.options = client.CoreOptions{ResumeAttempts: 3, FenceAttempts: 2, Observe: func(step *fsm.Step, refused *fsm.RefusedError) {
		if step != nil {
			w.hits["row "+step.Row.ID]++
		}
	}}
	if err := p.begin(); err != nil {
		panic(err)
	}
	return p
}

// begin begins a process from the record.
func (p *party) begin() (err error) {
	p.life++
	p.pending, p.written, p.misled = nil, nil, false
	p.due, p.asleep, p.woken = map[client.StreamID]bool{}, map[client.StreamID]bool{}, map[client.StreamID]int{}
	core, actions, err := client.NewCore(p.record, p.options)
	if err != nil {
		return err
	}
	p.core = core
	return p.take(actions, nil)
}

func (p *party) crash() error {
	inHand := slices.ContainsFunc(p.pending, func(a client.Action) bool { return len(a.Events) > 0 })
	between := slices.ContainsFunc(p.written, func(o outcome) bool { return o.err == nil && len(o.action.Events) > 0 })
	p.world.hits.when(inHand, "crashed with an event in hand")
	p.world.hits.when(between, "crashed between applying and knowing it")
	if f := p.world.fault.crash; f != nil {
		f(p)
	}
	if err := p.books.crashed(p.record); err != nil {
		return err
	}
	for id := range p.told { // the ids of calls that were never recorded are free again
		if id.Request >= p.record.NextRequest {
			delete(p.told, id)
		}
	}
	return p.begin()
}

// take does what the core handed out.
func (p *party) take(actions []client.Action, err error) error {
	if err != nil {
		return fmt.Errorf("the core refuses what happens in order: %w", err)
	}
	for _, a := range actions {
		if f := p.world.fault.action; f != nil {
			f(p, &a)
		}
		if a.Change.Kind != 0 {
			p.pending = append(p.pending, a)
		}
		outcomes := a.Outcomes
		if a.Outcome != nil {
			outcomes = append(slices.Clone(outcomes), *a.Outcome)
		}
		for _, o := range outcomes {
			if f := p.world.fault.told; f != nil {
				f(&o)
			}
			p.told[o.Stream] = o
			p.world.hits.hit("told %v", o.Kind)
		}
		switch a.Do {
		case spec.SendInitialize, spec.SendPost, spec.SendResume, spec.SendGet, spec.SendDelete:
			p.world.wires = append(p.world.wires, &wire{who: p, life: p.life, ask: a})
		case spec.CloseConnection:
			if at := p.wire(a.Conn); at != nil {
				at.closed, at.frames = true, nil
			}
		case spec.ScheduleResume:
			p.due[a.Stream] = true
		case spec.ReportPending:
			p.asleep[a.Stream] = true
			p.world.hits.hit("suspended")
		case spec.ReportOpen:
			p.world.hits.when(a.State == spec.Quarantined, "opened in quarantine")
			p.world.hits.when(a.State == spec.Open && p.core.Record().Epoch > 1, "open again")
		}
		if a.Do == spec.SendResume && p.misled {
			continue // a write was made and nobody said so: it resumes from where it was, and its commit will be stale
		}
		if err := p.books.handedOut(a, p.core.Record()); err != nil {
			return err
		}
	}
	return nil
}

func (p *party) wire(conn uint64) *wire {
	for _, at := range p.world.wires {
		if at.who == p && at.life == p.life && at.ask.Conn == conn {
			return at
		}
	}
	return nil
}

// write makes a write durable, or not; an uncertain one is durable, and said to
// have failed.
func (p *party) write(which int, how string) error {
	if len(p.written) > 0 || len(p.pending) == 0 {
		return p.report()
	}
	at := which % len(p.pending)
	a := p.pending[at]
	p.pending = slices.Delete(p.pending, at, at+1)
	next, err := a.Change.Apply(p.record)
	if f := p.world.fault.apply; f != nil {
		next, err = f(p, a, next, err)
	}
	if how == "fails" && err == nil {
		err = spec.ReasonCommitFailed
	}
	late := errors.Is(err, spec.ReasonRecordStale)
	p.world.hits.when(late && len(a.Events) > 0, "an event came to the record behind the fence, and was refused")
	if err == nil {
		before := p.record
		p.record = next
		if a.Change.Kind == client.BeginEpoch {
			p.sessions[next.Epoch] = a.Change.Session
		}
		if fault := p.apply(a, before); fault != nil {
			return fault
		}
		if fault := p.books.committed(a, before, next); fault != nil {
			return fault
		}
	}
	if how == "uncertain" && err == nil && (a.Do == spec.Commit || a.Do == spec.CommitToken || a.Do == spec.CommitFence) {
		p.world.hits.hit("durable, and nobody knows")
		err, p.misled = client.ErrUncertain, true
	}
	p.written = append(p.written, outcome{a, p.record, err})
	return nil
}

// apply enters what the application applied: the very next event of the stream
// of this very call, in the epoch's own session, with the bytes that were
// emitted (R4, R20, R21, R22).
func (p *party) apply(a client.Action, before client.Record) error {
	for _, ev := range a.Events {
		id, err := spec.ParseEventID(ev.ID)
		if err != nil {
			return fmt.Errorf("ledger: applied an event with the id %q", ev.ID)
		}
		s := p.world.byTag[id.Tag]
		if s == nil || s.id.Text() != p.sessions[ev.Stream.Epoch] || before.Epoch != ev.Stream.Epoch {
			return fmt.Errorf("ledger: merged: %v is applied in epoch %d, whose session is another one", id, ev.Stream.Epoch)
		}
		page, log := s.book.streams[id.Stream], p.applied[ev.Stream]
		owner := p.world.calls[callPlace{id.Tag, id.Stream}]
		switch {
		case page == nil || id.Ordinal > page.head() || id != s.book.id(page, id.Ordinal):
			return fmt.Errorf("ledger: %v is applied and was never emitted", id)
		case ev.Stream.Request == 0 && id.Stream != 0, ev.Stream.Request != 0 && (owner.who != p || owner.id != ev.Stream):
			return fmt.Errorf("ledger: %v is applied by %v, and belongs to %v", id, ev.Stream, owner.id)
		case id.Ordinal <= uint64(len(log)):
			return fmt.Errorf("ledger: duplicate: %v is applied again by %v", id, ev.Stream)
		case id.Ordinal != uint64(len(log))+1:
			return fmt.Errorf("ledger: lost silently: %v is applied by %v behind %d others", id, ev.Stream, len(log))
		case !bytes.Equal(ev.Payload, page.events[id.Ordinal-1].payload):
			return fmt.Errorf("ledger: %v is applied as %q, and was emitted as %q", id, ev.Payload, page.events[id.Ordinal-1].payload)
		}
		p.applied[ev.Stream] = append(log, id)
	}
	return nil
}

// report tells the core what became of its oldest write.
func (p *party) report() error {
	if len(p.written) == 0 {
		return nil
	}
	o := p.written[0]
	p.written = p.written[1:]
	c, a, id, why := p.core, o.action, o.action.Stream, spec.ReasonCommitFailed
	stale := errors.Is(o.err, spec.ReasonRecordStale)
	if stale {
		why = spec.ReasonRecordStale
	}
	ok := o.err == nil
	switch {
	case a.Do == spec.CommitEpoch && ok:
		if err := p.take(c.EpochCommitted(o.record)); err != nil {
			return err
		}
		if c.State() != spec.Open && c.State() != spec.Quarantined {
			return nil // closed meanwhile
		}
		return p.take(c.Offer(c.Standalone()))
	case a.Do == spec.CommitEpoch:
		return p.take(c.EpochCommitFailed(why))
	case a.Do == spec.CommitFence && ok:
		return p.take(c.FenceCommitted(o.record))
	case a.Do == spec.CommitFence:
		return p.take(c.FenceCommitFailed(stale, why))
	case a.Do == spec.CommitResolution && ok:
		quarantined := c.State() == spec.Quarantined
		err := p.take(c.ResolutionCommitted(o.record))
		p.world.hits.when(quarantined && c.State() == spec.Open, "the quarantine was resolved")
		return err
	case a.Do == spec.CommitResolution:
		return p.take(c.ResolutionCommitFailed(a.Change.Unknown, why))
	case a.Do == spec.CommitCall && ok:
		return p.take(c.CallCommitted(id, o.record))
	case a.Do == spec.CommitCall:
		return p.take(c.CallCommitFailed(id, stale, why))
	case ok:
		return p.take(c.StreamCommitted(id, o.record))
	}
	return p.take(c.StreamCommitFailed(id, stale, why))
}

// read lets the first frame of a wire reach its client. A stream that has an
// event in hand reads no further.
func (p *party) read(at *wire) error {
	if at.closed || at.life != p.life || len(at.frames) == 0 {
		return nil
	}
	id, conn := at.ask.Stream, at.ask.Conn
	if st, ok := p.stream(id); ok && st.State == spec.Committing && st.Conn == conn {
		return p.write(0, "")
	}
	f := at.frames[0]
	at.frames = at.frames[1:]
	at.closed = at.closed || at.ask.Do == spec.SendInitialize // it is answered once
	var actions []client.Action
	var err error
	switch c := p.core; f.kind {
	case "opened":
		actions, err = c.Opened(conn, client.Opened{SessionID: f.sessionID, Standalone: f.position})
	case "accepted":
		actions, err = c.Accepts(id, conn, client.Accepted{SessionID: f.sessionID, Position: f.position})
	case "event":
		ev := f.event
		if fault := p.world.fault.event; fault != nil {
			if st, ok := p.stream(id); ok {
				ev = fault(p, st, ev)
			}
		}
		actions, err = c.EventArrives(id, conn, ev)
	case "completed":
		actions, err = c.Completes(id, conn, f.sessionID)
	case "refused":
		later := f.reason.RetryLater() && at.ask.Do == spec.SendResume
		if p.world.hits.when(later, "asked to come later"); later {
			actions, err = c.Defers(id, conn, 0)
		} else if at.ask.Do == spec.SendInitialize {
			actions, err = c.OpeningFails(conn, f.reason)
		} else {
			actions, err = c.Refuses(id, conn, client.Refusal{Status: f.reason.Status(), Reason: f.reason})
		}
	case "ended", "broken":
		actions, err = p.over(at, f.kind)
	}
	var other *client.ConnectionError
	if errors.As(err, &other) || errors.Is(err, client.ErrNoStream) {
		p.world.hits.hit("an old connection was not heard")
		return nil
	}
	return p.take(actions, err)
}

// over: the answer ended, between two events or somewhere.
func (p *party) over(at *wire, kind string) ([]client.Action, error) {
	if at.ask.Do == spec.SendInitialize {
		return p.core.OpeningFails(at.ask.Conn, spec.ReasonRefused)
	}
	if st, ok := p.stream(at.ask.Stream); kind == "ended" && ok && (st.State == spec.Streaming || st.State == spec.Unproven) {
		return p.core.StreamEnds(at.ask.Stream, at.ask.Conn)
	}
	return p.core.ConnectionBreaks(at.ask.Stream, at.ask.Conn)
}

func (p *party) stream(id client.StreamID) (client.StreamSnapshot, bool) {
	for _, st := range p.core.Snapshot().Streams {
		if st.ID == id {
			return st, true
		}
	}
	return client.StreamSnapshot{}, false
}

// reconnect resumes what is due, and what was suspended.
func (p *party) reconnect(outOfTime bool) error {
	for _, st := range p.core.Snapshot().Streams {
		switch {
		case p.due[st.ID] && (st.State == spec.Ended || st.State == spec.Truncated):
			delete(p.due, st.ID)
			return p.take(p.core.Reconnect(st.ID, outOfTime))
		case p.asleep[st.ID] && st.State == spec.Suspended && p.mayWake(st.ID):
			delete(p.asleep, st.ID)
			p.woken[st.ID]++
			p.world.hits.hit("resumed after it was suspended")
			return p.take(p.core.Resume(st.ID))
		}
	}
	return nil
}

// mayWake: in the end a caller does not try for ever.
func (p *party) mayWake(id client.StreamID) bool { return !p.world.healing || p.woken[id] < 9 }

// call opens a call, if the epoch takes one.
func (p *party) call(passes bool) error {
	id, actions, err := p.core.Call(client.Call{}, passes)
	var refused *fsm.RefusedError
	if errors.As(err, &refused) {
		p.world.hits.hit("call refused: %s", refused.Reason)
		return nil
	}
	if err := p.take(actions, err); err != nil {
		return err
	}
	return p.take(p.core.Send(id, nil))
}

// settled judges what the caller of each call was told against what happened.
func (p *party) settled() error {
	for id, o := range p.told {
		switch {
		case o.Kind == client.OutcomeNotRun && p.executed[id] > 0:
			return fmt.Errorf("books: %v is said not to have run (%s), and it ran", id, o.Reason)
		case o.Kind == client.OutcomeAnswered && p.executed[id] == 0:
			return fmt.Errorf("books: %v was answered and never ran", id)
		case o.Kind == client.OutcomeAnswered && !strings.Contains(string(o.Answer.Payload), "said on") && !strings.Contains(string(o.Answer.Payload), "nobody knows"):
			return fmt.Errorf("books: %v was answered with %q", id, o.Answer.Payload)
		}
	}
	return nil
}

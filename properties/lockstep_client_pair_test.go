package properties

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/client"
	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// A clientPair is one client three times: the real core, the model, and the
// books that the suite keeps itself. The suite is the store: a change that the
// core hands out is applied to the record, or fails, when a step says so. In
// the model a transaction is durable when it is reported, so here it is both
// in one step; the composed suite takes the two apart.
type clientPair struct {
	options client.CoreOptions
	core    *client.Core
	twin    *model.Client
	record  client.Record   // what is durable
	pending []client.Action // writes that were handed out and not reported on
	hits    hits
	fault   clientFault

	books    clientBooks
	conns    map[client.StreamID]uint64 // the last connection of a stream that is not its current one
	attempts map[client.StreamID]int    // in a row without progress
	applied  int                        // events, as the model counts them
	session  int                        // sessions that the server opened
	keys     uint64                     // that were made
	numbers  uint64                     // streams that the server opened in this session
	others   bool                       // another process fenced the record
	over     bool                       // it began an epoch, and this one noticed: it has nothing more to write
}

func newClientPair(strict, noResending bool, h hits) *clientPair {
	p := &clientPair{hits: h, twin: model.NewClient(model.TheRules(), strict), conns: map[client.StreamID]uint64{},
		attempts: map[client.StreamID]int{}, books: newClientBooks()}
	p.options = client.CoreOptions{Strict: strict, NoResending: noResending, ResumeAttempts: 3, FenceAttempts: 2,
		Observe: func(step *fsm.Step, refused *fsm.RefusedError) {
			if step != nil {
				h["row "+step.Row.ID]++
			} else {
				h["row "+refused.Row]++
			}
		}}
	var err error
	if p.core, _, err = client.NewCore(client.Record{}, p.options); err != nil {
		panic(err)
	}
	return p
}

func twinID(id client.StreamID) model.StreamID { return model.StreamID(id) }

// both compares the answers to one trigger, and takes what the core hands out.
func (p *clientPair) both(what string, actions []client.Action, err error, want spec.Reason) error {
	if got := reasonIn(err); got != want {
		return fmt.Errorf("%s: the core says %q (%v), the model %q", what, got, err, want)
	}
	if want != "" {
		p.hits.hit("refused %s", want)
	}
	return p.take(actions)
}

// take enters what the core handed out.
func (p *clientPair) take(actions []client.Action) error {
	for _, a := range actions {
		if f := p.fault.action; f != nil {
			f(p, &a)
		}
		for _, o := range a.Outcomes {
			p.hits.hit("told %v", o.Kind)
		}
		if a.Outcome != nil {
			p.hits.hit("told %v", a.Outcome.Kind)
		}
		if a.Change.Kind != 0 {
			p.pending = append(p.pending, a)
		}
		switch a.Do {
		case spec.SendResume:
			p.attempts[a.Stream]++
			if at, ok := p.twin.Cursor(twinID(a.Stream)); ok && at.String() != a.Cursor {
				return fmt.Errorf("SendResume %v carries %q, the model's token is %v", a.Stream, a.Cursor, at)
			}
		case spec.CloseConnection:
			p.conns[a.Stream] = a.Conn
		}
		if p.others && a.Do == spec.SendResume {
			continue // it does not know yet that it is fenced; nothing it reads can be applied
		}
		if err := p.books.handedOut(a, p.core.Record()); err != nil {
			return err
		}
	}
	return nil
}

// commit takes one of the writes that are pending: it becomes durable if its
// preconditions hold, or it fails.
func (p *clientPair) commit(which int, fails bool) error {
	if len(p.pending) == 0 {
		return nil
	}
	at := which % len(p.pending)
	a := p.pending[at]
	p.pending = slices.Delete(p.pending, at, at+1)
	before := p.record
	next, err := a.Change.Apply(p.record)
	var stale *client.StaleError
	isStale := errors.As(err, &stale)
	if f := p.fault.apply; f != nil {
		next, err = f(p, a, next, err)
	}
	if fails && !isStale {
		err = client.ErrUncertain // of no matter which kind: nothing was applied
	}
	if err == nil {
		p.record = next
		p.hits.hit("%v written", a.Change.Kind)
		p.hits.when(a.Change.Kind == client.BeginEpoch && len(before.Unknowns) > 0, "unknowns carried into the next epoch")
		if fault := p.books.committed(a, before, next); fault != nil {
			return fault
		}
		p.applied += len(a.Events)
	}
	p.hits.when(isStale, fmt.Sprintf("%v found the record stale", a.Change.Kind))
	p.hits.when(fails && !isStale, fmt.Sprintf("%v failed", a.Change.Kind))
	return p.report(a, err, isStale)
}

// report tells core and model what became of a write.
func (p *clientPair) report(a client.Action, err error, stale bool) error {
	c, t, id, why := p.core, p.twin, a.Stream, spec.ReasonCommitFailed
	if stale {
		why = spec.ReasonRecordStale
	}
	var actions []client.Action
	var answer error
	var want spec.Reason
	switch ok := err == nil; {
	case a.Do == spec.CommitEpoch && ok:
		actions, answer = c.EpochCommitted(p.record)
		want = t.EpochCommitted()
	case a.Do == spec.CommitEpoch:
		actions, answer = c.EpochCommitFailed(why)
		want = t.OpeningFails()
	case a.Do == spec.CommitFence && ok:
		actions, answer = c.FenceCommitted(p.record)
		want = t.FenceCommitted()
		p.others = false
	case a.Do == spec.CommitFence:
		actions, answer = c.FenceCommitFailed(stale, why)
		want = t.FenceCommitFailed(stale)
		p.over = stale
	case a.Do == spec.CommitResolution && ok:
		actions, answer = c.ResolutionCommitted(p.record)
		t.ResolutionCommitted(twinID(a.Change.Unknown))
	case a.Do == spec.CommitResolution:
		actions, answer = c.ResolutionCommitFailed(a.Change.Unknown, why)
	case a.Do == spec.CommitCall && ok:
		actions, answer = c.CallCommitted(id, p.record)
		want = t.CallCommitted(twinID(id))
	case a.Do == spec.CommitCall:
		actions, answer = c.CallCommitFailed(id, stale, why)
		want = t.CallCommitFailed(twinID(id), stale)
	case ok:
		if !t.Holds(twinID(id)) {
			return fmt.Errorf("the store takes %v of %v, the model would not", a.Change.Kind, id)
		}
		if len(a.Events) > 0 && a.Change.After != a.Change.Before {
			p.attempts[id] = 0 // progress (R26)
		}
		actions, answer = c.StreamCommitted(id, p.record)
		want = t.StreamCommitted(twinID(id))
	default:
		if stale && t.Holds(twinID(id)) && !p.others {
			return fmt.Errorf("the store refuses %v of %v, the model would not", a.Change.Kind, id)
		}
		actions, answer = c.StreamCommitFailed(id, stale, why)
		want = t.StreamCommitFailed(twinID(id), stale)
	}
	return p.both(fmt.Sprintf("report of %v (%v)", a.Do, err), actions, answer, want)
}

// crash ends the process and begins another one from the record.
func (p *clientPair) crash() error {
	p.hits.when(slices.ContainsFunc(p.pending, func(a client.Action) bool { return len(a.Events) > 0 }), "crashed with an event in hand")
	p.hits.when(slices.ContainsFunc(p.pending, func(a client.Action) bool { return a.Do == spec.CommitFence }), "crashed before the fence was durable")
	p.pending, p.others = nil, false
	clear(p.attempts)
	clear(p.conns)
	if err := p.books.crashed(p.record); err != nil {
		return err
	}
	core, actions, err := client.NewCore(p.record, p.options)
	if err != nil {
		return fmt.Errorf("a core cannot begin from the record %+v: %w", p.record, err)
	}
	p.core = core
	p.twin.Restart()
	return p.take(actions)
}

// check compares everything that can be seen.
func (p *clientPair) check() error {
	snap, seen := p.core.Snapshot(), p.twin.Observe()
	if snap.State != seen.Epoch {
		return fmt.Errorf("the epoch is %v in the core, %v in the model", snap.State, seen.Epoch)
	}
	if seen.Applied != p.applied {
		return fmt.Errorf("%d events were applied, the model counts %d", p.applied, seen.Applied)
	}
	twins := map[model.StreamID]model.ClientStreamView{}
	for _, s := range seen.Streams {
		if s.ID.Epoch == snap.Record.Epoch {
			twins[s.ID] = s
		}
	}
	for _, s := range snap.Streams {
		if s.ID.Epoch != snap.Record.Epoch {
			if got, want := s.State, p.twin.State(twinID(s.ID)); got != want {
				return fmt.Errorf("stream %v of an earlier epoch is %v in the core, %v in the model", s.ID, got, want)
			}
			continue
		}
		want, ok := twins[twinID(s.ID)]
		if !ok || s.State != want.State {
			return fmt.Errorf("stream %v is %v in the core, %+v in the model", s.ID, s.State, want)
		}
		delete(twins, twinID(s.ID))
		if s.State == spec.Lost || s.State == spec.Completed || s.State == spec.NotExecuted {
			continue // no cursor is of use any more
		}
		token := ""
		if want.Token != (spec.EventID{}) {
			token = want.Token.String()
		}
		if s.Cursor != token {
			return fmt.Errorf("stream %v stands at %q in the core, at %q in the model", s.ID, s.Cursor, token)
		}
	}
	for id := range twins {
		return fmt.Errorf("the model has a stream %v, the core none", id)
	}
	return p.checkRecord()
}

// checkRecord compares what is durable.
func (p *clientPair) checkRecord() error {
	if p.others {
		return nil // another process wrote: neither was told yet
	}
	want := p.twin.Record()
	got := p.core.Record()
	if got.Version != p.record.Version {
		return fmt.Errorf("the core knows version %d of the record, it is at %d", got.Version, p.record.Version)
	}
	if err := got.Validate(); err != nil {
		return fmt.Errorf("the record is not valid: %w: %+v", err, got)
	}
	states := map[client.RecordState]spec.State{client.RecordNone: spec.Idle, client.RecordOpen: spec.Open, client.RecordFenced: spec.Abandoned, client.RecordClosed: spec.Closed}
	calls, unknowns, tokens := map[uint64]bool{}, map[model.StreamID]bool{}, map[uint64]string{}
	for _, c := range got.Calls {
		calls[c.Request] = true
	}
	for _, u := range got.Unknowns {
		unknowns[twinID(u.Stream)] = true
	}
	for _, t := range got.Streams {
		if t.LastEventID != "" {
			tokens[t.Request] = t.LastEventID
		}
	}
	texts := map[uint64]string{}
	for request, at := range want.Tokens {
		texts[request] = at.String()
	}
	if got.Epoch != want.Epoch || states[got.State] != want.State || got.SessionID != want.SessionID || max(got.NextRequest, 1) != want.NextRequest ||
		!maps.Equal(calls, want.Calls) || !maps.Equal(unknowns, want.Unknowns) || !maps.Equal(tokens, texts) {
		return fmt.Errorf("the record differs:\ncore  %+v\nmodel %+v", got, want)
	}
	return nil
}

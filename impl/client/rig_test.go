package client

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// A rig is a core with the durable record beside it: what the core hands out
// is kept, and a test says when, and whether, each write becomes durable.
type rig struct {
	t       tester
	core    *Core
	durable Record
	o       CoreOptions

	pending  []Action // writes that the core handed out and that have no outcome yet
	actions  []Action // everything since the last call of take
	applied  []Event  // in transactions that became durable
	outcomes map[StreamID]Outcome
	earlier  map[StreamID]*Outcome // of processes that died, of calls whose POST left
}

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newRig(t tester, durable Record, o CoreOptions) *rig {
	t.Helper()
	g := &rig{t: t, durable: durable, o: o, outcomes: map[StreamID]Outcome{}}
	g.start()
	return g
}

// start makes a core of the durable record: the first start, and every restart.
func (g *rig) start() {
	g.t.Helper()
	core, actions, err := NewCore(g.durable, g.o)
	if err != nil {
		g.t.Fatalf("a core of record %+v: %v", g.durable, err)
	}
	g.core, g.pending = core, nil
	g.note(actions)
}

func (g *rig) note(actions []Action) {
	g.t.Helper()
	for _, a := range actions {
		g.actions = append(g.actions, a)
		if a.Change.Kind != 0 {
			g.pending = append(g.pending, a)
		}
		for _, o := range append(a.Outcomes, deref(a.Outcome)...) {
			if had, twice := g.outcomes[o.Stream]; twice {
				g.t.Fatalf("call %v has two outcomes: %v, then %v", o.Stream, had, o)
			}
			switch had := g.earlier[o.Stream]; { // what a process that died was told may only become more certain
			case had == nil:
			case had.Kind == OutcomeAnswered, had.Kind == OutcomeNotRun && o.Kind == OutcomeAnswered:
				g.t.Fatalf("before a restart call %v ended with %v, and now with %v", o.Stream, *had, o)
			}
			g.outcomes[o.Stream] = o
		}
	}
}

func deref(o *Outcome) []Outcome {
	if o == nil {
		return nil
	}
	return []Outcome{*o}
}

// do notes what a method of the core returned, which must not be an error.
func (g *rig) do(actions []Action, err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatalf("refused: %v", err)
	}
	g.note(actions)
}

// refused expects a refusal for that reason, and that nothing changed by it.
func (g *rig) refused(why spec.Reason, move func() ([]Action, error)) {
	g.t.Helper()
	before := fmt.Sprintf("%+v", g.core.Snapshot())
	actions, err := move()
	if !errors.Is(err, why) {
		g.t.Fatalf("got error %v, want one that says %s", err, why)
	}
	if after := fmt.Sprintf("%+v", g.core.Snapshot()); len(actions) > 0 || before != after {
		g.t.Fatalf("a refused move changed the core\nfrom %s\nto   %s\nand handed out %v", before, after, actions)
	}
}

// commit makes the oldest write at hand durable, if its preconditions hold.
func (g *rig) commit() {
	g.t.Helper()
	a := g.pending[0]
	g.pending = g.pending[1:]
	next, err := a.Change.Apply(g.durable)
	if err != nil {
		g.failed(a, stale(err), reasonOf(err, spec.ReasonCommitFailed))
		return
	}
	g.durable = next
	g.applied = append(g.applied, a.Events...)
	switch a.Do {
	case spec.CommitEpoch:
		g.do(g.core.EpochCommitted(next))
	case spec.CommitFence:
		g.do(g.core.FenceCommitted(next))
	case spec.CommitResolution:
		g.do(g.core.ResolutionCommitted(next))
	case spec.CommitCall:
		g.do(g.core.CallCommitted(a.Stream, next))
	default:
		g.do(g.core.StreamCommitted(a.Stream, next))
	}
}

// fail lets the oldest write at hand fail, with nothing durable.
func (g *rig) fail(stale bool) {
	g.t.Helper()
	a := g.pending[0]
	g.pending = g.pending[1:]
	why := spec.ReasonCommitFailed
	if stale {
		why = spec.ReasonRecordStale
	}
	g.failed(a, stale, why)
}

func (g *rig) failed(a Action, stale bool, why spec.Reason) {
	g.t.Helper()
	switch a.Do {
	case spec.CommitEpoch:
		g.do(g.core.EpochCommitFailed(why))
	case spec.CommitFence:
		g.do(g.core.FenceCommitFailed(stale, why))
	case spec.CommitResolution:
		g.do(g.core.ResolutionCommitFailed(a.Unknown, why))
	case spec.CommitCall:
		g.do(g.core.CallCommitFailed(a.Stream, stale, why))
	default:
		g.do(g.core.StreamCommitFailed(a.Stream, stale, why))
	}
}

func (g *rig) commitAll() {
	g.t.Helper()
	for len(g.pending) > 0 {
		g.commit()
	}
}

// take returns what was handed out since, without the writes.
func (g *rig) take() (actions []Action) {
	for _, a := range g.actions {
		if a.Change.Kind == 0 {
			actions = append(actions, a)
		}
	}
	g.actions = nil
	return actions
}

// find returns the one action of that kind since the last take.
func (g *rig) find(e spec.Effect) Action {
	g.t.Helper()
	var found []Action
	for _, a := range g.actions {
		if a.Do == e {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		g.t.Fatalf("%d actions %v, want one, among %v", len(found), e, effects(g.actions))
	}
	return found[0]
}

func (g *rig) has(e spec.Effect) bool { return slices.Contains(effects(g.actions), e) }

func effects(actions []Action) (es []spec.Effect) {
	for _, a := range actions {
		es = append(es, a.Do)
	}
	return es
}

func (g *rig) state(want spec.State) {
	g.t.Helper()
	if got := g.core.State(); got != want {
		g.t.Fatalf("the epoch is %v, want %v", got, want)
	}
}

func (g *rig) stream(id StreamID) StreamSnapshot {
	g.t.Helper()
	for _, s := range g.core.Snapshot().Streams {
		if s.ID == id {
			return s
		}
	}
	g.t.Fatalf("there is no stream %v", id)
	return StreamSnapshot{}
}

func (g *rig) streamState(id StreamID, want spec.State) {
	g.t.Helper()
	if got := g.stream(id).State; got != want {
		g.t.Fatalf("stream %v is %v, want %v", id, got, want)
	}
}

// abandoned expects that the epoch is given up, for that reason, that it
// becomes durable, and that only then the session gets a DELETE.
func (g *rig) abandoned(why spec.Reason) {
	g.t.Helper()
	g.state(spec.Fencing)
	if g.core.Snapshot().Reason != why {
		g.t.Fatalf("abandoned for %q, want %q", g.core.Snapshot().Reason, why)
	}
	if g.has(spec.SendDelete) {
		g.t.Fatal("a DELETE before the fence is durable")
	}
	g.commitAll()
	g.state(spec.Abandoned)
	if g.durable.State != RecordFenced || g.durable.Reason != why {
		g.t.Fatalf("the record says %v, %q", g.durable.State, g.durable.Reason)
	}
	g.find(spec.SendDelete)
}

const session = "the-session"

var tag = spec.TagOf(session, "")

func at(seq, stream, ordinal uint64) string {
	return spec.EventID{Tag: tag, Seq: seq, Stream: stream, Ordinal: ordinal}.String()
}

// message is a delivery, position an id without a payload.
func message(id string) Event {
	return Event{ID: id, HasID: true, Payload: []byte("payload of " + id)}
}
func answer(id string) Event   { ev := message(id); ev.Answer = true; return ev }
func position(id string) Event { return Event{ID: id, HasID: true} }
func bare(text string) Event   { return Event{Payload: []byte(text)} }

// open opens a session of ours, whose server announces its standalone stream.
func (g *rig) open() {
	g.t.Helper()
	g.openAs(session, spec.PositionZero(tag, 0).String())
}

func (g *rig) openAs(sessionID, standalone string) {
	g.t.Helper()
	g.do(g.core.Open())
	g.do(g.core.Opened(g.find(spec.SendInitialize).Conn, Opened{SessionID: sessionID, Standalone: standalone}))
	g.commitAll()
	g.take()
}

// call sends a call, up to its POST, and returns its connection.
func (g *rig) call() (StreamID, uint64) {
	g.t.Helper()
	id, actions, err := g.core.Call(Call{Key: "key", Label: "label"}, false)
	g.do(actions, err)
	g.do(g.core.Send(id, []byte("call")))
	g.commitAll()
	post := g.find(spec.SendPost)
	g.take()
	return id, post.Conn
}

// streaming is a call whose server accepted it as stream number n.
func (g *rig) streaming(n uint64) (StreamID, uint64) {
	g.t.Helper()
	id, conn := g.call()
	g.do(g.core.Accepts(id, conn, Accepted{session, at(0, n, 0)}))
	g.commitAll()
	g.take()
	return id, conn
}

// resumed lets the stream's connection end and sends the resumption.
func (g *rig) resumed(id StreamID, conn uint64) Action {
	g.t.Helper()
	g.do(g.core.StreamEnds(id, conn))
	g.do(g.core.Reconnect(id, false))
	resume := g.find(spec.SendResume)
	g.take()
	return resume
}

func ids(events []Event) (ids []string) {
	for _, ev := range events {
		ids = append(ids, ev.ID)
	}
	return ids
}

// without returns machines of which one row is deleted.
func without(t testing.TB, row string) *fsm.Client {
	t.Helper()
	epoch, stream := spec.EpochTable(), spec.ClientStreamTable()
	if _, ok := epoch.Row(row); ok {
		epoch = epoch.Without(row)
	} else {
		stream = stream.Without(row)
	}
	m, err := fsm.NewClient(epoch, stream)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

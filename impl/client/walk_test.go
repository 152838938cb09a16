package client

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
	"pgregory.net/rapid"
)

// A walk drives a core with callers, failing writes, crashes and a server that
// says anything, and checks what must hold always. draw(n) is 0 ≤ x < n.
type walk struct {
	*rig
	draw func(n int) int

	fired map[string]int // rows, by id
	seen  map[string]int // what happened at least sometimes

	last     map[string]uint64   // applied ordinal, by session tag and stream number
	foreign  map[string]bool     // applied ids that cannot be ordered, by epoch and stream
	sent     map[uint64]StreamID // request ids whose POST left
	streams  []StreamID          // every stream that ever was
	conns    map[StreamID][]uint64
	epochs   []string // session ids, by epoch
	deleted  map[string]bool
	nextSeq  uint64
	nextName int
	rarity   int  // one in so many things is what a decent server or caller never does
	edited   bool // the table lacks a row
	others   bool // the server is one of others: it announces nothing, and its ids are opaque
}

func newWalk(t tester, draw func(int) int, machines *fsm.Client) *walk {
	w := &walk{draw: draw, fired: map[string]int{}, seen: map[string]int{}, last: map[string]uint64{}, foreign: map[string]bool{},
		sent: map[uint64]StreamID{}, conns: map[StreamID][]uint64{}, deleted: map[string]bool{}, nextSeq: 1,
		rarity: []int{6, 30, 150}[draw(3)], edited: machines != nil, others: draw(4) == 0}
	w.rig = &rig{t: t, outcomes: map[StreamID]Outcome{}, earlier: map[StreamID]*Outcome{}, o: CoreOptions{Machines: machines, ResumeAttempts: 2, FenceAttempts: 2, Strict: draw(4) == 0, NoResending: draw(2) == 0,
		Observe: func(step *fsm.Step, refused *fsm.RefusedError) {
			if step != nil {
				w.fired[step.Row.ID]++
			} else {
				w.fired[refused.Row]++
			}
		}}}
	w.start()
	return w
}

func (w *walk) one(n int) bool { return w.draw(n) == 0 }

func (w *walk) rarely() bool { return w.one(w.rarity) }

func pick[T any](w *walk, from []T) T { return from[w.draw(len(from))] }

// check takes what a method returned, and holds what must always hold of it.
func (w *walk) check(actions []Action, err error) {
	if err != nil {
		var refused *fsm.RefusedError
		var fenced *ConnectionError
		var epoch *EpochError
		switch {
		case errors.As(err, &refused) && (refused.Row != "" || w.edited):
		case errors.As(err, &fenced):
			w.seen["an old connection spoke"]++
		case errors.As(err, &epoch), errors.Is(err, ErrNoStream), errors.Is(err, ErrWrongStream):
		default:
			w.t.Fatalf("error %v", err)
		}
		if len(actions) > 0 {
			w.t.Fatalf("%v, and yet handed out %v", err, effects(actions))
		}
		return
	}
	w.note(actions)
	for _, a := range w.actions {
		w.action(a)
	}
	w.actions = nil
}

func (w *walk) action(a Action) {
	if a.Conn != 0 && a.Do != spec.CloseConnection && a.Stream.Epoch != 0 {
		w.conns[a.Stream] = append(w.conns[a.Stream], a.Conn)
	}
	switch a.Do {
	case spec.SendPost:
		if _, inFlight := w.durable.Call(a.Stream.Request); !inFlight {
			w.t.Fatalf("the POST of %v left and its call is not in the record (R20)", a.Stream)
		}
		if was, twice := w.sent[a.Stream.Request]; twice {
			w.t.Fatalf("request id %d of %v left again for %v (R29)", a.Stream.Request, was, a.Stream)
		}
		w.sent[a.Stream.Request] = a.Stream
	case spec.SendResume:
		token, ok := w.durable.Token(a.Stream.Request)
		if !ok || token.SessionID != a.Session.ID || token.LastEventID != a.Cursor || a.Stream.Epoch != w.durable.Epoch {
			w.t.Fatalf("%v is resumed with %q at %q, and its token is %v (R25)", a.Stream, a.Session.ID, a.Cursor, token)
		}
		w.seen["a stream was resumed"]++
	case spec.SendDelete:
		if w.durable.State == RecordOpen && w.durable.SessionID == a.Session.ID {
			w.t.Fatalf("a DELETE of session %q, whose record is open (R22)", a.Session.ID)
		}
		w.seen["a session was deleted"]++
	}
	if a.Session.ID != "" && a.Do != spec.SendDelete && a.Session.ID != w.durable.SessionID {
		w.t.Fatalf("%v of session %q, and the record says %q", a.Do, a.Session.ID, w.durable.SessionID)
	}
}

// write decides what becomes of one write at hand: usually the oldest, for a
// driver writes in order, but not always.
func (w *walk) write() {
	i := 0
	if w.one(4) {
		i = w.draw(len(w.pending))
	}
	a := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	if w.rarely() || w.one(20) {
		w.report(a, w.rarely(), spec.ReasonCommitFailed)
		w.seen["a write failed"]++
		return
	}
	before := w.durable
	next, err := a.Change.Apply(before)
	if err != nil {
		if len(a.Events) > 0 && errors.Is(err, spec.ReasonRecordStale) {
			w.seen["a late commit failed"]++
		}
		w.report(a, stale(err), reasonOf(err, spec.ReasonCommitFailed))
		return
	}
	if err := next.Validate(); err != nil {
		w.t.Fatalf("change %+v makes a record that is not valid: %v\n%+v", a.Change, err, next)
	}
	if next.Version != before.Version+1 {
		w.t.Fatalf("version %d after %d", next.Version, before.Version)
	}
	w.carried(before, next, a.Change)
	for _, ev := range a.Events {
		w.apply(before, a, ev)
	}
	w.durable = next
	switch a.Do {
	case spec.CommitEpoch:
		w.check(w.core.EpochCommitted(next))
	case spec.CommitFence:
		w.check(w.core.FenceCommitted(next))
	case spec.CommitResolution:
		w.check(w.core.ResolutionCommitted(next))
	case spec.CommitCall:
		w.check(w.core.CallCommitted(a.Stream, next))
	default:
		w.check(w.core.StreamCommitted(a.Stream, next))
	}
}

func (w *walk) report(a Action, stale bool, why spec.Reason) {
	switch a.Do {
	case spec.CommitEpoch:
		w.check(w.core.EpochCommitFailed(why))
	case spec.CommitFence:
		w.check(w.core.FenceCommitFailed(stale, why))
	case spec.CommitResolution:
		w.check(w.core.ResolutionCommitFailed(a.Unknown, why))
	case spec.CommitCall:
		w.check(w.core.CallCommitFailed(a.Stream, stale, why))
	default:
		w.check(w.core.StreamCommitFailed(a.Stream, stale, why))
	}
}

// carried holds R23 of one write: no call in flight and no unknown outcome
// leaves the record but by an answer, a decision, or the proof that it did not
// run.
func (w *walk) carried(before, next Record, ch Change) {
	for _, u := range before.Unknowns {
		if _, ok := next.Unknown(u.Stream); !ok && (ch.Kind != ResolveUnknown || ch.Unknown != u.Stream) {
			w.t.Fatalf("%v dropped the unknown outcome %v", ch.Kind, u.Stream)
		}
	}
	for _, call := range before.Calls {
		_, inFlight := next.Call(call.Request)
		_, unknown := next.Unknown(StreamID{before.Epoch, call.Request})
		gone := ch.Request == call.Request && (ch.Answers || ch.Kind == RemoveCall)
		if !inFlight && !unknown && !gone {
			w.t.Fatalf("%v dropped call %d", ch.Kind, call.Request)
		}
	}
	if ch.Kind == BeginEpoch {
		w.epochs = append(w.epochs, next.SessionID)
		w.seen["an epoch began"]++
		if next.UnknownsBefore(next.Epoch) {
			w.seen["an epoch began in quarantine"]++
		}
	}
}

// apply holds R20–R22 of one event: in the epoch of its stream, while it is
// open, exactly the next one.
func (w *walk) apply(r Record, a Action, ev Event) {
	w.seen["an event was applied"]++
	if r.State != RecordOpen || r.Epoch != a.Stream.Epoch || ev.Stream != a.Stream {
		w.t.Fatalf("an event of %v is applied in epoch %d, %v (R22)", a.Stream, r.Epoch, r.State)
	}
	id, err := spec.ParseEventID(ev.ID)
	switch {
	case ev.ID == "":
		w.seen["an event without id was applied"]++
	case err != nil:
		key := fmt.Sprint(a.Stream, ev.ID)
		if w.foreign[key] {
			w.t.Fatalf("event %s is applied again on %v", ev.ID, a.Stream)
		}
		w.foreign[key] = true
		w.seen["an event of others was applied"]++
	default:
		key := fmt.Sprint(id.Tag, id.Stream)
		last, begun := w.last[key]
		if id.Tag != r.Tag || begun && id.Ordinal != last+1 || !begun && id.Stream != 0 && id.Ordinal != 1 {
			w.t.Fatalf("event %v is applied after ordinal %d of its stream (R21)", id, last)
		}
		w.last[key] = id.Ordinal
	}
}

// step does one thing, chosen at random.
func (w *walk) step() {
	switch w.draw(10) {
	case 0, 1:
		w.caller()
	case 2, 3, 4:
		if len(w.pending) > 0 {
			w.write()
		}
	case 5:
		w.streamOwn()
	case 6:
		if w.one(12) && w.canStart() {
			w.seen["a crash"]++
			for id, o := range w.outcomes {
				if w.sent[id.Request] == id {
					w.earlier[id] = &o
				}
			}
			clear(w.outcomes)
			w.start()
			w.check(nil, nil)
		}
	default:
		w.arrival()
	}
}

// canStart: a core whose table was edited may refuse to recover a record.
func (w *walk) canStart() bool {
	_, _, err := NewCore(w.durable, CoreOptions{Machines: w.o.Machines})
	return err == nil || !w.edited
}

func (w *walk) caller() {
	c := w.core
	switch w.draw(9) {
	case 0, 1:
		w.check(c.Open())
	case 2, 3:
		id, actions, err := c.Call("", "", w.one(3))
		w.check(actions, err)
		if err == nil {
			w.streams = append(w.streams, id)
			if !w.one(10) {
				w.check(c.Send(id, []byte("call")))
			}
		}
	case 4:
		w.check(c.Notify([]byte("message"), w.one(2)))
	case 5:
		unknown := StreamID{1, 1}
		if r := c.Record(); len(r.Unknowns) > 0 {
			unknown = pick(w, r.Unknowns).Stream
		}
		w.check(c.Resolve(unknown, DidExecute))
	case 6:
		if w.rarely() {
			w.check(c.Abandon())
		}
	case 7:
		if w.rarely() {
			w.check(c.Terminate())
		}
	case 8:
		if w.rarely() {
			w.check(c.Contradict(c.Record().Epoch-uint64(w.draw(2)), spec.ReasonSessionUnknown))
		}
	}
	// What a driver never reports out of turn is refused all the same.
	switch w.draw(12) {
	case 0:
		w.check(c.Opened(c.Snapshot().Opening, w.opened()))
	case 1:
		w.check(c.OpeningFails(c.Snapshot().Opening, spec.ReasonRefused))
	case 2:
		if c.State() != spec.Opening && c.State() != spec.Closed {
			w.check(c.EpochCommitted(w.durable))
		}
	case 3:
		if c.State() != spec.Fencing {
			w.check(c.FenceCommitted(w.durable))
			w.check(c.FenceCommitFailed(w.one(2), spec.ReasonCommitFailed))
		}
	}
}

func (w *walk) opened() Opened {
	w.nextName++
	o := Opened{SessionID: fmt.Sprintf("session-%d", w.nextName)}
	switch w.draw(4) {
	case 0: // nothing is announced
	case 1:
		o.Standalone = spec.PositionZero(spec.TagOf(o.SessionID, "generation"), 0).String()
	default:
		o.Standalone = spec.PositionZero(spec.TagOf(o.SessionID, ""), 0).String()
	}
	if w.others {
		o.Standalone = ""
	}
	if w.one(8) {
		o.SessionID = ""
	}
	return o
}

// target is a stream that is, or was.
func (w *walk) target() StreamID {
	if len(w.streams) == 0 || w.one(4) {
		return w.core.Standalone()
	}
	if w.one(10) {
		return pick(w, w.streams)
	}
	return w.streams[max(0, len(w.streams)-1-w.draw(3))]
}

// streamOwn does what a stream's caller, its writes and time do, in turn or out
// of turn.
func (w *walk) streamOwn() {
	c, id := w.core, w.target()
	state, hand := spec.Lost, ChangeKind(0)
	for _, s := range c.Snapshot().Streams {
		if s.ID == id {
			state, hand = s.State, s.InHand.Kind
		}
	}
	switch w.draw(9) {
	case 0:
		w.check(c.Send(id, []byte("call")))
	case 1:
		w.check(c.Offer(id))
	case 2:
		w.check(c.Listen(id))
	case 3, 4:
		w.check(c.Reconnect(id, w.one(6)))
	case 5:
		w.check(c.Resume(id))
	case 6:
		if hand == 0 { // out of turn
			w.check(c.StreamCommitted(id, w.durable))
			w.check(c.StreamCommitFailed(id, w.one(2), spec.ReasonCommitFailed))
		}
	case 7:
		if state != spec.Recording && hand == 0 {
			w.check(c.CallCommitted(id, w.durable))
			w.check(c.CallCommitFailed(id, w.one(2), spec.ReasonCommitFailed))
		}
	case 8:
		c.Forget(id)
		if conns := w.conns[id]; len(conns) > 0 {
			c.Lived(id, pick(w, conns))
		}
	}
}

// arrival lets a server say something on a connection, the current one mostly.
func (w *walk) arrival() {
	c, id := w.core, w.target()
	var s StreamSnapshot
	for _, have := range c.Snapshot().Streams {
		if have.ID == id {
			s = have
		}
	}
	conn := s.Conn
	if conns := w.conns[id]; w.one(12) && len(conns) > 0 {
		conn = pick(w, conns)
	}
	if !w.one(4) {
		switch s.State { // what is due
		case spec.Requested, spec.Resuming:
			w.check(c.Accepts(id, conn, Accepted{w.sessionID(), w.announced(s)}))
			return
		case spec.Streaming, spec.Unproven:
			w.check(c.EventArrives(id, conn, w.event(s)))
			return
		}
	}
	switch w.draw(16) {
	case 0:
		w.check(c.DialFails(id, conn, spec.ReasonNoConnection))
	case 1, 2, 3:
		w.check(c.Accepts(id, conn, Accepted{w.sessionID(), w.announced(s)}))
	case 4:
		w.check(c.AnswersOnce(id, conn, w.sessionID(), Event{Payload: []byte("once"), Answer: !w.one(4)}))
	case 5:
		if w.one(2) {
			w.check(c.Completes(id, conn, w.sessionID()))
		}
	case 6:
		w.check(c.Defers(id, conn, 0))
	case 7:
		w.check(c.Challenges(id, conn))
	case 8:
		if w.one(2) {
			w.check(c.Refuses(id, conn, pick(w, []Refusal{{Status: 404}, {Status: 405}, {Status: 503}, {Status: 409, Reason: spec.ReasonCursorEvicted},
				{Status: 404, Reason: spec.ReasonSessionTerminated}, {Status: 503, Reason: spec.ReasonDraining}, {Status: 404, Sealed: true}})))
		}
	case 9:
		w.check(c.StreamEnds(id, conn))
	case 10:
		w.check(c.ConnectionBreaks(id, conn))
	default:
		w.check(c.EventArrives(id, conn, w.event(s)))
	}
}

func (w *walk) sessionID() string {
	if w.rarely() {
		return pick(w, []string{"", "minted"})
	}
	return w.durable.SessionID
}

// announced is a position, the right one mostly.
func (w *walk) announced(s StreamSnapshot) string {
	switch {
	case w.rarely():
		return pick(w, []string{spec.EventID{Tag: w.durable.Tag, Seq: 2, Stream: 1, Ordinal: 2}.String(),
			spec.PositionZero(w.durable.Tag, uint64(w.draw(4))).String()})
	case w.others, w.one(3):
		return ""
	}
	if s.Cursor != "" {
		return s.Cursor
	}
	return spec.PositionZero(w.durable.Tag, s.ID.Request).String()
}

// event is what a server may send: the next one mostly, else anything.
func (w *walk) event(s StreamSnapshot) Event {
	w.nextSeq++
	id, err := spec.ParseEventID(s.Cursor)
	if err != nil {
		id = spec.PositionZero(w.durable.Tag, s.ID.Request)
		if s.High.Valid() {
			id = s.High
		}
	}
	next := id
	next.Ordinal++
	next.Seq = max(w.nextSeq, id.Seq+1)
	ev := Event{ID: next.String(), HasID: true, Payload: []byte("event"), Answer: w.one(5)}
	if w.others {
		w.nextName++
		ev.ID = fmt.Sprintf("opaque-%d", w.nextName)
		if s.Cursor == "" && w.one(2) {
			ev.ID, ev.HasID = "", false
		}
	}
	if !w.rarely() {
		switch w.draw(8) {
		case 0:
			return Event{HasRetry: true, Retry: 5}
		case 1: // where we stand, or where we begin
			ev.Payload = nil
			if ev.ID == next.String() {
				ev.ID = id.String()
			}
		}
		return ev
	}
	switch w.draw(16) {
	case 0:
		ev.ID = id.String() // a repeat, or a position with a payload
	case 1:
		next.Ordinal++
		ev.ID = next.String()
	case 2:
		next.Stream++
		ev.ID = next.String()
	case 3:
		next.Tag = spec.TagOf("minted", "")
		ev.ID = next.String()
	case 4, 5:
		ev.ID, ev.HasID = "", false
	case 6:
		ev.ID = ""
	case 7, 8, 9:
		ev.ID = fmt.Sprintf("opaque-%d", w.draw(40))
	case 10:
		ev.Payload = nil // a position ahead
	case 11, 12:
		ev.ID, ev.Payload = id.String(), nil // where we stand
	case 13:
		ev.ID, ev.Payload = "", nil // clears
	default:
		ev.ID, ev.Payload = fmt.Sprintf("opaque-%d", w.draw(40)), nil
	}
	return ev
}

// end lets everything that is open come to its end, and holds that every call
// then has its outcome or is in the record.
func (w *walk) end() {
	for range 3 * len(w.pending) {
		if len(w.pending) > 0 {
			w.write()
		}
	}
	if w.edited {
		return // who is to be told is what a row may say
	}
	for request, id := range w.sent {
		o, ended := w.outcomes[id]
		if !ended && w.earlier[id] != nil {
			o, ended = *w.earlier[id], true
		}
		_, inFlight := w.durable.Call(request)
		_, unknown := w.durable.Unknown(id)
		if !ended && !inFlight && !unknown {
			w.t.Fatalf("nobody knows what became of call %v", id)
		}
		if ended && o.Kind == OutcomeUnknown && !inFlight && !unknown {
			w.seen["an unknown outcome was resolved"]++
		}
	}
}

// run walks for a while: first some steps that lead somewhere, so that a walk
// does not spend its time before the first session.
func (w *walk) run(steps int) {
	for range steps {
		w.step()
		if s := w.core.State(); s == spec.Opening && len(w.pending) == 0 && w.one(2) {
			w.check(w.core.Opened(w.core.Snapshot().Opening, w.opened()))
		}
	}
	w.end()
}

// Whatever a server says, and whatever fails: an event is never applied twice,
// never after the fence, never in another epoch; no call is ever forgotten.
func TestAgainstAHostileServer(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		choice := rapid.Uint64Range(0, 1<<16)
		w := newWalk(rt, func(n int) int { return int(choice.Draw(rt, "choice") % uint64(n)) }, nil)
		w.run(120)
		for what, n := range w.seen {
			seen[what] += n
		}
	})
	for _, what := range []string{"an event was applied", "an epoch began in quarantine", "a stream was resumed", "a write failed"} {
		if seen[what] == 0 {
			t.Errorf("%s: not once", what)
		}
	}
}

// A table that lacks a row can only refuse more: nothing that must always hold
// depends on a row being there.
func TestADroppedRowIsNeverUnsafe(t *testing.T) {
	for _, table := range []spec.Table{spec.EpochTable(), spec.ClientStreamTable()} {
		for _, row := range table.Rows {
			machines := without(t, row.ID)
			for seed := range uint64(4) {
				w := newWalk(t, rand.New(rand.NewPCG(seed, 11)).IntN, machines)
				w.run(200)
				if w.fired[row.ID] > 0 {
					t.Fatalf("row %s fired, and it is not there", row.ID)
				}
			}
		}
	}
}

// The same walk from fixed seeds, long enough that every row of both tables
// fires, and everything interesting happens.
func TestEveryRowFiresFromOutside(t *testing.T) {
	fired, seen := map[string]int{}, map[string]int{}
	walks := 0
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := newWalk(t, r.IntN, nil)
		w.run(400)
		for row, n := range w.fired {
			fired[row] += n
		}
		for what, n := range w.seen {
			seen[what] += n
		}
		walks++
	}
	for _, table := range []spec.Table{spec.EpochTable(), spec.ClientStreamTable()} {
		for _, row := range table.Rows {
			if fired[row.ID] == 0 {
				t.Errorf("row %s never fired in %d walks: %v, %v, %v -> %s", row.ID, walks, row.Source(), row.Trigger, row.Guard, row.Target())
			}
		}
	}
	for _, what := range []string{"an event was applied", "an event of others was applied", "an event without id was applied",
		"an epoch began", "an epoch began in quarantine", "a session was deleted", "a stream was resumed", "an old connection spoke",
		"a crash", "a write failed", "a late commit failed", "an unknown outcome was resolved"} {
		if seen[what] < 5 {
			t.Errorf("%s: only %d times", what, seen[what])
		}
	}
}

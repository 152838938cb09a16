package client

import (
	"errors"
	"fmt"
	"slices"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
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
		case errors.As(err, &epoch), errors.Is(err, ErrNoUnknown), errors.Is(err, ErrNoStream), errors.Is(err, ErrWrongStream):
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
		if about := a.Call.Query || a.Call.Resends != (StreamID{}); about {
			if k, err := spec.ParseKey(a.Call.Key); err != nil || k.Ledger != w.durable.Ledger {
				w.t.Fatalf("key %q goes to a server that names the ledger %q (R28)", a.Call.Key, w.durable.Ledger)
			}
			w.seen["a key went to its ledger"]++
		}
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
		if a.Do == spec.CommitResolution { // a ledger's word about a call of whichever epoch
			_, was := before.Unknown(ev.Resolves)
			if _, is := next.Unknown(ev.Resolves); !was || is || ev.Stream != ev.Resolves {
				w.t.Fatalf("an answer of %v settles %v, which was unknown: %v, is: %v", ev.Stream, ev.Resolves, was, is)
			}
			w.seen["an answer settled an unknown outcome"]++
			continue
		}
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
		answered, _ := before.Call(ch.Request)
		byKey := ch.Answers && !ch.Unsure && answered.Resends == u.Stream && answered.Key == u.Key
		if _, ok := next.Unknown(u.Stream); !ok && (ch.Kind != ResolveUnknown || ch.Unknown != u.Stream) && !byKey {
			w.t.Fatalf("%v dropped the unknown outcome %v", ch.Kind, u.Stream)
		} else if !ok && byKey {
			w.seen["an unknown outcome was resolved by a re-send"]++
		}
	}
	for _, call := range before.Calls {
		_, inFlight := next.Call(call.Request)
		_, unknown := next.Unknown(StreamID{before.Epoch, call.Request})
		_, stands := next.Unknown(call.Resends)
		gone := ch.Request == call.Request && (ch.Answers && (!ch.Unsure || unknown || !call.isKeyed()) || ch.Kind == RemoveCall)
		if !inFlight && !unknown && !gone && !call.Query && !stands {
			w.t.Fatalf("%v dropped call %d", ch.Kind, call.Request)
		}
		if !inFlight && !unknown && !gone {
			w.seen["a query or re-send left nothing behind"]++
		}
		if unknown && call.Query {
			w.t.Fatalf("%v made an unknown outcome of a status query", ch.Kind)
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

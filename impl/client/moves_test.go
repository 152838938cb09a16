package client

import (
	"fmt"

	"example.com/reattach/spec"
)

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
	switch w.draw(10) {
	case 9:
		if w.rarely() && w.one(4) {
			w.check(c.TakenOver(c.Record().Epoch, spec.ReasonLeaseLost))
		}
	case 0, 1:
		w.check(c.Open())
	case 2, 3:
		id, actions, err := c.Call(w.call(), w.one(3))
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
		if w.one(2) {
			w.check(c.Settle(unknown, Event{Payload: []byte("what came of it")}))
		} else {
			w.check(c.Resolve(unknown, DidExecute))
		}
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

// call is one with a key where the session names a ledger, mostly; or one about
// a call whose outcome is unknown.
func (w *walk) call() Call {
	r := w.core.Record()
	call := Call{Method: "method", Digest: "digest"}
	if r.Ledger != "" && !w.one(4) {
		w.nextName++
		call.Key = testKey(r.Ledger, w.nextName)
	}
	if len(r.Unknowns) > 0 && !w.one(3) {
		u := pick(w, r.Unknowns)
		if call.Key = u.Key; w.one(2) || u.Key == "" {
			call.Query = true
		} else {
			call.Resends, call.Method, call.Digest = u.Stream, u.Method, u.Digest
		}
	}
	return call
}

func testKey(ledger string, n int) string {
	return spec.Key{Ledger: ledger, Minted: 1, Nonce: fmt.Sprintf("%032x", n)}.String()
}

// Names of ledgers.
const oneLedger, otherLedger = "0000000000000001", "0000000000000002"

func (w *walk) opened() Opened {
	w.nextName++
	o := Opened{SessionID: fmt.Sprintf("session-%d", w.nextName), Ledger: pick(w, []string{oneLedger, oneLedger, otherLedger, ""})}
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
				{Status: 404, Reason: spec.ReasonSessionTerminated}, {Status: 503, Reason: spec.ReasonDraining}, {Status: 404, Sealed: true},
				{Status: 409, Reason: spec.ReasonAttemptSuperseded}})))
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
	if w.one(3) {
		ev.Means, ev.Reason = Meaning(w.draw(4)), spec.ReasonKeyUnknown
	}
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

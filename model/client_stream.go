package model

import "example.com/reattach/spec"

// A clientStream is what the client knows of one stream beside the record.
type clientStream struct {
	state spec.State
	call  bool      // it belongs to a call
	hand  inHand    // the transaction that is in hand
	about *StreamID // the unknown outcome that it asks about or re-sends; zero: a status query
}

// An inHand is a transaction that was begun and is not known to be durable.
type inHand struct {
	kind   handKind
	id     spec.EventID // of the event, or the position
	answer bool         // the event is the response to the stream's call
	unsure bool         // that response says that nobody can tell
	opens  uint64       // the number of the call's stream, if it becomes known with it
}

// A handKind says what a transaction does.
type handKind uint8

const (
	nothing     handKind = iota
	addCall              // the call enters the record (R20)
	removeCall           // the call leaves the record: it did not run (R23)
	moveToken            // a position becomes the token (R24)
	clearToken           // an explicit empty id takes it away (R25)
	applyEvent           // the event is applied and the token advances (R20)
	markUnknown          // the call becomes an unknown outcome (R23)
)

func (st *clientStream) final() bool {
	return st.state == spec.Completed || st.state == spec.NotExecuted || st.state == spec.Lost
}

func (st *clientStream) reading() bool {
	return st.state == spec.Streaming || st.state == spec.Unproven
}

func (st *clientStream) waiting() bool {
	return st.state == spec.Requested || st.state == spec.Resuming
}

// stream returns a stream; naming one that there is not is the suite's fault.
func (c *Client) stream(id StreamID) *clientStream {
	st, ok := c.streams[id]
	if !ok {
		panic("reattach: BUG: the suite names a stream that the model's client does not have")
	}
	return st
}

// token returns the position of a stream in the record.
func (c *Client) token(id StreamID) (spec.EventID, bool) {
	at, ok := c.record.Tokens[id.Request]
	return at, ok && id.Epoch == c.record.Epoch
}

// lose ends a stream and casts doubt on its epoch (R22).
func (c *Client) lose(st *clientStream) {
	st.state = spec.Lost
	c.doubt()
}

// interrupted is what becomes of a stream whose connection is over: it is
// resumable from its token; without one its call is an unknown outcome, while
// the epoch lives on (R24).
func (c *Client) interrupted(id StreamID, st *clientStream, resumable spec.State) {
	if _, positioned := c.token(id); positioned {
		st.state, st.hand = resumable, inHand{}
		return
	}
	c.lost(st)
}

// lost ends a stream while the epoch lives on; its call is an unknown outcome,
// to be recorded (R23).
func (c *Client) lost(st *clientStream) {
	st.state, st.hand = spec.Lost, inHand{}
	if st.call {
		st.hand.kind = markUnknown
	}
}

// CallCommitted: the call is in the record; only now its POST leaves (R20).
func (c *Client) CallCommitted(id StreamID) spec.Reason {
	st := c.stream(id)
	switch st.state {
	case spec.Recording:
		st.state = spec.Requested
	case spec.Lost:
	default:
		return spec.ReasonOutOfTurn
	}
	c.durable(id, st)
	return ""
}

// CallCommitFailed: it is not; the POST never leaves (R20, R23).
func (c *Client) CallCommitFailed(id StreamID, stale bool) spec.Reason {
	st := c.stream(id)
	switch st.state {
	case spec.Recording:
		st.state, st.hand = spec.NotExecuted, inHand{}
		if stale {
			c.doubt()
		}
	case spec.Lost:
		st.hand = inHand{}
	default:
		return spec.ReasonOutOfTurn
	}
	return ""
}

// Offer: initialize announced the standalone stream's position 0 (R7).
func (c *Client) Offer() spec.Reason { return c.begin(spec.Ended) }

// Listen asks for the standalone stream without a cursor (R7); where it was
// lost in this epoch, and forgotten, it begins anew.
func (c *Client) Listen() spec.Reason {
	id := StreamID{c.record.Epoch, 0}
	if _, ok := c.streams[id]; !ok && EpochLives(c.epoch) {
		c.streams[id] = &clientStream{state: spec.Unsent}
	}
	return c.begin(spec.Requested)
}

func (c *Client) begin(as spec.State) spec.Reason {
	st := c.stream(StreamID{c.record.Epoch, 0})
	if st.state != spec.Unsent {
		return spec.ReasonOutOfTurn
	}
	st.state = as
	return ""
}

// DialFails: the request never left this process. A call that was only now to
// be sent is known not to have run (R23).
func (c *Client) DialFails(id StreamID) spec.Reason {
	st := c.stream(id)
	switch {
	case st.state == spec.Resuming:
		st.state = spec.Truncated
	case st.state == spec.Requested && st.call:
		st.state, st.hand = spec.NotExecuted, inHand{kind: removeCall}
	case st.state == spec.Requested:
		st.state = spec.Lost
	default:
		return spec.ReasonNoConnection
	}
	return ""
}

// Accepts: 200 and an event stream, which names a session and may announce a
// position (R21).
func (c *Client) Accepts(id StreamID, sessionID, position string) spec.Reason {
	st := c.stream(id)
	if !st.waiting() {
		return spec.ReasonNoConnection
	}
	if sessionID != c.record.SessionID {
		c.lose(st)
		return ""
	}
	resuming := st.state == spec.Resuming
	if position == "" {
		st.state = spec.Streaming
		if resuming {
			st.state = spec.Unproven
		}
		return ""
	}
	at := ReadCursor(position)
	switch {
	case at.Form != FormID, resuming && !c.proves(id, at.ID), !resuming && !c.mayBegin(id, st, at.ID):
		c.lose(st)
	case resuming:
		st.state = spec.Streaming
	default:
		st.state, st.hand = spec.Committing, inHand{kind: moveToken, id: at.ID, opens: c.opens(id, st, at.ID)}
	}
	return ""
}

// proves reports whether an announced position is the cursor that was sent.
func (c *Client) proves(id StreamID, at spec.EventID) bool {
	token, ok := c.token(id)
	return ok && at.Tag == token.Tag && at.Stream == token.Stream && c.rules.Proves(markOf(token), markOf(at))
}

// markOf returns the numbers of an id; its tag was compared before.
func markOf(id spec.EventID) Mark { return Mark{Seq: id.Seq, Ordinal: id.Ordinal} }

// mayBegin reports whether a fresh view may begin at a position: it is of this
// session, a POST's view opens an unseen stream at position 0 (R21), and the
// standalone stream's lies nowhere before what was applied.
func (c *Client) mayBegin(id StreamID, st *clientStream, at spec.EventID) bool {
	switch cleared, ok := c.record.Cleared[id.Request]; {
	case at.Tag != c.record.Tag:
		return false
	case !st.call:
		return at.Stream == 0 && (!ok || at.Ordinal >= cleared.Ordinal)
	}
	return at.Ordinal == 0 && c.unseen(at.Stream)
}

// unseen reports whether no call of the epoch ever had the stream of this
// number, as far as the record knows; the standalone stream is number 0.
func (c *Client) unseen(number uint64) bool { return number != 0 && !c.record.Seen[number] }

// opens is the number that becomes known with the first position of a call's
// stream; 0 for every other.
func (c *Client) opens(id StreamID, st *clientStream, at spec.EventID) uint64 {
	_, positioned := c.token(id)
	_, cleared := c.record.Cleared[id.Request]
	if !st.call || positioned || cleared {
		return 0
	}
	return at.Stream
}

// AnswersOnce: 200 and a single message instead of a stream: the answer to a
// call, which is applied without a position (R20). To a resumption, or to the
// request for the standalone stream, it is nothing that can be.
func (c *Client) AnswersOnce(id StreamID, sessionID string) spec.Reason {
	st := c.stream(id)
	switch {
	case !st.waiting():
		return spec.ReasonNoConnection
	case st.state == spec.Resuming || !st.call || sessionID != c.record.SessionID:
		c.lose(st)
	default:
		st.state, st.hand = spec.Committing, inHand{kind: applyEvent, answer: true}
	}
	return ""
}

// Completes: 204, nothing was missed and nothing will come. A call that it
// leaves unanswered is an unknown outcome (R21, R23).
func (c *Client) Completes(id StreamID, sessionID string) spec.Reason {
	st := c.stream(id)
	switch {
	case !st.waiting():
		return spec.ReasonNoConnection
	case sessionID != c.record.SessionID:
		c.lose(st)
	case st.call:
		c.lost(st)
	default:
		st.state = spec.Completed
	}
	return ""
}

// Defers and Challenges: not now, or not with these credentials; the token
// stays, and the resumption is tried again (R26).
func (c *Client) Defers(id StreamID) spec.Reason { return c.later(id) }

// Challenges: see [Client.Defers].
func (c *Client) Challenges(id StreamID) spec.Reason { return c.later(id) }

func (c *Client) later(id StreamID) spec.Reason {
	st := c.stream(id)
	if st.state != spec.Resuming {
		return spec.ReasonNoConnection
	}
	st.state = spec.Ended
	return ""
}

// Refuses: any final refusal. To a resumption it ends the epoch; to a POST it
// does so if the session is in doubt, and the call is known not to have run
// only if the refusal proves it (R22, R23).
func (c *Client) Refuses(id StreamID, reason spec.Reason, sessionGone, provesNotExecuted bool) spec.Reason {
	st := c.stream(id)
	switch {
	case !st.waiting():
		return spec.ReasonNoConnection
	case reason == spec.ReasonAttemptSuperseded && (st.state == spec.Resuming || !st.call):
		st.state = spec.Lost
		c.TakenOver()
	case st.state == spec.Resuming:
		st.state = spec.Lost
		if c.rules.Abandons(reason) {
			c.doubt()
		}
	case provesNotExecuted:
		st.state, st.hand = spec.NotExecuted, inHand{kind: removeCall}
		if sessionGone {
			c.doubt()
		}
	case sessionGone:
		c.lose(st)
	case st.call:
		c.lost(st)
	default:
		st.state = spec.Completed
	}
	return ""
}

// StreamEnds: a clean end between two events.
func (c *Client) StreamEnds(id StreamID) spec.Reason {
	st := c.stream(id)
	if r := st.mayRead(); r != "" && r != spec.ReasonCommitInHand {
		return spec.ReasonNoConnection
	} else if r != "" {
		return r
	}
	c.interrupted(id, st, spec.Ended)
	return ""
}

// ConnectionBreaks: an end anywhere else; it yields nothing of an unfinished
// event, and the client resumes, or abandons where that was chosen (R24).
func (c *Client) ConnectionBreaks(id StreamID) spec.Reason {
	st := c.stream(id)
	switch {
	case st.state == spec.Committing:
		return spec.ReasonCommitInHand
	case !st.reading() && !st.waiting():
		return spec.ReasonNoConnection
	case st.state == spec.Requested:
		c.lost(st)
		return ""
	}
	if _, positioned := c.token(id); positioned && c.strict && st.reading() {
		c.lose(st)
		return ""
	}
	c.interrupted(id, st, spec.Truncated)
	return ""
}

// Reconnect: it is time to resume; without an attempt left the stream is
// suspended and its call pending (R26).
func (c *Client) Reconnect(id StreamID, attemptsLeft bool) spec.Reason {
	st := c.stream(id)
	if st.state != spec.Ended && st.state != spec.Truncated {
		return spec.ReasonOutOfTurn
	}
	st.state = spec.Suspended
	if attemptsLeft {
		st.state = spec.Resuming
	}
	return ""
}

// Resume: the caller wants a suspended stream resumed (R26).
func (c *Client) Resume(id StreamID) spec.Reason {
	st := c.stream(id)
	if st.state != spec.Suspended {
		return spec.ReasonOutOfTurn
	}
	st.state = spec.Resuming
	return ""
}

package model

import "example.com/reattach/spec"

// An Arrival is one event that arrived whole.
type Arrival struct {
	ID      string
	HasID   bool // HasID with an empty ID: the explicit empty id that clears the cursor (R25)
	Payload bool // else it is a position, or nothing
	Answer  bool // the payload is the response to the stream's call
	Unsure  bool // that response says that nobody can tell whether the call ran (R28)
}

// mayRead is why nothing can be read on a stream, or "".
func (st *clientStream) mayRead() spec.Reason {
	switch {
	case st.reading():
		return ""
	case st.state == spec.Committing:
		return spec.ReasonCommitInHand
	case st.state == spec.Completed:
		return spec.ReasonStreamCompleted
	case st.state == spec.Lost:
		return spec.ReasonStreamLost
	}
	return spec.ReasonNoConnection
}

// EventArrives: the event is taken into the hand if it is exactly what must
// come next; anything else ends the epoch (R20, R21, R22).
func (c *Client) EventArrives(id StreamID, ev Arrival) spec.Reason {
	st := c.stream(id)
	if r := st.mayRead(); r != "" {
		return r
	}
	if ev.Payload {
		c.delivery(id, st, ev)
	} else {
		c.position(id, st, ev)
	}
	return ""
}

// delivery judges an event with a payload.
func (c *Client) delivery(id StreamID, st *clientStream, ev Arrival) {
	if _, positioned := c.token(id); !positioned && ev.ID == "" {
		// A server without ids: there is nothing to prove, and nothing to resume.
		st.state, st.hand = spec.Committing, inHand{kind: applyEvent, answer: ev.Answer, unsure: ev.Unsure}
		return
	}
	at := ReadCursor(ev.ID)
	if at.Form != FormID || !c.isNext(id, st, at.ID) {
		c.lose(st)
		return
	}
	st.state, st.hand = spec.Committing, inHand{kind: applyEvent, id: at.ID, answer: ev.Answer, unsure: ev.Unsure, opens: c.opens(id, st, at.ID)}
}

// isNext reports whether an id is the one that must come next: behind the
// token, also one that was cleared, for what was applied stays applied; on a
// stream that never had one, the first of an unseen stream.
func (c *Client) isNext(id StreamID, st *clientStream, at spec.EventID) bool {
	token, positioned := c.token(id)
	if cleared, ok := c.record.Cleared[id.Request]; ok && !positioned {
		token, positioned = cleared, true
	}
	switch {
	case positioned:
		return at.Tag == token.Tag && at.Stream == token.Stream && c.rules.IsNext(markOf(token), markOf(at))
	case at.Tag != c.record.Tag || at.Ordinal == 0:
		return false
	case !st.call:
		return at.Stream == 0
	}
	return at.Ordinal == 1 && c.unseen(at.Stream)
}

// position judges an event without a payload: no delivery, but if it carries an
// id, a place (R21, R25).
func (c *Client) position(id StreamID, st *clientStream, ev Arrival) {
	token, positioned := c.token(id)
	cleared, wasCleared := c.record.Cleared[id.Request]
	at := ReadCursor(ev.ID)
	switch {
	case !ev.HasID: // says nothing
	case ev.ID == "" && positioned:
		st.state, st.hand = spec.Committing, inHand{kind: clearToken}
	case ev.ID == "": // there is nothing to clear
		st.state = spec.Streaming
	case at.Form != FormID, positioned && at.ID != token, !positioned && wasCleared && at.ID != cleared,
		!positioned && !wasCleared && !c.mayBegin(id, st, at.ID):
		c.lose(st)
	case positioned: // equal to the token: proof of continuity
		st.state = spec.Streaming
	default:
		st.state, st.hand = spec.Committing, inHand{kind: moveToken, id: at.ID, opens: c.opens(id, st, at.ID)}
	}
}

// Holds reports whether the transaction in hand still finds the record as it
// expects: that of its epoch, not fenced, with the token that its event
// continues, and without another call that had its stream meanwhile (R20, R21,
// R30). A store must refuse it exactly if not.
func (c *Client) Holds(id StreamID) bool {
	st := c.stream(id)
	if !EpochLives(c.record.State) || id.Epoch != c.record.Epoch {
		return false
	}
	if c.record.Seen[st.hand.opens] {
		return false
	}
	if st.hand.kind != applyEvent || st.hand.id == (spec.EventID{}) {
		return true
	}
	token, positioned := c.token(id)
	if !positioned {
		return true
	}
	return c.rules.Committable(c.record.State, markOf(token), markOf(st.hand.id))
}

// StreamCommitted: the transaction in hand is durable (R20).
func (c *Client) StreamCommitted(id StreamID) spec.Reason {
	st := c.stream(id)
	switch st.state {
	case spec.Committing:
		st.state = spec.Streaming
		if st.hand.kind == applyEvent && st.hand.answer {
			st.state = spec.Completed
		}
	case spec.Lost, spec.NotExecuted:
	default:
		return spec.ReasonOutOfTurn
	}
	c.durable(id, st)
	return ""
}

// durable writes the transaction in hand to the record: what is applied, the
// token and the call in one write.
func (c *Client) durable(id StreamID, st *clientStream) {
	hand := st.hand
	if hand.kind == nothing {
		return
	}
	if !c.Holds(id) {
		panic("reattach: BUG: the suite calls a transaction durable that a store has to refuse: ask Holds first")
	}
	st.hand = inHand{}
	c.record = c.record.clone()
	r := &c.record
	if hand.opens != 0 {
		r.Seen[hand.opens] = true
	}
	if hand.kind != clearToken && hand.id != (spec.EventID{}) {
		delete(r.Cleared, id.Request)
	}
	switch hand.kind {
	case addCall:
		r.Calls[id.Request], r.NextRequest = true, max(r.NextRequest, id.Request+1)
		if st.about != nil {
			r.About[id.Request] = *st.about
		}
	case removeCall:
		delete(r.Calls, id.Request)
		delete(r.About, id.Request)
		delete(r.Tokens, id.Request)
	case moveToken:
		r.Tokens[id.Request] = hand.id
	case clearToken:
		r.Cleared[id.Request] = r.Tokens[id.Request]
		delete(r.Tokens, id.Request)
	case markUnknown:
		r.doubts(id)
		delete(r.Tokens, id.Request)
		delete(r.Cleared, id.Request)
	case applyEvent:
		c.applied = append(c.applied, Applied{id, hand.id})
		if hand.id != (spec.EventID{}) {
			r.Tokens[id.Request] = hand.id
		}
		if hand.answer && hand.unsure {
			r.doubts(id)
		}
		if about, ok := r.About[id.Request]; hand.answer && ok { // it settles that one too
			delete(r.About, id.Request)
			defer c.ResolutionCommitted(about)
		}
		if hand.answer {
			delete(r.Calls, id.Request)
			delete(r.Tokens, id.Request)
			delete(r.Cleared, id.Request)
		}
	}
}

// StreamCommitFailed: it is not, and nothing was applied. What the connection
// brings next can no longer be applied either, so the stream goes on from its
// token; on a record that another holder changed, or that is fenced, it is
// over (R20, R30).
func (c *Client) StreamCommitFailed(id StreamID, stale bool) spec.Reason {
	st := c.stream(id)
	switch st.state {
	case spec.Committing:
		if stale {
			st.hand = inHand{}
			c.lose(st)
			return ""
		}
		c.interrupted(id, st, spec.Truncated)
	case spec.Lost, spec.NotExecuted:
		st.hand = inHand{}
	default:
		return spec.ReasonOutOfTurn
	}
	return ""
}

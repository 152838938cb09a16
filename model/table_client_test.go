package model

import (
	"testing"

	"example.com/reattach/spec"
)

func TestModelAgreesWithEpochTable(t *testing.T) {
	compareWithTable(t, spec.EpochTable(), func(from spec.State, trigger spec.Trigger, facts spec.Facts) (spec.Reason, spec.State, bool) {
		c := clientIn(from)
		// One unknown outcome of an earlier epoch is there if the facts say so; the
		// one that a resolution resolves comes beside it.
		if facts.Has(spec.UnknownsCarried) {
			c.record.Unknowns[StreamID{1, 7}] = true
		}
		c.closing = facts.Has(spec.ClosingWished)
		var r spec.Reason
		switch trigger {
		case spec.CallerOpens:
			r = c.Open()
		case spec.ServerOpens:
			r = c.Opened(Opening{SessionID: "another"})
		case spec.OpeningFails:
			r = c.OpeningFails()
		case spec.EpochCommitted:
			r = c.EpochCommitted()
		case spec.CallerCalls:
			if _, r = c.Call(facts.Has(spec.PassesQuarantine)); facts.Has(spec.LedgerForeign) {
				_, r = c.Ask(StreamID{1, 7}, true)
			}
		case spec.CallerNotifies:
			r = c.Notify(facts.Has(spec.PassesQuarantine))
		case spec.CallerResolves:
			r = c.Resolve()
		case spec.ResolutionCommitted:
			c.record.Unknowns[StreamID{1, 8}] = true
			c.ResolutionCommitted(StreamID{1, 8})
		case spec.ResolutionCommitFailed: // nothing happens
		case spec.ServerContradicts:
			r = c.Contradict()
		case spec.AnotherTakesOver:
			r = c.TakenOver()
		case spec.CallerAbandons:
			r = c.Abandon()
		case spec.CallerTerminates:
			r = c.Terminate()
		case spec.FenceCommitted:
			r = c.FenceCommitted()
		case spec.FenceCommitFailed:
			r = c.FenceCommitFailed(facts.Has(spec.RecordStale))
		}
		return r, c.epoch, true
	})
}

// testTag is the tag of the session of clientIn.
const testTag spec.Tag = "00112233445566778899aabbccddeeff"

// clientIn returns a client whose second epoch is in a state.
func clientIn(epoch spec.State) *Client {
	c := NewClient(TheRules(), false)
	c.epoch, c.record.Epoch, c.record.State, c.record.SessionID, c.record.Tag = epoch, 2, spec.Open, "session", testTag
	c.record.NextRequest = 9
	return c
}

func TestModelAgreesWithClientStreamTable(t *testing.T) {
	at := func(ordinal uint64) spec.EventID {
		return spec.EventID{Tag: testTag, Seq: 10 * ordinal, Stream: 3, Ordinal: ordinal}
	}
	compareWithTable(t, spec.ClientStreamTable(), func(from spec.State, trigger spec.Trigger, facts spec.Facts) (spec.Reason, spec.State, bool) {
		call := facts.Has(spec.IsCall) || facts.Has(spec.IsAnswer) || facts.Has(spec.MarksUnknown)
		id := StreamID{2, 5}
		switch trigger {
		case spec.StandaloneOffered, spec.CallerListens:
			id.Request = 0
		case spec.CallerSends:
			return callerSends(from)
		}
		c := clientIn(spec.Open)
		st := &clientStream{state: from, call: call}
		c.streams[id] = st
		if from == spec.Recording {
			st.call, st.hand.kind = true, addCall
		}
		// A resumption has a token; else the facts say whether there is one.
		if positioned := facts.Has(spec.Positioned); positioned || from == spec.Resuming || from == spec.Unproven {
			if !positioned && (trigger == spec.StreamEnds || trigger == spec.ConnectionBreaks) && from == spec.Unproven {
				return "", 0, false
			}
			c.record.Tokens[id.Request] = at(4)
		}
		if facts.Has(spec.Positioned) && !facts.Has(spec.Orderable) {
			return "", 0, false // ids of others
		}
		c.strict = facts.Has(spec.Strict)
		session := "another"
		if facts.Has(spec.SameSession) {
			session = "session"
		}
		stale := facts.Has(spec.RecordStale)
		var r spec.Reason
		switch trigger {
		case spec.CallCommitted:
			r = c.CallCommitted(id)
		case spec.CallCommitFailed:
			r = c.CallCommitFailed(id, stale)
		case spec.StandaloneOffered:
			r = c.Offer()
		case spec.CallerListens:
			r = c.Listen()
		case spec.DialFails:
			r = c.DialFails(id)
		case spec.ServerAccepts:
			r = c.Accepts(id, session, acceptedPosition(from, st, facts, at))
		case spec.ServerAnswersOnce:
			r = c.AnswersOnce(id, session)
		case spec.ServerCompletes:
			r = c.Completes(id, session)
		case spec.ServerDefers:
			r = c.Defers(id)
		case spec.ServerChallenges:
			r = c.Challenges(id)
		case spec.ServerRefuses:
			why := spec.ReasonCursorEvicted
			if facts.Has(spec.AttemptSuperseded) {
				if why = spec.ReasonAttemptSuperseded; from == spec.Requested && st.call {
					return "", 0, false // a POST has no attempt
				}
			}
			r = c.Refuses(id, why, facts.Has(spec.SessionGone), facts.Has(spec.ProvesNotExecuted))
		case spec.EventArrives:
			ev, ok := arrival(c, id, facts, at)
			if !ok {
				return "", 0, false
			}
			r = c.EventArrives(id, ev)
		case spec.StreamEnds:
			r = c.StreamEnds(id)
		case spec.ConnectionBreaks:
			r = c.ConnectionBreaks(id)
		case spec.ClientReconnects:
			r = c.Reconnect(id, facts.Has(spec.AttemptsLeft))
		case spec.CallerResumes:
			r = c.Resume(id)
		case spec.StreamCommitted:
			st.hand = handFor(from, facts, at)
			r = c.StreamCommitted(id)
		case spec.StreamCommitFailed:
			st.hand = handFor(from, facts, at)
			r = c.StreamCommitFailed(id, stale)
		case spec.EpochEnds:
			c.fence()
		}
		return r, st.state, true
	})
}

// callerSends: a call is sent by opening its stream, so nothing but an unsent
// stream can be asked for.
func callerSends(from spec.State) (spec.Reason, spec.State, bool) {
	if from != spec.Unsent {
		return "", 0, false
	}
	c := clientIn(spec.Open)
	id, r := c.Call(false)
	return r, c.State(id), true
}

// acceptedPosition returns the position of an answer of which the facts are
// true.
func acceptedPosition(from spec.State, st *clientStream, facts spec.Facts, at func(uint64) spec.EventID) string {
	switch {
	case !facts.Has(spec.PositionAnnounced):
		return ""
	case from == spec.Resuming && facts.Has(spec.PositionExpected):
		return at(4).String()
	case facts.Has(spec.PositionExpected):
		st.call = true
		return spec.PositionZero(testTag, 3).String()
	}
	st.call = true
	return at(2).String()
}

// arrival returns an event of which the facts are true, for a stream that has
// a token unless the event moves it.
func arrival(c *Client, id StreamID, facts spec.Facts, at func(uint64) spec.EventID) (Arrival, bool) {
	payload, inOrder := facts.Has(spec.HasPayload), facts.Has(spec.InOrder)
	moves, hasID := facts.Has(spec.MovesPosition), facts.Has(spec.PositionAnnounced)
	c.record.Tokens[id.Request] = at(4)
	switch {
	case payload && (moves || hasID):
		return Arrival{}, false // facts about events without payload
	case payload && inOrder:
		return Arrival{ID: at(5).String(), HasID: true, Payload: true}, true
	case payload:
		return Arrival{ID: at(6).String(), HasID: true, Payload: true}, true
	case !inOrder:
		return Arrival{ID: at(5).String(), HasID: true}, !moves
	case moves:
		return Arrival{ID: "", HasID: true}, true
	case hasID:
		return Arrival{ID: at(4).String(), HasID: true}, true
	}
	return Arrival{}, true
}

// handFor returns a transaction of which the facts are true.
func handFor(from spec.State, facts spec.Facts, at func(uint64) spec.EventID) inHand {
	switch {
	case from == spec.NotExecuted:
		return inHand{kind: removeCall}
	case facts.Has(spec.AppliesEvent):
		return inHand{kind: applyEvent, id: at(5), answer: facts.Has(spec.IsAnswer)}
	case facts.Has(spec.MarksUnknown):
		return inHand{kind: markUnknown}
	}
	return inHand{kind: moveToken, id: at(0)}
}

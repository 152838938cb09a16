package model

import (
	"testing"

	"example.com/reattach/spec"
)

// The model and the tables of package spec say the same about every state,
// trigger and truth of the facts: which move is made, or why it is refused.
// They were written by different hands from the same contract.
//
// A realisation is one such question: it puts the model into the state,
// fires the trigger with arguments that make the facts so, and returns the
// refusal and the state behind it. It reports false for truths that cannot be.
type realisation func(from spec.State, trigger spec.Trigger, facts spec.Facts) (r spec.Reason, to spec.State, ok bool)

func compareWithTable(t *testing.T, table spec.Table, realise realisation) {
	t.Helper()
	rows, asked := map[string]bool{}, 0
	for _, from := range table.States {
		for _, trigger := range table.Triggers {
			var reads spec.Facts
			for _, row := range table.Candidates(from, trigger) {
				reads |= row.Guard.Reads()
			}
			for facts := reads; ; facts = (facts - 1) & reads {
				row := table.Resolve(from, trigger, facts)
				if r, to, ok := realise(from, trigger, facts); ok {
					asked++
					rows[row.ID] = true
					if want := row.Next(from); r != row.Forbid || to != want {
						t.Errorf("row %s, %v in %v with %v: the table says %s, the model says %q and %v", row.ID, trigger, from, facts, row.Target(), r, to)
					}
				}
				if facts == 0 {
					break
				}
			}
		}
	}
	for _, row := range table.Rows {
		if !rows[row.ID] && !notRealised[row.ID] {
			t.Errorf("row %s of table %s was not asked of the model: %v in %s", row.ID, table.Machine, row.Trigger, row.Source())
		}
		if rows[row.ID] && notRealised[row.ID] {
			t.Errorf("row %s is listed as not realised, and is", row.ID)
		}
	}
	t.Logf("table %s: %d questions, %d of %d rows", table.Machine, asked, len(rows), len(table.Rows))
}

func TestModelAgreesWithSessionTable(t *testing.T) {
	compareWithTable(t, spec.SessionTable(), func(from spec.State, trigger spec.Trigger, facts spec.Facts) (spec.Reason, spec.State, bool) {
		s := NewSession("tag", Limits{}, TheRules())
		if from != spec.Absent {
			s.Initialize(false, false)
			s.Call()
			s.Call()
		}
		switch from {
		case spec.Draining:
			s.Drain(0)
		case spec.Expired:
			s.Expire(false)
		case spec.Terminated:
			s.Terminate()
		}
		if from != s.State() {
			t.Fatalf("the model is %v instead of %v", s.State(), from)
		}
		var r spec.Reason
		switch trigger {
		case spec.ClientInitializes:
			r = s.Initialize(facts.Has(spec.ServerFull), facts.Has(spec.ServerDraining))
		case spec.ClientCalls:
			s.limits.Requests, s.limits.Streams = 3, 4
			if facts.Has(spec.RequestsCapped) {
				s.limits.Requests = 2
			}
			if facts.Has(spec.StreamsCapped) {
				s.limits.Streams = 3
			}
			_, r = s.Call()
		case spec.ClientNotifies:
			r = s.Notify()
		case spec.ClientResumes:
			s.limits.Views = 3
			if facts.Has(spec.ViewsCapped) {
				s.limits.Views = 2
			}
			r = s.Resume(0).Reason
		case spec.ClientTerminates:
			r = s.Terminate()
		case spec.SessionBudgetElapses:
			r = s.Expire(facts.Has(spec.InUse))
		case spec.ServerDrains:
			r = s.Drain(0)
		}
		return r, s.State(), true
	})
}

func TestModelAgreesWithStreamTable(t *testing.T) {
	const big = 100
	compareWithTable(t, spec.StreamTable(), func(from spec.State, trigger spec.Trigger, facts spec.Facts) (spec.Reason, spec.State, bool) {
		n := uint64(1)
		if facts.Has(spec.Standalone) {
			n = 0
		}
		if n == 0 && (from == spec.Unopened || from == spec.FinishedAttached || from == spec.FinishedDetached || from == spec.Forgotten) {
			return "", 0, false // the standalone stream opens with its session, and never finishes
		}
		s := NewSession("00112233445566778899aabbccddeeff", Limits{MaxEvent: big}, TheRules())
		s.Initialize(false, false)
		reach(s, n, from)
		if got := s.StateOf(n); got != from {
			t.Fatalf("the model is %v instead of %v", got, from)
		}
		size := big
		if !facts.Has(spec.EventFits) {
			size = big + 1
		}
		last := spec.EventID{Tag: s.Tag(), Seq: s.lastSeq, Stream: n, Ordinal: s.head(n).ordinal}
		var r spec.Reason
		switch trigger {
		case spec.StreamOpens:
			r = s.OpenStream(n, facts.Has(spec.WithView))
		case spec.HandlerEmits:
			_, r = s.Emit(n, size, 0)
		case spec.HandlerAnswers:
			_, r = s.Answer(n, size, 0)
		case spec.HandlerEndsView:
			r = s.EndView(n, 0)
		case spec.ClientAttaches:
			if n != 0 { // a request without a cursor asks for the standalone stream
				if from != spec.Detached && from != spec.Attached {
					return "", 0, false
				}
				n = 0
				reach(s, n, from)
			}
			r = s.Resume(0).Reason
		case spec.ClientReattaches:
			if from == spec.FinishedDetached || from == spec.FinishedAttached {
				last = spec.PositionZero(s.Tag(), n)
			}
			r = s.Resume(0, last.String()).Reason
		case spec.ClientCompletes:
			if from != spec.FinishedDetached && from != spec.FinishedAttached {
				return "", 0, false // no cursor has that verdict there
			}
			r = s.Resume(0, last.String()).Reason
		case spec.ClientIsRefused:
			if s.Resume(0, "nonsense").Reason != spec.ReasonCursorMalformed {
				t.Error("nonsense was not refused")
			}
		case spec.ViewDelivers:
			if facts.Has(spec.DeliversLast) {
				s.streams[n].position = s.head(n).ordinal - 1
			}
			_, r = s.Deliver(n, 0)
		case spec.ViewOvertaken:
			r = s.Overtake(n, 0)
		case spec.ViewBreaks:
			r = s.Break(n, 0)
		case spec.DetachBudgetElapses:
			r = s.ElapseDetach(n, 1, 0)
		case spec.RetentionEnds:
			r = s.EndRetention(n)
		case spec.RecordsCapped:
			r = s.CapRecords(n)
		case spec.SessionEnds:
			r = s.EndStream(n)
		}
		return r, s.StateOf(n), true
	})
}

// reach brings a stream of a fresh session into a state, with two events on it
// where it has a record.
func reach(s *Session, n uint64, state spec.State) {
	for s.next <= n && state != spec.Unopened {
		s.OpenStream(s.next, false)
	}
	if state == spec.Unopened {
		return
	}
	s.Emit(n, 1, 0)
	s.Emit(n, 1, 0)
	if state == spec.Attached || state == spec.FinishedAttached {
		s.Resume(0, spec.PositionZero(s.Tag(), n).String())
	}
	if state == spec.FinishedAttached || state == spec.FinishedDetached || state == spec.Forgotten {
		s.Answer(n, 1, 0)
	}
	if state == spec.Forgotten {
		s.CapRecords(n)
	}
}

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
			_, r = c.Call(facts.Has(spec.PassesQuarantine))
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
			r = c.Refuses(id, spec.ReasonCursorEvicted, facts.Has(spec.SessionGone), facts.Has(spec.ProvesNotExecuted))
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

// notRealised lists the rows about which the model has nothing to say, since
// no request of a client, and no event of ours, ever brings them about.
var notRealised = map[string]bool{
	// Without a cursor only the standalone stream is asked for, which is always
	// open and never finishes.
	"ST21": true, "ST22": true, "ST23": true,
	// No cursor of such a stream has the verdict complete.
	"ST32": true,
	// A stream is named by its call, so no call is ever sent on another's.
	"CS02": true,
	// Ids that cannot be ordered are those of other servers.
	"CS53": true, "CS60": true, "CS83": true,
}

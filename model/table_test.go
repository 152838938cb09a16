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

// home says where the model makes the moves of a table, and where it is asked.
var home = map[string]string{
	"session":      "model/session.go, asked in model/table_test.go",
	"stream":       "model/session_stream.go, asked in model/table_test.go",
	"epoch":        "model/client.go, asked in model/table_client_test.go",
	"clientstream": "model/client_stream.go, asked in model/table_client_test.go",
}

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
						t.Errorf("model: row %s, %v in %v with %v: the table says %s, the model says %q and %v: see %s",
							row.ID, trigger, from, facts, row.Target(), r, to, home[table.Machine])
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
			t.Errorf("model: row %s was not asked of the model: %v in %s: see %s", row.ID, row.Trigger, row.Source(), home[table.Machine])
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
		case spec.ViewStalls:
			r = s.Stall(n, 0)
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

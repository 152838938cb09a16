package model

import (
	"math"
	"testing"

	"example.com/reattach/spec"
)

// cursorText returns an event id of the session under test.
func cursorText(seq, stream, ordinal uint64) string {
	return spec.EventID{Tag: testTag, Seq: seq, Stream: stream, Ordinal: ordinal}.String()
}

func live(limits Limits) *Session {
	s := NewSession(testTag, limits, TheRules())
	s.Initialize(false, false)
	return s
}

// Every cursor of case 11 and case 38, in the order in which the contract
// checks: each has its reason, and the session then still serves a good one.
func TestEachCursorHasItsReason(t *testing.T) {
	// Given a session whose stream 1 has issued ordinals 1 to 5 with seqs
	// 1 3 5 7 9, stream 0 ordinals 1 to 4 with seqs 2 4 6 8, and stream 2, which
	// is forgotten, one event with seq 10. Seqs 8, 9 and 10 are retained: the
	// floor of stream 1 is ordinal 4.
	s := live(Limits{Events: 3, MaxEvent: 10})
	s.OpenStream(1, false)
	for range 4 {
		s.Emit(1, 1, 0)
		s.Emit(0, 1, 0)
	}
	s.Emit(1, 1, 0)
	s.OpenStream(2, false)
	s.Answer(2, 1, 0)
	s.CapRecords(2)
	other := spec.EventID{Tag: "ffeeddccbbaa99887766554433221100", Seq: 9, Stream: 1, Ordinal: 5}
	for _, test := range []struct {
		name    string
		cursors []string
		verdict spec.Verdict
		reason  spec.Reason
	}{
		{"empty", []string{""}, spec.VerdictRefuse, spec.ReasonCursorMalformed},
		{"two of them", []string{cursorText(9, 1, 5), cursorText(9, 1, 5)}, spec.VerdictRefuse, spec.ReasonCursorMalformed},
		{"leading zero", []string{string(testTag) + ":09:1:5"}, spec.VerdictRefuse, spec.ReasonCursorMalformed},
		{"seq without ordinal", []string{string(testTag) + ":9:1:0"}, spec.VerdictRefuse, spec.ReasonCursorMalformed},
		{"more than 64 bits", []string{string(testTag) + ":18446744073709551616:1:5"}, spec.VerdictRefuse, spec.ReasonCursorMalformed},
		{"foreign", []string{other.String()}, spec.VerdictRefuse, spec.ReasonCursorForeign},
		{"stream never assigned", []string{cursorText(9, 3, 5)}, spec.VerdictRefuse, spec.ReasonCursorUnissued},
		{"stream forgotten", []string{cursorText(10, 2, 1)}, spec.VerdictRefuse, spec.ReasonCursorEvicted},
		{"below the floor", []string{cursorText(5, 1, 3)}, spec.VerdictRefuse, spec.ReasonCursorEvicted},
		{"below the floor with any seq", []string{cursorText(77, 1, 3)}, spec.VerdictRefuse, spec.ReasonCursorEvicted},
		{"position 0 once something is gone", []string{cursorText(0, 1, 0)}, spec.VerdictRefuse, spec.ReasonCursorEvicted},
		{"at the floor with another seq", []string{cursorText(6, 1, 4)}, spec.VerdictRefuse, spec.ReasonCursorUnissued},
		{"stolen seq", []string{cursorText(8, 1, 5)}, spec.VerdictRefuse, spec.ReasonCursorUnissued},
		{"right seq, wrong ordinal", []string{cursorText(9, 1, 6)}, spec.VerdictRefuse, spec.ReasonCursorUnissued},
		{"stolen seq beyond the head", []string{cursorText(10, 1, 6)}, spec.VerdictRefuse, spec.ReasonCursorUnissued},
		{"ahead by one", []string{cursorText(11, 1, 6)}, spec.VerdictRefuse, spec.ReasonCursorAhead},
		{"ahead by far", []string{cursorText(math.MaxUint64, 1, math.MaxUint64)}, spec.VerdictRefuse, spec.ReasonCursorAhead},
		{"new seq on an old ordinal", []string{cursorText(11, 1, 5)}, spec.VerdictRefuse, spec.ReasonCursorUnissued},
		{"at the floor", []string{cursorText(7, 1, 4)}, spec.VerdictReattach, ""},
		{"at the head", []string{cursorText(9, 1, 5)}, spec.VerdictReattach, ""},
		{"none", nil, spec.VerdictAttach, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := s.Clone()
			before := s.Observe()
			got := s.Resume(0, test.cursors...)
			if got.Verdict != test.verdict || got.Reason != test.reason {
				t.Fatalf("%v %q, expected %v %q", got.Verdict, got.Reason, test.verdict, test.reason)
			}
			if test.reason == "" {
				return
			}
			if after := s.Observe(); !sameView(before, after) {
				t.Errorf("the refusal changed the session: %+v, then %+v", before, after)
			}
			if good := s.Resume(0, cursorText(9, 1, 5)); good.Verdict != spec.VerdictReattach {
				t.Errorf("afterwards a good cursor is refused: %v", good.Reason)
			}
		})
	}
}

func sameView(a, b SessionView) bool {
	if len(a.Streams) != len(b.Streams) {
		return false
	}
	for i := range a.Streams {
		if a.Streams[i] != b.Streams[i] {
			return false
		}
	}
	a.Streams, b.Streams = nil, nil
	return a.State == b.State && a.LastSeq == b.LastSeq && a.NextStream == b.NextStream && a.Retained == b.Retained && a.Bytes == b.Bytes
}

// takeAll delivers what there is on a stream.
func takeAll(t *testing.T, s *Session, n uint64) (ordinals []uint64) {
	t.Helper()
	for {
		taken, r := s.Deliver(n, 0)
		if r != "" || !taken.OK {
			return ordinals
		}
		ordinals = append(ordinals, taken.ID.Ordinal)
	}
}

func equal(a []uint64, b ...uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Case 01: 20 events, window 16: resumed at 10 come exactly 11 to 20, and at 1
// nothing.
func TestInclusiveReplayIsNotWhatHappens(t *testing.T) {
	s := live(Limits{Events: 16})
	for range 20 {
		s.Emit(0, 1, 0)
	}
	if r := s.Resume(0, cursorText(1, 0, 1)); r.Reason != spec.ReasonCursorEvicted || r.Floor.Ordinal != 4 || r.Head.Ordinal != 20 {
		t.Errorf("at 1: %+v", r)
	}
	if r := s.Resume(0, cursorText(10, 0, 10)); r.Verdict != spec.VerdictReattach {
		t.Fatalf("at 10: %+v", r)
	}
	if got := takeAll(t, s, 0); !equal(got, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20) {
		t.Errorf("delivered %v", got)
	}
}

// Case 39: a finished stream at its head, at its last but one, and forgotten.
func TestFinishedStreamCompletesAndIsForgotten(t *testing.T) {
	s := live(Limits{Events: 16})
	n, _ := s.Call()
	s.Emit(n, 1, 0)
	s.Answer(n, 1, 0)
	s.Break(n, 0)
	if r := s.Resume(0, cursorText(1, n, 1)); r.Verdict != spec.VerdictReattach {
		t.Errorf("at the last but one: %+v", r)
	}
	if got := takeAll(t, s, n); !equal(got, 2) || s.StateOf(n) != spec.FinishedDetached {
		t.Errorf("delivered %v, then %v", got, s.StateOf(n))
	}
	if r := s.Resume(0, cursorText(2, n, 2)); r.Verdict != spec.VerdictComplete {
		t.Errorf("at the head: %+v", r)
	}
	s.EvictOldest()
	s.EvictOldest()
	if r := s.Resume(0, cursorText(2, n, 2)); s.StateOf(n) != spec.Forgotten || r.Reason != spec.ReasonCursorEvicted {
		t.Errorf("forgotten: %v, %+v", s.StateOf(n), r)
	}
}

// Case 40: three events before the first GET; two of them handed over; then
// again, with the third one gone meanwhile.
func TestNeverSentIsNotHistory(t *testing.T) {
	s := live(Limits{})
	for range 3 {
		s.Emit(0, 1, 0)
	}
	if r := s.Resume(0); r.Position.Ordinal != 0 || r.Skipped != 0 {
		t.Errorf("first: %+v", r)
	}
	s.Deliver(0, 0)
	s.Deliver(0, 0)
	s.Break(0, 0)
	again := s.Clone()
	if r := again.Resume(0); r.Position != (spec.EventID{Tag: testTag, Seq: 2, Stream: 0, Ordinal: 2}) || r.Skipped != 0 {
		t.Errorf("second: %+v", r)
	}
	if got := takeAll(t, again, 0); !equal(got, 3) {
		t.Errorf("second: delivered %v", got)
	}
	for range 3 {
		s.EvictOldest()
	}
	if r := s.Resume(0); r.Position.Ordinal != 3 || r.Skipped != 1 {
		t.Errorf("with the third gone: %+v", r)
	}
	// A second GET before anything is delivered supersedes and begins at the same place.
	if r := s.Resume(0); r.Position.Ordinal != 3 || !r.Superseded {
		t.Errorf("a second GET: %+v", r)
	}
}

// Bounds by count, bytes and age; an event that does not fit uses up no number.
func TestWindowBounds(t *testing.T) {
	s := live(Limits{Events: 4, Bytes: 100, Age: 10, MaxEvent: 60})
	s.Emit(0, 50, 0)
	if e, _ := s.Emit(0, 49, 5); len(e.Evicted) != 0 {
		t.Errorf("99 bytes of 100: evicted %v", e.Evicted)
	}
	if e, _ := s.Emit(0, 2, 10); len(e.Evicted) != 1 || e.Evicted[0].Ordinal != 1 {
		t.Errorf("101 bytes: evicted %v", e.Evicted)
	}
	if _, r := s.Emit(0, 61, 10); r != spec.ReasonEventTooLarge || s.Observe().LastSeq != 3 {
		t.Errorf("61 bytes: %q, last seq %d", r, s.Observe().LastSeq)
	}
	if n := s.EvictDue(15); n != 0 {
		t.Errorf("at an age of exactly 10: evicted %d", n)
	}
	if n := s.EvictDue(16); n != 1 || s.Observe().Retained != 1 {
		t.Errorf("at an age of 11: evicted %d", n)
	}
	// A clock that steps back: the event is as old as the one before it.
	if e, _ := s.Emit(0, 1, 3); len(e.Evicted) != 0 {
		t.Errorf("a clock that steps back: evicted %v", e.Evicted)
	}
	if early, late := s.EvictDue(20), s.EvictDue(21); early != 0 || late != 2 {
		t.Errorf("the events of stamp 10: evicted %d at 20 and %d at 21", early, late)
	}
}

// Numbers go on where a durable store left them, up to the last one there is,
// and never begin again.
func TestNumbersEndInsteadOfRestarting(t *testing.T) {
	s := NewSession(testTag, Limits{Events: 2}, TheRules())
	s.StartAt(math.MaxUint64 - 2)
	s.Initialize(false, false)
	s.OpenStreamAt(spec.EventID{Tag: testTag, Seq: 1 << 62, Stream: 1, Ordinal: 1 << 61})
	for i := range uint64(2) {
		e, r := s.Emit(1, 1, 0)
		if want := cursorText(math.MaxUint64-1+i, 1, 1<<61+1+i); r != "" || e.ID.String() != want {
			t.Errorf("event %d: %v %q, expected %s", i, e.ID, r, want)
		}
	}
	if _, r := s.Emit(1, 1, 0); r != spec.ReasonEventTooLarge {
		t.Errorf("beyond the last number: %q", r)
	}
	if r := s.Resume(0, cursorText(1<<62, 1, 1<<61)); r.Verdict != spec.VerdictReattach {
		t.Errorf("at the position of the store: %+v", r)
	}
}

// Another subject's session, an unknown one and a forgotten one look alike; an
// ended one says how it ended to its own subject only, while it is remembered.
func TestOtherSubjectsSessionIsUnknown(t *testing.T) {
	s := NewService(ServiceLimits{Sessions: 2, SubjectSessions: 1, RememberedEnds: 1}, Limits{}, TheRules())
	for _, open := range []struct {
		subject, id string
		reason      spec.Reason
	}{
		{"ann", "a", ""}, {"ann", "a2", spec.ReasonTooManySessions}, {"bob", "b", ""}, {"eve", "e", spec.ReasonTooManySessions},
	} {
		if r := s.Open(open.subject, open.id); r != open.reason {
			t.Errorf("%s opens %s: %q, expected %q", open.subject, open.id, r, open.reason)
		}
	}
	expect := func(subject, id string, reason spec.Reason) {
		t.Helper()
		if _, r := s.Lookup(subject, id); r != reason {
			t.Errorf("%s looks up %s: %q, expected %q", subject, id, r, reason)
		}
	}
	expect("ann", "a", "")
	expect("bob", "a", spec.ReasonSessionUnknown)
	a, _ := s.Lookup("ann", "a")
	a.Terminate()
	expect("ann", "a", spec.ReasonSessionTerminated)
	expect("bob", "a", spec.ReasonSessionUnknown)
	b, _ := s.Lookup("bob", "b")
	b.Expire(false)
	expect("bob", "b", spec.ReasonSessionExpired)
	expect("ann", "a", spec.ReasonSessionUnknown) // one end is remembered, and it is the newer one
	s.Drain(0)
	if r := s.Open("eve", "e2"); r != spec.ReasonDraining {
		t.Errorf("while draining: %q", r)
	}
}

package model

import (
	"testing"

	"example.com/reattach/spec"
)

// R10: each attempt has its answer: what is older than one that was granted is
// refused, and nothing else is; what cannot be read is refused before anything.
func TestEachAttemptHasItsReason(t *testing.T) {
	granted := live(Limits{Events: 3, MaxEvent: 10})
	granted.OpenStream(1, false)
	granted.Emit(1, 1, 0)
	granted.ResumeAs(0, []string{"3.7"}, cursorText(1, 1, 1))
	for _, test := range []struct {
		name     string
		attempts []string
		cursors  []string
		reason   spec.Reason
	}{
		{"none", nil, []string{cursorText(1, 1, 1)}, ""},
		{"the same", []string{"3.7"}, []string{cursorText(1, 1, 1)}, ""},
		{"newer", []string{"3.8"}, []string{cursorText(0, 1, 0)}, ""},
		{"of the next holder", []string{"4.0"}, []string{cursorText(1, 1, 1)}, ""},
		{"older", []string{"3.6"}, []string{cursorText(1, 1, 1)}, spec.ReasonAttemptSuperseded},
		{"of an earlier holder", []string{"2.9"}, []string{cursorText(1, 1, 1)}, spec.ReasonAttemptSuperseded},
		{"older, of another stream", []string{"1.1"}, nil, ""},
		{"older, with a cursor that is good for nothing", []string{"3.6"}, []string{cursorText(9, 1, 9)}, spec.ReasonCursorAhead},
		{"malformed", []string{"3.07"}, []string{cursorText(1, 1, 1)}, spec.ReasonAttemptMalformed},
		{"zero", []string{"0.0"}, []string{cursorText(1, 1, 1)}, spec.ReasonAttemptMalformed},
		{"too large", []string{"1.18446744073709551616"}, []string{cursorText(1, 1, 1)}, spec.ReasonAttemptMalformed},
		{"two", []string{"3.8", "3.8"}, []string{cursorText(1, 1, 1)}, spec.ReasonAttemptMalformed},
		{"malformed, and the cursor too", []string{"x"}, []string{""}, spec.ReasonAttemptMalformed},
	} {
		s := granted.Clone()
		got := s.ResumeAs(0, test.attempts, test.cursors...)
		if got.Reason != test.reason || (got.Verdict == spec.VerdictRefuse) != (test.reason != "") {
			t.Errorf("%s: %v %s, want %q", test.name, got.Verdict, string(got.Reason), test.reason)
		}
		// A refusal is not remembered: what was granted still is.
		if after := s.ResumeAs(0, []string{"3.7"}, cursorText(1, 1, 1)); (after.Reason == spec.ReasonAttemptSuperseded) != (test.name == "newer" || test.name == "of the next holder") {
			t.Errorf("%s: 3.7 then gets %v %s", test.name, after.Verdict, string(after.Reason))
		}
	}
}

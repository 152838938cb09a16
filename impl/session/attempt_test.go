package session_test

import (
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// asks resumes with an attempt.
func (r *rig) asks(attempt string, cursors ...string) (session.Decision, *session.ViewState) {
	r.Helper()
	d, v, _ := r.Resume(session.Request{Cursors: cursors, Attempts: []string{attempt}}, r.now)
	return d, v
}

// R10: given a stream whose view was granted to attempt 5, when requests with
// other numbers come, then only an older one is refused, and that changes
// nothing; the view of the one before is superseded by every other.
func TestOlderAttemptIsRefused(t *testing.T) {
	r := begin(t)
	first := r.calls()
	r.emits(first.Stream, 1, 3)
	cursor := r.cursor(first.Stream, 1)
	_, granted := r.asks("2.5", cursor)
	if granted == nil || first.End != session.EndSuperseded {
		t.Fatalf("a first number: %v, the older view is %v", granted, first.End)
	}
	for _, late := range []string{"2.4", "1.9", "0.1"} {
		before := r.Snapshot()
		d, v := r.asks(late, cursor)
		if d.Reason != spec.ReasonAttemptSuperseded || v != nil || r.Snapshot() != before || granted.End != session.StillOpen {
			t.Errorf("attempt %s: %v %s, the view is %v", late, d.Verdict, d.Reason, granted.End)
		}
		if d.Floor.Stream != first.Stream || d.Head.Ordinal != 3 {
			t.Errorf("attempt %s: the refusal says floor %v, head %v", late, d.Floor, d.Head)
		}
	}
	for _, good := range []string{"2.5", "2.6", "3.0"} {
		d, v := r.asks(good, cursor)
		if v == nil || granted.End != session.EndSuperseded {
			t.Fatalf("attempt %s: %v %s, the older view is %v", good, d.Verdict, d.Reason, granted.End)
		}
		granted = v
	}
	// One without a number supersedes, and does not make older ones good again.
	v := r.resumes(1, cursor)
	if granted.End != session.EndSuperseded {
		t.Errorf("without a number: the older view is %v", granted.End)
	}
	if d, _ := r.asks("2.6", cursor); d.Reason != spec.ReasonAttemptSuperseded || v.End != session.StillOpen {
		t.Errorf("2.6 after 3.0: %v %s", d.Verdict, d.Reason)
	}
}

// R10: numbers are those of a stream: one client's requests for two streams
// overtake each other, and both are granted. A finished stream that its client
// has whole remembers the attempt that was told so.
func TestAttemptsAreOfAStream(t *testing.T) {
	r := begin(t)
	one, two := r.calls(), r.calls()
	r.emits(one.Stream, 1, 1)
	r.answers(one.Stream, 2)
	r.emits(two.Stream, 1, 1)
	if _, v := r.asks("1.9", r.cursor(two.Stream, 1)); v == nil {
		t.Fatal("9 on stream 2")
	}
	if d, _ := r.asks("1.8", r.cursor(one.Stream, 2)); d.Verdict != spec.VerdictComplete {
		t.Errorf("8 on stream 1: %v %s", d.Verdict, d.Reason)
	}
	if d, _ := r.asks("1.7", r.cursor(one.Stream, 1)); d.Reason != spec.ReasonAttemptSuperseded {
		t.Errorf("7 on stream 1, after it was told complete to 8: %v %s", d.Verdict, d.Reason)
	}
	if d, v := r.asks("1.1"); v == nil {
		t.Errorf("1 on the standalone stream: %v %s", d.Verdict, d.Reason)
	}
}

// R10, R3: a request that was refused for want of room has not been granted.
func TestCappedAttemptIsNotGranted(t *testing.T) {
	r := begin(t, func(c *session.Config) { c.Views = 1 })
	v := r.calls()
	if d, _ := r.asks("1.9", spec.PositionZero(r.Tag(), 0).String()); d.Reason != spec.ReasonTooManyViews {
		t.Fatalf("a second view: %v %s", d.Verdict, d.Reason)
	}
	r.breaks(v.Stream)
	if d, v := r.asks("1.8", spec.PositionZero(r.Tag(), 0).String()); v == nil {
		t.Errorf("8 after 9 was refused: %v %s", d.Verdict, d.Reason)
	}
}

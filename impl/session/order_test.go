package session_test

import (
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// R6: of a session that has ended nothing else is asked, however wrong the rest
// of the request is.
func TestTheSessionIsAskedForFirst(t *testing.T) {
	r := begin(t)
	r.emits(0, 1, 2)
	good := r.cursor(0, 1)
	if err := r.Terminate(); err != nil {
		t.Fatal(err)
	}
	for _, q := range []session.Request{
		{}, {Cursors: []string{good}}, {Cursors: []string{"nonsense"}}, {Cursors: []string{good, good}}, {Cursors: []string{"", good}},
		{Cursors: []string{good}, Attempts: []string{"nonsense"}}, {Attempts: []string{"1.1", "1.2"}},
	} {
		if d, v, err := r.Resume(q, r.now); v != nil || d.Reason != spec.ReasonSessionTerminated {
			t.Errorf("%+v: %v %s, %v, want %s", q, d.Verdict, d.Reason, err, spec.ReasonSessionTerminated)
		}
	}
}

// R10: an attempt that cannot be read, or of which there are two, is a fault of
// the client's, and not the same as none.
func TestMalformedAttempts(t *testing.T) {
	r := begin(t)
	r.emits(0, 1, 2)
	v := r.resumes(1, r.cursor(0, 1))
	for _, attempts := range [][]string{{""}, {"1"}, {"1.x"}, {"01.1"}, {"1.2.3"}, {"1.2", "1.3"}, {"1.2", "1.2"}, {"", "1.2"}} {
		before := r.Snapshot()
		d, granted, _ := r.Resume(session.Request{Cursors: []string{r.cursor(0, 1)}, Attempts: attempts}, r.now)
		if granted != nil || d.Reason != spec.ReasonAttemptMalformed || r.Snapshot() != before || v.End != session.StillOpen {
			t.Errorf("%q: %v %s, the view is %v", attempts, d.Verdict, d.Reason, v.End)
		}
	}
	if d, granted := r.asks("1.2", r.cursor(0, 1)); granted == nil {
		t.Errorf("a good one: %v %s", d.Verdict, d.Reason)
	}
}

// R6: session ids have 128 random bits: in 256 of them each byte takes more than
// a hundred values (162 are expected, with a standard deviation of 5).
func TestEveryByteOfASessionIDIsRandom(t *testing.T) {
	reg := registry(t, session.Options{})
	var seen [16]map[byte]bool
	for range 256 {
		s := opens(t, reg, "alice")
		for i, b := range session.ParseSessionID(s.ID()) {
			if seen[i] == nil {
				seen[i] = map[byte]bool{}
			}
			seen[i][b] = true
		}
		if err := s.Terminate(); err != nil {
			t.Fatal(err)
		}
	}
	for i, values := range seen {
		if len(values) <= 100 {
			t.Errorf("byte %d has %d values", i, len(values))
		}
	}
}

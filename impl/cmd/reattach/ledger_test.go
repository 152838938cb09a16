package main

import (
	"fmt"
	"strings"
	"testing"
)

// told plays a history into a ledger: "+2" emits two events in session 1,
// "2:+1" one in session 2, "1" applies its first event, "2:1" session 2's.
func history(t *testing.T, steps string) (*ledger, *application) {
	t.Helper()
	l := newLedger()
	app := newApplication(l)
	for step := range strings.FieldsSeq(steps) {
		switch step {
		case "new-epoch":
			app.broken(toldAbandoned, "because")
			app.begin()
			continue
		case "resumed":
			app.resumed()
			continue
		case "garbage":
			app.apply([]byte(`{"params":{"data":{"ma`))
			continue
		}
		session, what, ok := strings.Cut(step, ":")
		if !ok {
			session, what = "1", step
		}
		var n int
		fmt.Sscanf(strings.TrimPrefix(what, "+"), "%d", &n)
		if strings.HasPrefix(what, "+") {
			for range n {
				l.didEmit(l.mint("session-" + session))
			}
			continue
		}
		app.apply(fmt.Appendf(nil, `{"params":{"data":{"mark":"S%s#%d"}}}`, session, n))
	}
	return l, app
}

func TestLedgerCounts(t *testing.T) {
	for _, tc := range []struct {
		story, steps string
		want         counts
		told         string
	}{
		{"all once", "+3 1 2 3", counts{emitted: 3, applied: 3}, "nothing"},
		{"one twice", "+3 1 2 2 resumed 3", counts{emitted: 3, applied: 4, duplicates: 1}, "resumed"},
		{"one missing", "+3 1 resumed 3", counts{emitted: 3, applied: 2, lost: 1}, "resumed"},
		{"garbage stands for one", "+2 1 garbage", counts{emitted: 2, applied: 1, lost: 1}, "nothing"},
		{"the rest missing, and the application knows", "+3 1 new-epoch 2:+1 2:1",
			counts{emitted: 4, applied: 2}, "abandoned: because"},
		{"another session in the same log", "+2 1 2 2:+2 2:1 2:2",
			counts{emitted: 4, applied: 4, merged: 2}, "nothing"},
		{"another session in a log of its own, with a hole", "+1 1 new-epoch 2:+2 2:2",
			counts{emitted: 3, applied: 2, lost: 1}, "abandoned: because"},
		{"an old event in the new log", "+1 1 new-epoch 2:+1 2:1 1",
			counts{emitted: 2, applied: 3, merged: 1}, "abandoned: because"},
	} {
		t.Run(tc.story, func(t *testing.T) {
			l, app := history(t, tc.steps)
			if got := l.count(app); got != tc.want {
				t.Errorf("counts %+v, want %+v", got, tc.want)
			}
			if got := app.hasBeenTold(); got != tc.told {
				t.Errorf("told %q, want %q", got, tc.told)
			}
		})
	}
}

func TestLedgerCountsExecutionsOfOneCall(t *testing.T) {
	l := newLedger()
	for _, key := range []string{"a", "b", "a", "c"} {
		l.didExecute(key)
	}
	if got := l.count().executions; got != 2 {
		t.Errorf("executions %d, want the 2 of the call that ran most", got)
	}
}

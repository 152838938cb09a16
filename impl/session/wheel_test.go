package session

import (
	"math/rand/v2"
	"testing"
)

// TestWheelIsNeverLate plans sessions near and far, re-plans and drops some, and
// turns the wheel: each comes out at its tick and not after (at the next one, if
// its tick was swept already), and none is lost. Early is allowed only beyond
// the wheel's reach.
func TestWheelIsNeverLate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var w wheel
	due := map[*Session]int64{}
	var now int64
	reached := map[string]int{}
	for round := range 4000 {
		for range rnd.IntN(4) {
			s := new(Session)
			at := now + []int64{0, 1, rnd.Int64N(256), rnd.Int64N(65536), rnd.Int64N(200000)}[rnd.IntN(5)]
			w.plan(s, at)
			due[s] = max(at, now+1)
		}
		for s := range due { // one that comes first
			if rnd.IntN(3) == 0 {
				w.drop(s)
				delete(due, s)
				reached["dropped"]++
			} else {
				due[s] = now + 1 + rnd.Int64N(300)
				w.plan(s, due[s])
				reached["planned again"]++
			}
			break
		}
		now += []int64{0, 1, 3, 200, 1000}[rnd.IntN(5)]
		for s := w.due(now); s != nil; s = w.due(now) {
			at, ok := due[s]
			switch {
			case !ok:
				t.Fatalf("round %d: a session came out that is not in the wheel", round)
			case at > now: // beyond its reach: it goes back
				reached["looked at early"]++
				w.plan(s, at)
				continue
			}
			reached["due"]++
			delete(due, s)
		}
		for s, at := range due {
			if at <= now {
				t.Fatalf("round %d: at %d a session that was due at %d is still in the wheel (%v)", round, now, at, s.spoke.tick)
			}
		}
	}
	if reached["due"] == 0 || reached["dropped"] == 0 || reached["planned again"] == 0 {
		t.Errorf("reached only %v", reached)
	}
}

func TestSweepCostsWhatIsDue(t *testing.T) {
	var w wheel
	const many = 10_000
	all := make([]Session, many)
	for i := range all {
		w.plan(&all[i], 60_000+int64(i%100))
	}
	looks := 0
	for tick := range int64(50_000) {
		for s := w.due(tick); s != nil; s = w.due(tick) {
			looks++
			w.plan(s, s.spoke.tick)
		}
	}
	if looks != 0 {
		t.Errorf("%d sessions were looked at before any was due", looks)
	}
}

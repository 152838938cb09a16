package client

import (
	"math/rand/v2"
	"testing"

	"example.com/reattach/spec"
	"pgregory.net/rapid"
)

// run walks for a while: first some steps that lead somewhere, so that a walk
// does not spend its time before the first session.
func (w *walk) run(steps int) {
	for range steps {
		w.step()
		if s := w.core.State(); s == spec.Opening && len(w.pending) == 0 && w.one(2) {
			w.check(w.core.Opened(w.core.Snapshot().Opening, w.opened()))
		}
	}
	w.end()
}

// Whatever a server says, and whatever fails: an event is never applied twice,
// never after the fence, never in another epoch; no call is ever forgotten.
func TestAgainstAHostileServer(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		choice := rapid.Uint64Range(0, 1<<16)
		w := newWalk(rt, func(n int) int { return int(choice.Draw(rt, "choice") % uint64(n)) }, nil)
		w.run(120)
		for what, n := range w.seen {
			seen[what] += n
		}
	})
	for _, what := range []string{"an event was applied", "an epoch began in quarantine", "a stream was resumed", "a write failed"} {
		if seen[what] == 0 {
			t.Errorf("%s: not once", what)
		}
	}
}

// A table that lacks a row can only refuse more: nothing that must always hold
// depends on a row being there.
func TestADroppedRowIsNeverUnsafe(t *testing.T) {
	for _, table := range []spec.Table{spec.EpochTable(), spec.ClientStreamTable()} {
		for _, row := range table.Rows {
			machines := without(t, row.ID)
			for seed := range uint64(4) {
				w := newWalk(t, rand.New(rand.NewPCG(seed, 11)).IntN, machines)
				w.run(200)
				if w.fired[row.ID] > 0 {
					t.Fatalf("row %s fired, and it is not there", row.ID)
				}
			}
		}
	}
}

// The same walk from fixed seeds, long enough that every row of both tables
// fires, and everything interesting happens.
func TestEveryRowFiresFromOutside(t *testing.T) {
	fired, seen := map[string]int{}, map[string]int{}
	walks := 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := newWalk(t, r.IntN, nil)
		w.run(400)
		for row, n := range w.fired {
			fired[row] += n
		}
		for what, n := range w.seen {
			seen[what] += n
		}
		walks++
	}
	for _, table := range []spec.Table{spec.EpochTable(), spec.ClientStreamTable()} {
		for _, row := range table.Rows {
			if fired[row.ID] == 0 {
				t.Errorf("row %s never fired in %d walks: %v, %v, %v -> %s", row.ID, walks, row.Source(), row.Trigger, row.Guard, row.Target())
			}
		}
	}
	for _, what := range []string{"an event was applied", "an event of others was applied", "an event without id was applied",
		"an epoch began", "an epoch began in quarantine", "a session was deleted", "a stream was resumed", "an old connection spoke",
		"a crash", "a write failed", "a late commit failed", "an unknown outcome was resolved",
		"an unknown outcome was resolved by a re-send", "a query or re-send left nothing behind", "a key went to its ledger", "an answer settled an unknown outcome"} {
		if seen[what] < 5 {
			t.Errorf("%s: only %d times", what, seen[what])
		}
	}
}

package properties

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/reattach/spec"
	"pgregory.net/rapid"
)

// Lockstep: real cores beside the reference model, step by step, at sizes that
// no graph of states reaches. A script of steps is drawn first and is plain
// data, so that rapid can shrink it, a fixed seed can repeat it, and a failure
// can be read. Every step is total: what does not apply is offered all the
// same, and refused on both sides.

// A dice draws a number of 0 … n-1.
type dice func(n int) int

// seeded draws from a fixed seed, for runs whose hits are counted.
func seeded(seed uint64) dice { return rand.New(rand.NewPCG(seed, 0)).IntN }

// drawn draws from rapid, for runs that differ each time and shrink.
func drawn(t *rapid.T) dice {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }
}

// A share is something to be drawn, and how often.
type share[T any] struct {
	what   T
	weight int
}

func pick[T any](d dice, shares []share[T]) T {
	total := 0
	for _, s := range shares {
		total += s.weight
	}
	at := d(total)
	for _, s := range shares {
		if at -= s.weight; at < 0 {
			return s.what
		}
	}
	panic("reattach: BUG: a dice shows more than it has")
}

// oneOf draws one of several values.
func oneOf[T any](d dice, values ...T) T { return values[d(len(values))] }

// Hits counts what happened, by name, so that every "always" can have its
// "sometimes".
type hits map[string]int

func (h hits) hit(format string, args ...any) {
	if len(args) == 0 {
		h[format]++
		return
	}
	h[fmt.Sprintf(format, args...)]++
}

// when counts what happened if it did.
func (h hits) when(happened bool, what string) {
	if happened {
		h[what]++
	}
}

// need fails for each name that was never hit.
func (h hits) need(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if h[name] == 0 {
			t.Errorf("never happened: %s", name)
		}
	}
}

// needRows fails for each row of the tables that allows a move and never
// fired, but for those that the suite cannot bring about, for stated reasons.
func (h hits) needRows(t failer, except map[string]string, tables ...spec.Table) {
	t.Helper()
	for _, table := range tables {
		for _, row := range table.Rows {
			switch {
			case row.Forbid != "":
			case except[row.ID] != "" && h["row "+row.ID] > 0:
				t.Errorf("row %s fired, although %s", row.ID, except[row.ID])
			case except[row.ID] == "" && h["row "+row.ID] == 0:
				t.Errorf("properties: row %s never fired: make %v happen in properties/lockstep_*_steps_test.go, or properties/trace_*_test.go", row.ID, row.Trigger)
			}
		}
	}
}

// log prints the distribution, so that it can be looked at with -v.
func (h hits) log(t *testing.T) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&b, "\n%8d %s", h[name], name)
	}
	t.Log(b.String())
}

// script prints the last steps of a run that failed.
func script[T any](steps []T, failed int) string {
	var b strings.Builder
	from := max(0, failed-40)
	if from > 0 {
		fmt.Fprintf(&b, "\n  … %d steps before", from)
	}
	for i, s := range steps[from:min(failed+1, len(steps))] {
		fmt.Fprintf(&b, "\n  %4d %+v", from+i, s)
	}
	return b.String()
}

// lockstepFactor multiplies the runs with fixed seeds: REATTACH_LOCKSTEP=20.
var lockstepFactor, _ = strconv.Atoi(os.Getenv("REATTACH_LOCKSTEP"))

package mutants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/reattach/model"
)

// A Row is what became of one mutant.
type Row struct {
	Mutant   Mutant
	Verdicts []Verdict
	Err      error // it could not be tried: a fault of the catalogue
	Took     time.Duration
}

// KilledBy returns the verdicts of the levels that noticed.
func (r Row) KilledBy() (killers []Verdict) {
	for _, v := range r.Verdicts {
		if v.Killed {
			killers = append(killers, v)
		}
	}
	return killers
}

// String tells the row on one line.
func (r Row) String() string {
	if r.Err != nil {
		return r.Mutant.Name + ": " + r.Err.Error()
	}
	parts := []string{}
	for _, v := range r.Verdicts {
		switch {
		case v.Absent:
			parts = append(parts, string(v.Level)+" (no tests)")
		case !v.Killed:
			parts = append(parts, string(v.Level)+" -")
		case v.TimedOut:
			parts = append(parts, fmt.Sprintf("%s %s (timed out)", v.Level, v.By))
		default:
			parts = append(parts, fmt.Sprintf("%s %s", v.Level, v.By))
		}
	}
	return r.Mutant.Name + ": " + strings.Join(parts, ", ")
}

// A Matrix is mutants against levels.
type Matrix struct {
	Root     string
	Mutants  []Mutant
	Workers  int               // mutants at a time
	Enough   int               // levels that need to notice a mutant; 0: all are asked
	Progress func(line string) // told after each mutant; must be safe for concurrent use
}

// Run tries every mutant at every level that can see it, and returns the rows
// in the order of the mutants. The error says why there are none.
func (x *Matrix) Run(ctx context.Context) ([]Row, error) {
	r := &Runner{Root: x.Root, Enough: x.Enough}
	began := time.Now()
	if err := r.Measure(ctx, x.Mutants, levels, 1); err != nil { // one at a time: their times are wanted
		return nil, err
	}
	x.Progress(fmt.Sprintf("nothing mutated: every level passes (%.1f s)", time.Since(began).Seconds()))
	rows := make([]Row, len(x.Mutants))
	var mu sync.Mutex
	done := 0
	indices := make([]int, len(x.Mutants))
	for i := range indices {
		indices[i] = i
	}
	_ = each(indices, x.Workers, func(i int) error {
		m := x.Mutants[i]
		start := time.Now()
		row := Row{Mutant: m}
		if row.Err = ctx.Err(); row.Err == nil {
			row.Verdicts, row.Err = x.try(ctx, r, m)
		}
		row.Took = time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		rows[i] = row
		done++
		x.Progress(fmt.Sprintf("[%d/%d] %v (%.1f s)", done, len(rows), row, row.Took.Seconds()))
		return nil
	})
	x.Progress(fmt.Sprintf("took %v, and %v of processors", time.Since(began).Round(time.Second), r.CPU().Round(time.Second)))
	return rows, nil
}

func (x *Matrix) try(ctx context.Context, r *Runner, m Mutant) ([]Verdict, error) {
	switch m.Kind {
	case Model:
		return explore(ctx, m)
	case Spec:
		return pinned(x.Root, m)
	}
	return r.Try(ctx, m, levels)
}

// explore lets the explorer look for what the model's mutant breaks: the rule
// that the mutant names, and no other.
func explore(ctx context.Context, m Mutant) ([]Verdict, error) {
	mutant, ok := model.MutantNamed(strings.TrimPrefix(m.Name, "model/"))
	if !ok {
		return nil, fmt.Errorf("the model has no mutant %s", m.Name)
	}
	scope, ok := model.ScopeNamed(mutant.Scope)
	if !ok {
		return nil, fmt.Errorf("the model has no scope %s", mutant.Scope)
	}
	rules := model.TheRules()
	mutant.Apply(&rules)
	mutated, err := model.New(scope, rules)
	if err != nil {
		return nil, err
	}
	report, err := mutated.Explore(ctx, nil)
	if err != nil {
		return nil, err
	}
	v := Verdict{Level: Explorer}
	if found := report.Counterexample; found != nil && found.Rule == mutant.Rule {
		v.Killed, v.By = true, found.Rule+" "+found.Name
	}
	return []Verdict{v}, nil
}

// pinned says what TLC said of a module's mutant. That it said so of the
// modules as they are now is checked beside them, in tla/check.
func pinned(root string, m Mutant) ([]Verdict, error) {
	configs, err := bugs(root)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(configs, func(c bug) bool { return "tla/"+strings.TrimPrefix(c.Name, "bug-") == m.Name })
	if i < 0 {
		return nil, errors.New("the manifest has no such configuration")
	}
	c := configs[i]
	return []Verdict{{Level: TLC, Killed: c.Expect != "ok" && c.Trace > 0, By: c.Expect}}, nil
}

// A Count is how many mutants there were, were noticed, and were noticed by two
// levels that do not depend on each other.
type Count struct{ Mutants, Killed, ByTwo int }

// CountOf counts the rows of one kind, or of all with "".
func CountOf(rows []Row, kind Kind) (c Count) {
	for _, r := range rows {
		if kind != "" && r.Mutant.Kind != kind {
			continue
		}
		c.add(len(r.KilledBy()))
	}
	return c
}

// add counts a mutant that so many levels noticed.
func (c *Count) add(levels int) {
	c.Mutants++
	if levels > 0 {
		c.Killed++
	}
	if levels > 1 {
		c.ByTwo++
	}
}

func (c Count) String() string {
	return fmt.Sprintf("mutants: %d killed: %d by two levels: %d", c.Mutants, c.Killed, c.ByTwo)
}

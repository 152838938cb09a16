package model

import (
	"context"
	"time"
)

// A Report says what an exploration found.
type Report struct {
	Scope  Config
	States int   // distinct states
	Edges  int   // labelled edges between them, those of a state to itself included
	Depth  int   // levels of the breadth-first search, the initial state's included
	Levels []int // states first reached at each level

	Rules     []string         // rules whose invariants were asked, each once
	Actions   [numNames]int    // edges by the name of their action
	Witnesses []WitnessReached // interesting steps, and whether they were reached

	Counterexample *Counterexample // nil: every invariant held
	Duration       time.Duration
}

// Progress says how far an exploration has come; it is told after each level.
type Progress struct {
	Depth, States, Edges int
	Elapsed              time.Duration
}

// Explore explores a scope under the true rules. The error is the context's,
// or says what is wrong with the scope; a violated invariant is no error, but
// [Report.Counterexample].
func Explore(ctx context.Context, scope Config, progress func(Progress)) (Report, error) {
	m, err := New(scope, TheRules())
	if err != nil {
		return Report{}, err
	}
	return m.Explore(ctx, progress)
}

// Explore visits every reachable state, breadth first, and every edge, asks
// every invariant of each, and stops at the first that is violated: no shorter
// path violates any. The same model always gives the same report, but for its
// duration.
func (m *Model) Explore(ctx context.Context, progress func(Progress)) (Report, error) {
	return m.explore(ctx, Invariants(), progress)
}

func (m *Model) explore(ctx context.Context, invariants []Invariant, progress func(Progress)) (Report, error) {
	start := time.Now()
	x := newExploration(m, invariants)
	for from, to := 0, x.found.len(); from < to && x.report.Counterexample == nil; from, to = to, x.found.len() {
		if err := ctx.Err(); err != nil {
			return x.report, err
		}
		x.report.Levels = append(x.report.Levels, to-from)
		x.level(from, to)
		if progress != nil {
			progress(Progress{Depth: len(x.report.Levels), States: x.found.len(), Edges: x.report.Edges, Elapsed: time.Since(start)})
		}
	}
	x.report.States, x.report.Depth = x.found.len(), len(x.report.Levels)
	x.report.Duration = time.Since(start)
	return x.report, nil
}

// An exploration is one run of Explore.
type exploration struct {
	m      *Model
	found  *graph
	report Report

	ofState, ofStep, ofReply []Invariant
	unseen                   []int // witnesses not reached yet, by index in report.Witnesses

	candidates []Action // of the state at hand
	next       State    // behind the edge at hand
}

func newExploration(m *Model, invariants []Invariant) *exploration {
	x := &exploration{m: m, found: newGraph(), report: Report{Scope: m.scope}}
	asked := map[string]bool{}
	for _, inv := range invariants {
		if inv.ofServer && m.scope.Hostile {
			continue
		}
		if inv.state != nil {
			x.ofState = append(x.ofState, inv)
		} else {
			x.ofStep = append(x.ofStep, inv)
		}
		if inv.ofReply {
			x.ofReply = append(x.ofReply, inv)
		}
		if !asked[inv.Rule] {
			asked[inv.Rule] = true
			x.report.Rules = append(x.report.Rules, inv.Rule)
		}
	}
	for i, w := range witnesses {
		x.report.Witnesses = append(x.report.Witnesses, WitnessReached{Name: w.name, Rule: w.rule, Says: w.says})
		x.unseen = append(x.unseen, i)
	}
	initial := m.Initial()
	x.found.add(&initial, x.found.hash(&initial), 0)
	return x
}

// level expands the states of one level.
func (x *exploration) level(from, to int) {
	for id := from; id < to; id++ {
		s := x.found.at(uint32(id))
		x.candidates = x.m.candidates(s, x.candidates[:0])
		for _, a := range x.candidates {
			x.next = *s
			if x.m.apply(&x.next, a) != "" {
				continue
			}
			if inv := x.edge(s, a, &x.next, uint32(id)); inv != nil {
				x.violated(inv, uint32(id), a, &x.next)
				return
			}
		}
	}
}

// edge counts one edge, adds the state behind it, and returns the first
// invariant that the step, or that state if it is new, violates.
func (x *exploration) edge(s *State, a Action, t *State, id uint32) *Invariant {
	x.report.Edges++
	x.report.Actions[a.Name]++
	if *t == *s {
		return first(x.ofReply, func(inv *Invariant) bool { return !inv.step(x.m, s, a, t) })
	}
	if len(x.unseen) > 0 {
		x.witness(s, a, t)
	}
	if inv := first(x.ofStep, func(inv *Invariant) bool { return !inv.step(x.m, s, a, t) }); inv != nil {
		return inv
	}
	if !x.found.add(t, x.found.hash(t), id) {
		return nil
	}
	return first(x.ofState, func(inv *Invariant) bool { return !inv.state(x.m, t) })
}

// first returns the first invariant for which something holds, or nil.
func first(of []Invariant, holds func(*Invariant) bool) *Invariant {
	for i := range of {
		if holds(&of[i]) {
			return &of[i]
		}
	}
	return nil
}

// witness notes which interesting things a step shows for the first time.
func (x *exploration) witness(s *State, a Action, t *State) {
	for i := 0; i < len(x.unseen); i++ {
		w := x.unseen[i]
		if witnesses[w].shows(x.m, s, a, t) {
			x.report.Witnesses[w].Depth = len(x.report.Levels) + 1
			x.unseen = append(x.unseen[:i], x.unseen[i+1:]...)
			i--
		}
	}
}

// violated builds the counterexample: the way to a state, and the last step.
func (x *exploration) violated(inv *Invariant, id uint32, last Action, t *State) {
	path := []uint32{id}
	for path[len(path)-1] != 0 {
		path = append(path, x.found.parent[path[len(path)-1]])
	}
	c := &Counterexample{Rule: inv.Rule, Name: inv.Name, Says: inv.Says}
	for i := len(path) - 1; i > 0; i-- {
		c.Steps = append(c.Steps, x.stepBetween(x.found.at(path[i]), x.found.at(path[i-1])))
	}
	c.Steps = append(c.Steps, TraceStep{Action: last, State: *t})
	x.report.Counterexample = c
}

// stepBetween returns the first action that leads from one state to another.
func (x *exploration) stepBetween(s, t *State) TraceStep {
	for _, a := range x.m.candidates(s, nil) {
		if next := *s; x.m.apply(&next, a) == "" && next == *t {
			return TraceStep{Action: a, State: next}
		}
	}
	panic("reattach: BUG: the exploration lost the step between two of its states")
}

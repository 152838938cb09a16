package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Reports as TLC writes them, cut to the lines that count and some that do not.
const (
	holds = `Finished computing initial states: 1 distinct state generated at 2026-01-01 00:00:00.
The coverage statistics at 2026-01-01 00:00:03
<sess line 42, col 3 to line 42, col 6 of module Resumption>: 39
<Init line 96, col 1 to line 96, col 4 of module Resumption>: 1:1
<Emit line 187, col 1 to line 187, col 7 of module Resumption>: 1:2
The coverage statistics at 2026-01-01 00:01:03
<sess line 42, col 3 to line 42, col 6 of module Resumption>: 39
<Init line 96, col 1 to line 96, col 4 of module Resumption>: 1:1
<Emit line 187, col 1 to line 187, col 7 of module Resumption>: 3:20
<Emit line 187, col 1 to line 187, col 7 of module Resumption (230 3 238 67)>: 1:2
<Cut line 187, col 1 to line 187, col 7 of module Resumption>: 5:8
<Next line 474, col 1 to line 474, col 4 of module Resumption (479 6 479 82)>: 0:0
Progress(14) at 2026-01-01 00:00:02: 11 states generated, 7 distinct states found, 2 states left on queue.
31 states generated, 9 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 4.
`
	breaks = `Error: Action property R6_NeverMinted is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
State 2: <Open line 288, col 3 to line 292, col 58 of module Resumption>
State 3: <OpenSession(1) line 179, col 3 to line 185, col 68 of module Resumption>
20 states generated, 9 distinct states found, 3 states left on queue.
`
	breaksInvariant = `Error: Invariant R3_Bounded is violated.
State 1: <Initial predicate>
`
	breaksRefinement = `Error: Action property line 137, col 17 to line 137, col 29 of module Contract is violated.
State 1: <Initial predicate>
State 2: <Emit line 187, col 1 to line 187, col 7 of module Resumption>
`
	breaksLiveness = `Error: Temporal property R26_Settles was violated.

Error: The following behavior constitutes a counter-example:

State 1: <Initial predicate>
State 2: <Open line 288, col 3 to line 292, col 58 of module Resumption>
State 3: Stuttering
`
	unreadable = `***Parse Error***
Error: Parsing or semantic analysis failed.
`
	unfinished = `Finished computing initial states: 1 distinct state generated at 2026-01-01 00:00:00.
20 states generated, 9 distinct states found, 3 states left on queue.
The depth of the complete state graph search is 4.
`
)

func TestReportOfTLC(t *testing.T) {
	for _, c := range []struct {
		name, report string
		want         Result
		err          error
	}{
		{"holds", holds, Result{Verdict: "ok", Distinct: 9, Edges: 30, Depth: 4, Actions: map[string]int{"Emit": 22, "Cut": 8}}, nil},
		{"an action property is violated", breaks, Result{Verdict: "R6_NeverMinted", Trace: 3}, nil},
		{"an invariant is violated", breaksInvariant, Result{Verdict: "R3_Bounded", Trace: 1}, nil},
		{"a step is none of the abstract module", breaksRefinement, Result{Verdict: "RefinesContract", Trace: 2}, nil},
		{"something never happens", breaksLiveness, Result{Verdict: "R26_Settles", Trace: 3}, nil},
		{"a module cannot be read", unreadable, Result{}, ErrNoVerdict},
		{"the search was cut short", unfinished, Result{}, ErrNoVerdict},
		{"it holds, but something else is wrong", holds + "Error: out of memory\n", Result{}, ErrNoVerdict},
		{"nothing at all", "", Result{}, ErrNoVerdict},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parse(c.report)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Without TLC's class path the command explains itself and fails.
func TestCheckNeedsTheClassPath(t *testing.T) {
	t.Setenv("TLA_CLASSPATH", "")
	if err := check(t.Context(), t.Output(), dir, "", false, 1); err == nil || err.Error() != explainClassPath {
		t.Errorf("got %v", err)
	}
}

// A pattern that chooses nothing is a mistake, not a success.
func TestCheckOfNothingFails(t *testing.T) {
	t.Setenv("TLA_CLASSPATH", "/nowhere.jar")
	if err := check(t.Context(), t.Output(), dir, "no such model", false, 1); err == nil {
		t.Error("checked nothing and was content")
	}
}

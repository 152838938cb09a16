package model

import (
	"context"
	"testing"
)

// Each mutant is found by the explorer, which names the rule that it breaks.
func TestEveryMutantIsFound(t *testing.T) {
	for _, mutant := range Mutants() {
		t.Run(mutant.Name, func(t *testing.T) {
			scope, ok := ScopeNamed(mutant.Scope)
			if !ok {
				t.Fatalf("there is no scope %q", mutant.Scope)
			}
			rules := TheRules()
			mutant.Apply(&rules)
			m, err := New(scope, rules)
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.Explore(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Counterexample == nil {
				t.Fatalf("survived %d states: %s", r.States, mutant.Story)
			}
			if r.Counterexample.Rule != mutant.Rule {
				t.Errorf("found as a violation of %s, expected %s", r.Counterexample.Rule, mutant.Rule)
			}
			t.Log(r.Counterexample)
		})
	}
}

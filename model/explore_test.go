package model

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
)

// pinned is what each scope contains. A model that quietly shrank would pass
// every "always"; one that grew was changed without being looked at.
var pinned = map[string]struct{ states, edges, depth int }{
	"calls":   {185626, 1542647, 35},
	"stream":  {24959, 387722, 32},
	"small":   {31375, 191395, 40},
	"pair":    {183564, 1190193, 43},
	"hostile": {155073, 1300038, 50},
	"server":  {28126, 3059998, 19},
	"streams": {125702, 1054425, 35},
	"main":    {224915, 1516278, 52},
}

// explored returns the report of a scope under the true rules; each scope is
// explored once, however many tests ask.
func explored(t *testing.T, scope Config) Report {
	t.Helper()
	explore, _ := explorations.LoadOrStore(scope, sync.OnceValues(func() (Report, error) {
		return Explore(context.Background(), scope, nil)
	}))
	r, err := explore.(func() (Report, error))()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var explorations sync.Map // scope → func() (Report, error)

// Given the true rules, no scope violates anything, each has exactly the
// pinned states and edges, and together they show every witness and fire every
// action.
func TestScopesHoldAndReachWhatTheyAreAbout(t *testing.T) {
	reports := make([]Report, len(Scopes()))
	t.Run("scopes", func(t *testing.T) {
		for i, scope := range Scopes() {
			t.Run(scope.Name, func(t *testing.T) {
				t.Parallel()
				r := explored(t, scope)
				if r.Counterexample != nil {
					t.Fatalf("the true rules violate themselves:\n%v", r.Counterexample)
				}
				want := pinned[scope.Name]
				if r.States != want.states || r.Edges != want.edges || r.Depth != want.depth {
					t.Errorf("states %d edges %d depth %d, expected %d, %d and %d: if the model was meant to change, say so in the commit and pin the new numbers here",
						r.States, r.Edges, r.Depth, want.states, want.edges, want.depth)
				}
				reports[i] = r
			})
		}
	})
	for w := range witnesses {
		if !slices.ContainsFunc(reports, func(r Report) bool { return len(r.Witnesses) > w && r.Witnesses[w].Depth > 0 }) {
			t.Errorf("never seen in any scope: %s (%s): %s", witnesses[w].name, witnesses[w].rule, witnesses[w].says)
		}
	}
	for name := OpenSession; name < numNames; name++ {
		if !slices.ContainsFunc(reports, func(r Report) bool { return r.Actions[name] > 0 }) {
			t.Errorf("never fired in any scope: %v", name)
		}
	}
}

// A violated invariant is found on a shortest path, which replays.
func TestCounterexampleReplaysAndIsShortest(t *testing.T) {
	mutant, _ := MutantNamed("inclusive-replay")
	scope, _ := ScopeNamed(mutant.Scope)
	rules := TheRules()
	mutant.Apply(&rules)
	m, err := New(scope, rules)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Explore(context.Background(), nil)
	if err != nil || r.Counterexample == nil {
		t.Fatal(r, err)
	}
	// Nothing shorter can: a session has to be opened, asked and served, and an
	// event has to be there for a cursor to name it.
	if got := len(r.Counterexample.Steps); got != 4 {
		t.Errorf("%d steps, expected Open, OpenSession, Emit and one request:\n%v", got, r.Counterexample)
	}
	s := m.Initial()
	for i, step := range r.Counterexample.Steps {
		next, refusal := m.Step(s, step.Action)
		if refusal != "" || next != step.State {
			t.Fatalf("step %d, %v: refused with %q, or leads elsewhere", i+1, step.Action, refusal)
		}
		s = next
	}
}

// In every state of a scope, every label is offered: those that are accepted
// are exactly the enabled ones, and a refusal changes nothing.
func TestEnabledIsExactlyWhatStepAccepts(t *testing.T) {
	scopes := []Config{
		{Name: "tiny", Sessions: 2, Streams: 1, Events: 1, Window: 1, Wire: 1, Calls: 0, Strangers: Newcomer},
		{Name: "tiny calls", Sessions: 1, Streams: 1, Events: 1, Window: 1, Wire: 1, Calls: 1, Strangers: Anybody},
		{Name: "tiny streams", Sessions: 1, Streams: 2, Events: 1, Window: 1, Wire: 1, Calls: 0, Strangers: Anybody, Alone: true},
		{Name: "tiny hostile", Sessions: 1, Streams: 1, Events: 1, Window: 1, Wire: 1, Calls: 0, Hostile: true},
	}
	for _, scope := range scopes {
		t.Run(scope.Name, func(t *testing.T) {
			m, err := New(scope, TheRules())
			if err != nil {
				t.Fatal(err)
			}
			labels := m.Labels()
			states, frontier, accepted, refused := map[State]bool{m.Initial(): true}, []State{m.Initial()}, 0, 0
			for len(frontier) > 0 {
				s := frontier[0]
				frontier = frontier[1:]
				enabled := m.Enabled(s)
				for _, a := range labels {
					next, refusal := m.Step(s, a)
					if (refusal == "") != slices.Contains(enabled, a) {
						t.Fatalf("%v: Step says %q, Enabled says %t, in\n%v", a, refusal, refusal != "", s)
					}
					if refusal != "" {
						refused++
						if next != s {
							t.Fatalf("%v was refused and changed the state", a)
						}
						continue
					}
					if accepted++; !states[next] {
						states[next] = true
						frontier = append(frontier, next)
					}
				}
				for _, a := range enabled {
					if !slices.Contains(labels, a) {
						t.Fatalf("%v is enabled and is no label", a)
					}
				}
			}
			r, err := m.Explore(context.Background(), nil)
			if err != nil || r.States != len(states) || r.Edges != accepted {
				t.Errorf("offering every label finds %d states and %d edges, exploring %d and %d (%v)", len(states), accepted, r.States, r.Edges, err)
			}
			t.Logf("%d labels, %d states, %d accepted, %d refused", len(labels), len(states), accepted, refused)
		})
	}
}

// No rule is missing, and each is replaced by a mutant: none is decoration.
func TestEveryRuleHasAMutant(t *testing.T) {
	rules := reflect.ValueOf(TheRules())
	for i := range rules.NumField() {
		name := rules.Type().Field(i).Name
		if rules.Field(i).IsNil() {
			t.Errorf("the rule %s is missing", name)
		}
		replaced := slices.ContainsFunc(Mutants(), func(m Mutant) bool {
			r := TheRules()
			m.Apply(&r)
			return reflect.ValueOf(r).Field(i).Pointer() != rules.Field(i).Pointer()
		})
		// What is no event id cannot be written in the closed system, and its
		// requests carry no numbers; that these rules are asked is seen by
		// TestEachCursorHasItsReason and TestEachAttemptHasItsReason.
		if !replaced && name != "CursorFormed" && name != "AttemptFormed" && name != "AttemptInTime" {
			t.Errorf("no mutant replaces the rule %s", name)
		}
	}
}

// A scope that a State cannot hold is refused, whichever bound it breaks.
func TestScopeOutOfRangeIsRefused(t *testing.T) {
	good, _ := ScopeNamed("small")
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(*Config){
		func(c *Config) { c.Sessions = 0 }, func(c *Config) { c.Sessions = MaxSessions + 1 },
		func(c *Config) { c.Streams = MaxStreams + 1 }, func(c *Config) { c.Events = MaxEvents + 1 },
		func(c *Config) { c.Window = 0 }, func(c *Config) { c.Wire = MaxWire + 1 }, func(c *Config) { c.Calls = MaxCalls + 1 },
	} {
		bad := good
		spoil(&bad)
		if _, err := New(bad, TheRules()); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"example.com/reattach/model"
)

// Given any mutant, when it is checked, then it is found, and told both ways.
func TestCheckShowsEveryMutant(t *testing.T) {
	for _, m := range model.Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			scope, _ := model.ScopeNamed(m.Scope)
			f, err := explore(t.Context(), m, scope, nil)
			if err != nil || f.report.Counterexample == nil {
				t.Fatalf("%v, counterexample %v", err, f.report.Counterexample)
			}
			c := f.report.Counterexample
			for i, told := range tellAll(c) {
				if !strings.HasSuffix(told.sentence, ".") || len(told.arrows) == 0 {
					t.Errorf("step %d, %v, is told as %+v", i+1, c.Steps[i].Action, told)
				}
			}
			checkDiagram(t, mermaid(c))
		})
	}
}

// diagramLine is what a line of a sequence diagram may be. The texts are kept
// free of what Mermaid takes for its own: semicolons, angle brackets, number
// signs, and the word that closes a block.
var diagramLine = regexp.MustCompile(`^(sequenceDiagram|    (participant \w+( as [a-z ]+)?|(client|network|server|stranger)(->>|-x)(client|network|server|stranger): [^;<>#]+|Note over (client|network|server|stranger|client,server): [^;<>#]+))$`)

func checkDiagram(t *testing.T, diagram string) {
	t.Helper()
	for line := range strings.Lines(diagram) {
		if line = strings.TrimSuffix(line, "\n"); !diagramLine.MatchString(line) || regexp.MustCompile(`\bend\b`).MatchString(line) {
			t.Errorf("not a line of a sequence diagram: %q", line)
		}
	}
}

// Every action is told, not only those that a shortest path to a violation
// happens to take: on random walks through every scope, from a fixed seed.
func TestEveryActionIsTold(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	told := map[model.Name]int{}
	for _, scope := range model.Scopes() {
		m, err := model.New(scope, model.TheRules())
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			c := &model.Counterexample{Rule: "R4", Name: "Nothing", Says: "nothing"}
			for s := m.Initial(); len(c.Steps) < 40; {
				a := pickAction(dice, m.Enabled(s))
				s, _ = m.Step(s, a)
				c.Steps = append(c.Steps, model.TraceStep{Action: a, State: s})
				told[a.Name]++
			}
			checkDiagram(t, mermaid(c))
			if n := strings.Count("\n"+storyText(c), "\n  1. "); n != 1 {
				t.Fatalf("the first step is told %d times", n)
			}
		}
	}
	for _, name := range append(model.Names(), model.Mislead) {
		if told[name] == 0 {
			t.Errorf("%v was never told", name)
		}
	}
}

// pickAction draws a name first, so that the many ways to ask do not crowd out
// what happens rarely; what ends everything is drawn less often.
func pickAction(dice *rand.Rand, enabled []model.Action) model.Action {
	byName := map[model.Name][]model.Action{}
	var names []model.Name
	for _, a := range enabled {
		switch a.Name {
		case model.EndSession, model.Crash, model.Cut, model.EndView, model.EvictOldest, model.CallBroken:
			if dice.IntN(8) > 0 {
				continue
			}
		}
		if byName[a.Name] == nil {
			names = append(names, a.Name)
		}
		byName[a.Name] = append(byName[a.Name], a)
	}
	if len(names) == 0 {
		return enabled[dice.IntN(len(enabled))]
	}
	actions := byName[names[dice.IntN(len(names))]]
	return actions[dice.IntN(len(actions))]
}

// An action that nobody can tell is our own fault, and says where to go.
func TestAnActionWithoutAStoryPanics(t *testing.T) {
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "add it to story.tell") {
			t.Errorf("got %s", text)
		}
	}()
	story{}.tell()
}

func TestCheckMutant(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		says []string
	}{
		{"--mutant hole-accepted", exitOK, []string{"believes  greater is next", "\n  1. The client asks for a session.\n", "VIOLATED  R21 TakenOnlyIfNext"}},
		{"--mutant hole-accepted --format mermaid", exitOK, []string{"sequenceDiagram\n", "network->>client: 10. event 2 of session 1", "R21 TakenOnlyIfNext is violated"}},
		{"--mutant hole-accepted --verbose", exitOK, []string{"ReadEvent(1, 2, next)"}},
		{"--mutant hole-accepted --scope small", exitFailed, []string{"hole-accepted SURVIVES", "scope small", "its own is hostile"}},
		{"--mutants", exitOK, []string{"hole-accepted", "R21", "hostile", "greater is next"}},
		{"--mutant nobody", exitMisuse, []string{`no mutant is called "nobody"`, "--mutants"}},
		{"--mutant hole-accepted --format picture", exitMisuse, []string{`no format is called "picture"`}},
		{"--format mermaid", exitMisuse, []string{"add --mutant"}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var out, diag bytes.Buffer
			if code := run(t.Context(), append([]string{"check"}, strings.Fields(tc.args)...), &out, &diag); code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			said := out.String()
			if tc.code == exitMisuse {
				said = diag.String()
			}
			for _, want := range tc.says {
				if !strings.Contains(said, want) {
					t.Errorf("says\n%s\nwant %q in it", said, want)
				}
			}
		})
	}
}

// The list names every mutant, one a line.
func TestCheckListsTheMutants(t *testing.T) {
	var out bytes.Buffer
	mutantsText(&out)
	if got, want := strings.Count(out.String(), "\n"), len(model.Mutants()); got != want {
		t.Errorf("%d lines, want %d", got, want)
	}
}

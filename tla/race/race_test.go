package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/reattach/model"
)

// Without TLC's class path the command explains itself, and runs nothing.
func TestRaceNeedsTheClassPath(t *testing.T) {
	t.Setenv("TLA_CLASSPATH", "")
	if err := race(t.Context(), t.Output(), "..", "main", 1, 1); err == nil || err.Error() != explainClassPath {
		t.Errorf("got %v", err)
	}
	t.Setenv("TLA_CLASSPATH", "/nowhere.jar")
	if err := race(t.Context(), t.Output(), "..", "hostile", 1, 1); err == nil || !strings.Contains(err.Error(), "hostile") {
		t.Errorf("a scope that is not TLC's: %v", err)
	}
}

// Every scope that can be raced is the model's, and a configuration; without
// its formulas there is still a specification.
func TestScopesAreShared(t *testing.T) {
	for scope, config := range configs {
		if _, ok := model.ScopeNamed(scope); !ok {
			t.Errorf("model has no scope %s", scope)
		}
		text, err := os.ReadFile(filepath.Join("..", config))
		if err != nil {
			t.Fatal(err)
		}
		bare := withoutFormulas(string(text))
		if !strings.Contains(string(text), "R4_") || strings.Contains(bare, "R4_") || !strings.Contains(bare, "SPECIFICATION Spec") || !strings.Contains(bare, "WireCap") {
			t.Errorf("%s without formulas is\n%s", config, bare)
		}
	}
}

// The last count of a report is the one that counts; a search that was cut
// short has none.
func TestStatesOfAReport(t *testing.T) {
	for report, want := range map[string]int{
		"224915 distinct states found\n": 224915,
		"Progress(3): 10 states generated, 7 distinct states found, 2 states left on queue.\n31 states generated, 9 distinct states found, 0 states left on queue.\n": 9,
		"31 states generated, 9 distinct states found, 4 states left on queue.\n":                                                                                     0,
		"Error: Invariant R3_Bounded is violated.\n":                                                                                                                  0,
	} {
		if got := statesIn(report); got != want {
			t.Errorf("%q: %d states, expected %d", report, got, want)
		}
	}
}

// The explorer's process says what it found; asked for nothing, it is not the
// explorer.
func TestExplorersProcess(t *testing.T) {
	var out strings.Builder
	if err := explore(t.Context(), "small", &out); err != nil || statesIn(out.String()) != 31375 {
		t.Errorf("%v, %q", err, out.String())
	}
	if err := explore(t.Context(), "", &out); !errors.Is(err, errNotAsked) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := explore(ctx, "small", &out); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Given three runs of each, the medians are set against the explorer's; where
// one found other states, there is no result.
func TestTableComparesMedians(t *testing.T) {
	lap := func(states, ms int) Lap {
		return Lap{States: states, Wall: time.Duration(ms) * time.Millisecond, CPU: time.Duration(2*ms) * time.Millisecond}
	}
	all := []Contender{{Name: "explorer"}, {Name: "TLC"}}
	laps := [][]Lap{{lap(50, 900), lap(50, 100), lap(50, 200)}, {lap(50, 1400), lap(50, 9000), lap(50, 1300)}}
	var out strings.Builder
	if err := table(&out, all, laps); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"explorer                  0.20s      0.40s          250   1x / 1x", "TLC                       1.40s      2.80s           36   7x / 7x"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	laps[1][2].States = 49
	if err := table(&out, all, laps); err == nil {
		t.Error("compared a search of 50 states with one of 49")
	}
}

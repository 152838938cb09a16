package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/reattach/model"
)

func TestCheckReportsAScope(t *testing.T) {
	scope, ok := model.ScopeNamed("small")
	if !ok {
		t.Fatal("no scope is called small")
	}
	want, err := model.Explore(t.Context(), scope, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out, diag bytes.Buffer
	if code := run(t.Context(), []string{"check", "--scope", scope.Name}, &out, &diag); code != exitOK {
		t.Fatalf("exit %d: %s%s", code, &out, &diag)
	}
	row := strings.Fields(strings.Split(out.String(), "\n")[1])
	numbers := []string{scope.Name, fmt.Sprint(want.States), fmt.Sprint(want.Edges), fmt.Sprint(want.Depth), fmt.Sprint(len(want.Rules))}
	if got := strings.Join(row[:5], " "); got != strings.Join(numbers, " ") {
		t.Errorf("row %q, want %q", got, numbers)
	}
	if !strings.Contains(diag.String(), scope.Name) {
		t.Errorf("no progress on stderr: %q", &diag)
	}
}

func TestCheckFailsOnAViolation(t *testing.T) {
	var out, diag bytes.Buffer
	c := checking{out: &out, progress: newProgress(&diag, false)}
	report := model.Report{Scope: model.Scopes()[0], Counterexample: &model.Counterexample{Rule: "R4", Says: "it is so"}}
	if c.report(report) {
		t.Error("a counterexample counts as holding")
	}
	if !strings.Contains(out.String(), "R4 VIOLATED") {
		t.Errorf("printed %q", &out)
	}
}

func TestCheckStopsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, diag bytes.Buffer
	if code := run(ctx, []string{"check"}, &out, &diag); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
}

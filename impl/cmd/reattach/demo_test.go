package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// demoJSON runs demo --json with pairs and returns what it printed.
func demoJSON(t *testing.T, pairs []pair, args ...string) (results []Result, diag string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = demo(t.Context(), append([]string{"--json"}, args...), &out, &errs, pairs)
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&results); err != nil {
		t.Fatalf("demo --json: %v; stderr:\n%s", err, &errs)
	}
	return results, errs.String(), code
}

func names() (all []string) {
	for _, sc := range scenarios() {
		all = append(all, sc.name)
	}
	return all
}

// A run in which ours is replaced by the naive pair must fail: the check can.
func TestDemoFailsWhenOursCorrupts(t *testing.T) {
	impostor := naivePair
	impostor.name = "reattach"
	for _, name := range names() {
		if name == "never-back" && testing.Short() {
			continue // the one that takes seconds
		}
		t.Run(name, func(t *testing.T) {
			results, diag, code := demoJSON(t, []pair{impostor}, "--scenario", name)
			if code != exitFailed || !strings.Contains(diag, name+": the reattach pair: ") {
				t.Errorf("exit %d, stderr:\n%s", code, diag)
			}
			if len(results) != 1 || !results[0].Corrupt {
				t.Errorf("results %+v, want one that is corrupt", results)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	sound := Result{Scenario: "s", Pair: "reattach", Emitted: 3, Applied: 3, Executions: 1, Shows: "it breaks"}
	naive := Result{Scenario: "s", Pair: "naive", Emitted: 3, Applied: 4, Duplicates: 1, Executions: 1, Shows: "it breaks", Corrupt: true}
	if got := judge([]Result{naive, sound}); got != nil {
		t.Fatalf("complaints about a claim that holds: %q", got)
	}
	for name, spoil := range map[string]func(ours, theirs *Result){
		"duplicate":             func(r, _ *Result) { r.Duplicates = 1 },
		"silent loss":           func(r, _ *Result) { r.LostSilently = 1 },
		"merge":                 func(r, _ *Result) { r.Merged = 1 },
		"second execution":      func(r, _ *Result) { r.Executions = 2 },
		"no execution":          func(r, _ *Result) { r.Executions = 0 },
		"nothing applied":       func(r, _ *Result) { r.Applied = 0 },
		"the corruption":        func(r, _ *Result) { r.Corrupt = true },
		"a naive pair that won": func(_, r *Result) { r.Corrupt = false },
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := sound, naive
			spoil(&ours, &theirs)
			if got := judge([]Result{theirs, ours}); len(got) != 1 {
				t.Errorf("complaints %q, want one", got)
			}
		})
	}
}

func TestTableFits(t *testing.T) {
	var b bytes.Buffer
	printHeader(&b)
	printRow(&b, Result{
		Scenario: "never-back", Pair: "reattach", Emitted: 409_800, Applied: 409_800, Duplicates: 99_999, LostSilently: 9_999,
		Merged: 999_999, Executions: 9_999, PeakBytes: 999 << 20, Told: toldAbandoned + "session_unknown", Corrupt: true,
	})
	printClosing(&b, scenarios(), []string{"a complaint"})
	printClosing(&b, scenarios(), nil)
	for line := range strings.SplitSeq(b.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestListNamesEveryScenario(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"demo", "--list"}, &out, &errs); code != exitOK {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	for _, sc := range scenarios() {
		for _, want := range []string{sc.name, sc.story, sc.shows, sc.server.String(), sc.client.String()} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the list does not say %q", want)
			}
		}
	}
	if all := names(); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("scenario names repeat: %q", all)
	}
}

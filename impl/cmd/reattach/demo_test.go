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

// The demonstration itself: every corruption happens to the naive pair, none
// to ours, and ours is told the truth.
func TestDemo(t *testing.T) {
	results, diag, code := demoJSON(t, []pair{naivePair, reattachPair})
	if code != exitOK {
		t.Fatalf("exit %d; stderr:\n%s", code, diag)
	}
	told := map[string]string{
		"dropped":    "resumed",
		"expired":    "abandoned: cursor_evicted",
		"never-back": "abandoned: work_cancelled",
		"deploy":     "abandoned: session_unknown",
		"gone":       "abandoned: session_unknown",
		"truncated":  "resumed",
	}
	if len(results) != 2*len(told) || len(told) != len(scenarios()) {
		t.Fatalf("%d results, want two for each of %d scenarios", len(results), len(told))
	}
	for i, r := range results {
		sc := scenarios()[i/2]
		if r.Scenario != sc.name || r.Shows != sc.shows {
			t.Errorf("result %d is of %q and shows %q, want %q and %q", i, r.Scenario, r.Shows, sc.name, sc.shows)
		}
		if r.PeakBytes <= 0 {
			t.Errorf("%s, %s: memory was not measured", r.Scenario, r.Pair)
		}
		switch r.Pair {
		case "naive":
			if !r.Corrupt || r.Told != "nothing" {
				t.Errorf("naive: %+v, want it corrupt and nobody told", r)
			}
		case "reattach":
			if r.Corrupt || r.Duplicates+r.LostSilently+r.Merged != 0 || r.Executions != 1 || r.Applied == 0 || r.Applied > r.Emitted {
				t.Errorf("reattach: %+v, want nothing wrong", r)
			}
			if want := told[r.Scenario]; r.Told != want {
				t.Errorf("%s: told %q, want %q", r.Scenario, r.Told, want)
			}
			if r.Told == "resumed" && r.Applied != r.Emitted {
				t.Errorf("%s: resumed, and %d of %d events applied", r.Scenario, r.Applied, r.Emitted)
			}
		default:
			t.Errorf("a pair called %q", r.Pair)
		}
	}
}

// What each story must come to, by its own script: what is counted is what the
// servers and clients did.
func TestDemoCounts(t *testing.T) {
	for _, tc := range []struct {
		scenario string
		pair     pair
		want     counts
	}{
		// Two reports, a report and the result: 4. The report before the first
		// break and the result before the second come twice.
		{"dropped", naivePair, counts{emitted: 4, applied: 6, duplicates: 2, executions: 1}},
		{"dropped", reattachPair, counts{emitted: 4, applied: 4, executions: 1}},
		// Three reports, twelve while the client is away, the result: 16. The
		// first three come twice, or the others not at all, and are not silent.
		{"expired", naivePair, counts{emitted: 16, applied: 19, duplicates: 3, executions: 1}},
		{"expired", reattachPair, counts{emitted: 16, applied: 3, executions: 1}},
		// Two reports before the deploy. Behind it a greeting, the same call
		// again and the next one, of three events each, all in one log; or the
		// greeting and the next call only, in a log of their own.
		{"deploy", naivePair, counts{emitted: 9, applied: 9, merged: 7, executions: 2}},
		{"deploy", reattachPair, counts{emitted: 6, applied: 6, executions: 1}},
		{"gone", naivePair, counts{emitted: 9, applied: 9, merged: 7, executions: 2}},
		{"gone", reattachPair, counts{emitted: 6, applied: 6, executions: 1}},
		// Three reports and the result; the second one is cut.
		{"truncated", naivePair, counts{emitted: 4, applied: 3, lost: 1, executions: 1}},
		{"truncated", reattachPair, counts{emitted: 4, applied: 4, executions: 1}},
	} {
		t.Run(tc.scenario+" "+tc.pair.name, func(t *testing.T) {
			results, diag, _ := demoJSON(t, []pair{tc.pair}, "--scenario", tc.scenario)
			if len(results) != 1 {
				t.Fatalf("%d results; stderr:\n%s", len(results), diag)
			}
			r := results[0]
			got := counts{r.Emitted, r.Applied, r.Duplicates, r.LostSilently, r.Merged, r.Executions}
			if got != tc.want {
				t.Errorf("counts %+v, want %+v", got, tc.want)
			}
		})
	}
}

// Our client needs no sound server to keep its promises: against the servers
// of the incidents it abandons, tells its application, and applies nothing
// that it cannot place.
func TestOurClientAgainstTheServersOfTheIncidents(t *testing.T) {
	mixed := pair{name: "reattach", server: newNaiveServer, client: newReattachClient}
	for _, name := range names() {
		if name == "never-back" {
			continue // about the server alone
		}
		t.Run(name, func(t *testing.T) {
			results, diag, code := demoJSON(t, []pair{mixed}, "--scenario", name)
			if code != exitOK || len(results) != 1 {
				t.Fatalf("exit %d, %d results; stderr:\n%s", code, len(results), diag)
			}
			r := results[0]
			if r.Corrupt || r.Duplicates+r.LostSilently+r.Merged != 0 || r.Executions != 1 || r.Applied == 0 {
				t.Errorf("%+v, want nothing wrong", r)
			}
			if !strings.HasPrefix(r.Told, toldAbandoned) {
				t.Errorf("told %q, want an abandonment: nothing can be proved here", r.Told)
			}
		})
	}
}

// A run in which ours is replaced by the naive pair must fail: the check can.
// (never-back takes seconds, and its naive half is part of TestDemo.)
func TestDemoFailsWhenOursCorrupts(t *testing.T) {
	impostor := naivePair
	impostor.name = "reattach"
	for _, name := range names() {
		if name == "never-back" {
			continue
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

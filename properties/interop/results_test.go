package interop

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The page is what the committed results say.
func TestPageIsFresh(t *testing.T) {
	r, err := Measured()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/interop.md")
	if err != nil || !bytes.Equal(page, r.Page()) {
		t.Errorf("docs/interop.md is stale (%v): run go generate ./properties/interop", err)
	}
}

// With the committed results the contract holds, and every check about
// resumption is among those that passed.
func TestCommittedResultsHold(t *testing.T) {
	r, err := Measured()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range r.Faults() {
		t.Error(fault)
	}
	if len(r.Suite) != 2 {
		t.Fatalf("%d sides of the suite, want server and client", len(r.Suite))
	}
	for _, s := range r.Suite {
		if s.Passed != s.Wanted || s.Wanted != len(Wanted(s.Side)) {
			t.Errorf("%s: %d of %d checks, the list has %d", s.Side, s.Passed, s.Wanted, len(Wanted(s.Side)))
		}
	}
}

// A result that is not sound, one that is missing, and one that changed are
// each noticed and named.
func TestUnsoundResultsAreNoticed(t *testing.T) {
	good, err := Measured()
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(do func(*Results)) Results {
		r := Results{slices.Clone(good.Suite), good.Baseline, slices.Clone(good.Clients), slices.Clone(good.Servers)}
		do(&r)
		return r
	}
	at := func(all []Said, peer, trial string) int {
		return slices.IndexFunc(all, func(s Said) bool { return s.Peer == peer && s.Trial == trial })
	}
	for name, tc := range map[string]struct {
		spoiled Results
		names   string
	}{
		"a step that came twice": {spoil(func(r *Results) {
			r.Clients[at(r.Clients, "TypeScript v1", "cuts")].Said = `slow: step 3 is "step 2"`
		}), "TypeScript v1, cuts"},
		"a client that was not tried": {spoil(func(r *Results) {
			i := at(r.Clients, "inspector CLI", "plain")
			r.Clients = slices.Delete(r.Clients, i, i+1)
		}), "inspector CLI, plain"},
		"a profile that loses": {spoil(func(r *Results) {
			r.Servers[at(r.Servers, "mcp-go", "profile-cut")].Said = "3 steps of 4"
		}), "server mcp-go, profile-cut"},
		"a check that failed": {spoil(func(r *Results) { r.Suite[0].Faults = []string{"suite, server: ping"} }), "suite, server: ping"},
	} {
		t.Run(name, func(t *testing.T) {
			if faults := strings.Join(tc.spoiled.Faults(), "\n"); !strings.Contains(faults, tc.names) {
				t.Errorf("faults %q, want %s named", faults, tc.names)
			}
			if changed := tc.spoiled.Changed(good); len(changed) == 0 {
				t.Error("nobody notices that it is not what is committed")
			}
		})
	}
	if changed := good.Changed(good); len(changed) != 0 {
		t.Errorf("the same results are said to have changed: %v", changed)
	}
}

// The suite passes a check that was never made and one that it only warned of;
// we do not.
func TestJudgeOfTheSuite(t *testing.T) {
	all := slices.Clone(resumption["client"])
	every := func(status string) map[string][]string {
		m := map[string][]string{}
		for _, check := range all {
			m[check] = []string{status}
		}
		return m
	}
	for name, tc := range map[string]struct {
		statuses map[string][]string
		wanted   []string
		says     string // "" if nothing is wrong
	}{
		"all well":                 {every("SUCCESS"), all, ""},
		"only warned of":           {every("WARNING"), all, "is WARNING"},
		"failed":                   {every("FAILURE"), all, "is FAILURE"},
		"never made":               {map[string][]string{all[0]: {"SUCCESS"}}, all, "was not made"},
		"failed the second time":   {map[string][]string{all[0]: {"SUCCESS", "FAILURE"}}, all[:1], "SUCCESS, FAILURE"},
		"not wanted":               {every("SUCCESS"), all[:2], "not in the list"},
		"resumption is not wanted": {map[string][]string{all[0]: {"SUCCESS"}}, all[:1], "must be wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := judge("client", tc.statuses, tc.wanted)
			if faults := strings.Join(s.Faults, "\n"); (faults == "") != (tc.says == "") || !strings.Contains(faults, tc.says) {
				t.Errorf("faults %q, want %q in them", faults, tc.says)
			}
			if (s.Passed == s.Wanted && len(s.Faults) == 0) != (tc.says == "") {
				t.Errorf("%d of %d with faults %v", s.Passed, s.Wanted, s.Faults)
			}
		})
	}
}

// What the suite writes is read by scenario and check.
func TestReadSuite(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "server-server-sse-polling-2026-01-02T03-04-05-678Z")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `[{"id": "outgoing-request", "status": "INFO"}, {"id": "server-sse-priming-event", "status": "SUCCESS"}]`
	if err := os.WriteFile(filepath.Join(at, "checks.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	checks, err := Checks("server", dir)
	if want := []string{"server-sse-polling server-sse-priming-event"}; err != nil || !slices.Equal(checks, want) {
		t.Errorf("%q, %v; want %q", checks, err, want)
	}
	if _, err := ReadSuite("server", t.TempDir(), nil); err == nil {
		t.Error("a suite that said nothing is taken for one")
	}
}

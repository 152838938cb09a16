package model

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ledgerScopeOf returns the scope that a manifest entry's constants describe.
func ledgerScopeOf(t *testing.T, entry manifestEntry) LedgerScope {
	t.Helper()
	number := func(name string) uint8 {
		n, ok := entry.Constants[name].(float64)
		if !ok {
			t.Fatalf("%s: the manifest has no constant %s", entry.Name, name)
		}
		return uint8(n)
	}
	sets := map[any]uint8{"OneKey": 1, "TwoKeys": 2, "OneInstance": 1, "TwoInstances": 2}
	return LedgerScope{
		Keys: sets[entry.Constants["Keys"]], Instances: sets[entry.Constants["Instances"]],
		Epochs: number("MaxEpoch"), Sends: number("MaxSends"), Crashes: number("MaxCrashes"), Names: number("MaxNames"), Times: number("MaxTime"),
		Shared: entry.Constants["Shared"] == "TRUE", NoResend: entry.Constants["NoResend"] == "TRUE",
	}
}

func ledgerEntries(t *testing.T) []manifestEntry {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "tla", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	return manifestEntries(t, text)
}

// Every scope of the ledger at which TLC found all rules to hold has as many
// states, edges and levels here: two descriptions of R28 by two hands.
func TestLedgerScopesEqualTLC(t *testing.T) {
	compared := 0
	for _, entry := range ledgerEntries(t) {
		if entry.Module != "LedgerRules.tla" || entry.Expect != "ok" {
			continue
		}
		if testing.Short() && entry.Distinct > 20_000 {
			continue
		}
		compared++
		r := NewLedger(ledgerScopeOf(t, entry)).Explore()
		if r.Violated != "" {
			t.Errorf("%s: %s is violated: %v", entry.Name, r.Violated, r.Steps)
		}
		if r.States != entry.Distinct || r.Edges != entry.Edges || r.Depth != entry.Depth {
			t.Errorf("%s: states %d edges %d depth %d, TLC found %d, %d and %d", entry.Name,
				r.States, r.Edges, r.Depth, entry.Distinct, entry.Edges, entry.Depth)
		}
	}
	if compared < 3 {
		t.Errorf("%d scopes were compared", compared)
	}
}

// ledgerMutants are the known ways to get the ledger wrong, by the names that
// they have in tla/manifest.json.
var ledgerMutants = map[string]func(*LedgerRules){
	"query-unsealed":     func(r *LedgerRules) { r.AtQuery = asItIs },
	"refusal-unsealed":   func(r *LedgerRules) { r.AtRefusal = asItIs },
	"start-not-durable":  func(r *LedgerRules) { r.AtStart = func(LedgerEntry) LedgerEntry { return LedgerEntry{} } },
	"horizon-falls":      func(r *LedgerRules) { r.MayRaise = func(to, from uint8) bool { return to != from } },
	"horizon-in-memory":  func(r *LedgerRules) { r.HorizonAfterCrash = func(uint8) uint8 { return 1 } },
	"wall-clock":         func(r *LedgerRules) { r.Forgettable = func(*LedgerState, uint8, uint8) bool { return true } },
	"below-horizon-runs": func(r *LedgerRules) { r.Below = func(*LedgerState, uint8, uint8) bool { return false } },
	"foreign-runs":       func(r *LedgerRules) { r.Foreign = func(*LedgerState, uint8, uint8) bool { return false } },
	"name-kept":          func(r *LedgerRules) { r.NameAfterLoss = func(name, _ uint8) uint8 { return name } },
	"start-is-done": func(r *LedgerRules) {
		r.OfStart = func(*LedgerState, LedgerEntry) LedgerAnswer { return AnswerExecuted }
	},
	"refusal-proves": func(r *LedgerRules) { r.RefusalProves = func(*Ledger, *LedgerState, uint8) bool { return true } },
	"opens-open":     func(r *LedgerRules) { r.Opening = KeeperOpen },
	"undeclared-resend": func(r *LedgerRules) {
		r.MayDouble = func(_ *Ledger, s *LedgerState, k uint8) bool { return !s.Doubled[k] }
	},
	"dead-start-not-done": func(r *LedgerRules) {
		r.OfStart = func(s *LedgerState, e LedgerEntry) LedgerAnswer {
			if s.Gen[e.I-1] == e.G {
				return AnswerRunning
			}
			return AnswerSealed
		}
	},
	"dead-start-again": func(r *LedgerRules) {
		r.Seen = func(s *LedgerState, _ uint8, e LedgerEntry) LedgerEntry {
			if e.St == EntryStarted && s.Gen[e.I-1] != e.G {
				return LedgerEntry{}
			}
			return e
		}
	},
	"starts-not-shared": func(r *LedgerRules) {
		r.Seen = func(s *LedgerState, i uint8, e LedgerEntry) LedgerEntry {
			if e.St == EntryStarted && e.I != i+1 {
				return LedgerEntry{}
			}
			return e
		}
	},
}

func asItIs(e LedgerEntry) LedgerEntry { return e }

// The exploration finds each of them in the scope where TLC found it, by the
// same invariant, and by a path as short.
func TestLedgerModelMutants(t *testing.T) {
	traces := ledgerTraces(t)
	scopes := map[string]manifestEntry{}
	for _, entry := range ledgerEntries(t) {
		if name, ok := strings.CutPrefix(entry.Name, "bug-ledger-"); ok {
			scopes[name] = entry
		}
	}
	for name, apply := range ledgerMutants {
		entry, ok := scopes[name]
		if !ok {
			t.Errorf("the manifest knows no bug-ledger-%s", name)
			continue
		}
		m := NewLedger(ledgerScopeOf(t, entry))
		apply(&m.Rules)
		if r := m.Explore(entry.Expect); r.Violated != entry.Expect || len(r.Steps)+1 != traces[name] {
			t.Errorf("%s: %q is violated behind %d states, TLC finds %s violated behind %d: %v",
				name, r.Violated, len(r.Steps)+1, entry.Expect, traces[name], r.Steps)
		}
	}
}

// ledgerTraces reads how many states TLC's shortest paths to the mutants have.
func ledgerTraces(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "tla", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Models []struct {
			Name  string
			Trace int
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	traces := map[string]int{}
	for _, m := range manifest.Models {
		if name, ok := strings.CutPrefix(m.Name, "bug-ledger-"); ok {
			traces[name] = m.Trace
		}
	}
	return traces
}

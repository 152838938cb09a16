package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// formulaName is a formula that TLC is asked for: a rule's, an occasion, the
// types, a refinement, or that a trace is accepted.
var formulaName = regexp.MustCompile(`(?m)^((?:R\d+b?|NEVER)_\w+|TypeOK|Refines\w+|EveryStepIsAllowed) *==`)

// inherits says for modules that check formulas of a module that they extend,
// and break only those that their own mutants are about, whose mutants break
// the others.
var inherits = map[string]string{
	"Contract_bugs.tla": "MCResumption_bugs.tla", // the rules that do not notice
	"Deployment.tla":    "MCResumption_bugs.tla",
	"HostileServer.tla": "MCResumption_bugs.tla",
}

// A survey is what modules and configurations say.
type survey struct {
	parts    map[string][]string // module → itself and all that it extends
	checks   map[string][]string // model → formulas
	formulas []string            // in a fixed order
	definers map[string][]string // formula → modules that define it
}

func surveyed(t *testing.T, m *Manifest) survey {
	t.Helper()
	s := survey{parts: map[string][]string{}, checks: map[string][]string{}, definers: map[string][]string{}}
	for _, model := range m.Models {
		config, err := ReadConfig(m.dir, model.Module, model.Config)
		if err != nil {
			t.Fatal(err)
		}
		s.checks[model.Name] = config.Checked
		if s.parts[model.Module] == nil {
			if s.parts[model.Module], err = extended(m.dir, model.Module); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(m.dir, "*.tla"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		module := filepath.Base(file)
		if strings.HasPrefix(module, "Graph") {
			continue // exports: what they write is walked, see tla/pack
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range formulaName.FindAllSubmatch(text, -1) {
			formula := string(found[1])
			if s.definers[formula] == nil {
				s.formulas = append(s.formulas, formula)
			}
			s.definers[formula] = append(s.definers[formula], module)
		}
	}
	return s
}

// gaps lists what is said and never checked, or checked and never broken, by
// these models.
func (s survey) gaps(models []Model) (missing []string) {
	lacks := func(format string, args ...any) { missing = append(missing, fmt.Sprintf(format, args...)) }
	some := func(holds func(Model) bool) bool { return slices.ContainsFunc(models, holds) }
	has := func(model Model, module string) bool { return slices.Contains(s.parts[model.Module], module) }

	for _, formula := range s.formulas {
		for _, module := range s.definers[formula] {
			if !some(func(b Model) bool { return b.Expect == formula && has(b, module) }) {
				lacks("%s: no model is expected to violate %s", module, formula)
			}
			if !strings.HasPrefix(formula, "NEVER_") &&
				!some(func(o Model) bool {
					return o.Expect == "ok" && has(o, module) && slices.Contains(s.checks[o.Name], formula)
				}) {
				lacks("%s: no model that holds checks %s", module, formula)
			}
		}
	}
	for _, model := range models {
		for _, formula := range s.checks[model.Name] {
			if !slices.ContainsFunc(s.definers[formula], func(d string) bool { return has(model, d) }) {
				lacks("%s: %s is no formula that this check knows of", model.Name, formula)
			}
			if model.Expect != "ok" || some(func(b Model) bool { return b.Expect == formula && has(b, model.Module) }) {
				continue
			}
			if other := inherits[model.Module]; !some(func(b Model) bool { return b.Expect == formula && b.Module == other }) {
				lacks("%s: no mutant of %s, or of those that it inherits, breaks %s", model.Name, model.Module, formula)
			}
		}
	}
	return missing
}

// Every invariant, action property, temporal formula and occasion of every
// module is checked where it must hold and broken where it must not.
func TestEveryFormulaIsCheckedAndCanBreak(t *testing.T) {
	m := load(t)
	for _, line := range surveyed(t, m).gaps(m.Models) {
		t.Error(line)
	}
	// A mutant says what it is by its name: a rule's, or the types'.
	for _, model := range m.Models {
		if strings.HasPrefix(model.Name, "type-") != (model.Expect == "TypeOK") {
			t.Errorf("%s breaks %s", model.Name, model.Expect)
		}
	}
}

// Take away the model that breaks or checks a formula, and the formula is
// named.
func TestAFormulaThatNothingBreaksIsNoticed(t *testing.T) {
	m := load(t)
	s := surveyed(t, m)
	for without, want := range map[string]string{
		"bug-contract-alone-two-epochs":           "Contract.tla: no model is expected to violate R22_OneCurrentEpoch",
		"bug-hostile-client-attempts-restart":     "HostileClient.tla: no model is expected to violate R10_AttemptsNeverFall",
		"bug-hostile-client-window-unbounded":     "hostile-client: no mutant of HostileClient.tla, or of those that it inherits, breaks R3_Bounded",
		"bug-live-no-limit-livelock":              "LiveResumption.tla: no model is expected to violate R26_NoReconnectLivelock",
		"reach-life-lives-to-the-bound":           "Life.tla: no model is expected to violate NEVER_LivesToTheBound",
		"type-ledger-no-horizon":                  "LedgerRules.tla: no model is expected to violate TypeOK",
		"record-lose":                             "Record.tla: no model that holds checks R20_OnlyTheEventInHandLost",
		"bug-hostile-server-strict-resumes":       "HostileServer.tla: no model is expected to violate R24_StrictAbandons",
		"bug-record-attempt-not-by-lease":         "Record.tla: no model is expected to violate R30_HolderNotLockedOut",
		"bug-ledger-horizon-falls":                "LedgerRules.tla: no model is expected to violate R28_HorizonNeverFalls",
		"bug-life-work-attends":                   "Life.tla: no model is expected to violate R9b_NoWorkForNobody",
		"bug-window-window-unbounded":             "WindowRules.tla: no model is expected to violate R3_Bounded",
		"reach-hostile-server-torn-with-hand":     "HostileServer.tla: no model is expected to violate NEVER_TornWithHand",
		"reach-contract-resolved-though-executed": "Contract.tla: no model is expected to violate NEVER_ResolvedThoughExecuted",
	} {
		t.Run(without, func(t *testing.T) {
			others := slices.DeleteFunc(slices.Clone(m.Models), func(model Model) bool { return model.Name == without })
			if len(others) != len(m.Models)-1 {
				t.Fatalf("there is no model %s", without)
			}
			missing := s.gaps(others)
			if !slices.Contains(missing, want) {
				t.Errorf("not noticed: %s; noticed: %v", want, missing)
			}
		})
	}
}

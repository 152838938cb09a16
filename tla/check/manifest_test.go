package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const dir = ".."

func load(t *testing.T) *Manifest {
	t.Helper()
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The evidence is about the modules that are here, not about earlier ones.
func TestManifestIsOfTheseModules(t *testing.T) {
	m := load(t)
	for _, model := range m.Models {
		files, err := m.stale(model)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) > 0 {
			t.Errorf("tla/manifest.json: TLC last checked %q with another %s; run\n\t%s", model.Name, strings.Join(files, ", "), RefreshCommand)
		}
	}
}

// Given a module that differs from the one that TLC saw by one byte, exactly
// the models that extend it are stale.
func TestAnyChangeOfAModuleIsNoticed(t *testing.T) {
	copied := t.TempDir()
	names, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, filepath.Base(name)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Load(copied)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file  string
		small bool // the model "small" depends on it
		bug   bool // the model "bug-tag-unchecked" does
	}{
		{"Resumption.tla", true, true},
		{"ResumptionRules.tla", true, true},
		{"MCResumption_bugs.tla", false, true},
		{"MCResumptionSmall.cfg", true, false},
		{"MCResumption_bug_tag_unchecked.cfg", false, true},
	} {
		path := filepath.Join(copied, c.file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append([]byte("\n"), text...), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, model := range m.Models {
			if model.Name != "small" && model.Name != "bug-tag-unchecked" {
				continue
			}
			files, err := m.stale(model)
			if err != nil {
				t.Fatal(err)
			}
			noticed := slices.Contains(files, c.file)
			if model.Name == "small" && noticed != c.small || model.Name == "bug-tag-unchecked" && noticed != c.bug {
				t.Errorf("%s changed: model %q stale: %v", c.file, model.Name, noticed)
			}
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every file is somebody's, every model is whole, and no name occurs twice.
func TestEveryFileIsInTheManifest(t *testing.T) {
	m := load(t)
	used, names := map[string]bool{}, map[string]bool{}
	for _, model := range m.Models {
		if names[model.Name] || model.Shows == "" || model.Expect == "" {
			t.Errorf("model %q: its name must be unique, and it must say what it expects and shows", model.Name)
		}
		names[model.Name] = true
		if used[model.Config] {
			t.Errorf("%s belongs to two models", model.Config)
		}
		for file := range model.Inputs {
			used[file] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "Graph") {
			continue // what makes graphs is pinned in their headers: tla/pack sees to it
		}
		if ext := filepath.Ext(name); (ext == ".tla" || ext == ".cfg") && !used[name] {
			t.Errorf("tla/%s is of no model in tla/manifest.json", name)
		}
	}
}

// The constants that readers take from the manifest are those that TLC used.
func TestConstantsAreThoseOfTheConfiguration(t *testing.T) {
	for _, model := range load(t).Models {
		config, err := ReadConfig(dir, model.Module, model.Config)
		if err != nil {
			t.Fatal(err)
		}
		names, err := declared(dir, model.Module)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 || len(model.Constants) != len(names) {
			t.Errorf("%s: the manifest has the constants %v, %s declares %v", model.Name, model.Constants, model.Module, names)
		}
		for _, name := range names {
			want, got := config.Constants[name], model.Constants[name]
			if f, ok := got.(float64); ok { // what JSON makes of a number
				got = int(f)
			}
			if want == nil || want != got {
				t.Errorf("%s: %s is %v in %s and %v in the manifest", model.Name, name, want, model.Config, got)
			}
		}
	}
}

var ruleName = regexp.MustCompile(`(?m)^(R\d+_\w+|NEVER_\w+) +==`)

// Always and sometimes: each rule is checked by the models that hold, and each
// is broken by a mutant; each occasion is reached.
func TestEveryRuleIsCheckedAndCanBreak(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dir, "ResumptionRules.tla"))
	if err != nil {
		t.Fatal(err)
	}
	m := load(t)
	broken := map[string]string{}
	for _, model := range m.Models {
		config, err := ReadConfig(dir, model.Module, model.Config)
		if err != nil {
			t.Fatal(err)
		}
		if model.Expect != "ok" {
			broken[model.Expect] = model.Name
			if !slices.Equal(config.Checked, []string{model.Expect}) {
				t.Errorf("%s expects %s and checks %v", model.Name, model.Expect, config.Checked)
			}
		}
		if strings.HasPrefix(model.Name, "bug-") != (model.Expect != "ok" && len(config.Replaced) > 0 && strings.HasPrefix(model.Expect, "R")) {
			t.Errorf("%s: a mutant replaces an operator and breaks a rule; this one replaces %v and breaks %q", model.Name, config.Replaced, model.Expect)
		}
	}
	found := ruleName.FindAllSubmatch(text, -1)
	if len(found) < 40 {
		t.Fatalf("only %d rules found in ResumptionRules.tla", len(found))
	}
	for _, match := range found {
		rule := string(match[1])
		if broken[rule] == "" {
			t.Errorf("no model is expected to violate %s", rule)
		}
		if strings.HasPrefix(rule, "NEVER_") {
			continue
		}
		for _, name := range []string{"MCResumption.cfg", "MCResumptionSmall.cfg", "MCResumptionStream.cfg", "MCResumptionCalls.cfg"} {
			config, err := ReadConfig(dir, "MCResumption.tla", name)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(config.Checked, rule) {
				t.Errorf("%s does not check %s", name, rule)
			}
		}
	}
}

// What the models that hold have pinned is a search, and each action of
// Resumption took part.
func TestEveryActionFires(t *testing.T) {
	fired := map[string]int{}
	shared := 0
	for _, model := range load(t).Models {
		if model.Expect != "ok" {
			if model.Trace < 2 {
				t.Errorf("%s: a counterexample of %d states", model.Name, model.Trace)
			}
			continue
		}
		if model.Distinct < 1000 || model.Edges < model.Distinct-1 || model.Depth < 10 {
			t.Errorf("%s: %d states, %d edges, depth %d: that is no search", model.Name, model.Distinct, model.Edges, model.Depth)
		}
		if !model.Shared || !strings.HasPrefix(model.Module, "MCResumption") {
			continue
		}
		shared++
		for name, edges := range model.Actions {
			fired[name] += edges
		}
		if total(model.Actions) != model.Edges {
			t.Errorf("%s: %d edges, of which the actions have %d", model.Name, model.Edges, total(model.Actions))
		}
	}
	if shared == 0 {
		t.Fatal("no model is shared")
	}
	actions := []string{
		"OpenSession", "Emit", "Execute", "Finish", "EvictOldest", "EndSession", "ServeResume", "ServeLate", "Other", "Send", "EndView",
		"Open", "ReadOpened", "Resume", "ReadAccepted", "ReadComplete", "ReadRefused", "ReadEvent", "ReadEnd", "Commit", "Fence",
		"Call", "CallBroken", "PostRefused", "ResolveUnknown", "Crash", "Cut",
	}
	for _, name := range actions {
		if fired[name] == 0 {
			t.Errorf("action %s never fires", name)
		}
	}
	for name := range fired {
		if !slices.Contains(actions, name) {
			t.Errorf("the manifest counts an action %s that this test does not know", name)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The same for WindowRules, whose rules have names of their own: each is
// checked where it must hold, each is broken by a mutant of Window, and each
// occasion is reached.
func TestEveryWindowRuleIsCheckedAndCanBreak(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(dir, "WindowRules.tla"))
	if err != nil {
		t.Fatal(err)
	}
	holds, err := ReadConfig(dir, "MCWindow.tla", "MCWindow.cfg")
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]bool{}
	for _, model := range load(t).Models {
		if strings.HasPrefix(model.Config, "MCWindow_") {
			broken[model.Expect] = true
		}
	}
	found := ruleName.FindAllSubmatch(text, -1)
	if len(found) < 35 {
		t.Fatalf("only %d rules found in WindowRules.tla", len(found))
	}
	for _, match := range found {
		rule := string(match[1])
		if !broken[rule] {
			t.Errorf("no model of Window is expected to violate %s", rule)
		}
		if !strings.HasPrefix(rule, "NEVER_") && !slices.Contains(holds.Checked, rule) {
			t.Errorf("MCWindow.cfg does not check %s", rule)
		}
	}
}

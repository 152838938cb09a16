package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/reattach/model"
)

// ofModel lists the mutants of the model's rules.
func ofModel() (mutants []Mutant) {
	for _, m := range model.Mutants() {
		mutants = append(mutants, Mutant{
			Name: "model/" + m.Name, Rules: m.Rule, Story: m.Story, Kind: Model, Where: "model, scope " + m.Scope,
		})
	}
	return mutants
}

// ruleOfFormula finds the rule in the name of a formula, such as
// R4_WireStrictlyAfter.
var ruleOfFormula = regexp.MustCompile(`^(R[0-9]+b?)_`)

// ofModules lists the mutants of the TLA+ modules: the configurations of the
// manifest that TLC must find to violate a rule.
func ofModules(root string) (mutants []Mutant, err error) {
	configs, err := bugs(root)
	if err != nil {
		return nil, err
	}
	for _, c := range configs {
		rule := ""
		if found := ruleOfFormula.FindStringSubmatch(c.Expect); found != nil {
			rule = found[1]
		}
		mutants = append(mutants, Mutant{
			Name: "tla/" + strings.TrimPrefix(c.Name, "bug-"), Rules: rule, Story: c.Shows, Kind: Spec, Where: "tla/" + c.Config,
		})
	}
	return mutants, nil
}

// bug is what is read of a configuration of the manifest.
type bug struct {
	Name, Shows, Config, Expect string
	Trace                       int
}

// bugs reads the configurations of tla/manifest.json that are mutants.
func bugs(root string) (bugs []bug, err error) {
	text, err := os.ReadFile(filepath.Join(root, "tla", "manifest.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct{ Models []bug }
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, fmt.Errorf("tla/manifest.json: %w", err)
	}
	for _, m := range manifest.Models {
		if strings.HasPrefix(m.Name, "bug-") {
			bugs = append(bugs, m)
		}
	}
	return bugs, nil
}

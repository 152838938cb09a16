package evidence

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/reattach/model"
	"example.com/reattach/properties/mutants"
	"example.com/reattach/spec"
)

// A Rule is what stands behind one rule of the contract.
type Rule struct {
	ID         string
	Functions  []string // of the model: the fields of model.Rules that state it
	Invariants []string // of the model: what an exploration asks about it
	Formulas   []Named  // of the TLA+ modules, by module
	Tests      []Named  // that cite it, by package below the module
	Mutants    []Named  // that break it, by kind: code, model, spec
}

// Named is a place and the names that are to be found there, sorted.
type Named struct {
	Where string
	Names []string
}

// Count returns how many names there are in all places.
func Count(all []Named) (n int) {
	for _, at := range all {
		n += len(at.Names)
	}
	return n
}

// Collect returns the evidence for every rule, in the order of the contract.
// root is the module's directory.
func Collect(root string) ([]Rule, error) {
	c := &collection{rules: map[string]*Rule{}}
	for _, r := range spec.Rules() {
		c.rules[r.ID] = &Rule{ID: r.ID}
	}
	for _, inv := range model.Invariants() {
		r := c.rules[inv.Rule]
		r.Invariants = append(r.Invariants, inv.Name)
	}
	for _, read := range []func(string) error{c.readModel, c.readModules, c.readTests, c.readMutants} {
		if err := read(root); err != nil {
			return nil, err
		}
	}
	var all []Rule
	for _, r := range spec.Rules() {
		all = append(all, *c.rules[r.ID])
	}
	return all, nil
}

// Of returns the evidence for one rule.
func Of(all []Rule, id string) Rule {
	if i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id }); i >= 0 {
		return all[i]
	}
	return Rule{ID: id}
}

// A collection is evidence in the making.
type collection struct {
	rules map[string]*Rule
}

// add puts a name where it belongs, once, so that all stays sorted.
func add(all *[]Named, where, name string) {
	i, found := slices.BinarySearchFunc(*all, where, func(n Named, where string) int { return cmp.Compare(n.Where, where) })
	if !found {
		*all = slices.Insert(*all, i, Named{Where: where})
	}
	names := &(*all)[i].Names
	if j, found := slices.BinarySearch(*names, name); !found {
		*names = slices.Insert(*names, j, name)
	}
}

// formula finds the definition of a formula that is named for its rule.
var formula = regexp.MustCompile(`(?m)^((R[0-9]+b?)_\w+) ==`)

// readModules reads the formulas of the TLA+ modules.
func (c *collection) readModules(root string) error {
	files, err := filepath.Glob(filepath.Join(root, "tla", "*.tla"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no modules in %s/tla: %v", root, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		module := strings.TrimSuffix(filepath.Base(file), ".tla")
		for _, found := range formula.FindAllStringSubmatch(string(text), -1) {
			r, ok := c.rules[found[2]]
			if !ok {
				return fmt.Errorf("tla/%s.tla: %s is named for a rule that there is not", module, found[1])
			}
			add(&r.Formulas, module, found[1])
		}
	}
	return nil
}

// readMutants asks the catalogue.
func (c *collection) readMutants(root string) error {
	all, err := mutants.Catalogue(root)
	if err != nil {
		return err
	}
	for _, m := range all {
		for id := range strings.FieldsSeq(m.Rules) {
			r, ok := c.rules[id]
			if !ok {
				return fmt.Errorf("mutant %s breaks %s, which is no rule", m.Name, id)
			}
			_, name, qualified := strings.Cut(m.Name, "/")
			if !qualified {
				name = m.Name
			}
			add(&r.Mutants, string(m.Kind), name)
		}
	}
	return nil
}

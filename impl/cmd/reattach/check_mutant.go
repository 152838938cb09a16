package main

import (
	"context"
	"fmt"
	"io"

	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// Formats in which a counterexample is shown.
const (
	formatText    = "text"
	formatMermaid = "mermaid"
)

// A finding is a mutant with what the exploration of a scope said of it.
type finding struct {
	mutant model.Mutant
	report model.Report
}

// explore explores a scope with the rules of a mutant.
func explore(ctx context.Context, mutant model.Mutant, scope model.Config, progress func(model.Progress)) (finding, error) {
	rules := model.TheRules()
	mutant.Apply(&rules)
	m, err := model.New(scope, rules)
	if err != nil {
		return finding{}, err
	}
	report, err := m.Explore(ctx, progress)
	return finding{mutant, report}, err
}

// mutantsText lists the mutants.
func mutantsText(w io.Writer) {
	for _, m := range model.Mutants() {
		fmt.Fprintf(w, "%-22s %-4s %-8s %s\n", m.Name, m.Rule, m.Scope, m.Story)
	}
}

// runMutant shows that a mutant is found, and how. That it is found is what is
// expected of it.
func (c *checking) runMutant(ctx context.Context, mutant model.Mutant, scope model.Config, format string) int {
	c.progress.begin("%s: %s", scope.Name, scopeText(scope))
	f, err := explore(ctx, mutant, scope, func(p model.Progress) {
		c.progress.detail("%s: depth %d, %d states, %d edges", scope.Name, p.Depth, p.States, p.Edges)
	})
	c.progress.clear()
	if err != nil {
		c.progress.line("reattach check: scope %s: %v", scope.Name, err)
		return exitFailed
	}
	if f.report.Counterexample == nil {
		fmt.Fprintf(c.out, "%s SURVIVES: no rule is broken in the %d states of scope %s (its own is %s).\n",
			mutant.Name, f.report.States, scope.Name, mutant.Scope)
		return exitFailed
	}
	if format == formatMermaid {
		fmt.Fprint(c.out, mermaid(f.report.Counterexample))
		return exitOK
	}
	f.print(c.out, c.verbose)
	return exitOK
}

// print tells what is wrong with the mutant and how that comes out.
func (f finding) print(w io.Writer, verbose bool) {
	found := f.report.Counterexample
	fmt.Fprintf(w, "%s\n\n", f.mutant.Name)
	fmt.Fprint(w, wrapped("  wrong     ", ruleName(f.mutant.Rule)))
	fmt.Fprint(w, wrapped("  believes  ", f.mutant.Story))
	fmt.Fprint(w, wrapped("  found     ", fmt.Sprintf("in scope %s, after %d states; a shortest path has %d steps",
		f.report.Scope.Name, f.report.States, len(found.Steps))))
	fmt.Fprintf(w, "\n%s\n", storyText(found))
	fmt.Fprint(w, wrapped("  VIOLATED  ", found.Rule+" "+found.Name))
	fmt.Fprint(w, wrapped("            ", "not so: "+found.Says))
	if verbose {
		fmt.Fprintf(w, "\n%v", found)
	}
}

// ruleName returns a rule's id and name.
func ruleName(id string) string {
	r, _ := spec.RuleOf(id)
	return id + " (" + r.Name + ")"
}

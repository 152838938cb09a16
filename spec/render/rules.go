package render

import (
	"fmt"
	"strings"

	"example.com/reattach/spec"
)

// Evidence is what stands behind a rule, for its page.
type Evidence struct {
	Formulas, Tests, Mutants int
	Items                    []string // one each: what, and where
}

// Rules returns the page of all rules, which command writes. It is told the
// evidence for each.
func Rules(command string, rules []spec.Rule, evidence func(spec.Rule) Evidence) string {
	var out strings.Builder
	out.WriteString(Generated(command) + "# Rules\n\n")
	Paragraph(&out, "What holds between a server and a client so that a dropped event stream is continued without an event twice, "+
		"without a silent loss, and without mixing two sessions. In doubt both sides fail loudly: a false resume is worse than a lost stream.")
	Paragraph(&out, "A rule keeps its id everywhere: in the tables, in TLA+, in the names of tests, in these pages. So one search for an id "+
		"shows everything about it. Rules up to R16 bind the server, those from R20 the client; the numbers between were never given.")
	Paragraph(&out, "The columns count what stands behind each: rows of the [tables](transitions.md) that cite it, formulas of the "+
		"[TLA+ modules](../tla/README.md) that are named for it, tests that name it, and mutants that break it, each of which is noticed. "+
		"Every row is driven to and fired on the real cores, and missed when it is deleted: `go test ./properties -run 'Row.*/ST01'`.")
	out.WriteString("| rule | name | what this version holds | rows | formulas | tests | mutants |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rules {
		e := evidence(r)
		fmt.Fprintf(&out, "| %s | %s | %s | %d | %d | %d | %d |\n", ruleLink(r.ID), r.Name, r.Holds, len(r.Citing()), e.Formulas, e.Tests, e.Mutants)
	}
	for _, r := range rules {
		out.WriteString("\n" + Rule(r, evidence(r)))
	}
	return out.String()
}

// Rule returns one rule under its heading: its sentence, where it comes from,
// what of it holds, what holds it, and how that is known.
func Rule(r spec.Rule, evidence Evidence) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\n", heading(r))
	Paragraph(&out, r.Text)
	item(&out, "Source: "+r.Source)
	item(&out, "Holds: "+r.Holds)
	if r.Where != "" {
		item(&out, "Held in: "+r.Where)
	}
	for _, t := range spec.Tables() {
		var ids []string
		for _, row := range r.Citing() {
			if own, ok := t.Row(row.ID); ok && own == row {
				ids = append(ids, row.ID)
			}
		}
		if len(ids) > 0 {
			item(&out, fmt.Sprintf("Rows of [%s](transitions.md#%s): %s", t.Machine, anchor(t.Machine), strings.Join(ids, " ")))
		}
	}
	for _, text := range evidence.Items {
		item(&out, text)
	}
	return out.String()
}

func heading(r spec.Rule) string { return r.ID + " " + r.Name }

// ruleLink links to a rule's heading; an id without a rule stays bare.
func ruleLink(id string) string {
	r, ok := spec.RuleOf(id)
	if !ok {
		return id
	}
	return fmt.Sprintf("[%s](rules.md#%s)", id, anchor(heading(r)))
}

package render

import (
	"fmt"
	"strings"

	"example.com/reattach/spec"
)

// Rules returns the page of all rules.
func Rules(rules []spec.Rule) string {
	var out strings.Builder
	out.WriteString(generated + "# Rules\n\n")
	paragraph(&out, "What holds between a server and a client so that a dropped event stream is continued without an event twice, "+
		"without a silent loss, and without mixing two sessions. In doubt both sides fail loudly: a false resume is worse than a lost stream.")
	paragraph(&out, "A rule keeps its id everywhere: in the tables, in TLA+, in the names of tests, in these pages. So one search for an id "+
		"shows everything about it. Rules up to R16 bind the server, those from R20 the client; the numbers between were never given.")
	out.WriteString("| rule | name | what this version holds | rows |\n|---|---|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&out, "| %s | %s | %s | %d |\n", ruleLink(r.ID), r.Name, r.Holds, len(r.Citing()))
	}
	for _, r := range rules {
		out.WriteString("\n" + Rule(r))
	}
	return out.String()
}

// Rule returns one rule under its heading: its sentence, where it comes from,
// what of it holds, and what holds it.
func Rule(r spec.Rule) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\n", heading(r))
	paragraph(&out, r.Text)
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

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"example.com/reattach/properties/evidence"
	"example.com/reattach/spec"
)

const rulesUsage = `Usage: reattach rules [flags]

Prints the rules of the contract: what each says, where it comes from, how much
of it this version holds, the rows of the transition tables that cite it, and
what else stands behind it: functions and invariants of the model, formulas of
the TLA+ modules, tests that name it, and mutants that break it.
`

func runRules(_ context.Context, args []string, out, diag io.Writer) int {
	flags := newFlags("rules", rulesUsage, diag)
	id := flags.String("id", "", "print only the rule with this `id`, for example R4")
	if code, done := parse(flags, args); done {
		return code
	}
	rules, evidenceOf := spec.Rules(), known()
	if *id != "" {
		r, ok := spec.RuleOf(*id)
		if !ok {
			return misused(flags, "no rule is called %q; reattach rules lists them all", *id)
		}
		rules = []spec.Rule{r}
	}
	for i, r := range rules {
		if i > 0 {
			fmt.Fprintln(out)
		}
		printRule(out, r, evidence.Of(evidenceOf, r.ID))
	}
	return exitOK
}

func printRule(w io.Writer, r spec.Rule, e evidence.Rule) {
	fmt.Fprintf(w, "%s %s\n%s", r.ID, r.Name, wrapped("  ", r.Text))
	var rows []string
	for _, row := range r.Citing() {
		rows = append(rows, row.ID)
	}
	lines := []proof{
		{"source", r.Source},
		{"holds", r.Holds},
		{"where", r.Where},
		{"rows", strings.Join(rows, " ")},
	}
	for _, line := range append(lines, proofs(e, func(name string) string { return name }, 0)...) {
		if line.text != "" {
			fmt.Fprint(w, wrapped(fmt.Sprintf("  %-11s", line.label), line.text))
		}
	}
}

// wrapped returns text in lines of at most 100 columns, the first one after
// prefix and the others as far to the right.
func wrapped(prefix, text string) string {
	const width = 100
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			b.WriteString(prefix)
			column = len(prefix)
		case column+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", len(prefix)))
			column = len(prefix)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}

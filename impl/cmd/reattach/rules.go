package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"example.com/reattach/spec"
)

const rulesUsage = `Usage: reattach rules [flags]

Prints the rules of the contract: what each says, where it comes from, how much
of it this version holds, and the rows of the transition tables that cite it.
`

func runRules(_ context.Context, args []string, out, diag io.Writer) int {
	flags := newFlags("rules", rulesUsage, diag)
	id := flags.String("id", "", "print only the rule with this `id`, for example R4")
	if code, done := parse(flags, args); done {
		return code
	}
	rules := spec.Rules()
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
		printRule(out, r)
	}
	return exitOK
}

func printRule(w io.Writer, r spec.Rule) {
	fmt.Fprintf(w, "%s %s\n%s", r.ID, r.Name, wrapped("  ", r.Text))
	var rows []string
	for _, row := range r.Citing() {
		rows = append(rows, row.ID)
	}
	for _, line := range [][2]string{
		{"source", r.Source},
		{"holds", r.Holds},
		{"where", r.Where},
		{"rows", strings.Join(rows, " ")},
	} {
		if line[1] != "" {
			fmt.Fprint(w, wrapped(fmt.Sprintf("  %-8s", line[0]), line[1]))
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

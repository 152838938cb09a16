package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/reattach/model"
)

const checkUsage = `Usage: reattach check [flags]

Explores the reference model: every state that a server, a client and the
network between them can reach within a scope, and every step between two of
them. Each rule is asked of each; a shortest path to a violation is printed if
there is one. Witnesses are steps that must be reachable, so that a rule cannot
hold because nothing happens.

With --mutant one rule is replaced by a known mistake, and the shortest path to
a violation is told, in sentences or as a sequence diagram for Mermaid.

Exit status: 0 if every rule holds and every scope has its witnesses; 1 if not;
2 for a mistake in the arguments. With --mutant a violation is what is expected:
0 if it is found, 1 if the mutant survives its scope.
`

func runCheck(ctx context.Context, args []string, out, diag io.Writer) int {
	flags := newFlags("check", checkUsage, diag)
	name := flags.String("scope", "", "explore only the scope of this `name`")
	list := flags.Bool("list", false, "list the scopes, and explore none")
	verbose := flags.Bool("verbose", false, "print every witness and every level; with --mutant, what each step changed")
	mutant := flags.String("mutant", "", "plant the mutant of this `name`, and show how it is found; in its own scope unless --scope names another")
	mutants := flags.Bool("mutants", false, "list the mutants, with the rule that each gets wrong, its scope and what it believes")
	format := flags.String("format", formatText, "how a mutant is shown: "+formatText+" or "+formatMermaid)
	if code, done := parse(flags, args); done {
		return code
	}
	scopes := model.Scopes()
	if *list {
		for _, scope := range scopes {
			fmt.Fprintf(out, "%-8s %s\n", scope.Name, scopeText(scope))
		}
		return exitOK
	}
	if *mutants {
		mutantsText(out)
		return exitOK
	}
	if *format != formatText && *format != formatMermaid {
		return misused(flags, "no format is called %q; there are %s and %s", *format, formatText, formatMermaid)
	}
	if *format != formatText && *mutant == "" {
		return misused(flags, "only a mutant is shown as %s: add --mutant", *format)
	}
	planted, ok := model.MutantNamed(*mutant)
	if *mutant != "" && !ok {
		return misused(flags, "no mutant is called %q; reattach check --mutants shows the names", *mutant)
	}
	if *name == "" {
		*name = planted.Scope
	}
	if *name != "" {
		scope, ok := model.ScopeNamed(*name)
		if !ok {
			return misused(flags, "no scope is called %q; reattach check --list shows the names", *name)
		}
		scopes = []model.Config{scope}
	}
	c := checking{out: out, progress: newProgress(diag, *verbose), verbose: *verbose}
	if *mutant != "" {
		return c.runMutant(ctx, planted, scopes[0], *format)
	}
	return c.run(ctx, scopes)
}

func scopeText(c model.Config) string {
	text := fmt.Sprintf("sessions %d, streams %d, events %d, window %d, wire %d, calls %d",
		c.Sessions, c.Streams, c.Events, c.Window, c.Wire, c.Calls)
	switch c.Strangers {
	case model.Newcomer:
		text += ", strangers without a cursor"
	case model.Anybody:
		text += ", strangers with every cursor"
	}
	if c.Hostile {
		text += ", hostile server"
	}
	return text
}

// A checking explores scopes and reports them.
type checking struct {
	out      io.Writer
	progress *progress
	verbose  bool
}

func (c *checking) run(ctx context.Context, scopes []model.Config) int {
	start := time.Now()
	failed := 0
	rules := map[string]bool{}
	unreached := map[string]string{} // witnesses that no scope has reached, with what they say
	fmt.Fprintf(c.out, checkFormat, "scope", "states", "edges", "depth", "rules", "witnesses", "time", "result")
	for i, scope := range scopes {
		c.progress.begin("[%d/%d] %s: %s", i+1, len(scopes), scope.Name, scopeText(scope))
		report, err := model.Explore(ctx, scope, func(p model.Progress) {
			c.progress.detail("%s: depth %d, %d states, %d edges", scope.Name, p.Depth, p.States, p.Edges)
		})
		c.progress.clear()
		if err != nil {
			c.progress.line("reattach check: scope %s: %v", scope.Name, err)
			return exitFailed
		}
		if !c.report(report) {
			failed++
		}
		for _, w := range report.Witnesses {
			if i == 0 {
				unreached[w.Name] = w.Says
			}
			if w.Depth > 0 {
				delete(unreached, w.Name)
			}
		}
		for _, r := range report.Rules {
			rules[r] = true
		}
	}
	fmt.Fprintln(c.out)
	if failed > 0 {
		fmt.Fprintf(c.out, "VIOLATED in %d of %d scopes (%.1f s).\n", failed, len(scopes), time.Since(start).Seconds())
		return exitFailed
	}
	if len(scopes) > 1 && len(unreached) > 0 {
		// A rule about what never happens says nothing.
		for _, name := range slices.Sorted(maps.Keys(unreached)) {
			fmt.Fprintf(c.out, "NEVER REACHED in any scope: %s, %s\n", name, unreached[name])
		}
		return exitFailed
	}
	fmt.Fprintf(c.out, "Every invariant of %d rules holds in every state and on every step of %d scopes (%.1f s).\n",
		len(rules), len(scopes), time.Since(start).Seconds())
	return exitOK
}

const checkFormat = "%-8s %9s %10s %6s %6s %10s %8s  %s\n"

// report prints one row, and the counterexample if there is one.
func (c *checking) report(r model.Report) (holds bool) {
	reached := 0
	for _, w := range r.Witnesses {
		if w.Depth > 0 {
			reached++
		}
	}
	result := "holds"
	if r.Counterexample != nil {
		result = r.Counterexample.Rule + " VIOLATED"
	}
	n := func(i int) string { return fmt.Sprint(i) }
	fmt.Fprintf(c.out, checkFormat, r.Scope.Name, n(r.States), n(r.Edges), n(r.Depth), n(len(r.Rules)),
		fmt.Sprintf("%d/%d", reached, len(r.Witnesses)), fmt.Sprintf("%.1f s", r.Duration.Seconds()), result)
	if c.verbose {
		fmt.Fprint(c.out, wrapped("  rules: ", strings.Join(r.Rules, " ")))
		for _, w := range r.Witnesses {
			fmt.Fprintf(c.out, "  %-5s %-24s depth %2d  %s\n", w.Rule, w.Name, w.Depth, w.Says)
		}
	}
	if r.Counterexample != nil {
		fmt.Fprintln(c.out, r.Counterexample)
		return false
	}
	return true
}

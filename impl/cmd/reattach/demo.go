package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

const demoUsage = `Usage: reattach demo [flags]

Plays every incident over real sockets on loopback, first with a naive pair of
server and client, then with reattach's, and counts what was emitted, applied
and executed in a ledger that neither of them sees.

Exit status: 0 if every naive row shows the corruption that it exists to show
and reattach's rows show none; 1 if not; 2 for a mistake in the arguments.
`

func runDemo(ctx context.Context, args []string, out, diag io.Writer) int {
	return demo(ctx, args, out, diag, []pair{naivePair, reattachPair})
}

// demo is the subcommand for the pairs given; the last one makes the claim.
func demo(ctx context.Context, args []string, out, diag io.Writer, pairs []pair) int {
	flags := newFlags("demo", demoUsage, diag)
	asJSON := flags.Bool("json", false, "print an array of objects instead of a table; progress goes to stderr")
	only := flags.String("scenario", "", "play only the scenario of this `name`")
	list := flags.Bool("list", false, "list the scenarios and what they show, and play none")
	verbose := flags.Bool("verbose", false, "tell each story as it happens, on stderr")
	if code, done := parse(flags, args); done {
		return code
	}
	if *list {
		printList(out)
		return exitOK
	}
	played := scenarios()
	if *only != "" {
		sc, ok := scenarioNamed(*only)
		if !ok {
			return misused(flags, "no scenario is called %q; reattach demo --list shows the names", *only)
		}
		played = []*scenario{sc}
	}
	d := demonstration{pairs: pairs, out: out, progress: newProgress(diag, *verbose), asJSON: *asJSON}
	return d.run(ctx, played)
}

func printList(out io.Writer) {
	for _, sc := range scenarios() {
		fmt.Fprintf(out, "%s\n  happens       %s\n  shows         %s\n  naive server  %s\n  naive client  %s\n",
			sc.name, sc.story, sc.shows, sc.server, sc.client)
	}
}

// A demonstration plays scenarios and reports them.
type demonstration struct {
	pairs    []pair
	out      io.Writer
	progress *progress
	asJSON   bool
}

func (d *demonstration) run(ctx context.Context, played []*scenario) int {
	start := time.Now()
	results := []Result{} // an empty array, not null
	var complaints []string
	if !d.asJSON {
		printHeader(d.out)
	}
	for i, sc := range played {
		for j, p := range d.pairs {
			d.progress.begin("[%d/%d] %s, %s pair: %s", i*len(d.pairs)+j+1, len(played)*len(d.pairs), sc.name, p.name, sc.story)
			r, err := play(ctx, sc, p, d.progress.detail)
			d.progress.clear()
			if ctx.Err() != nil {
				d.progress.line("reattach demo: interrupted")
				return exitFailed
			}
			if err != nil {
				complaints = append(complaints, err.Error())
				continue
			}
			results = append(results, r)
			if !d.asJSON {
				printRow(d.out, r)
			}
		}
	}
	complaints = append(complaints, judge(results)...)
	if d.asJSON {
		e := json.NewEncoder(d.out)
		e.SetIndent("", "  ")
		if err := e.Encode(results); err != nil {
			complaints = append(complaints, err.Error())
		}
		for _, c := range complaints {
			d.progress.line("the claim did not hold: %s", c)
		}
	} else {
		printClosing(d.out, played, complaints)
		fmt.Fprintf(d.out, "(%.1f s)\n", time.Since(start).Seconds())
	}
	if len(complaints) > 0 {
		return exitFailed
	}
	return exitOK
}

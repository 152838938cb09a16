package main

import (
	"fmt"
	"io"
	"strings"
)

// A Result is what one scenario did to one pair: one object of the output of
// demo --json. Counts are of events unless they say otherwise; all come from
// the [ledger], the memory from the heap.
type Result struct {
	Scenario     string `json:"scenario"`
	Pair         string `json:"pair"`          // naive or reattach
	Emitted      int    `json:"emitted"`       // taken by a server
	Applied      int    `json:"applied"`       // by applications, repeats included
	Duplicates   int    `json:"duplicates"`    // applications of an event beyond its first
	LostSilently int    `json:"lost_silently"` // never applied, by an application that believes to have all
	Merged       int    `json:"merged"`        // applied in the log of another session
	Executions   int    `json:"executions"`    // the most that the tool ran for one call
	PeakBytes    int64  `json:"peak_bytes"`    // most heap of the process in use
	Told         string `json:"told"`          // what the application was told; where none is left, its tool
	Shows        string `json:"shows"`         // the corruption that the scenario exists to show
	Corrupt      bool   `json:"corrupt"`       // it happened

	keptBytes int64 // heap in use at the end, before anything is closed
}

// faults lists what is wrong with r if r is to be a sound pair's.
func (r Result) faults() []string {
	var bad []string
	complain := func(wrong bool, format string, args ...any) {
		if wrong {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	complain(r.Corrupt, "%s", r.Shows)
	complain(r.Duplicates != 0, "%d applied again", r.Duplicates)
	complain(r.LostSilently != 0, "%d lost silently", r.LostSilently)
	complain(r.Merged != 0, "%d merged", r.Merged)
	complain(r.Executions != 1, "%d executions of one call", r.Executions)
	complain(r.Applied == 0, "nothing was applied at all")
	return bad
}

// judge says what the results speak against the claim: that every corruption
// happens to the naive pair and none to ours. No complaint means that it holds.
func judge(results []Result) (complaints []string) {
	for _, r := range results {
		if r.Pair == naivePair.name {
			if !r.Corrupt {
				complaints = append(complaints, fmt.Sprintf("%s: the naive pair did not show that %s", r.Scenario, r.Shows))
			}
			continue
		}
		if bad := r.faults(); len(bad) > 0 {
			complaints = append(complaints, fmt.Sprintf("%s: the %s pair: %s", r.Scenario, r.Pair, strings.Join(bad, "; ")))
		}
	}
	return complaints
}

const rowFormat = "%-10s %-8s %7s %7s %5s %4s %6s %4s %6s %-7s %s\n"

// printHeader prints the head of the table for people.
func printHeader(w io.Writer) {
	fmt.Fprintf(w, rowFormat, "scenario", "pair", "emitted", "applied", "twice", "lost", "merged", "runs", "peak", "corrupt", "told")
}

// printRow prints a result as one line, at most 100 columns.
func printRow(w io.Writer, r Result) {
	corrupt := "no"
	if r.Corrupt {
		corrupt = "YES"
	}
	n := func(i int) string { return fmt.Sprint(i) }
	fmt.Fprintf(w, rowFormat, r.Scenario, r.Pair, n(r.Emitted), n(r.Applied), n(r.Duplicates), n(r.LostSilently),
		n(r.Merged), n(r.Executions), size(r.PeakBytes), corrupt, r.Told)
}

// printClosing prints what each scenario is about and whether the claim held.
func printClosing(w io.Writer, played []*scenario, complaints []string) {
	fmt.Fprintln(w)
	for _, sc := range played {
		fmt.Fprintf(w, "%-10s %s\n", sc.name, sc.shows)
	}
	fmt.Fprintln(w, "\ntwice: applied again; lost: missing and nobody was told; merged: in the log of another session;\n"+
		"runs: the most that the tool ran for one call; peak: heap of the whole process")
	fmt.Fprintln(w)
	if len(complaints) == 0 {
		what := "the corruption happened to the naive pair, and not to reattach"
		if len(played) > 1 {
			what = fmt.Sprintf("each of %d corruptions happened to the naive pair, and none to reattach", len(played))
		}
		fmt.Fprintf(w, "The claim held: %s:\n"+
			"no duplicate, no silent loss, no merged session, one execution a call.\n", what)
		return
	}
	fmt.Fprintln(w, "THE CLAIM DID NOT HOLD:")
	for _, c := range complaints {
		fmt.Fprintln(w, "  "+c)
	}
}

// size returns a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%d KB", n>>10)
	}
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"example.com/reattach/model"
)

const traceUsage = `Usage: reattach trace [flags] FILE

Replays the trace of a server's sessions on the reference model, and shows the
first step that the model does not allow, with what it would have allowed
instead. FILE is - for standard input. A trace is what session.Tracer writes;
docs/traces.md describes the format.

Exit status: 0 if every step is allowed; 1 if one is not; 2 for a mistake in the
arguments, and for a file that cannot be read or is no trace.
`

func runTrace(ctx context.Context, args []string, out, diag io.Writer) int {
	return judgeTrace(ctx, args, os.Stdin, out, diag)
}

// judgeTrace is runTrace with its input as a parameter.
func judgeTrace(ctx context.Context, args []string, in io.Reader, out, diag io.Writer) int {
	flags := newFlags("trace", traceUsage, diag)
	verbose := flags.Bool("verbose", false, "print how often each row fired or refused")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitMisuse
	case flags.NArg() != 1:
		return misused(flags, "wants one file, got %d", flags.NArg())
	}
	if name := flags.Arg(0); name != "-" {
		file, err := os.Open(name)
		if err != nil {
			fmt.Fprintf(diag, "reattach trace: %v\n", err)
			return exitMisuse
		}
		defer file.Close()
		in = file
	}
	report, err := model.AcceptTrace(ctx, in)
	var wrong *model.TraceError
	switch {
	case errors.As(err, &wrong):
		printWrong(out, wrong)
		return exitFailed
	case err != nil:
		fmt.Fprintf(diag, "reattach trace: %v\n", err)
		return exitMisuse
	}
	fmt.Fprintf(out, "Every step is allowed: %d of %d sessions, %d of them refusals, %d rows of the tables.\n",
		report.Lines, report.Sessions, report.Refusals, len(report.Rows))
	if *verbose {
		for _, row := range slices.Sorted(maps.Keys(report.Rows)) {
			fmt.Fprintf(out, "  %s %7d\n", row, report.Rows[row])
		}
	}
	return exitOK
}

func printWrong(w io.Writer, e *model.TraceError) {
	fmt.Fprintf(w, "Line %d is not allowed: step %d of session %s\n", e.Line, e.N, e.Session)
	fmt.Fprint(w, wrapped("  it says   ", e.Did), wrapped("  but       ", e.Why))
	for i, move := range e.Allowed {
		title := strings.Repeat(" ", 12)
		if i == 0 {
			title = "  allowed   "
		}
		fmt.Fprint(w, wrapped(title, move))
	}
}

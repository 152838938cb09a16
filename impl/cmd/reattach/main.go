package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // the claim does not hold
	exitMisuse = 2 // a mistake in the arguments
)

// A subcommand does its work and returns the exit status.
type subcommand struct {
	name, does string
	run        func(ctx context.Context, args []string, out, diag io.Writer) int
}

func subcommands() []subcommand {
	return []subcommand{
		{"demo", "play the incidents over real sockets, naive against reattach", runDemo},
		{"check", "explore the reference model and check every rule in it", runCheck},
		{"rules", "print the rules of the contract, and what stands behind each", runRules},
		{"trace", "say whether the model allows what a server's sessions did", runTrace},
		{"serve", "serve MCP with telling tools, to try any client by hand", runServe},
		{"docs", "write the generated pages of the repository", runDocs},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with its surroundings as parameters.
func run(ctx context.Context, args []string, out, diag io.Writer) int {
	if len(args) == 0 {
		usage(diag)
		return exitMisuse
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(out)
		return exitOK
	}
	for _, sub := range subcommands() {
		if sub.name == args[0] {
			return sub.run(ctx, args[1:], out, diag)
		}
	}
	fmt.Fprintf(diag, "reattach: no subcommand is called %q\n\n", args[0])
	usage(diag)
	return exitMisuse
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Usage: reattach <subcommand> [flags]\n\n")
	for _, sub := range subcommands() {
		fmt.Fprintf(w, "  %-8s %s\n", sub.name, sub.does)
	}
	fmt.Fprint(w, "\nreattach <subcommand> -h shows its flags.\n")
}

// newFlags returns the flag set of a subcommand.
func newFlags(name, usage string, diag io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(diag)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage, "\nFlags:\n")
		flags.PrintDefaults()
	}
	return flags
}

// parse parses a subcommand's arguments. It reports true, with the exit
// status, if there is nothing left to do.
func parse(flags *flag.FlagSet, args []string) (code int, done bool) {
	switch err := flags.Parse(args); {
	case err == flag.ErrHelp:
		return exitOK, true
	case err != nil:
		return exitMisuse, true // the flag set has said why
	case flags.NArg() > 0:
		return misused(flags, "takes no arguments, got %q", flags.Args()), true
	}
	return exitOK, false
}

// misused says what is wrong with the arguments of a subcommand.
func misused(flags *flag.FlagSet, format string, args ...any) int {
	fmt.Fprintf(flags.Output(), "reattach %s: %s\nreattach %[1]s -h shows its flags.\n", flags.Name(), fmt.Sprintf(format, args...))
	return exitMisuse
}

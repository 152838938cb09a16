package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// A Result is what TLC said about one model.
type Result struct {
	// Verdict is "ok" or the name of the formula that is violated.
	Verdict string
	// Distinct, Edges, Depth and Actions are those of [Model]; they are complete
	// only if Verdict is "ok".
	Distinct, Edges, Depth int
	Actions                map[string]int
	// Trace is the number of states of the counterexample.
	Trace int
}

// ErrNoVerdict is returned when TLC ended without one: it could not read a
// module, ran out of memory, or is not TLC.
var ErrNoVerdict = errors.New("no verdict from TLC")

// Run lets TLC check a model. It uses one worker, so that depth and
// counterexample are the same on every run, and leaves nothing behind in dir.
func Run(ctx context.Context, classPath, dir string, model Model) (Result, error) {
	scratch, err := os.MkdirTemp("", "tlc")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(scratch)
	args := []string{"-XX:+UseSerialGC", "-cp", classPath, "tlc2.TLC",
		"-workers", "1", "-deadlock", "-noGenerateSpecTE", "-checkpoint", "0", "-lncheck", "final", "-metadir", scratch,
		"-fp", "0"} // else at random, and with it which counterexample to a liveness property comes first
	if model.Shared { // counting by action doubles the time
		args = append(args, "-coverage", "1")
	}
	cmd := exec.CommandContext(ctx, "java", append(args, "-config", model.Config, model.Module)...)
	cmd.Dir = dir
	out, runErr := cmd.CombinedOutput() // TLC exits non-zero on a violation too
	result, err := parse(string(out))
	if err != nil {
		return Result{}, fmt.Errorf("%w: %v\n%s", err, runErr, tail(string(out)))
	}
	return result, nil
}

var (
	violated  = regexp.MustCompile(`(?m)^Error: (?:(?:Invariant|Action property) (\w+) is|Temporal property (\w+) was) violated`)
	unrefined = regexp.MustCompile(`(?m)^Error: Action property line [^\n]* of module (\w+) is violated`)
	otherwise = regexp.MustCompile(`(?m)^Error: `)
	counts    = regexp.MustCompile(`(?m)^(\d+) states generated, (\d+) distinct states found, 0 states left on queue`)
	initials  = regexp.MustCompile(`(?m)^Finished computing initial states: (\d+) distinct state`)
	depth     = regexp.MustCompile(`(?m)^The depth of the complete state graph search is (\d+)`)
	steps     = regexp.MustCompile(`(?m)^State (\d+): `)
	coverage  = regexp.MustCompile(`(?m)^The coverage statistics at `)
	action    = regexp.MustCompile(`(?m)^<(\w+) line [^>]*>: (\d+):(\d+)`)
)

// parse reads TLC's report.
func parse(out string) (Result, error) {
	trace := len(steps.FindAllString(out, -1))
	if found := violated.FindStringSubmatch(out); found != nil {
		return Result{Verdict: found[1] + found[2], Trace: trace}, nil
	}
	if found := unrefined.FindStringSubmatch(out); found != nil { // TLC names the step's formula in the abstract module only
		return Result{Verdict: "Refines" + found[1], Trace: trace}, nil
	}
	count, initial, deep := counts.FindStringSubmatch(out), initials.FindStringSubmatch(out), depth.FindStringSubmatch(out)
	if otherwise.MatchString(out) || count == nil || initial == nil || deep == nil {
		return Result{}, ErrNoVerdict
	}
	return Result{
		Verdict:  "ok",
		Distinct: number(count[2]),
		Edges:    number(count[1]) - number(initial[1]),
		Depth:    number(deep[1]),
		Actions:  actionsOf(out),
	}, nil
}

// actionsOf takes the last of TLC's coverage reports: the earlier ones are of
// an unfinished search. Init is no action.
func actionsOf(out string) map[string]int {
	reports := coverage.FindAllStringIndex(out, -1)
	if reports == nil {
		return nil
	}
	edges := map[string]int{}
	for _, found := range action.FindAllStringSubmatch(out[reports[len(reports)-1][0]:], -1) {
		edges[found[1]] += number(found[3])
	}
	delete(edges, "Init")
	maps.DeleteFunc(edges, func(name string, n int) bool { return name == "Next" && n == 0 })
	return edges
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(fmt.Sprintf("reattach: BUG: %q matched as a number: %v", digits, err))
	}
	return n
}

// tail is the end of a report, enough to see what went wrong.
func tail(out string) string {
	const enough = 2000
	if len(out) > enough {
		return "..." + out[len(out)-enough:]
	}
	return out
}

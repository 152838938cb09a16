package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/reattach/model"
)

const explainClassPath = `TLA_CLASSPATH is not set. Set it to the path of an ordinary tla2tools.jar (Java 11 or later must be installed):
the file is part of every release of the TLA+ tools, at https://github.com/tlaplus/tlaplus/releases. This program downloads nothing.`

// explorerEnv makes this program the explorer of the scope that it names.
const explorerEnv = "REATTACH_RACE_SCOPE"

// configs are the scopes that TLC shares, as configurations of MCResumption.
var configs = map[string]string{
	"main": "MCResumption.cfg", "small": "MCResumptionSmall.cfg", "stream": "MCResumptionStream.cfg", "calls": "MCResumptionCalls.cfg",
}

func main() {
	dir := flag.String("dir", "tla", "the directory of the modules")
	scope := flag.String("scope", "main", "the scope: main, small, stream or calls")
	count := flag.Int("count", 3, "runs of each")
	workers := flag.Int("workers", 2, "threads that each of them may use")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := explore(ctx, os.Getenv(explorerEnv), os.Stdout)
	if errors.Is(err, errNotAsked) {
		err = race(ctx, os.Stdout, *dir, *scope, max(*count, 1), max(*workers, 1))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

var errNotAsked = errors.New("this is not the explorer's process")

// explore is the explorer's process.
func explore(ctx context.Context, name string, out io.Writer) error {
	if name == "" {
		return errNotAsked
	}
	scope, ok := model.ScopeNamed(name)
	if !ok {
		return fmt.Errorf("no scope is called %q", name)
	}
	report, err := model.Explore(ctx, scope, nil)
	if err != nil {
		return err
	}
	if report.Counterexample != nil {
		return fmt.Errorf("the scope %s violates %s", name, report.Counterexample.Rule)
	}
	fmt.Fprintf(out, "%d distinct states found\n", report.States)
	return nil
}

// A Contender is one of those that are compared.
type Contender struct {
	Name string
	Run  func(ctx context.Context) *exec.Cmd
}

// A Lap is one run of a contender: what it found, and what it took from the
// start of its process to the end.
type Lap struct {
	States    int
	Wall, CPU time.Duration
}

// race runs all contenders in turn and prints the table.
func race(ctx context.Context, out io.Writer, dir, scope string, count, workers int) error {
	classPath := os.Getenv("TLA_CLASSPATH")
	if classPath == "" {
		return errors.New(explainClassPath)
	}
	if configs[scope] == "" {
		return fmt.Errorf("TLC does not share a scope called %q", scope)
	}
	scratch, err := os.MkdirTemp("", "race")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	all, err := contenders(dir, scratch, classPath, scope, workers)
	if err != nil {
		return err
	}
	laps := make([][]Lap, len(all))
	for range count {
		for i, c := range all {
			lap, err := run(c.Run(ctx))
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			laps[i] = append(laps[i], lap)
			fmt.Fprintf(out, "%-20s %8d states %8.2fs wall %8.2fs CPU\n", c.Name, lap.States, lap.Wall.Seconds(), lap.CPU.Seconds())
		}
	}
	return table(out, all, laps)
}

// contenders are the explorer, which is first, and TLC with and without the
// formulas. TLC reads copies, so that it leaves nothing in dir.
func contenders(dir, scratch, classPath, scope string, workers int) ([]Contender, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.tla"))
	if err != nil {
		return nil, err
	}
	for _, file := range append(files, filepath.Join(dir, configs[scope])) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(scratch, filepath.Base(file)), text, 0o644); err != nil {
			return nil, err
		}
		if strings.HasSuffix(file, ".cfg") {
			if err := os.WriteFile(filepath.Join(scratch, "Bare.cfg"), []byte(withoutFormulas(string(text))), 0o644); err != nil {
				return nil, err
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	tlc := func(config string) func(context.Context) *exec.Cmd {
		return func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, "java", "-XX:+UseParallelGC", "-cp", classPath, "tlc2.TLC", "-workers", strconv.Itoa(workers),
				"-deadlock", "-noGenerateSpecTE", "-checkpoint", "0", "-lncheck", "final", "-metadir", filepath.Join(scratch, "states"),
				"-config", config, "MCResumption")
			cmd.Dir = scratch
			return cmd
		}
	}
	return []Contender{
		{"explorer", func(ctx context.Context) *exec.Cmd {
			cmd := exec.CommandContext(ctx, self)
			cmd.Env = append(os.Environ(), explorerEnv+"="+scope, "GOMAXPROCS="+strconv.Itoa(workers))
			return cmd
		}},
		{"TLC, every formula", tlc(configs[scope])},
		{"TLC, no formula", tlc("Bare.cfg")},
	}, nil
}

// withoutFormulas is a configuration of ours that asks for nothing.
func withoutFormulas(config string) string {
	bare, _, _ := strings.Cut(config, "\nINVARIANTS")
	bare, _, _ = strings.Cut(bare, "\nPROPERTIES")
	return bare + "\n"
}

var found = regexp.MustCompile(`(?m)(\d+) distinct states found(?:, 0 states left on queue\.)?$`)

// run is one lap. A process that failed, or did not come to an end, has none.
func run(cmd *exec.Cmd) (Lap, error) {
	start := time.Now()
	text, err := cmd.CombinedOutput()
	lap := Lap{Wall: time.Since(start)}
	if err != nil {
		return Lap{}, fmt.Errorf("%w\n%s", err, text)
	}
	lap.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if lap.States = statesIn(string(text)); lap.States == 0 {
		return Lap{}, fmt.Errorf("it does not say how many states it found:\n%s", text)
	}
	return lap, nil
}

// statesIn is the number of states that a report ends with, or 0.
func statesIn(report string) int {
	all := found.FindAllStringSubmatch(report, -1)
	if all == nil {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1][1]) // digits; too many of them are no number of states
	return n
}

// table prints the medians of each, and how much faster than it the first is.
func table(out io.Writer, all []Contender, laps [][]Lap) error {
	states := laps[0][0].States
	wall := func(l Lap) time.Duration { return l.Wall }
	cpu := func(l Lap) time.Duration { return l.CPU }
	fmt.Fprintf(out, "\n%-20s %10s %10s %12s   %s\n", "", "wall", "CPU", "states/s", "explorer is faster, wall / CPU")
	for i, c := range all {
		if slices.ContainsFunc(laps[i], func(l Lap) bool { return l.States != states }) {
			return fmt.Errorf("%s did not find %d states every time: there is nothing to compare", c.Name, states)
		}
		w, p := median(laps[i], wall), median(laps[i], cpu)
		fmt.Fprintf(out, "%-20s %9.2fs %9.2fs %12.0f   %.0fx / %.0fx\n", c.Name, w.Seconds(), p.Seconds(), float64(states)/w.Seconds(),
			w.Seconds()/median(laps[0], wall).Seconds(), p.Seconds()/median(laps[0], cpu).Seconds())
	}
	return nil
}

// median is the middle one of what laps took; of two, the longer one.
func median(laps []Lap, of func(Lap) time.Duration) time.Duration {
	var took []time.Duration
	for _, l := range laps {
		took = append(took, of(l))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

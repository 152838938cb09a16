package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"runtime"
	"sync"
	"time"
)

const explainClassPath = `TLA_CLASSPATH is not set. Set it to the path of an ordinary tla2tools.jar (Java 11 or later must be installed):
the file is part of every release of the TLA+ tools, at https://github.com/tlaplus/tlaplus/releases. This program downloads nothing.`

func main() {
	dir := flag.String("dir", "tla", "the directory of the modules and the manifest")
	only := flag.String("run", "", "check only the models whose name matches this regular expression")
	update := flag.Bool("update", false, "pin hashes and counts of the models whose result is the expected one")
	jobs := flag.Int("jobs", runtime.GOMAXPROCS(0), "models checked at the same time, one thread each")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := check(ctx, os.Stdout, *dir, *only, *update, max(*jobs, 1)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// check runs the chosen models and reports each on a line of its own.
func check(ctx context.Context, out io.Writer, dir, only string, update bool, jobs int) error {
	classPath := os.Getenv("TLA_CLASSPATH")
	if classPath == "" {
		return fmt.Errorf("%s", explainClassPath)
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	manifest, err := Load(dir)
	if err != nil {
		return err
	}
	var chosen []*Model
	for i := range manifest.Models {
		if pattern.MatchString(manifest.Models[i].Name) {
			chosen = append(chosen, &manifest.Models[i])
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no model's name matches %q", only)
	}

	failed := 0
	began := time.Now()
	done := 0
	var printing sync.Mutex
	runAll(jobs, chosen, func(model *Model) {
		start := time.Now()
		said, fault := verify(ctx, manifest, classPath, model, update)
		printing.Lock()
		defer printing.Unlock()
		done++
		mark := "ok  "
		if fault != nil {
			mark, said = "FAIL", fault.Error()
			failed++
		}
		fmt.Fprintf(out, "%3d/%d %s %-30s %-44s %5.1fs  %s\n", done, len(chosen), mark, model.Name, said, time.Since(start).Seconds(), model.Shows)
	})
	fmt.Fprintf(out, "%d models, %d failed, %.0fs\n", len(chosen), failed, time.Since(began).Seconds())
	if update {
		if err := manifest.Save(); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d models are not what tla/manifest.json says; if a module was changed on purpose: %s", failed, len(chosen), RefreshCommand)
	}
	return nil
}

// runAll calls work for every model, jobs at a time.
func runAll(jobs int, models []*Model, work func(*Model)) {
	queue := make(chan *Model)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for model := range queue {
				work(model)
			}
		})
	}
	for _, model := range models {
		queue <- model
	}
	close(queue)
	workers.Wait()
}

// verify runs one model and holds the result against the manifest, or, with
// update, the manifest against the result. What is expected stays as it is.
func verify(ctx context.Context, manifest *Manifest, classPath string, model *Model, update bool) (said string, err error) {
	config, err := ReadConfig(manifest.dir, model.Module, model.Config)
	if err != nil {
		return "", err
	}
	inputs, err := manifest.inputsOf(*model)
	if err != nil {
		return "", err
	}
	got, err := Run(ctx, classPath, manifest.dir, *model)
	if err != nil {
		return "", err
	}
	if got.Verdict != model.Expect {
		return "", fmt.Errorf("expected %s, TLC says %s", model.Expect, got.Verdict)
	}
	if sum := total(got.Actions); model.Shared && sum != got.Edges {
		return "", fmt.Errorf("the edges of the actions add up to %d, not to %d", sum, got.Edges)
	}
	pinned := *model
	pinned.Constants, pinned.Inputs = config.Constants, inputs
	pinned.Distinct, pinned.Edges, pinned.Depth, pinned.Actions, pinned.Trace = got.Distinct, got.Edges, got.Depth, got.Actions, got.Trace
	if update {
		*model = pinned
	} else if stale, err := manifest.stale(*model); err != nil || len(stale) > 0 {
		return "", fmt.Errorf("changed since it was pinned: %v %v", stale, err)
	} else if !sameFigures(*model, pinned) {
		return "", fmt.Errorf("pinned %s, TLC says %s", figures(*model), figures(pinned))
	}
	return figures(pinned), nil
}

func total(edges map[string]int) int {
	sum := 0
	for _, n := range edges {
		sum += n
	}
	return sum
}

func sameFigures(a, b Model) bool {
	return a.Distinct == b.Distinct && a.Edges == b.Edges && a.Depth == b.Depth && a.Trace == b.Trace && reflect.DeepEqual(a.Actions, b.Actions)
}

func figures(m Model) string {
	if m.Expect == "ok" {
		return fmt.Sprintf("holds: %d states, %d edges, depth %d", m.Distinct, m.Edges, m.Depth)
	}
	return fmt.Sprintf("breaks %s in %d states", m.Expect, m.Trace)
}

package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Runner builds and runs tests with a mutant in the place of the code. It is
// safe for concurrent use once Measure has returned.
type Runner struct {
	Root string // the module's directory
	// Enough says that a mutant which so many levels have noticed needs no
	// others; 0: all levels are asked.
	Enough int

	mu       sync.Mutex
	rapid    map[string]bool // packages whose tests know rapid's flags
	measured map[suite]measure
	cpu      time.Duration // of the processors, so far
}

// CPU returns how much time of processors building and running took: what the
// matrix costs on a machine that others use too.
func (r *Runner) CPU() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cpu
}

func (r *Runner) used(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// A measure is what a suite does while nothing is mutated.
type measure struct {
	tests int
	took  time.Duration
}

// A Verdict is what one level said of one mutant.
type Verdict struct {
	Level    Level
	Killed   bool
	By       string // the test that noticed
	TimedOut bool   // it noticed by waiting for what did not come
	Absent   bool   // the level has no tests here
}

// firstLimit bounds a suite that was not measured yet; afterwards it is some
// times what it took.
const firstLimit = 5 * time.Minute

// Measure runs every suite that the mutants need at these levels, with nothing mutated. One that
// fails then would "notice" everything: it is an error.
func (r *Runner) Measure(ctx context.Context, mutants []Mutant, at []Level, workers int) error {
	var suites []suite
	for _, m := range mutants {
		for _, l := range at {
			for _, s := range m.suites(l) {
				if s = m.narrowed(l, s); !slices.Contains(suites, s) {
					suites = append(suites, s)
				}
			}
		}
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := r.build(ctx, dir, "", suites); err != nil {
		return err
	}
	r.measured = map[suite]measure{}
	return each(suites, workers, func(s suite) error {
		ran, err := r.run(ctx, dir, s, firstLimit)
		if err != nil {
			return err
		}
		if ran.failed != "" {
			return fmt.Errorf("properties/mutants: %s fails in %s with nothing mutated: repair that first\n%s", ran.failed, s.dir, ran.tail)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.measured[s] = measure{ran.passed, ran.took}
		return nil
	})
}

// narrowed is the suite as it is run for this mutant.
func (m Mutant) narrowed(l Level, s suite) suite {
	if l == Unit && m.Only != "" {
		s.pattern = m.Only
	}
	return s
}

// Try runs one mutant at those of the levels that can see it. An error says that the
// mutant could not be tried: its edit does not fit, or does not compile.
func (r *Runner) Try(ctx context.Context, m Mutant, at []Level) (verdicts []Verdict, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.writeOverlay(r.Root, dir)
	if err != nil {
		return nil, err
	}
	var all []suite
	for _, l := range at {
		all = append(all, m.suites(l)...)
	}
	if err := r.build(ctx, dir, overlay, all); err != nil {
		return nil, fmt.Errorf("properties/mutants: mutant %s: %w", m.Name, err)
	}
	killed := 0
	for _, l := range at {
		if len(m.suites(l)) == 0 || r.Enough > 0 && killed >= r.Enough {
			continue
		}
		v := Verdict{Level: l, Absent: true}
		for _, s := range m.suites(l) {
			s = m.narrowed(l, s)
			usual := r.measured[s]
			if usual.tests == 0 {
				continue
			}
			v.Absent = false
			ran, err := r.patient(ctx, dir, s, usual.took)
			if err != nil {
				return nil, err
			}
			if ran.failed != "" {
				v.Killed, v.By, v.TimedOut = true, ran.failed, ran.timedOut
				killed++
				break
			}
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// patient runs a suite that usually takes so long. One that takes much longer
// waits for what does not come, or the machine is busy: the test that it hangs
// in is asked again, alone.
func (r *Runner) patient(ctx context.Context, dir string, s suite, usual time.Duration) (ran, error) {
	first, err := r.run(ctx, dir, s, 6*time.Second+4*usual)
	if err != nil || !first.timedOut {
		return first, err
	}
	alone, err := r.run(ctx, dir, suite{s.dir, "^" + first.failed + "$"}, 12*time.Second+4*usual)
	if err != nil || alone.failed != "" {
		return alone, err
	}
	return r.run(ctx, dir, s, time.Minute+20*usual)
}

// build compiles the tests of every package that is needed, into dir.
func (r *Runner) build(ctx context.Context, dir, overlay string, suites []suite) error {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	var packages []string
	for _, s := range suites {
		if p := "./" + s.dir; !slices.Contains(packages, p) {
			packages = append(packages, p)
		}
	}
	if len(packages) == 0 {
		return nil // mutants of the model or the modules only
	}
	cmd := exec.CommandContext(ctx, "go", append(args, packages...)...)
	cmd.Dir = r.Root
	out, err := cmd.CombinedOutput()
	r.used(cmd)
	if err != nil {
		return fmt.Errorf("it does not compile: %w\n%s", err, out)
	}
	if overlay != "" {
		return nil
	}
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", `{{.Dir}} {{.TestImports}} {{.XTestImports}}`}, packages...)...)
	list.Dir = r.Root
	out, err = list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	r.rapid = map[string]bool{}
	for line := range strings.Lines(string(out)) {
		at, imports, _ := strings.Cut(line, " ")
		below, err := filepath.Rel(r.Root, at)
		if err != nil {
			return err
		}
		r.rapid[filepath.ToSlash(below)] = strings.Contains(imports, "pgregory.net/rapid")
	}
	return nil
}

// rapidFlags make rapid draw the same steps for every mutant, not look for
// shorter ones, and leave no files behind.
var rapidFlags = []string{"-rapid.seed=1", "-rapid.shrinktime=1ms", "-rapid.nofailfile"}

// ran is what came of a suite.
type ran struct {
	passed   int    // top-level tests
	failed   string // the first one that failed; "" if none did
	timedOut bool
	took     time.Duration
	tail     string // of the output, for people
}

// run runs a suite that was built into dir.
func (r *Runner) run(ctx context.Context, dir string, s suite, limit time.Duration) (ran, error) {
	args := []string{"-test.v", "-test.failfast", "-test.run", s.pattern, "-test.skip", skipped, "-test.timeout", limit.String()}
	if r.rapid[s.dir] {
		args = append(args, rapidFlags...)
	}
	ctx, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, path.Base(s.dir)+".test"), args...)
	cmd.Dir = filepath.Join(r.Root, filepath.FromSlash(s.dir))
	cmd.WaitDelay = 5 * time.Second
	var out reading
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	r.used(cmd)
	result := ran{passed: out.passed, took: time.Since(began), tail: out.tail.String()}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return result, nil
	case !errors.As(err, &exit) && ctx.Err() == nil:
		return ran{}, err
	}
	result.failed = out.culprit()
	result.timedOut = out.timedOut || ctx.Err() != nil
	return result, nil
}

// reading reads what a test binary says with -test.v, and keeps little of it.
type reading struct {
	rest     []byte
	passed   int
	failed   string
	open     []string // top-level tests that have begun and not ended
	timedOut bool
	tail     bytes.Buffer
}

const (
	longestLine = 64 << 10
	longestTail = 8 << 10
)

var testLine = regexp.MustCompile(`^(=== RUN  |--- PASS:|--- FAIL:|--- SKIP:) (Test[^/ ]*)(?: .*)?$`)

func (r *reading) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		r.line(string(append(r.rest, p[:i]...)))
		r.rest, p = r.rest[:0], p[i+1:]
	}
	if len(r.rest)+len(p) <= longestLine {
		r.rest = append(r.rest, p...)
	}
	return n, nil
}

func (r *reading) line(text string) {
	if r.tail.Len()+len(text) > longestTail {
		r.tail.Reset()
	}
	r.tail.WriteString(text + "\n")
	if strings.HasPrefix(text, "panic: test timed out") {
		r.timedOut = true
	}
	found := testLine.FindStringSubmatch(text)
	if found == nil {
		return
	}
	switch name := found[2]; found[1] {
	case "=== RUN  ":
		r.open = append(r.open, name)
	case "--- FAIL:":
		if r.failed == "" {
			r.failed = name
		}
		fallthrough
	default:
		r.open = slices.DeleteFunc(r.open, func(n string) bool { return n == name })
		if found[1] == "--- PASS:" {
			r.passed++
		}
	}
}

// culprit is the test that failed, or the one that was running when the
// process ended.
func (r *reading) culprit() string {
	switch {
	case r.failed != "":
		return r.failed
	case len(r.open) > 0:
		return r.open[len(r.open)-1]
	default:
		return "the process"
	}
}

// each calls f for all of s, some at a time, and returns the first error.
func each[T any](s []T, workers int, f func(T) error) error {
	work := make(chan T)
	var group sync.WaitGroup
	var once sync.Once
	var first error
	for range max(workers, 1) {
		group.Go(func() {
			for t := range work {
				if err := f(t); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for _, t := range s {
		work <- t
	}
	close(work)
	group.Wait()
	return first
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A row is one kind of work, and everybody who does it.
type row struct {
	name  string // short, for --rows
	what  string // a sentence
	unit  string // of a sample: ns, B
	doers []doer
	// targets are ratios of our median to a bound's, or of a peer's to ours.
	targets []target
}

// A doer does the work of a row. sample does it n times and returns what one of
// them took; set-up is not in it. A nil setUp is none.
type doer struct {
	name  string
	open  func() (sample func(n int) float64, close func(), err error)
	fixed bool // one sample says it all: memory
	n     int  // so many a sample; 0: as many as take about the time of a sample
}

// A target says how two medians of a row must stand to each other.
type target struct {
	of, to string // doers: of/to
	atMost float64
	// atLeast is for peers: how many times slower than us they are.
	atLeast float64
}

// A result is a doer's samples.
type result struct {
	name    string
	samples []float64
	allocs  float64 // a piece of work, if it was measured
	err     error
}

func (r result) median() float64 {
	if len(r.samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(r.samples))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// spread is the distance of the quartiles, as a share of the median.
func (r result) spread() float64 {
	s := slices.Sorted(slices.Values(r.samples))
	if len(s) < 4 || r.median() == 0 {
		return 0
	}
	return (s[len(s)*3/4] - s[len(s)/4]) / r.median()
}

// measure does the row's work round by round: in each, everybody once, in an
// order that turns, so that nobody is always the first.
func (w row) measure(rounds int, each time.Duration, progress io.Writer) []result {
	results := make([]result, len(w.doers))
	samples := make([]func(int) float64, len(w.doers))
	counts := make([]int, len(w.doers))
	for i, d := range w.doers {
		results[i].name = d.name
		sample, done, err := d.open()
		if err != nil {
			results[i].err = err
			continue
		}
		defer done()
		samples[i], counts[i] = sample, d.n
		if counts[i] == 0 {
			counts[i] = calibrate(sample, each)
		}
		fmt.Fprintf(progress, "%s: %s, %d a sample\n", w.name, d.name, counts[i])
	}
	for round := range rounds {
		for i := range w.doers {
			i = (i + round) % len(w.doers)
			if samples[i] == nil || w.doers[i].fixed && round > 0 {
				continue
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			results[i].samples = append(results[i].samples, samples[i](counts[i]))
			runtime.ReadMemStats(&after)
			results[i].allocs = float64(after.Mallocs-before.Mallocs) / float64(counts[i])
		}
	}
	return results
}

// calibrate finds how often the work fits into the time of a sample.
func calibrate(sample func(int) float64, each time.Duration) int {
	for n := 1; ; n *= 4 {
		began := time.Now()
		sample(n)
		if took := time.Since(began); took > each/8 || n >= 1<<26 {
			return max(1, int(float64(n)*float64(each)/float64(took)))
		}
	}
}

// A verdict is a target with what was measured.
type verdict struct {
	target
	ratio float64
	met   bool
}

func (v verdict) String() string {
	mark := "missed"
	if v.met {
		mark = "met"
	}
	if v.atMost > 0 {
		return fmt.Sprintf("%s / %s = %.2f, at most %.2f: %s", v.of, v.to, v.ratio, v.atMost, mark)
	}
	return fmt.Sprintf("%s / %s = %.1f, at least %.1f: %s", v.of, v.to, v.ratio, v.atLeast, mark)
}

// judge holds the row's targets against the medians. A target whose doer is not
// there is missed.
func (w row) judge(results []result) (verdicts []verdict) {
	median := func(name string) float64 {
		for _, r := range results {
			if r.name == name {
				return r.median()
			}
		}
		return 0
	}
	for _, t := range w.targets {
		v := verdict{target: t}
		if of, to := median(t.of), median(t.to); of > 0 && to > 0 {
			v.ratio = of / to
			v.met = t.atMost > 0 && v.ratio <= t.atMost || t.atLeast > 0 && v.ratio >= t.atLeast
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// print writes the row's table.
func (w row) print(to io.Writer, results []result) {
	fmt.Fprintf(to, "\n%s: %s\n", w.name, w.what)
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	var ours float64
	for _, r := range results {
		if r.name == "ours" {
			ours = r.median()
		}
	}
	for _, r := range slices.SortedFunc(slices.Values(results), func(a, b result) int { return cmp.Compare(a.median(), b.median()) }) {
		if r.err != nil {
			fmt.Fprintf(t, "  %s\t%v\n", r.name, r.err)
			continue
		}
		fmt.Fprintf(t, "  %s\t%s %s\t±%.0f%%\t%.2f × ours", r.name, number(r.median()), w.unit, 50*r.spread(), r.median()/ours)
		if w.unit == "ns" {
			fmt.Fprintf(t, "\t%.2f allocations", r.allocs)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	for _, v := range w.judge(results) {
		fmt.Fprintf(to, "  %v\n", v)
	}
}

// number is a figure with three digits that mean something.
func number(f float64) string {
	switch {
	case f < 10:
		return fmt.Sprintf("%.2f", f)
	case f < 100:
		return fmt.Sprintf("%.1f", f)
	default:
		return strings.TrimSuffix(fmt.Sprintf("%.0f", f), ".")
	}
}

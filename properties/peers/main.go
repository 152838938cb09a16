package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	var (
		quick  = flag.Bool("quick", false, "one short round of everything, under a minute")
		rounds = flag.Int("rounds", 6, "rounds of which the median is taken")
		each   = flag.Duration("each", 300*time.Millisecond, "about the time of one sample")
		only   = flag.String("rows", "", "rows whose names begin with one of these, separated by commas; all if empty")
		quiet  = flag.Bool("quiet", false, "no progress on standard error")
	)
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run . [flags]\n\nMeasures reattach beside its peers; see doc.go.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 || *each <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	if *quick {
		*rounds, *each = 1, 30*time.Millisecond
	}
	progress := io.Writer(os.Stderr)
	if *quiet {
		progress = io.Discard
	}
	fmt.Printf("%s, %s/%s, %d processors; medians of %d rounds\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), *rounds)
	met, all, ran := 0, 0, 0
	for _, w := range slices.Concat(storeRows(), httpRows()) {
		if !wanted(w.name, *only) {
			continue
		}
		ran++
		results := w.measure(*rounds, *each, progress)
		w.print(os.Stdout, results)
		for _, v := range w.judge(results) {
			if all++; v.met {
				met++
			}
		}
	}
	if ran == 0 {
		fmt.Fprintf(os.Stderr, "peers: no row begins with %q\n", *only)
		os.Exit(2)
	}
	fmt.Printf("\ntargets met: %d of %d\n", met, all)
}

func wanted(name, only string) bool {
	return only == "" || slices.ContainsFunc(strings.Split(only, ","), func(o string) bool { return strings.HasPrefix(name, o) })
}

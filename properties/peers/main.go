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
		page   = flag.String("write", "", "write the table to this `page`, between its marks")
		plots  = flag.String("plots", "", "measure how costs grow instead, and draw it to this `directory`")
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
	if *plots != "" {
		fail(writePlots(*plots, *each/4, progress))
		return
	}
	how := fmt.Sprintf("%s, %s/%s, %d processors; medians of %d rounds", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), *rounds)
	fmt.Println(how)
	met, all := 0, 0
	var ran []measured
	for _, w := range slices.Concat(storeRows(), httpRows()) {
		if !wanted(w.name, *only) {
			continue
		}
		results := w.measure(*rounds, *each, progress)
		w.print(os.Stdout, results)
		ran = append(ran, measured{w, results})
		for _, v := range w.judge(results) {
			if all++; v.met {
				met++
			}
		}
	}
	if len(ran) == 0 {
		fmt.Fprintf(os.Stderr, "peers: no row begins with %q\n", *only)
		os.Exit(2)
	}
	fmt.Printf("\ntargets met: %d of %d\n", met, all)
	if *page != "" {
		fail(writeReport(*page, ran, how))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func wanted(name, only string) bool {
	return only == "" || slices.ContainsFunc(strings.Split(only, ","), func(o string) bool { return strings.HasPrefix(name, o) })
}

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// The generated part of docs/performance.md stands between these lines.
const (
	beginMark = "<!-- begin: written by properties/peers -->"
	endMark   = "<!-- end -->"
)

// A measured row is one with its results.
type measured struct {
	row
	results []result
}

// writeReport replaces what stands between the marks of a page by the table of
// what was measured.
func writeReport(path string, rows []measured, how string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(page), beginMark)
	_, after, ended := strings.Cut(rest, endMark)
	if !ok || !ended {
		return fmt.Errorf("%s lacks %q and behind it %q", path, beginMark, endMark)
	}
	var table strings.Builder
	report(&table, rows, how)
	return os.WriteFile(path, []byte(before+beginMark+"\n"+table.String()+endMark+after), 0o644)
}

// report writes the rows as a page has them: what one piece of the work took
// us, and everybody else in our units, with the targets.
func report(to io.Writer, rows []measured, how string) {
	met, all := 0, 0
	fmt.Fprintf(to, "\n%s.\n\n| row | ours | the others, × ours | targets |\n|---|---|---|---|\n", how)
	for _, m := range rows {
		ours := m.result("ours").median()
		var others, targets []string
		for _, r := range m.results {
			if r.name != "ours" && r.err == nil {
				others = append(others, fmt.Sprintf("%s %s", r.name, number(r.median()/ours)))
			}
		}
		for _, v := range m.judge(m.results) {
			if all++; v.met {
				met++
			}
			targets = append(targets, v.String())
		}
		slices.Sort(targets)
		fmt.Fprintf(to, "| %s | %s %s | %s | %s |\n", m.name, number(ours), m.unit, strings.Join(others, ", "), strings.Join(targets, "<br>"))
	}
	fmt.Fprintf(to, "\nTargets met: %d of %d.\n", met, all)
}

// result returns a doer's.
func (m measured) result(name string) result {
	for _, r := range m.results {
		if r.name == name {
			return r
		}
	}
	return result{}
}

package mutants

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// Who noticed is read from what a test binary says, however it ends and
// however its output is cut into pieces.
func TestReadingNamesTheTestThatNoticed(t *testing.T) {
	for name, test := range map[string]struct {
		says     []string
		culprit  string
		passed   int
		timedOut bool
	}{
		"a failure, not the subtest": {[]string{
			"=== RUN   TestA", "--- PASS: TestA (0.00s)", "=== RUN   TestB", "=== RUN   TestB/at_the_floor",
			"    --- FAIL: TestB/at_the_floor (0.00s)", "--- FAIL: TestB (0.01s)", "FAIL",
		}, "TestB", 1, false},
		"a panic, in the test that is running": {[]string{
			"=== RUN   TestA", "--- PASS: TestA (0.00s)", "=== RUN   TestB", "panic: reattach: BUG: session: 7", "", "goroutine 20 [running]:",
		}, "TestB", 1, false},
		"a wait that does not end": {[]string{
			"=== RUN   TestA", "panic: test timed out after 6s", "\trunning tests:", "\t\tTestA (6s)",
		}, "TestA", 0, true},
		"a test that prints what looks like one": {[]string{
			"=== RUN   TestA", "    log: --- FAIL: TestZ (0.00s)", "--- PASS: TestA (0.00s)", "=== RUN   TestB", "exit",
		}, "TestB", 1, false},
		"nothing said": {nil, "the process", 0, false},
	} {
		text := strings.Join(append(test.says, ""), "\n")
		for _, piece := range []int{1, 7, len(text) + 1} {
			var r reading
			for rest := text; rest != ""; {
				n := min(piece, len(rest))
				if _, err := io.WriteString(&r, rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if r.culprit() != test.culprit || r.passed != test.passed || r.timedOut != test.timedOut {
				t.Errorf("%s, %d bytes at a time: %q, %d passed, timed out %v", name, piece, r.culprit(), r.passed, r.timedOut)
			}
		}
	}
}

// A page that was written is read again, and where the same levels notice the
// tests that it names stay. It says what it lacks and what survived.
func TestPageKeepsItsTests(t *testing.T) {
	all := []Mutant{{Name: "a", Kind: Code, Story: "it is", Edits: []Edit{{File: "f"}}}, {Name: "tla/b", Kind: Spec, Story: "so", Where: "w"}}
	note := func(p Page, test string, asked []Level, noticed ...Level) Page {
		r := Row{Mutant: all[0]}
		for _, l := range asked {
			r.Verdicts = append(r.Verdicts, Verdict{Level: l, Killed: slices.Contains(noticed, l), By: test})
		}
		p.Note(r)
		return ParsePage(p.Render(all))
	}
	both := []Level{Unit, Wired}
	p := note(Page{}, "TestOne", both, Unit)
	if p["a"] != "unit: TestOne" || len(p.Faults(all)) != 0 || p.Tried(all, Code) != 1 || p.Tried(all, Spec) != 0 {
		t.Errorf("%q, faults %v", p["a"], p.Faults(all))
	}
	if p = note(p, "TestTwo", both, Unit); p["a"] != "unit: TestOne" {
		t.Errorf("the same level noticed, and now the page says %q", p["a"])
	}
	if p = note(p, "TestTwo", both, Wired, Unit); p["a"] != "unit: TestOne; wired: TestTwo" || p.Count(all, Code) != (Count{1, 1, 1}) {
		t.Errorf("another level noticed too, and the page says %q", p["a"])
	}
	if p = note(p, "TestThree", []Level{Unit}, Unit); p["a"] != "unit: TestOne; wired: TestTwo" {
		t.Errorf("one level was not asked, and the page says %q", p["a"])
	}
	if p = note(p, "", both); p["a"] != Nobody || p.Count(all, "") != (Count{2, 0, 0}) || len(p.Faults(all)) != 1 {
		t.Errorf("it survived, and the page says %q; %v", p["a"], p.Faults(all))
	}
	if faults := p.Faults(all[1:]); len(faults) != 1 {
		t.Errorf("one that the catalogue does not have: %v", faults)
	}
}

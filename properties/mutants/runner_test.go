package mutants

import (
	"io"
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
// tests that it names stay.
func TestPageKeepsItsTests(t *testing.T) {
	row := func(test string, level Level) []Row {
		return []Row{{Mutant: Mutant{Name: "a", Kind: Code, Story: "it | is"}, Verdicts: []Verdict{{Level: level, Killed: true, By: test}}}}
	}
	first := Render(row("TestOne", Unit), Page{})
	if !strings.Contains(first, "unit: TestOne") {
		t.Fatal(first)
	}
	if again := Render(row("TestTwo", Unit), ParsePage(first)); again != first {
		t.Errorf("the page changed though the same level noticed:\n%s", again)
	}
	if moved := Render(row("TestTwo", Wired), ParsePage(first)); !strings.Contains(moved, "wired: TestTwo") {
		t.Errorf("another level noticed, and the page does not say so:\n%s", moved)
	}
}

package evidence

import (
	"slices"
	"strings"
	"testing"

	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

// Given this module, when the evidence is collected, then what is known of a
// rule from reading the sources is in it.
func TestCollect(t *testing.T) {
	all, err := Collect("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(spec.Rules()) {
		t.Fatalf("evidence for %d rules, want %d", len(all), len(spec.Rules()))
	}
	r := Of(all, "R5")
	for _, want := range []struct {
		what  string
		names []string
		name  string
	}{
		{"functions", r.Functions, "NotBelowFloor"},
		{"invariants", r.Invariants, "VerdictExact"},
		{"formulas", at(r.Formulas, "ResumptionRules"), "R5_VerdictExact"},
		{"tests", at(Of(all, "R9b").Tests, "impl/session"), "core_test.go"},
		{"mutants of the model", at(r.Mutants, "model"), "inclusive-replay"},
		{"mutants of the modules", at(r.Mutants, "spec"), "floor-unchecked"},
		{"mutants of the code", at(r.Mutants, "code"), "window-evicted-is-good"},
	} {
		if !slices.Contains(want.names, want.name) {
			t.Errorf("%s: %v, want %s among them", want.what, want.names, want.name)
		}
	}
	if got := Of(all, "R999"); Count(got.Tests)+Count(got.Mutants) != 0 {
		t.Errorf("there is evidence for a rule that there is not: %+v", got)
	}
}

func at(all []Named, where string) []string {
	for _, n := range all {
		if n.Where == where {
			return n.Names
		}
	}
	return nil
}

// A test cites a rule in its doc comment, in a comment within it or in a text;
// a free comment speaks for its file; helpers, and numbers that are no rules,
// cite nothing.
func TestCitations(t *testing.T) {
	got, err := citationsOf("dir/x_test.go", []byte(`package x

// Not a test: R2.
func helper() {}

// A doc comment (R4, R999).
func TestDoc(t *testing.T) {}

// Stories of R3.

func TestBody(t *testing.T) {
	// Within: R9b.
	t.Error("says R22")
}

func FuzzNothing(f *testing.F) { RX4() }
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"TestDoc": {"R4"}, "TestBody": {"R9b", "R22"}, "x_test.go": {"R3"}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := citationsOf("broken_test.go", []byte("package")); err == nil || !strings.Contains(err.Error(), "broken_test.go") {
		t.Errorf("a file that is no Go: %v", err)
	}
}

// Names are sorted and there once, whatever the order in which they come.
func TestAdd(t *testing.T) {
	var all []Named
	for _, n := range []string{"b/2", "a/1", "b/1", "b/2"} {
		where, name, _ := strings.Cut(n, "/")
		add(&all, where, name)
	}
	if diff := cmp.Diff([]Named{{"a", []string{"1"}}, {"b", []string{"1", "2"}}}, all); diff != "" || Count(all) != 3 {
		t.Errorf("%d names (-want +got)\n%s", Count(all), diff)
	}
}

// A directory that is not the module's is an error, and not a lack of evidence.
func TestCollectNeedsTheModule(t *testing.T) {
	if _, err := Collect(t.TempDir()); err == nil {
		t.Error("an empty directory has evidence")
	}
}

package properties_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"example.com/reattach/properties/mutants"
	"example.com/reattach/spec"
)

var (
	mutantsToRun = flag.String("mutants", "sample", "which mutants TestMutantMatrix runs: sample, all (writes docs/mutants.md), a share of all such as 2/8, or patterns of path.Match with commas between them (write their lines)")
	mutantEnough = flag.Int("mutants.enough", 0, "do not ask further levels of a mutant that so many have noticed; 0: ask all")
	mutantWorker = flag.Int("mutants.workers", runtime.NumCPU(), "mutants that TestMutantMatrix runs at a time")
)

const mutantsPage = "../docs/mutants.md"

// The catalogue cannot rot: names are unique, rules are rules, and every edit
// fits its file exactly once.
func TestCatalogueOfMutants(t *testing.T) {
	all := catalogue(t)
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
		if m.Story == "" || m.Place() == "" || len(m.Levels()) == 0 {
			t.Errorf("%s: story %q, place %q, levels %v", m.Name, m.Story, m.Place(), m.Levels())
		}
		for id := range strings.FieldsSeq(m.Rules) {
			if _, ok := spec.RuleOf(id); !ok {
				t.Errorf("%s breaks %s, which is no rule", m.Name, id)
			}
		}
		if _, err := m.Mutated(".."); err != nil {
			t.Error(err)
		}
	}
	if code := len(mutants.OfCode()); code < 35 || len(all) < 60 {
		t.Errorf("%d mutants, %d of the code: want 60 and 35", len(all), code)
	}
}

// An edit that does not fit is found, and named.
func TestEditThatDoesNotFit(t *testing.T) {
	const file = "properties/doc.go"
	for name, old := range map[string]string{"nowhere": "this text is nowhere in it", "often": "e"} {
		m := mutants.Mutant{Name: name, Kind: mutants.Code, Edits: []mutants.Edit{{File: file, Old: old, New: "x"}}}
		_, err := m.Mutated("..")
		var fault *mutants.EditError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The page, which a run of all mutants writes, lists exactly the catalogue.
func TestMutantsPageListsTheCatalogue(t *testing.T) {
	text, err := os.ReadFile(mutantsPage)
	if errors.Is(err, os.ErrNotExist) {
		t.Logf("there is no docs/mutants.md yet: %s", mutants.PageCommand)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	all, page := catalogue(t), mutants.ParsePage(string(text))
	for _, fault := range page.Faults(all) {
		t.Errorf("docs/mutants.md: %s; write it again: %s", fault, mutants.PageCommand)
	}
	if page.Render(all) != string(text) {
		t.Errorf("docs/mutants.md tells mutants otherwise than the catalogue; write it again: %s", mutants.PageCommand)
	}
	if c := page.Count(all, mutants.Code); c.ByTwo*10 < c.Mutants*8 || c.Killed != c.Mutants {
		t.Errorf("of the code's %v: want all killed, and four of five by two levels", c)
	}
}

// Mutants are noticed. By itself this tries a few that are quick, one of which
// changes nothing and must survive; see the flag -mutants.
func TestMutantMatrix(t *testing.T) {
	if *mutantsToRun == "sample" {
		sampleOfMutants(t)
		return
	}
	all := catalogue(t)
	chosen, share, err := chooseMutants(all, *mutantsToRun)
	if err != nil {
		t.Fatal(err)
	}
	rows := matrix(t, chosen)
	for _, row := range rows {
		switch {
		case row.Err != nil:
			t.Errorf("cannot be tried: %v", row.Err)
		case len(row.KilledBy()) == 0:
			t.Errorf("survives: %v\n\t%s (%s, %s)", row, row.Mutant.Story, row.Mutant.Rules, row.Mutant.Place())
		}
	}
	if !share {
		writePage(t, all, rows)
	}
	say(t, "of the code: "+mutants.CountOf(rows, mutants.Code).String())
	say(t, mutants.CountOf(rows, "").String())
}

// chooseMutants returns those that are asked for: all of them, the k-th of n
// shares of them as k/n, or those that match a pattern.
func chooseMutants(all []mutants.Mutant, what string) (chosen []mutants.Mutant, share bool, err error) {
	if what == "all" {
		return all, false, nil
	}
	if k, n := 0, 0; !strings.Contains(what, ",") {
		if _, err := fmt.Sscanf(what+"\n", "%d/%d\n", &k, &n); err == nil {
			if k < 1 || k > n {
				return nil, false, fmt.Errorf("of %d shares none is number %d", n, k)
			}
			for i := k - 1; i < len(all); i += n {
				chosen = append(chosen, all[i])
			}
			return chosen, true, nil
		}
	}
	for _, m := range all {
		for pattern := range strings.SplitSeq(what, ",") {
			ok, err := path.Match(pattern, m.Name)
			if err != nil {
				return nil, false, err
			}
			if ok {
				chosen = append(chosen, m)
				break
			}
		}
	}
	return chosen, false, nil
}

// The shares of the catalogue are the catalogue.
func TestMutantsAreDealt(t *testing.T) {
	all := catalogue(t)
	dealt := map[string]int{}
	for k := 1; k <= 7; k++ {
		share, ok, err := chooseMutants(all, fmt.Sprintf("%d/7", k))
		if err != nil || !ok || len(share) < len(all)/7 || len(share) > len(all)/7+1 {
			t.Errorf("share %d of 7 has %d of %d, %v %v", k, len(share), len(all), ok, err)
		}
		for _, m := range share {
			dealt[m.Name]++
		}
	}
	for _, m := range all {
		if dealt[m.Name] != 1 {
			t.Errorf("%s is in %d shares", m.Name, dealt[m.Name])
		}
	}
	for what, want := range map[string]int{"tla/*": 100, "window-inclusive": 1, "window-inclusive,decide-tag-unchecked": 2, "nothing": 0} {
		if got, share, err := chooseMutants(all, what); err != nil || share || len(got) < want || want < 100 && len(got) > want {
			t.Errorf("%s chooses %d, %v", what, len(got), err)
		}
	}
	for _, what := range []string{"0/7", "8/7", "1/0", "["} {
		if _, _, err := chooseMutants(all, what); err == nil {
			t.Errorf("%q chooses something", what)
		}
	}
}

// writePage notes what came of the mutants that were tried.
func writePage(t *testing.T, all []mutants.Mutant, rows []mutants.Row) {
	old, err := os.ReadFile(mutantsPage)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	page := mutants.ParsePage(string(old))
	for _, row := range rows {
		if row.Err == nil {
			page.Note(row)
		}
	}
	if err := os.WriteFile(mutantsPage, []byte(page.Render(all)), 0o644); err != nil {
		t.Error(err)
	}
}

// sampleOfMutants tries two mutants of a package that little depends on, with
// the one test that is there to notice them, and an edit that is none.
func sampleOfMutants(t *testing.T) {
	sample := []mutants.Mutant{{
		Name: "harmless", Story: "the same, in other words", Kind: mutants.Code, Only: "^TestClassifyByTheContract$",
		Edits: []mutants.Edit{{File: "impl/window/standing.go", Old: "case p.Ordinal < r.floor:", New: "case !(p.Ordinal >= r.floor):"}},
	}}
	for _, m := range mutants.OfCode() {
		if m.Name == "window-evicted-is-good" || m.Name == "window-ordinal-unchecked" {
			m.Only = sample[0].Only
			sample = append(sample, m)
		}
	}
	if len(sample) != 3 {
		t.Fatalf("the sample has %d mutants", len(sample))
	}
	r := mutants.Runner{Root: root(t)}
	levels := []mutants.Level{mutants.Unit}
	if err := r.Measure(t.Context(), sample, levels, 1); err != nil {
		t.Fatal(err)
	}
	for i, m := range sample {
		verdicts, err := r.Try(t.Context(), m, levels)
		if err != nil {
			t.Fatal(err)
		}
		row := mutants.Row{Mutant: m, Verdicts: verdicts}
		if killed := len(row.KilledBy()) > 0; killed != (i > 0) {
			t.Errorf("killed is %v: %v", killed, row)
		}
	}
}

// matrix runs mutants at every level, and tells how it gets on.
func matrix(t *testing.T, chosen []mutants.Mutant) []mutants.Row {
	var mu sync.Mutex
	x := mutants.Matrix{Root: root(t), Mutants: chosen, Workers: *mutantWorker, Enough: *mutantEnough, Progress: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		say(t, line)
	}}
	rows, err := x.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// say tells a person who waits, at once and without -v.
func say(t *testing.T, line string) {
	if _, err := os.Stderr.WriteString(line + "\n"); err != nil {
		t.Log(line)
	}
}

func catalogue(t *testing.T) []mutants.Mutant {
	t.Helper()
	all, err := mutants.Catalogue("..")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/reattach/model"
	"example.com/reattach/properties/evidence"
	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

const top = "../../.."

// The generated pages say what tables, rules, model, modules and tests say.
func TestPagesAreFresh(t *testing.T) {
	pages, err := pagesOf(t.Context(), top)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		now, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(page.Path)))
		if err != nil {
			t.Errorf("%v; run: %s", err, docsCommand)
			continue
		}
		fresh, err := page.Render(string(now))
		if err != nil {
			t.Errorf("%s: %v", page.Path, err)
		} else if diff := cmp.Diff(strings.Split(string(now), "\n"), strings.Split(fresh, "\n")); diff != "" {
			t.Errorf("%s is stale; run: %s\n(-now +fresh)\n%s", page.Path, docsCommand, diff)
		}
	}
}

// Given a copy of what the pages are made of, when pages go stale, then
// --check names them and the command, and writing brings them back.
func TestRefresh(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"docs", "tla", "model", "impl/cmd/reattach"} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join(top, dir))); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/reattach\n")
	if _, err := refresh(t.Context(), root, true); err != nil {
		t.Fatal(err)
	}
	write("docs/gallery.md", "spoiled")
	write("model/more_test.go", "package model\n\n// R9 is cited anew.\nfunc TestMore() {}\n")
	if err := os.Remove(filepath.Join(root, "docs/transitions.md")); err != nil {
		t.Fatal(err)
	}
	want := []string{"docs/gallery.md", "docs/rules.md", "docs/transitions.md", "impl/cmd/reattach/evidence.json"}
	t.Chdir(filepath.Join(root, "docs"))
	var out bytes.Buffer
	if code := run(t.Context(), []string{"docs", "--check"}, &out, &out); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	for _, path := range want {
		if !strings.Contains(out.String(), path+" is stale; run: "+docsCommand+"\n") {
			t.Errorf("%s is not said to be stale in\n%s", path, &out)
		}
	}
	stale, err := refresh(t.Context(), root, true)
	slices.Sort(stale)
	if diff := cmp.Diff(want, stale); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if code := run(t.Context(), []string{"docs", "--check"}, &out, &out); code != exitOK {
		t.Errorf("exit %d after writing, want %d", code, exitOK)
	}
}

// Outside of the repository there is nothing to write.
func TestDocsOutsideTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	if code := run(t.Context(), []string{"docs"}, &out, &out); code != exitMisuse || !strings.Contains(out.String(), "inside the repository") {
		t.Errorf("exit %d, says %q", code, &out)
	}
}

// The gallery shows ten different mutants, of both sides, and what it shows of
// each is what is violated.
func TestGallery(t *testing.T) {
	page, err := gallery(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range exhibits {
		m, _ := model.MutantNamed(x.mutant)
		names = append(names, m.Name)
		if !strings.Contains(page, "\nViolated: **"+m.Rule+" ") || !strings.Contains(page, "check --mutant "+m.Name+" --scope "+x.scope+"\n") {
			t.Errorf("%s: its violation of %s or its command is not on the page", m.Name, m.Rule)
		}
	}
	slices.Sort(names)
	if got := len(slices.Compact(names)); got != 10 {
		t.Errorf("%d mutants, want 10", got)
	}
	if got := strings.Count(page, "```mermaid\nsequenceDiagram\n"); got != 10 {
		t.Errorf("%d diagrams, want 10", got)
	}
}

// An exhibit that does not come out spoils the page, by name.
func TestAnExhibitThatSurvives(t *testing.T) {
	for _, x := range []exhibit{{mutant: "hole-accepted", scope: "small"}, {mutant: "hole-accepted", scope: "nowhere"}} {
		if _, err := x.render(t.Context(), 1); err == nil || !strings.Contains(err.Error(), x.mutant) {
			t.Errorf("%+v: %v", x, err)
		}
	}
}

// What the command knows of a rule is what stands on the page.
func TestRulesShowTheEvidence(t *testing.T) {
	var out, diag bytes.Buffer
	if code := run(t.Context(), []string{"rules", "--id", "R5"}, &out, &diag); code != exitOK {
		t.Fatalf("exit %d: %s", code, &diag)
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		" modelled CursorFormed, ", " asked ", "VerdictExact", "ResumptionRules: R5_", " impl/session: ",
		" broken by the code: ", "; the model: ahead-accepted, ", "; the TLA+ modules: ", " window-evicted-is-good",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("lacks %q:\n%s", want, &out)
		}
	}
	many := evidence.Rule{ID: "R5", Mutants: []evidence.Named{{Where: "code", Names: strings.Fields(strings.Repeat("x ", readable+1))}}}
	if got := shown(many).Items; len(got) != 1 || !strings.Contains(got[0], "the code: 13 of them (`go run ./impl/cmd/reattach rules --id R5` names them)") {
		t.Errorf("too many for a page: %q", got)
	}
	if got := len(known()); got != len(spec.Rules()) {
		t.Errorf("evidence for %d rules, want %d", got, len(spec.Rules()))
	}
}

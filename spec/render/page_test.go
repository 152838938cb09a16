package render

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the pages of docs")

// The pages say what the tables and rules say. Run the command after changing
// either.
func TestPagesAreFresh(t *testing.T) {
	for _, page := range Pages() {
		path := filepath.Join("..", "..", filepath.FromSlash(page.Path))
		now, err := os.ReadFile(path)
		if err != nil && !*update {
			t.Errorf("%s: %v; run: %s", page.Path, err, Command)
			continue
		}
		fresh, err := page.Render(string(now))
		if err != nil {
			t.Errorf("%s: %v", page.Path, err)
			continue
		}
		if fresh == string(now) {
			continue
		}
		if !*update {
			t.Errorf("%s is stale; run: %s\n(-now +fresh)\n%s", page.Path, Command, cmp.Diff(lines(string(now)), lines(fresh)))
		} else if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func lines(text string) []string { return strings.Split(text, "\n") }

// Every page notices a changed table: no column is left out by accident.
func TestTheTablesPageShowsEveryColumn(t *testing.T) {
	before := Transitions(spec.Tables())
	for name, change := range map[string]func(*spec.Row){
		"id":      func(r *spec.Row) { r.ID = "ST99" },
		"from":    func(r *spec.Row) { r.From = []spec.State{spec.Forgotten} },
		"trigger": func(r *spec.Row) { r.Trigger = spec.SessionEnds },
		"guard":   func(r *spec.Row) { r.Guard = spec.Guard{False: spec.FactsOf(spec.Standalone)} },
		"to":      func(r *spec.Row) { r.To = spec.Forgotten },
		"forbid":  func(r *spec.Row) { r.Forbid = spec.ReasonNoView },
		"effects": func(r *spec.Row) { r.Effects = []spec.Effect{spec.Bury} },
		"cites":   func(r *spec.Row) { r.Cites = []string{"R16"} },
	} {
		tables := spec.Tables()
		tables[1].Rows = append([]spec.Row(nil), tables[1].Rows...)
		change(&tables[1].Rows[0])
		if Transitions(tables) == before {
			t.Errorf("a row with another %s leaves the page as it was", name)
		}
	}
}

// A rule's page holds all of the rule, and the rows that cite it.
func TestARuleShowsAllOfIt(t *testing.T) {
	r, _ := spec.RuleOf("R30")
	text := strings.Join(strings.Fields(Rule(r)), " ")
	for _, part := range []string{"## R30 one holder of the record", r.Text, r.Source, r.Holds, r.Where, "CS07 CS81 CS86", "transitions.md#epoch): EP49"} {
		if !strings.Contains(text, part) {
			t.Errorf("the rule's page lacks %q:\n%s", part, text)
		}
	}
	if got, want := ruleLink("R16"), "[R16](rules.md#r16-the-servers-own-calls)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := ruleLink("R17"); got != "R17" {
		t.Errorf("a rule that there is not got the link %s", got)
	}
}

// A diagram shows what a session can do and not what it refuses.
func TestADiagram(t *testing.T) {
	want := "\n```mermaid\nstateDiagram-v2\n    direction LR\n" +
		"    [*] --> Absent\n" +
		"    Absent --> Live : ClientInitializes\n" +
		"    Live --> Terminated : ClientTerminates\n" +
		"    Draining --> Terminated : ClientTerminates\n" +
		"    Live --> Expired : SessionBudgetElapses\n" +
		"    Draining --> Expired : SessionBudgetElapses\n" +
		"    Live --> Draining : ServerDrains\n" +
		"    Expired --> [*]\n" +
		"    Terminated --> [*]\n" +
		"```\n\n" +
		"- Live can stay on ClientCalls, ClientNotifies, ClientResumes.\n" +
		"- Draining can stay on ClientNotifies, ServerDrains.\n\n"
	if diff := cmp.Diff(lines(want), lines(Diagram(spec.SessionTable()))); diff != "" {
		t.Errorf("the diagram of the session table (-want +got)\n%s", diff)
	}
}

// No move is lost: what a diagram does not draw, it tells.
func TestDiagramsTellEveryMove(t *testing.T) {
	for _, table := range spec.Tables() {
		text := strings.Join(strings.Fields(Diagram(table)), " ")
		for _, m := range movesOf(table) {
			drawn := m.from.String() + " --> " + m.to.String() + " : " + list(m.triggers, "<br/>")
			told := list(m.triggers, ", ")
			if !strings.Contains(text, drawn) && !strings.Contains(text, "the ways into "+m.to.String()) {
				t.Errorf("%s: %s is neither drawn nor told", table.Machine, drawn)
			}
			if !strings.Contains(text, drawn) && !strings.Contains(text, m.from.String()+" on "+told) && !strings.Contains(text, m.from.String()+", ") {
				t.Errorf("%s: %v into %v on %s is not told", table.Machine, m.from, m.to, told)
			}
		}
	}
}

// Text around the markers stays; a page whose markers are wrong is refused
// rather than spoiled.
func TestFillKeepsTheTextAround(t *testing.T) {
	session := spec.SessionTable()
	const marker = "<!-- diagram: session -->\n"
	got, err := Fill("before\n\n"+marker+"old\n<!-- end -->\n\nbehind\n", []spec.Table{session})
	if want := "before\n\n" + marker + Diagram(session) + "<!-- end -->\n\nbehind\n"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if again, err := Fill(got, []spec.Table{session}); err != nil || again != got {
		t.Errorf("filling twice changes the page: %v", err)
	}
	for name, text := range map[string]string{
		"no marker":        "before",
		"no end":           marker + "old\n",
		"an unknown table": "<!-- diagram: sessions -->\n<!-- end -->\n" + marker + "<!-- end -->\n",
		"one table twice":  marker + "<!-- end -->\n" + marker + "<!-- end -->\n",
		"one in another":   marker + marker + "<!-- end -->\n",
	} {
		if _, err := Fill(text, []spec.Table{session}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"one", "one"},
		{"one two three", "one two\nthree"},
		{"a-very-long-word x", "a-very-long-word\nx"},
	} {
		if got := wrap(test.text, 8); got != test.want {
			t.Errorf("%q wraps as %q, want %q", test.text, got, test.want)
		}
	}
}

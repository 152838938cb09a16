package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTablesAreTotalAndUnambiguous(t *testing.T) {
	for _, table := range Tables() {
		for _, fault := range table.Check() {
			t.Error(fault)
		}
	}
}

// The check above is worth something only if it notices. It does for every
// row: one that is missing, and one that is there twice.
func TestCheckNoticesAMissingRow(t *testing.T) {
	for _, table := range Tables() {
		for i := range table.Rows {
			if id := table.Rows[i].ID; len(table.Without(id).Check()) == 0 {
				t.Errorf("table %s without %s passes its check", table.Machine, id)
			}
		}
	}
}

func TestCheckNoticesADoubledRow(t *testing.T) {
	for _, table := range Tables() {
		for i := range table.Rows {
			doubled := table
			twin := table.Rows[i]
			twin.ID = fmt.Sprintf("%.2s%02d", twin.ID, len(table.Rows)+1) // the next free id
			doubled.Rows = append(slices.Clone(table.Rows), twin)
			if !reports(doubled.Check(), table.Rows[i].ID+" and "+twin.ID+" both hold") {
				t.Errorf("table %s with %s twice passes its check", table.Machine, table.Rows[i].ID)
			}
		}
	}
}

// Each kind of fault, planted in the stream table, is reported as what it is.
func TestCheckNamesTheFault(t *testing.T) {
	size := StreamTable().Size
	next, after := fmt.Sprintf("ST%02d", size+1), fmt.Sprintf("ST%02d", size+2) // ids that are free
	for name, test := range map[string]struct {
		plant func(*Table)
		says  string
	}{
		"a guard that leaves a gap":        {func(t *Table) { t.Rows[1].Guard = Guard{True: FactsOf(WithView)} }, "no row for Unopened, StreamOpens"},
		"a guard that overlaps":            {func(t *Table) { t.Rows[1].Guard = Guard{} }, "ST01 and ST02 both hold"},
		"an id used twice":                 {func(t *Table) { t.Rows[1].ID = "ST01" }, "two rows are called ST01"},
		"an id left out":                   {func(t *Table) { t.Rows[1].ID = "ST99" }, "no row is called ST02"},
		"a row less than declared":         {func(t *Table) { t.Rows = t.Rows[:size-1] }, fmt.Sprintf("%d rows where %d are declared", size-1, size)},
		"no citation":                      {func(t *Table) { t.Rows[0].Cites = nil }, "ST01 cites no rule"},
		"another machine's trigger":        {func(t *Table) { t.Rows[0].Trigger = ClientCalls }, "not this machine's"},
		"another machine's source":         {func(t *Table) { t.Rows[0].From = []State{Live} }, "names state Live"},
		"another machine's target":         {func(t *Table) { t.Rows[0].To = Live }, "names state Live"},
		"a refusal that does something":    {func(t *Table) { t.Rows[2].Effects = []Effect{Record} }, "forbids and yet has effects"},
		"a row in the shade":               {func(t *Table) { t.Rows = append(t.Rows, wide(next, ReasonOutOfTurn)) }, next + " is never the nearest"},
		"a row that would take another's":  {func(t *Table) { t.Rows = append(t.Rows, wide(next, "")) }, "lies under"},
		"an overlap behind a nearer guard": {func(t *Table) { t.Rows = append(t.Rows, wide(next, "x"), wide(after, "x")) }, next + " and " + after + " both hold"},
	} {
		t.Run(name, func(t *testing.T) {
			table := StreamTable()
			table.Rows = slices.Clone(table.Rows)
			test.plant(&table)
			if faults := table.Check(); !reports(faults, test.says) {
				t.Errorf("want a fault that says %q, got %v", test.says, faults)
			}
		})
	}
}

// wide returns a row over every state of the stream table.
func wide(id string, forbid Reason) Row {
	return Row{ID: id, From: StreamTable().States, Trigger: StreamOpens, To: Detached, Forbid: forbid, Cites: []string{"R2"}}
}

func reports(faults []error, text string) bool {
	return slices.ContainsFunc(faults, func(err error) bool { return strings.Contains(err.Error(), text) })
}

// A name in a table's text that does not exist is our own fault, found when
// the program starts.
func TestATableWithAFaultyNamePanics(t *testing.T) {
	for name, line := range map[string]string{
		"trigger":          "| XX01 | Live | ClientSings | | = | | R1 |",
		"fact":             "| XX01 | Live | ClientCalls | !Cheerful | = | | R1 |",
		"effect":           "| XX01 | Live | ClientCalls | | = | Sing | R1 |",
		"source":           "| XX01 | Alive | ClientCalls | | = | | R1 |",
		"target":           "| XX01 | Live | ClientCalls | | Alive | | R1 |",
		"a column missing": "| XX01 | Live | ClientCalls | | = | R1 |",
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, "reattach: BUG: table toy, line 1") || !strings.Contains(text, line) {
					t.Errorf("want a panic with table and line, got %s", text)
				}
			}()
			parseTable("toy", 1, Live, []State{Live}, []Trigger{ClientCalls}, "head\n"+line)
		})
	}
}

// What the text of a table says is what its rows are: parsing and printing are
// inverse for every column.
func TestRowsPrintAsTheyAreWritten(t *testing.T) {
	for _, table := range Tables() {
		for i := range table.Rows {
			r := &table.Rows[i]
			line := strings.Join([]string{r.ID, r.Source(), r.Trigger.String(), r.Guard.String(), r.Target(), r.EffectNames(), strings.Join(r.Cites, " ")}, " | ")
			again := parseTable(table.Machine, 1, table.Initial, table.States, table.Triggers, "head\n| "+line+" |").Rows[0]
			if fmt.Sprintf("%#v", again) != fmt.Sprintf("%#v", *r) {
				t.Errorf("%s prints as\n%s\nwhich reads as\n%#v", r.ID, line, again)
			}
		}
	}
}

// Of several rows that hold, the one that names fewest states wins, whatever
// the order in which they are written.
func TestTheNearestRowWins(t *testing.T) {
	states := []State{Streaming, Committing, Lost}
	const near, far = "| XX01 | Lost | EventArrives | | forbid stream_lost | | R22 |", "| XX02 | * | EventArrives | | forbid no_connection | | R21 |"
	for _, text := range []string{near + "\n" + far, far + "\n" + near} {
		table := parseTable("toy", 2, Streaming, states, []Trigger{EventArrives}, "head\n"+text)
		if r := table.Resolve(Lost, EventArrives, 0); r.ID != "XX01" {
			t.Errorf("in Lost: got %s, want XX01, which names Lost alone", r.ID)
		}
		if r := table.Resolve(Committing, EventArrives, 0); r.ID != "XX02" {
			t.Errorf("in Committing: got %s, want XX02", r.ID)
		}
		if r := table.Resolve(Open, EventArrives, 0); r != nil {
			t.Errorf("in a state of no row: got %s, want none", r.ID)
		}
	}
}

func TestWithoutAnUnknownRowPanics(t *testing.T) {
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "reattach: BUG") || !strings.Contains(text, "ST00") {
			t.Errorf("want a panic that names the row, got %s", text)
		}
	}()
	StreamTable().Without("ST00")
}

// No name of the vocabulary is decoration: every state, trigger, fact and
// effect has a name, and some row of some table speaks of it.
func TestTheVocabularyIsNamedAndUsed(t *testing.T) {
	spoken := map[string]bool{}
	for _, table := range Tables() {
		for i := range table.Rows {
			r := &table.Rows[i]
			words := slices.Concat(strings.Split(r.Source(), ","), strings.Fields(r.EffectNames()), []string{r.Trigger.String()})
			for _, f := range r.Guard.Reads().List() {
				words = append(words, f.String())
			}
			for _, word := range words {
				spoken[word] = true
			}
		}
	}
	seen := map[string]bool{}
	check := func(kind, name string) {
		if strings.HasPrefix(name, "?") {
			t.Errorf("spec/%s.go: %s %s has no name: give it one in %[1]sNames", kind, kind, name)
		}
		if seen[name] {
			t.Errorf("spec/%s.go: %s %s: the name is taken", kind, kind, name)
		}
		seen[name] = true
		if !spoken[name] {
			t.Errorf("spec/%s.go: %s %s is in no row: name it in one of spec/table_*.go", kind, kind, name)
		}
	}
	for s := noState + 1; s < numStates; s++ {
		check("state", s.String())
	}
	for trigger := noTrigger + 1; trigger < numTriggers; trigger++ {
		check("trigger", trigger.String())
	}
	for f := Fact(0); f < numFacts; f++ {
		check("fact", f.String())
	}
	for e := noEffect + 1; e < numEffects; e++ {
		check("effect", e.String())
	}
	if name := numStates.String(); !strings.HasPrefix(name, "?") {
		t.Errorf("a state that does not exist is called %s", name)
	}
}

// No two machines share a state or a trigger, so a row is of one machine only.
func TestMachinesShareNothing(t *testing.T) {
	owner := map[string]string{}
	for _, table := range Tables() {
		var names []string
		for _, s := range table.States {
			names = append(names, s.String())
		}
		for _, trigger := range table.Triggers {
			names = append(names, trigger.String())
		}
		for _, name := range names {
			if other, taken := owner[name]; taken {
				t.Errorf("%s belongs to both %s and %s", name, other, table.Machine)
			}
			owner[name] = table.Machine
		}
	}
	if want := int(numStates) - 1 + int(numTriggers) - 1; len(owner) != want {
		t.Errorf("spec: the machines have %d states and triggers, the vocabulary %d: list what is new among its machine's in spec/table_*.go", len(owner), want)
	}
}

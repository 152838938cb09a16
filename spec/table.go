package spec

import (
	"fmt"
	"slices"
)

// A Table is one machine as data: its states, its triggers and its rows. The
// four tables of this package are total: for every state, trigger and truth of
// the facts exactly one row is the nearest (a test enumerates them). A table
// that a caller edited need not be; what it lacks is refused when it happens.
type Table struct {
	Machine  string // session, stream, epoch or clientstream
	Initial  State
	States   []State
	Triggers []Trigger
	Rows     []Row
	Size     int // how many rows there are meant to be: see Check
}

// Tables lists the four tables: server then client, durable then ephemeral.
func Tables() []Table {
	return []Table{SessionTable(), StreamTable(), EpochTable(), ClientStreamTable()}
}

// Without returns the table without the row of that id: how a test shows that
// a row is not decoration. It panics if there is no such row.
func (t Table) Without(id string) Table {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		panic(fmt.Sprintf("reattach: BUG: table %s has no row %s to leave out", t.Machine, id))
	}
	t.Rows = slices.Delete(slices.Clone(t.Rows), i, i+1)
	return t
}

// Row returns the row of that id.
func (t Table) Row(id string) (*Row, bool) {
	for i := range t.Rows {
		if t.Rows[i].ID == id {
			return &t.Rows[i], true
		}
	}
	return nil, false
}

// Candidates returns the rows that speak about a state and a trigger, nearest
// first. Of two whose guards hold, the one with the smaller From wins.
func (t Table) Candidates(s State, trigger Trigger) []*Row {
	var rows []*Row
	for i := range t.Rows {
		if r := &t.Rows[i]; r.Trigger == trigger && r.Covers(s) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return len(a.From) - len(b.From) })
	return rows
}

// Resolve returns the nearest row for a state, a trigger and the facts that
// are true, or nil if the table has none. It is the meaning of the table;
// package fsm holds two faster forms that are tested against it.
func (t Table) Resolve(s State, trigger Trigger, facts Facts) *Row {
	for _, r := range t.Candidates(s, trigger) {
		if r.Guard.Holds(facts) {
			return r
		}
	}
	return nil
}

// Check returns every fault of the table. Without one it is total and
// unambiguous, and no row is decoration:
//
//	(1) every state, trigger and truth of the facts has a row
//	(2) of two equally near rows at most one holds
//	(3) every row is the nearest somewhere, and what lies under a nearer row
//	    only forbids: so without the nearer row its move is refused
//	(4) ids are used once and run from 01 to Size: a row that went missing is
//	    noticed, and a move that is given up becomes a forbid row
//	(5) rows name this machine's states and triggers only, cite a rule, and
//	    have effects only if they allow something
func (t Table) Check() []error {
	faults := t.checkRows()
	nearest := map[string]bool{}
	for _, s := range t.States {
		for _, trigger := range t.Triggers {
			faults = append(faults, t.checkPair(s, trigger, nearest)...)
		}
	}
	for i := range t.Rows {
		if id := t.Rows[i].ID; !nearest[id] {
			faults = append(faults, t.fault("row %s is never the nearest", id))
		}
	}
	return faults
}

func (t Table) fault(format string, args ...any) error {
	return fmt.Errorf("spec/table_"+t.Machine+".go: "+format, args...)
}

// checkRows sees to (4) and (5).
func (t Table) checkRows() (faults []error) {
	used := map[string]bool{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if used[r.ID] {
			faults = append(faults, t.fault("two rows are called %s", r.ID))
		}
		used[r.ID] = true
		if len(r.Cites) == 0 {
			faults = append(faults, t.fault("row %s cites no rule", r.ID))
		}
		if !slices.Contains(t.Triggers, r.Trigger) {
			faults = append(faults, t.fault("row %s has trigger %v, which is not this machine's", r.ID, r.Trigger))
		}
		for _, s := range append([]State{r.Next(t.Initial)}, r.From...) {
			if !slices.Contains(t.States, s) {
				faults = append(faults, t.fault("row %s names state %v, which is not this machine's", r.ID, s))
			}
		}
		if r.Forbid != "" && len(r.Effects) > 0 {
			faults = append(faults, t.fault("row %s forbids and yet has effects", r.ID))
		}
	}
	if len(t.Rows) != t.Size {
		faults = append(faults, t.fault("%d rows where %d are declared: declare what was added, behind %q; what is given up becomes a forbid row", len(t.Rows), t.Size, t.Machine))
	}
	for n := 1; n <= t.Size && len(t.Rows) > 0; n++ {
		if id := fmt.Sprintf("%.2s%02d", t.Rows[0].ID, n); !used[id] {
			faults = append(faults, t.fault("no row is called %s", id))
		}
	}
	return faults
}

// checkPair sees to (1), (2) and (3) for one state and trigger, and notes
// which rows are the nearest somewhere.
func (t Table) checkPair(s State, trigger Trigger, nearest map[string]bool) (faults []error) {
	rows := t.Candidates(s, trigger)
	for facts := range everyTruth(rows) {
		var holding []*Row
		for _, r := range rows {
			if r.Guard.Holds(facts) {
				holding = append(holding, r)
			}
		}
		if len(holding) == 0 {
			faults = append(faults, t.fault("no row for %v, %v, %v: add one, or a forbid row that says why", s, trigger, facts))
			continue
		}
		nearest[holding[0].ID] = true
		for i, r := range holding[1:] {
			if near := holding[i]; len(near.From) == len(r.From) {
				faults = append(faults, t.fault("rows %s and %s both hold for %v, %v, %v", near.ID, r.ID, s, trigger, facts))
			} else if r.Forbid == "" {
				faults = append(faults, t.fault("row %s lies under %s for %v, %v, %v and allows something: name its states", r.ID, near.ID, s, trigger, facts))
			}
		}
	}
	return faults
}

// everyTruth yields every combination of the facts that the rows' guards read.
func everyTruth(rows []*Row) func(yield func(Facts) bool) {
	var reads Facts
	for _, r := range rows {
		reads |= r.Guard.Reads()
	}
	return func(yield func(Facts) bool) {
		for sub := reads; ; sub = (sub - 1) & reads {
			if !yield(sub) || sub == 0 {
				return
			}
		}
	}
}

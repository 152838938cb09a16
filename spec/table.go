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

// Check returns every fault that makes the table other than total and
// unambiguous: a (state, trigger, facts) without a row, two nearest rows at
// once, a row that is never the nearest, an id used twice, a state or trigger
// that is not the machine's, a row without a citation.
func (t Table) Check() []error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("table "+t.Machine+": "+format, args...))
	}
	used := map[string]bool{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if _, ok := used[r.ID]; ok {
			fault("two rows are called %s", r.ID)
		}
		used[r.ID] = false
		if len(r.Cites) == 0 {
			fault("row %s cites no rule", r.ID)
		}
		if !slices.Contains(t.Triggers, r.Trigger) {
			fault("row %s has trigger %v, which is not this machine's", r.ID, r.Trigger)
		}
		for _, s := range append([]State{r.Next(t.Initial)}, r.From...) {
			if !slices.Contains(t.States, s) {
				fault("row %s names state %v, which is not this machine's", r.ID, s)
			}
		}
		if r.Forbid != "" && len(r.Effects) > 0 {
			fault("row %s forbids and yet has effects", r.ID)
		}
	}
	for _, s := range t.States {
		for _, trigger := range t.Triggers {
			rows := t.Candidates(s, trigger)
			for facts := range everyTruth(rows) {
				first := slices.IndexFunc(rows, func(r *Row) bool { return r.Guard.Holds(facts) })
				if first < 0 {
					fault("no row for %v, %v, %v: add one, or a forbid row that says why", s, trigger, facts)
					continue
				}
				used[rows[first].ID] = true
				for _, other := range rows[first+1:] {
					if len(other.From) == len(rows[first].From) && other.Guard.Holds(facts) {
						fault("rows %s and %s both hold for %v, %v, %v", rows[first].ID, other.ID, s, trigger, facts)
					}
				}
			}
		}
	}
	for i := range t.Rows {
		if !used[t.Rows[i].ID] {
			fault("row %s is never the nearest", t.Rows[i].ID)
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

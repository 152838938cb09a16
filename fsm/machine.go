package fsm

import (
	"fmt"

	"example.com/reattach/spec"
	"github.com/qmuntal/stateless"
)

// A Machine is one transition table at work. It is immutable after [New] and
// safe for concurrent use.
//
// Guarantees, for every state s, trigger t and set of facts f:
//
//	(1) Fire(s, t, f) = Resolve(s, t, f)
//	(2) the step's Row = Table().Resolve(s, t, f), the nearest row that holds
//	(3) no step  <=>  a *RefusedError, and nothing changed anywhere
type Machine struct {
	table     spec.Table
	spans     [spec.NumStates][spec.NumTriggers]span
	rows      []candidate // of all spans, nearest first within each
	stateless *stateless.StateMachine
}

// A Step says which row fired and where it led. Its row's effects are still to
// be run, in order.
type Step struct {
	Row      *spec.Row // never nil, never a forbid row; not to be written to
	From, To spec.State
}

// A span is the part of Machine.rows that speaks about one state and trigger.
type span struct{ first, end uint32 }

type candidate struct {
	guard spec.Guard
	row   *spec.Row
}

// New makes a machine of a table. The table need not be total: what it lacks
// is refused when it happens. It must make sense, though: every row has an id
// of its own and names states and triggers of the machine, and no two rows of
// equal distance hold at once, for then the table would not say what happens.
func New(t spec.Table) (*Machine, error) {
	t.Rows = append([]spec.Row(nil), t.Rows...)
	if err := makesSense(t); err != nil {
		return nil, fmt.Errorf("fsm: table %s: %w", t.Machine, err)
	}
	m := &Machine{table: t}
	for _, s := range t.States {
		for _, trigger := range t.Triggers {
			first := len(m.rows)
			for _, r := range t.Candidates(s, trigger) {
				m.rows = append(m.rows, candidate{r.Guard, r})
			}
			m.spans[s][trigger] = span{uint32(first), uint32(len(m.rows))}
		}
	}
	m.stateless = m.configure()
	return m, nil
}

// Must is New for a table that is part of the program.
func Must(t spec.Table) *Machine {
	m, err := New(t)
	if err != nil {
		panic("reattach: BUG: " + err.Error())
	}
	return m
}

// Table returns the table at work. Its rows are the ones that steps point to.
func (m *Machine) Table() spec.Table { return m.table }

// Resolve returns the step that the table gives for what happened, or a
// [*RefusedError]. It allocates nothing unless it refuses.
func (m *Machine) Resolve(from spec.State, t spec.Trigger, facts spec.Facts) (Step, error) {
	for _, c := range m.candidates(from, t) {
		if c.guard.Holds(facts) {
			if c.row.Forbid != "" {
				return Step{}, m.refuse(from, t, facts, c.row)
			}
			return Step{Row: c.row, From: from, To: c.row.Next(from)}, nil
		}
	}
	return Step{}, m.refuse(from, t, facts, nil)
}

// candidates returns the rows that speak about a state and a trigger, nearest
// first; none for values that are not this machine's.
func (m *Machine) candidates(from spec.State, t spec.Trigger) []candidate {
	if int(from) >= spec.NumStates || int(t) >= spec.NumTriggers {
		return nil
	}
	at := m.spans[from][t]
	return m.rows[at.first:at.end]
}

// makesSense returns the first fault that leaves open what the table means.
func makesSense(t spec.Table) error {
	states, triggers := map[spec.State]bool{}, map[spec.Trigger]bool{}
	for _, s := range t.States {
		states[s] = int(s) < spec.NumStates
	}
	for _, trigger := range t.Triggers {
		triggers[trigger] = int(trigger) < spec.NumTriggers
	}
	ids := map[string]bool{"": true}
	for i := range t.Rows {
		r := &t.Rows[i]
		if ids[r.ID] {
			return fmt.Errorf("row %d: id %q is empty or used twice", i, r.ID)
		}
		ids[r.ID] = true
		if !triggers[r.Trigger] {
			return fmt.Errorf("row %s: trigger %v is not this machine's", r.ID, r.Trigger)
		}
		for _, s := range append([]spec.State{r.Next(t.Initial)}, r.From...) {
			if !states[s] {
				return fmt.Errorf("row %s: state %v is not this machine's", r.ID, s)
			}
		}
		for j := range i {
			if other := &t.Rows[j]; overlap(r, other) {
				return fmt.Errorf("rows %s and %s are equally near and can hold at once", other.ID, r.ID)
			}
		}
	}
	return nil
}

// overlap reports whether two equally near rows can hold at once.
func overlap(a, b *spec.Row) bool {
	if a.Trigger != b.Trigger || len(a.From) != len(b.From) {
		return false
	}
	if a.Guard.True&b.Guard.False != 0 || a.Guard.False&b.Guard.True != 0 {
		return false
	}
	for _, s := range a.From {
		if b.Covers(s) {
			return true
		}
	}
	return false
}

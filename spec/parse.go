package spec

import (
	"fmt"
	"slices"
	"strings"
)

// parseTable reads a table's text: one row a line, columns between bars. The
// text is part of the program, so a fault in it is ours.
func parseTable(machine string, size int, initial State, states []State, triggers []Trigger, text string) Table {
	t := Table{Machine: machine, Size: size, Initial: initial, States: states, Triggers: triggers}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i == 0 {
			continue // the head of the table
		}
		row, err := t.parseRow(line)
		if err != nil {
			panic(fmt.Sprintf("reattach: BUG: table %s, line %d: %v: %s", machine, i, err, line))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (t *Table) parseRow(line string) (row Row, err error) {
	cells := strings.Split(strings.Trim(line, "| "), "|")
	if len(cells) != 7 {
		return row, fmt.Errorf("%d columns instead of 7", len(cells))
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	row.ID, row.Cites = cells[0], strings.Fields(cells[6])
	if row.From, err = t.parseStates(cells[1]); err != nil {
		return row, err
	}
	trigger, ok := indexOf(triggerNames[:], cells[2])
	if !ok {
		return row, fmt.Errorf("no trigger %q", cells[2])
	}
	row.Trigger = Trigger(trigger)
	for _, term := range strings.Fields(cells[3]) {
		name, negated := strings.CutPrefix(term, "!")
		fact, ok := indexOf(factNames[:], name)
		if !ok {
			return row, fmt.Errorf("no fact %q", name)
		}
		if negated {
			row.Guard.False = row.Guard.False.With(Fact(fact), true)
		} else {
			row.Guard.True = row.Guard.True.With(Fact(fact), true)
		}
	}
	for _, name := range strings.Fields(cells[5]) {
		effect, ok := indexOf(effectNames[:], name)
		if !ok {
			return row, fmt.Errorf("no effect %q", name)
		}
		row.Effects = append(row.Effects, Effect(effect))
	}
	return row, row.parseTarget(cells[4])
}

func (r *Row) parseTarget(cell string) error {
	if reason, ok := strings.CutPrefix(cell, "forbid "); ok {
		r.Forbid = Reason(reason)
		return nil
	}
	if cell == "=" {
		r.Stay = true
		return nil
	}
	state, ok := indexOf(stateNames[:], cell)
	if !ok {
		return fmt.Errorf("no state %q", cell)
	}
	r.To = State(state)
	return nil
}

// parseStates reads a From cell: names between commas, or * for every state.
func (t *Table) parseStates(cell string) ([]State, error) {
	if cell == "*" {
		return slices.Clone(t.States), nil
	}
	var states []State
	for _, name := range strings.Split(cell, ",") {
		state, ok := indexOf(stateNames[:], name)
		if !ok {
			return nil, fmt.Errorf("no state %q", name)
		}
		states = append(states, State(state))
	}
	return states, nil
}

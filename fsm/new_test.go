package fsm_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// A table that does not say what happens makes no machine; one that merely
// lacks rows does.
func TestNewRefusesNonsense(t *testing.T) {
	edit := func(change func(*spec.Table)) spec.Table {
		table := spec.StreamTable()
		table.Rows = slices.Clone(table.Rows)
		change(&table)
		return table
	}
	for name, test := range map[string]struct {
		table spec.Table
		says  string // "" = it makes a machine
	}{
		"as it stands":      {spec.StreamTable(), ""},
		"a row missing":     {spec.StreamTable().Without("ST01"), ""},
		"no row at all":     {edit(func(t *spec.Table) { t.Rows = nil }), ""},
		"an id used twice":  {edit(func(t *spec.Table) { t.Rows[1].ID = "ST01" }), "ST01"},
		"a row without id":  {edit(func(t *spec.Table) { t.Rows[1].ID = "" }), "empty"},
		"a strange trigger": {edit(func(t *spec.Table) { t.Rows[0].Trigger = spec.ClientCalls }), "ClientCalls"},
		"a trigger that is no trigger": {edit(func(t *spec.Table) {
			t.Triggers = append(slices.Clone(t.Triggers), 255)
			t.Rows[0].Trigger = 255
		}), "?255"},
		"a strange source": {edit(func(t *spec.Table) { t.Rows[0].From = []spec.State{spec.Live} }), "Live"},
		"a strange target": {edit(func(t *spec.Table) { t.Rows[0].To = spec.Live }), "Live"},
		"a state that is no state": {edit(func(t *spec.Table) {
			t.States = append(slices.Clone(t.States), 255)
			t.Rows[0].To = 255
		}), "?255"},
		"two rows for one moment": {edit(func(t *spec.Table) {
			twin := t.Rows[0]
			twin.ID = "ST99"
			t.Rows = append(t.Rows, twin)
		}), "ST01 and ST99"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fsm.New(test.table)
			switch {
			case test.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.says != "" && err == nil:
				t.Errorf("made a machine, want an error about %q", test.says)
			case test.says != "" && !strings.Contains(err.Error(), test.says):
				t.Errorf("got %q, want it to name %q", err, test.says)
			}
		})
	}
}

// A table handed to the wrong place is found when the pair is made, not when
// the first client comes.
func TestAPairWantsItsOwnTables(t *testing.T) {
	if _, err := fsm.NewServer(spec.SessionTable(), spec.StreamTable()); err != nil {
		t.Error(err)
	}
	if _, err := fsm.NewClient(spec.EpochTable(), spec.ClientStreamTable()); err != nil {
		t.Error(err)
	}
	if _, err := fsm.NewServer(spec.StreamTable(), spec.SessionTable()); err == nil {
		t.Error("a server was made of a stream and a session, in that order")
	}
	if _, err := fsm.NewClient(spec.EpochTable(), spec.StreamTable()); err == nil {
		t.Error("a client was made of the server's stream table")
	}
	broken := spec.EpochTable()
	broken.Rows = append(slices.Clone(broken.Rows), broken.Rows[0])
	if _, err := fsm.NewClient(broken, spec.ClientStreamTable()); err == nil {
		t.Error("a client was made of a table with one row twice")
	}
}

// The default pairs are built once and shared.
func TestDefaultsAreShared(t *testing.T) {
	if fsm.DefaultServer() != fsm.DefaultServer() || fsm.DefaultClient() != fsm.DefaultClient() {
		t.Error("a default pair was built twice")
	}
}

// The caller's table stays the caller's: editing it later changes no machine.
func TestAMachineKeepsItsOwnRows(t *testing.T) {
	table := spec.SessionTable()
	table.Rows = slices.Clone(table.Rows)
	machine := fsm.Must(table)
	table.Rows[0].To = spec.Expired
	step, err := machine.Resolve(spec.Absent, spec.ClientInitializes, 0)
	if err != nil || step.To != spec.Live {
		t.Errorf("got %s, want SS01 to lead to Live as it did when the machine was made", outcome(step, err))
	}
}

package fsm_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// A moment is one thing that can happen: in a state, with facts that hold.
type moment struct {
	state   spec.State
	trigger spec.Trigger
	facts   spec.Facts
}

func (m moment) String() string { return fmt.Sprintf("%v in %v with %v", m.trigger, m.state, m.facts) }

// moments yields every state and trigger of a table with every truth of the
// facts that its rows read there.
func moments(t spec.Table) iter.Seq[moment] {
	return func(yield func(moment) bool) {
		for _, s := range t.States {
			for _, trigger := range t.Triggers {
				reads := readsAt(t, s, trigger)
				for facts := reads; ; facts = (facts - 1) & reads {
					if !yield(moment{s, trigger, facts}) {
						return
					}
					if facts == 0 {
						break
					}
				}
			}
		}
	}
}

// readsAt returns the facts that matter for a state and a trigger.
func readsAt(t spec.Table, s spec.State, trigger spec.Trigger) (reads spec.Facts) {
	for _, r := range t.Candidates(s, trigger) {
		reads |= r.Guard.Reads()
	}
	return reads
}

// outcome puts a step or a refusal into words, so that two can be compared.
func outcome(step fsm.Step, err error) string {
	var refused *fsm.RefusedError
	switch {
	case err == nil:
		return fmt.Sprintf("%s: %v -> %v", step.Row.ID, step.From, step.To)
	case errors.As(err, &refused):
		return fmt.Sprintf("%s: refused %v in %v: %s", refused.Row, refused.Trigger, refused.State, string(refused.Reason))
	default:
		return "an error of another kind: " + err.Error()
	}
}

// meant is the outcome that the table itself gives.
func meant(t spec.Table, m moment) string {
	r := t.Resolve(m.state, m.trigger, m.facts)
	switch {
	case r == nil:
		return fmt.Sprintf(": refused %v in %v: no_row", m.trigger, m.state)
	case r.Forbid != "":
		return fmt.Sprintf("%s: refused %v in %v: %s", r.ID, m.trigger, m.state, string(r.Forbid))
	default:
		return fmt.Sprintf("%s: %v -> %v", r.ID, m.state, r.Next(m.state))
	}
}

// Every row of every table fires, or refuses, in every state that it names:
// no row is decoration and none stands in the shade of another.
func TestEveryRowFires(t *testing.T) {
	for _, table := range spec.Tables() {
		machine := fsm.Must(table)
		fired := map[string]map[spec.State]bool{}
		for m := range moments(table) {
			id, _, _ := strings.Cut(outcome(machine.Fire(m.state, m.trigger, m.facts)), ":")
			if fired[id] == nil {
				fired[id] = map[spec.State]bool{}
			}
			fired[id][m.state] = true
		}
		for i := range table.Rows {
			r := &table.Rows[i]
			t.Run(r.ID, func(t *testing.T) {
				if len(fired[r.ID]) == 0 {
					t.Errorf("%v from %s never fired", r.Trigger, r.Source())
				}
				for s := range fired[r.ID] {
					if !r.Covers(s) {
						t.Errorf("fired in %v, which it does not name", s)
					}
				}
			})
		}
	}
}

// A step tells which row fired and where it leads; the row is the table's own.
func TestAStepIsItsRow(t *testing.T) {
	machine := fsm.DefaultServer().Session
	step, err := machine.Fire(spec.Absent, spec.ClientInitializes, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := machine.Table().Row("SS01")
	if step != (fsm.Step{Row: want, From: spec.Absent, To: spec.Live}) {
		t.Errorf("initialize in an empty server: got %v", outcome(step, err))
	}
	if step, err = machine.Fire(spec.Draining, spec.ClientNotifies, 0); err != nil || step.To != spec.Draining {
		t.Errorf("a notification while draining: got %s, want SS09 and no move", outcome(step, err))
	}
}

// Everything that the table does not allow is refused with an error that says
// what happened, where, and why not, and that errors.Is and errors.As know.
func TestARefusalNamesStateTriggerAndReason(t *testing.T) {
	machine := fsm.DefaultServer().Session
	for name, ask := range map[string]func(spec.State, spec.Trigger, spec.Facts) (fsm.Step, error){
		"Fire": machine.Fire, "Resolve": machine.Resolve,
	} {
		facts := spec.FactsOf(spec.ServerFull)
		step, err := ask(spec.Absent, spec.ClientInitializes, facts)
		if step != (fsm.Step{}) {
			t.Errorf("%s: a refusal came with step %v", name, step)
		}
		var refused *fsm.RefusedError
		if !errors.As(err, &refused) {
			t.Fatalf("%s: got %v, want a RefusedError", name, err)
		}
		want := fsm.RefusedError{
			Machine: "session", State: spec.Absent, Trigger: spec.ClientInitializes, Facts: facts,
			Row: "SS02", Reason: spec.ReasonTooManySessions,
		}
		if *refused != want {
			t.Errorf("%s: got %+v, want %+v", name, *refused, want)
		}
		if !errors.Is(err, spec.ReasonTooManySessions) || errors.Is(err, spec.ReasonDraining) {
			t.Errorf("%s: errors.Is does not tell the reasons apart: %v", name, err)
		}
		text := err.Error()
		for _, part := range []string{"session", "ClientInitializes", "Absent", "too_many_sessions", "SS02"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the message lacks %q: %s", name, part, text)
			}
		}
	}
}

// Values that are not the machine's own are refused, not believed: neither
// another machine's nor any number.
func TestStrangersAreRefused(t *testing.T) {
	machine := fsm.DefaultServer().Stream
	for _, m := range []moment{
		{spec.Live, spec.ClientAttaches, 0},
		{spec.Detached, spec.ClientInitializes, 0},
		{spec.Unsent, spec.CallerSends, 0},
		{0, 0, 0},
		{255, spec.ClientAttaches, 0},
		{spec.Detached, 255, ^spec.Facts(0)},
	} {
		for _, err := range []error{second(machine.Fire(m.state, m.trigger, m.facts)), second(machine.Resolve(m.state, m.trigger, m.facts))} {
			if !errors.Is(err, spec.ReasonNoRow) {
				t.Errorf("%v: got %v, want no_row", m, err)
			}
		}
	}
}

func second(_ fsm.Step, err error) error { return err }

// Three readings of one table: stateless, the array and the table's own
// meaning agree for all states, all triggers, all truths of the facts that
// matter, whatever the other facts happen to be; also for every table that
// lacks one row.
func TestFireAndResolveAgreeEverywhere(t *testing.T) {
	for _, table := range spec.Tables() {
		steps, refusals := agree(t, table)
		if steps == 0 || refusals == 0 {
			t.Errorf("table %s: %d steps and %d refusals; both must have been seen", table.Machine, steps, refusals)
		}
		for i := range table.Rows {
			agree(t, table.Without(table.Rows[i].ID))
		}
	}
}

func agree(t *testing.T, table spec.Table) (steps, refusals int) {
	t.Helper()
	machine := fsm.Must(table)
	random := rand.New(rand.NewPCG(1, uint64(len(table.Rows))))
	for m := range moments(table) {
		m.facts |= spec.Facts(random.Uint64()) &^ readsAt(table, m.state, m.trigger)
		want := meant(table, m)
		fired := outcome(machine.Fire(m.state, m.trigger, m.facts))
		resolved := outcome(machine.Resolve(m.state, m.trigger, m.facts))
		if fired != want || resolved != want {
			t.Fatalf("table %s, %v:\nFire    %s\nResolve %s\nmeant   %s", table.Machine, m, fired, resolved, want)
		}
		if strings.Contains(want, "refused") {
			refusals++
		} else {
			steps++
		}
	}
	return steps, refusals
}

// Without a row, the machine refuses what only that row allowed: with no_row,
// or with the reason of a wider forbid row. Nothing else changes.
func TestWithoutARowItsMovesAreRefused(t *testing.T) {
	for _, table := range spec.Tables() {
		for i := range table.Rows {
			r := &table.Rows[i]
			t.Run(r.ID, func(t *testing.T) {
				missed := 0
				whole, without := fsm.Must(table), fsm.Must(table.Without(r.ID))
				for m := range moments(table) {
					before, after := outcome(whole.Fire(m.state, m.trigger, m.facts)), outcome(without.Fire(m.state, m.trigger, m.facts))
					if !strings.HasPrefix(before, r.ID+":") {
						if before != after {
							t.Errorf("%v: was %q, is %q without a row that has no say in it", m, before, after)
						}
						continue
					}
					missed++
					if !isRefusal(table, r, after) {
						t.Errorf("%v: got %q, want a refusal", m, after)
					}
				}
				if missed == 0 {
					t.Error("nobody missed the row")
				}
			})
		}
	}
}

// isRefusal reports whether an outcome is a refusal for want of row r: with no
// row at all, or by a wider row.
func isRefusal(table spec.Table, r *spec.Row, after string) bool {
	id, rest, _ := strings.Cut(after, ":")
	if !strings.Contains(rest, "refused") {
		return false
	}
	if id == "" {
		return strings.HasSuffix(rest, "no_row")
	}
	wider, ok := table.Row(id)
	return ok && len(wider.From) > len(r.From)
}

// One machine serves everything that moves by its table, from any goroutine:
// what one call fires is never another's, and no call waits for another or
// comes back with nothing done.
func TestOneMachineServesManyAtOnce(t *testing.T) {
	const goroutines, rounds = 8, 10_000
	machine := fsm.DefaultClient().Stream
	table := machine.Table()
	var all []moment
	var want []*spec.Row // nil = refused
	for m := range moments(table) {
		all = append(all, m)
		r := table.Resolve(m.state, m.trigger, m.facts)
		if r.Forbid != "" {
			r = nil
		}
		want = append(want, r)
	}
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			for i := range rounds {
				at := (i*goroutines + g*7919) % len(all)
				m := all[at]
				step, err := machine.Fire(m.state, m.trigger, m.facts)
				wanted, found := "a refusal", "a refusal"
				if want[at] != nil {
					wanted = want[at].ID
				}
				if step.Row != nil {
					found = step.Row.ID
				}
				if wanted != found || (err == nil) != (want[at] != nil) {
					t.Errorf("%v: got %s, %v, want %s", m, found, err, wanted)
					return
				}
			}
		})
	}
	wait.Wait()
}

// Emit and deliver resolve their row on every event, so that must cost no
// allocation.
func TestResolveAllocatesNothing(t *testing.T) {
	machine := fsm.DefaultServer().Stream
	facts := spec.FactsOf(spec.EventFits)
	resolve := func() {
		if _, err := machine.Resolve(spec.Attached, spec.HandlerEmits, facts); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, resolve); n != 0 {
		t.Errorf("Resolve allocates %v times", n)
	}
	fire := func() { machine.Fire(spec.Attached, spec.HandlerEmits, facts) }
	if n := testing.AllocsPerRun(100, fire); n == 0 {
		t.Error("Fire allocates nothing either: then this test measures nothing")
	}
}

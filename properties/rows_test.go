package properties

import (
	"errors"
	"fmt"
	"slices"

	"example.com/reattach/spec"
)

// A rig is one real core under test and the ways to move it. What the row
// suite does with it is derived from the tables when it runs; whoever adds a
// trigger, a fact or an effect says here, and only here, how the trigger is
// made to happen, how the fact is brought about, or how the effect shows.
type rig interface {
	state() spec.State
	// prepare brings about, before a trigger, the facts that lie in the history
	// of the present state.
	prepare(t spec.Trigger, want spec.Guard) error
	// happen makes the trigger happen with the facts that the guard asks for.
	happen(t spec.Trigger, want spec.Guard) error
	// fired returns what the core told its observer since the last call.
	fired() []firing
	// snapshot returns everything that a refused move must leave as it was.
	snapshot() string
	// shows checks that an effect of the row that fired really happened.
	shows(e spec.Effect) error
}

// A firing is what a core told its observer: a row that fired or that forbade.
type firing struct {
	machine string
	row     string // "" if the table had none
	from    spec.State
	to      spec.State
}

// A failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A plan is the way to one row: rows that make history, then the row itself.
type plan struct {
	table  spec.Table
	target *spec.Row
	// through are effects that must have happened on the way, because a fact
	// of the target remembers them.
	through []spec.Effect
	// lasting are the facts that do not change during a rig's life, and
	// holding those among them that are true.
	lasting, holding spec.Facts
	// avoid are rows that lead to the target on paper only.
	avoid []string
}

// drive brings the rig to a state in which the target is the nearest row, and
// fires it there.
func (p plan) drive(r rig) error {
	for _, e := range p.through {
		made := func(row *spec.Row) bool { return slices.Contains(row.Effects, e) }
		if err := p.walk(r, made); err != nil {
			return fmt.Errorf("on the way to %s, through %v: %w", p.target.ID, e, err)
		}
	}
	path, err := p.route(r.state(), func(at spec.State, _ *spec.Row) bool { return p.speaks(at) })
	if err != nil {
		return err
	}
	for _, row := range path {
		if err := p.step(r, row); err != nil {
			return fmt.Errorf("on the way to %s, at row %s: %w", p.target.ID, row.ID, err)
		}
	}
	if err := r.prepare(p.target.Trigger, p.target.Guard); err != nil {
		return fmt.Errorf("preparing %s: %w", p.target.ID, err)
	}
	r.fired()
	return r.happen(p.target.Trigger, p.target.Guard)
}

// walk goes the shortest way to a row of a kind, and fires it too.
func (p plan) walk(r rig, wanted func(*spec.Row) bool) error {
	path, err := p.route(r.state(), func(_ spec.State, last *spec.Row) bool { return last != nil && wanted(last) })
	for _, row := range path {
		if err = p.step(r, row); err != nil {
			break
		}
	}
	return err
}

func (p plan) step(r rig, row *spec.Row) error {
	if err := r.prepare(row.Trigger, p.toward(row.Guard)); err != nil {
		return err
	}
	return r.happen(row.Trigger, p.toward(row.Guard))
}

// toward is a row's guard with what it leaves open filled from the target's.
func (p plan) toward(g spec.Guard) spec.Guard {
	reads := g.Reads()
	return spec.Guard{True: g.True | p.target.Guard.True&^reads, False: g.False | p.target.Guard.False&^reads}
}

// speaks reports whether the target is what its own guard resolves to in at.
func (p plan) speaks(at spec.State) bool {
	r := p.table.Resolve(at, p.target.Trigger, p.target.Guard.True)
	return r != nil && r.ID == p.target.ID
}

// route finds the shortest sequence of allowing rows, from a state on, whose
// guards do not contradict the target in what lasts.
func (p plan) route(from spec.State, done func(spec.State, *spec.Row) bool) ([]*spec.Row, error) {
	type place struct {
		state spec.State
		path  []*spec.Row
	}
	if done(from, nil) {
		return nil, nil
	}
	seen := map[spec.State]bool{from: true}
	for queue := []place{{from, nil}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for i := range p.table.Rows {
			r := &p.table.Rows[i]
			if r.Forbid != "" || !r.Covers(at.state) || p.contradicts(r.Guard) || r.ID == p.target.ID || slices.Contains(p.avoid, r.ID) {
				continue
			}
			next := place{r.Next(at.state), append(slices.Clone(at.path), r)}
			if done(next.state, r) {
				return next.path, nil
			}
			if !seen[next.state] {
				seen[next.state] = true
				queue = append(queue, next)
			}
		}
	}
	return nil, fmt.Errorf("no way from %v to row %s", from, p.target.ID)
}

func (p plan) contradicts(g spec.Guard) bool {
	return (g.True&^p.holding|g.False&p.holding)&p.lasting != 0
}

// checkRow is the property that every row has: driven to, it fires under its
// own id and leads where it says, and its effects show; or it refuses with its
// reason and changes nothing.
func checkRow(t failer, r rig, p plan) {
	t.Helper()
	row := p.target
	quiet := ""
	watch := &watched{rig: r, before: &quiet}
	err := p.drive(watch)
	seen := r.fired()
	at := slices.IndexFunc(seen, func(f firing) bool { return f.row == row.ID })
	if at < 0 {
		t.Fatalf("properties: row %s did not fire, seen %v: %v", row.ID, seen, err)
	}
	if row.Forbid != "" {
		if !errors.Is(err, row.Forbid) {
			t.Errorf("row %s refused with %v, want %s", row.ID, err, row.Forbid)
		}
		if after := r.snapshot(); after != quiet {
			t.Errorf("row %s: a refused move changed the core\nbefore %s\nafter  %s", row.ID, quiet, after)
		}
		return
	}
	if !row.Stay && seen[at].to != row.To || row.Stay && seen[at].to != seen[at].from {
		t.Errorf("row %s led from %v to %v, want %s", row.ID, seen[at].from, seen[at].to, row.Target())
	}
	for _, e := range row.Effects {
		if fault := r.shows(e); fault != nil {
			t.Errorf("row %s, effect %v: %v", row.ID, e, fault)
		}
	}
}

// checkDeleted is what every row's deletion must do: the move that the row
// allowed, or explained, is refused, and nothing changes.
func checkDeleted(t failer, r rig, p plan) {
	t.Helper()
	row := p.target
	quiet := ""
	err := p.drive(&watched{rig: r, before: &quiet})
	if err == nil {
		t.Fatalf("row %s is deleted, and the move went through: %v", row.ID, r.fired())
	}
	if row.Forbid != "" && errors.Is(err, row.Forbid) {
		t.Errorf("row %s is deleted, and the refusal still says %s", row.ID, row.Forbid)
	}
	if after := r.snapshot(); after != quiet {
		t.Errorf("row %s is deleted: the refused move changed the core\nbefore %s\nafter  %s", row.ID, quiet, after)
	}
}

// watched remembers how things were before the last thing happened.
type watched struct {
	rig
	before *string
}

func (w *watched) prepare(t spec.Trigger, want spec.Guard) error {
	*w.before = w.rig.snapshot()
	return w.rig.prepare(t, want)
}

func (w *watched) happen(t spec.Trigger, want spec.Guard) error {
	*w.before = w.rig.snapshot()
	return w.rig.happen(t, want)
}

package fsm

import (
	"context"

	"example.com/reattach/spec"
	"github.com/qmuntal/stateless"
)

// Fire is [Machine.Resolve] by way of package stateless: same steps, same
// refusals. It costs a few hundred nanoseconds and an allocation or two, so it
// serves everything but emit and deliver.
func (m *Machine) Fire(from spec.State, t spec.Trigger, facts spec.Facts) (Step, error) {
	c := &firing{Context: context.Background(), state: from, facts: facts}
	if err := m.stateless.FireCtx(c, t); err != nil {
		return Step{}, err
	}
	return Step{Row: c.row, From: from, To: c.state}, nil
}

// A firing is one call of Fire: what moves, what is true, and which row fired.
// It is the context that stateless hands through to every callback, so that
// one stateless machine serves everything that moves by its table, also
// concurrently: nothing of one call is ever reachable from another.
type firing struct {
	context.Context
	state spec.State
	facts spec.Facts
	row   *spec.Row
}

// configure builds the stateless machine. Five properties of stateless shape
// it:
//
//   - It does not tell which guarded row fired: every row is a PermitDynamic
//     whose selector notes the row.
//   - It panics, when fired, if two guards hold: each guard here also asks that
//     no nearer row holds, so exactly one can.
//   - A selector that returns an error stops before anything has changed: that
//     is how a forbid row refuses.
//   - Queued mode hands one caller's error to another: firing is immediate.
//   - Immediate firing is not atomic, and an action that fails leaves the state
//     moved: there are no actions, and no Fire inside one. Effects are data.
func (m *Machine) configure() *stateless.StateMachine {
	sm := stateless.NewStateMachineWithExternalStorage(
		func(ctx context.Context) (stateless.State, error) { return ctx.(*firing).state, nil },
		func(ctx context.Context, to stateless.State) error {
			ctx.(*firing).state = to.(spec.State)
			return nil
		},
		stateless.FiringImmediate)
	sm.OnUnhandledTrigger(func(ctx context.Context, from stateless.State, t stateless.Trigger, _ []string) error {
		return m.refuse(from.(spec.State), t.(spec.Trigger), ctx.(*firing).facts, nil)
	})
	for _, s := range m.table.States {
		state := sm.Configure(s)
		for _, t := range m.table.Triggers {
			candidates := m.candidates(s, t)
			for i, c := range candidates {
				state.PermitDynamic(t, m.selector(c.row, s), guards(candidates[:i], c)...)
			}
		}
	}
	return sm
}

// selector notes that the row fired and says where it leads from state s.
func (m *Machine) selector(r *spec.Row, s spec.State) stateless.DestinationSelectorFunc {
	return func(ctx context.Context, _ ...any) (stateless.State, error) {
		f := ctx.(*firing)
		if r.Forbid != "" {
			return nil, m.refuse(s, r.Trigger, f.facts, r)
		}
		f.row = r
		return r.Next(s), nil
	}
}

// guards returns what must hold for a row to fire: its own guard, and that of
// no nearer row. A row that is always the nearest needs none.
func guards(nearer []candidate, c candidate) []stateless.GuardFunc {
	if len(nearer) == 0 && c.guard == (spec.Guard{}) {
		return nil
	}
	return []stateless.GuardFunc{func(ctx context.Context, _ ...any) bool {
		facts := ctx.(*firing).facts
		for _, n := range nearer {
			if n.guard.Holds(facts) {
				return false
			}
		}
		return c.guard.Holds(facts)
	}}
}

package fsm

import (
	"fmt"

	"example.com/reattach/spec"
)

// A RefusedError says that the table does not allow what happened. Nothing
// changed. It is a [spec.Reason] to errors.Is:
//
//	errors.Is(err, spec.ReasonQuarantined)
type RefusedError struct {
	Machine string       // session, stream, epoch or clientstream
	State   spec.State   // in which it happened, and which still is
	Trigger spec.Trigger // what happened
	Facts   spec.Facts   // what was true
	Row     string       // id of the forbid row; "" if the table has no row at all
	Reason  spec.Reason  // the forbid row's; ReasonNoRow if there is none
}

func (e *RefusedError) Error() string {
	row := "row " + e.Row
	if e.Row == "" {
		row = "no row for " + e.Facts.String()
	}
	return fmt.Sprintf("%s machine refuses %v in state %v: %s (%s)", e.Machine, e.Trigger, e.State, string(e.Reason), row)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Reason }

// refuse returns the refusal by row r, or for want of a row.
func (m *Machine) refuse(from spec.State, t spec.Trigger, facts spec.Facts, r *spec.Row) *RefusedError {
	e := &RefusedError{Machine: m.table.Machine, State: from, Trigger: t, Facts: facts, Reason: spec.ReasonNoRow}
	if r != nil {
		e.Row, e.Reason = r.ID, r.Forbid
	}
	return e
}

// Package fsm makes machines of the tables of package spec.
//
// A [Machine] is one table at work. It holds no state of its own: the state of
// the session, stream, epoch or client stream that moves goes in with each
// call and comes back in the [Step]. So there is one machine per table, shared
// by everything that moves by that table, and effects come back as data: the
// caller runs Step.Row.Effects in order, in one place.
//
// A machine answers in two forms that a test holds equal for every state,
// trigger and truth of the facts:
//
//	(1) Fire     goes through github.com/qmuntal/stateless
//	(2) Resolve  looks the row up in an array; for emit and deliver
//	(3) both     = spec.Table.Resolve, which is the meaning of the table
//
// What a table does not allow is a [RefusedError] that names state, trigger
// and the forbid row's reason, and nothing changes. A table need not be total:
// tests delete rows, and what is missing is refused with no_row.
//
// The package imports spec, the standard library and stateless, and does no
// I/O, takes no lock and reads no clock. Read [Machine] first, then package
// impl/session or impl/client, which compute the facts and run the effects.
package fsm

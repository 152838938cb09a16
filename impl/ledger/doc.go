// Package ledger remembers which calls ran, so that a call whose outcome its
// client does not know is never executed twice (R28).
//
// A [Ledger] is a table of keys behind a durable [Store]: started before the
// handler runs, done before the answer leaves, or sealed, which means never.
// [Ledger.Wrap] puts it in front of any application of package streamhttp, one
// line per server. The words on the wire are in spec/key.go.
//
// What it guarantees, whatever is delayed, doubled, re-sent, lost or killed,
// and whatever any clock says:
//
//	(1) no key runs twice
//	(2) a key that is said to be executed ran
//	(3) a key that is said to be not executed did not run, and never will
//
// What it gives up for that is an answer: where entries may be missing it says
// "unknown", and never executes.
//
// It imports spec, impl/streamhttp and the standard library. Read [Ledger]
// first, then arrive.go, which decides; the file behind it is in format.go.
// Read package impl/client next, which is the other half.
package ledger

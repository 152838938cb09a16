// Package client is the reading side of resumption: it keeps the durable
// record of where an application stands in a session, goes on from there when
// a connection is lost, and gives the session up, loudly, when it cannot prove
// that it may go on.
//
// What it is in charge of, and what it guarantees whatever a server does:
//
//	(1) an event is applied at most once, in order, and without a hole (R20, R21)
//	(2) nothing is applied after the fence, and nothing of one epoch ever
//	    reaches the next (R22, R30)
//	(3) a call that was in flight when certainty ended is an unknown outcome
//	    until the caller decides about it, through any number of epochs and
//	    restarts (R23)
//	(4) a call ends with exactly one of: its answer, known not to have run,
//	    unknown; or it is pending, which is not final (R26)
//
// The package is built in three layers:
//
//	Core          one epoch and its streams; synchronous, without I/O, clock or
//	              goroutine. Every method is one trigger of spec.EpochTable or
//	              spec.ClientStreamTable, and returns effects as data
//	Record, Store the durable record; a Change is one write with its
//	              preconditions, and Store.Commit is the one seam by which an
//	              application applies events in the same transaction
//	Client        the driver: goroutines, backoff, waiting callers, over a
//	              Transport
//
// It imports spec, fsm and the standard library, and knows neither HTTP nor
// the names of any method of MCP. Read [Core] first, then [Change], then
// [Client]. The package to read next is impl/streamhttp, which is a Transport.
package client

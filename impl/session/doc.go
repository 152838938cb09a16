// Package session is the server's side of resumption: sessions, their logical
// streams, and the views that carry them to clients.
//
// It has two layers. [Core] is one session as a plain value: it is synchronous,
// has no lock, no clock, no goroutine and no I/O, and each of its methods is
// one trigger of [spec.SessionTable] or [spec.StreamTable]: it computes the
// facts, asks the machine for the row, and runs the row's effects, all in one
// switch (effect.go). [Decide] is the decision boundary of the contract, one
// pure function. Around the core, [Registry], [Session], [Stream] and [View]
// add what a running server needs: locks, budgets, caps, subjects, waiting.
//
// What the package guarantees, whatever is emitted, evicted and resumed
// meanwhile:
//
//	(1) a view delivers exactly the events of its stream that follow its
//	    position, in order, each once                                  (R4)
//	(2) a cursor is accepted only if this session issued exactly it and
//	    everything after it is retained; else the answer says why      (R1, R5)
//	(3) at most one view of a stream is not superseded                 (R10)
//	(4) an event is retained before a view can take it                 (R11)
//	(5) emitting never waits for a reader                              (R3)
//	(6) an ended session never lives again                             (R6)
//	(7) with a [Store]: nothing happens that it does not have          (R14)
//
// (1) rests on one thing: a view is no queue but a position in the window, and
// appending, evicting and taking the next event happen under one lock. So the
// place where replay meets live does not exist: what follows the position is
// what is delivered, whether it was retained or has just been emitted.
//
// The package imports the standard library, spec, fsm and impl/window. It knows
// neither HTTP nor JSON-RPC. Read [Core] first (or [Registry], to use it); the
// package to read next is impl/streamhttp.
package session

// Package model is the reference model of resumption: what the rules of the
// contract mean, written down a second time and as plainly as possible.
//
// Each rule is one small pure function in the file that is named for it
// (decide.go, fresh.go, window.go, proof.go, unknown.go, …). They exist once,
// bundled in [Rules], and three things are built from them:
//
//   - [Model]: the closed system of server, client, network and strangers, with
//     the actions of the TLA+ module Resumption under the same names, a pure
//     [Model.Step] and a breadth-first [Model.Explore] that finds shortest
//     counterexamples;
//   - [Service] and [Session]: the server's side at any size, to be driven in
//     lockstep with an implementation;
//   - [Client]: the client's side, likewise.
//
// [AcceptTrace] replays on [Session] what a real server's sessions did.
//
// The model keeps the sets of events ever issued and ever evicted where an
// implementation keeps a ring, and recomputes everything from them.
//
// It imports the standard library and package spec, and shares nothing with
// any implementation: its worth is that it is independent. It has no goroutine
// and no I/O, and nothing but a report's duration reads a clock.
//
// Read [Rules] first, then [Model]; then package properties, which puts the
// model beside the implementation.
package model

// Package graph reads the state graphs that TLC found, and walks anything that
// claims to behave like one.
//
// A graph is every state that a specification reaches within its scope and
// every labelled edge between them. A label is an action with its parameters,
// one of which is the reply; the label without the reply is a request. So the
// edges say, for every state and request, what the answer is and which state
// comes after, and what is refused as well, because a refusal is an edge that
// leads back to its state.
//
// Graphs are files of tla/graphs, packed by `go run ./tla/pack`. [Walk] offers
// every label in every state of a [System]: the reference model, or the real
// core.
//
// The package imports the standard library only. Read [Graph] first, then
// [Walk]; the tests that use them are properties/graph_*_test.go.
package graph

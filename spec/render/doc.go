// Package render writes the vocabulary for people: the transition tables, the
// rules and the diagrams of the machines, as markdown.
//
// Everything in it is a function from package spec to text. It imports spec
// and the standard library and does no I/O; [Pages] lists what it writes into
// docs, and a test fails, naming the command, when a page there is stale. The
// page of the rules is told the evidence for them by the command reattach.
//
// Read [Page] first, then transitions.go, rules.go and diagram.go, one for
// each kind of page.
package render

//go:generate go test . -run ^TestPagesAreFresh$ -update

// Command race lets the explorer of package model and TLC explore the same
// scope, in turn, and prints the medians and their ratio.
//
//	TLA_CLASSPATH=/path/to/tla2tools.jar go run ./tla/race                      # the scope main, three runs of each
//	TLA_CLASSPATH=/path/to/tla2tools.jar go run ./tla/race -scope small -count 5
//
// Each run is a process of its own, whose start counts, with as many workers as
// -workers allows. TLC runs twice: with every formula, as the explorer does, and
// with none. All must find the same states, or there is no result.
//
// Beside the standard library it imports model. Read [Contender] first; what
// was measured is in docs/performance-explorer.md.
package main

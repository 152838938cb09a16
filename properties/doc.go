// Package properties is the evidence: it holds no code that anybody imports,
// only the tests that set implementation, model and tables against each other.
//
//	rows_*_test.go      every row of the four tables, driven to and fired on the real cores;
//	                    every row deleted in turn, and the move it allowed is refused
//	graph_*_test.go     every edge and every refusal of the graphs that TLC found, on model and core
//	lockstep_*_test.go  implementation and model side by side on long random interleavings
//	cases_*_test.go     faults from practice, each with its right result (TestCaseNN…)
//	story_*_test.go     what the wire must show, each a mutant that would tell it otherwise
//	mutants_test.go     known ways to get this wrong, planted and noticed (docs/mutants.md)
//	oracle_*_test.go    two published sketches of the contract, branch by branch
//	wired_*_test.go     the real client and server over a faulty network in virtual time
//	linear_*_test.go    what several ask of one session at once has an order (porcupine)
//	trace*_test.go      what real sessions did is what the model, and TLC, allow
//	sdk_*_test.go       real input that we did not write: the official Go SDK's client
//	coverage_test.go    no row, rule, verdict or reason is without a test that meets it
//	adding_test.go      docs/adding-a-transition.md, walked
//	imports_test.go     what may import what
//
// It may import everything but package main. Package naive below it holds the
// deliberately wrong servers and clients, package graph the walker, package
// evidence what stands behind each rule. Read rows_test.go first.
package properties

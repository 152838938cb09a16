// Package mutants holds the known ways to get the contract wrong, and the runner
// that plants them one by one and says which level of the evidence notices.
//
// A mutant of the code is an edit: a text of one file and the text that takes
// its place. It is applied by `go test -overlay`, so that what is shipped
// carries no hook for it. The mutants of the model's rules and those of the
// TLA+ modules live there, and are only referred to here.
//
//	mutant.go     what a mutant is, and the whole catalogue
//	code_*.go     the edits, by what they break
//	elsewhere.go  the mutants of the model and of the modules
//	level.go      the levels, and which of them can see which package
//	overlay.go    how an edit becomes an overlay
//	runner.go     build and run
//	matrix.go     every mutant at every level that can see it
//	page.go       docs/mutants.md
//
// It may import model and the standard library; nothing but the tests of
// package properties imports it. Read Mutant first, then level.go.
package mutants

// Package evidence finds, for each rule of the contract, what stands behind it:
// the functions and invariants of the model, the formulas of the TLA+ modules,
// the tests that cite it, and the mutants that break it.
//
// Nothing here is a list that somebody must keep. All of it is read from where
// it is: from the sources of the tests and of the model, from the modules, and
// from the catalogue of the mutants. A test cites a rule by naming its id in
// its doc comment, in a comment or in a text within it; a comment that belongs
// to no declaration speaks for its whole file.
//
// It may import spec, model and properties/mutants. [Collect] does it all;
// docs/rules.md and `reattach rules` show it. Read [Rule] first.
package evidence

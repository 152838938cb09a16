package mutants

import (
	"slices"
)

// A Mutant is one known way to get the contract wrong.
type Mutant struct {
	Name  string // unique
	Story string // what the wrong program believes, in a sentence
	Rules string // ids of the rules that it breaks, in the order of the contract
	Kind  Kind
	// Edits are what makes a mutant of code; nil otherwise.
	Edits []Edit
	// Where says where a mutant lives that is not made of edits.
	Where string
	// Only restricts the package's own tests to those that this pattern names,
	// where the mutant is run as a sample.
	Only string
}

// A Kind says what is mutated, and so who is to notice.
type Kind string

const (
	Code  Kind = "code"  // the implementation, by edits
	Model Kind = "model" // a rule of the reference model; the explorer notices
	Spec  Kind = "spec"  // a TLA+ module; TLC noticed, see tla/manifest.json
)

// An Edit replaces a text of a file by another one. The old text must be there
// exactly once: an edit that does not fit any more is a fault of the catalogue.
type Edit struct {
	File     string // below the module's directory, with slashes
	Old, New string
}

// edit is a mutant of one edit.
func edit(name, rules, story, file, old, new string) Mutant {
	return Mutant{Name: name, Rules: rules, Story: story, Kind: Code, Edits: []Edit{{file, old, new}}}
}

// edits is a mutant of several.
func edits(name, rules, story string, edits ...Edit) Mutant {
	return Mutant{Name: name, Rules: rules, Story: story, Kind: Code, Edits: edits}
}

// OfCode lists the mutants of the implementation.
func OfCode() []Mutant {
	return slices.Concat(storeMutants, fastMutants, missMutants, interopMutants, reconcileMutants, gosdkMutants, ledgerMutants, attemptMutants, paceMutants, drainMutants, windowMutants, decisionMutants, sessionMutants, registryMutants, viewMutants, serverMutants,
		proofMutants, epochMutants, recordMutants, driverMutants, transportMutants, framingMutants)
}

// Catalogue lists every mutant: those of the code, of the model and of the
// modules. root is the module's directory.
func Catalogue(root string) ([]Mutant, error) {
	modules, err := ofModules(root)
	if err != nil {
		return nil, err
	}
	return slices.Concat(OfCode(), ofModel(), modules), nil
}

// Place says where the mutant is.
func (m Mutant) Place() string {
	if len(m.Edits) > 0 {
		return m.Edits[0].File
	}
	return m.Where
}

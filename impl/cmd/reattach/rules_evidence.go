package main

import (
	_ "embed" // the evidence, as it was when this was built
	"encoding/json"
	"fmt"
	"strings"

	"example.com/reattach/properties/evidence"
	"example.com/reattach/spec/render"
)

// knownEvidence is what package evidence found in the sources: a command that
// is run elsewhere has none to look at.
//
//go:embed evidence.json
var knownEvidence []byte

// known returns the evidence for every rule that was built in.
func known() (all []evidence.Rule) {
	if err := json.Unmarshal(knownEvidence, &all); err != nil {
		panic(fmt.Sprintf("reattach: BUG: evidence.json cannot be read, run %s: %v", docsCommand, err))
	}
	return all
}

// kinds says what the kinds of mutants are mutants of.
var kinds = map[string]string{"code": "the code", "model": "the model", "spec": "the TLA+ modules"}

// proof is one line about what stands behind a rule.
type proof struct{ label, text string }

// proofs tells what stands behind a rule. quote marks what is a name; of more
// than most names in one place only the number is told, if most is not 0.
func proofs(r evidence.Rule, quote func(string) string, most int) (lines []proof) {
	list := func(names []string) string {
		if most > 0 && len(names) > most {
			return fmt.Sprintf("%d of them", len(names))
		}
		quoted := make([]string, len(names))
		for i, name := range names {
			quoted[i] = quote(name)
		}
		return strings.Join(quoted, ", ")
	}
	places := func(all []evidence.Named, where func(string) string) string {
		parts := make([]string, len(all))
		for i, at := range all {
			parts[i] = where(at.Where) + ": " + list(at.Names)
		}
		return strings.Join(parts, "; ")
	}
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, proof{label, text})
		}
	}
	same := func(s string) string { return s }
	add("modelled", list(r.Functions))
	add("asked", list(r.Invariants))
	add("specified", places(r.Formulas, same))
	add("tested", places(r.Tests, same))
	add("broken by", places(r.Mutants, func(kind string) string { return kinds[kind] }))
	return lines
}

// readable is how many names in one place a page shows: a rule has up to forty
// mutants of one kind, and nobody reads that.
const readable = 12

// shown returns the evidence as a page shows it.
func shown(r evidence.Rule) render.Evidence {
	e := render.Evidence{Formulas: evidence.Count(r.Formulas), Tests: evidence.Count(r.Tests), Mutants: evidence.Count(r.Mutants)}
	intro := map[string]string{
		"modelled":  "Modelled in `model.Rules`: ",
		"asked":     "Asked of every state of the model, or of every step: ",
		"specified": "Specified in TLA+, ",
		"tested":    "Tested, beside its rows, in ",
		"broken by": "Broken by mutants of ",
	}
	for _, p := range proofs(r, func(name string) string { return "`" + name + "`" }, readable) {
		text := intro[p.label] + p.text
		if strings.Contains(text, " of them") {
			text += " (`go run ./impl/cmd/reattach rules --id " + r.ID + "` names them)"
		}
		e.Items = append(e.Items, text)
	}
	return e
}

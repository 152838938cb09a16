package spec

import (
	"slices"
	"strings"
)

// A Rule is one sentence of the contract. Its id is the same everywhere: in
// the Cites column of the tables, in TLA+, in test names and in the docs, so
// that one search for an id shows everything about it.
type Rule struct {
	ID     string // R1, R9b, …
	Name   string
	Text   string // the whole meaning, in present tense
	Source string // where it comes from
	Holds  string // what of it this version holds: see [Whole]
	Where  string // what holds it beside the rows that cite it; "" if the rows are all
}

// What Rule.Holds begins with.
const (
	Whole   = "whole"
	Without = "without " // and what is still missing
	NotYet  = "not yet"  // nothing to rely on; what there is, if anything, follows
)

// Sources that several rules share.
const (
	sourceSession = "MCP 2025-11-25, transports: session management"
	sourceResume  = "MCP 2025-11-25, transports: resumability and redelivery"
	sourceMulti   = "MCP 2025-11-25, transports: multiple connections"
	sourceSSE     = "WHATWG HTML 9.2, server-sent events"
	sourceReplay  = "field observation: replayed results applied twice, replay buffers without a bound"
	sourceDeploy  = "field observation: a rolling deploy that minted a session on resumption"
)

// Rules lists every rule: the server's, then the client's.
func Rules() []Rule { return slices.Concat(serverRules, clientRules) }

// RuleOf returns the rule of that id.
func RuleOf(id string) (Rule, bool) {
	for _, rules := range [...][]Rule{serverRules, clientRules} {
		if i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id }); i >= 0 {
			return rules[i], true
		}
	}
	return Rule{}, false
}

// IsWhole reports whether this version holds all of the rule.
func (r Rule) IsWhole() bool { return r.Holds == Whole }

// IsPlanned reports whether nothing of the rule may be relied on yet.
func (r Rule) IsPlanned() bool { return strings.HasPrefix(r.Holds, NotYet) }

// Citing returns the rows of all tables that cite the rule.
func (r Rule) Citing() (rows []*Row) {
	for _, t := range Tables() {
		for i := range t.Rows {
			if slices.Contains(t.Rows[i].Cites, r.ID) {
				rows = append(rows, &t.Rows[i])
			}
		}
	}
	return rows
}

package spec

import "strings"

// A Row is one line of a transition table: in any state of From, when Trigger
// happens and Guard holds, go to To and do Effects. A row with Forbid set is
// an explicit refusal instead: nothing changes, and Forbid says why.
//
// The nearest row wins: among the rows whose guard holds, the one with the
// smallest From.
type Row struct {
	ID      string
	From    []State
	Trigger Trigger
	Guard   Guard
	To      State  // meaningless if Stay or Forbid is set
	Stay    bool   // To is the state that the machine is in
	Forbid  Reason // "" unless the row refuses
	Effects []Effect
	Cites   []string // rule ids
}

// Next returns the state after the row fired in state from.
func (r *Row) Next(from State) State {
	if r.Stay || r.Forbid != "" {
		return from
	}
	return r.To
}

// Covers reports whether the row speaks about state s.
func (r *Row) Covers(s State) bool {
	for _, f := range r.From {
		if f == s {
			return true
		}
	}
	return false
}

// Target is the text of the To column.
func (r *Row) Target() string {
	switch {
	case r.Forbid != "":
		return "forbid " + string(r.Forbid)
	case r.Stay:
		return "="
	default:
		return r.To.String()
	}
}

// Source is the text of the From column: the states, separated by commas.
func (r *Row) Source() string {
	names := make([]string, len(r.From))
	for i, s := range r.From {
		names[i] = s.String()
	}
	return strings.Join(names, ",")
}

// EffectNames is the text of the Effects column.
func (r *Row) EffectNames() string {
	names := make([]string, len(r.Effects))
	for i, e := range r.Effects {
		names[i] = e.String()
	}
	return strings.Join(names, " ")
}

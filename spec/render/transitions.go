package render

import (
	"fmt"
	"strings"

	"example.com/reattach/spec"
)

// about says what each machine stands for.
var about = map[string]string{
	"session":      "The server's durable machine: one session. Another subject's session is looked up as Absent (R13).",
	"stream":       "The server's ephemeral machine: one logical stream of a session. The verdict on a cursor selects its trigger.",
	"epoch":        "The client's durable machine: one epoch, the client's word for one session.",
	"clientstream": "The client's ephemeral machine: one logical stream as its reader sees it. What comes on a connection that is not the current one never reaches it (R21).",
}

// Transitions returns the page of all tables.
func Transitions(tables []spec.Table) string {
	var out strings.Builder
	out.WriteString(Generated(Command) + "# Transitions\n\n")
	Paragraph(&out, "Everything that can happen to a session, a stream, an epoch or a client stream, and what is done about it. "+
		"One row a line: in a state of From, when Trigger happens and Guard holds, go to To and do Effects, in order. "+
		"A guard is a conjunction of named facts; `!` negates one. `=` stays in the state.")
	Paragraph(&out, "Where several rows hold, the nearest wins: the one that names the fewest states. The tables are total: for every state, "+
		"trigger and truth of the facts there is exactly one nearest row. A row that refuses gives its reason, and then nothing changes. "+
		"`go test ./spec` tries them all.")
	Paragraph(&out, "States, triggers, facts and effects are explained in `spec/state.go`, `spec/trigger.go`, `spec/fact.go` and `spec/effect.go`; "+
		"the rules in [rules.md](rules.md); the machines as pictures in [architecture.md](architecture.md).")
	for _, t := range tables {
		fmt.Fprintf(&out, "- [%s](#%s), %d rows\n", t.Machine, anchor(t.Machine), len(t.Rows))
	}
	for _, t := range tables {
		out.WriteString("\n" + Table(t))
	}
	return out.String()
}

// Table returns one table under its heading.
func Table(t spec.Table) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\n", t.Machine)
	Paragraph(&out, about[t.Machine]+" It begins in `"+t.Initial.String()+"`.")
	out.WriteString("| ID | From | Trigger | Guard | To | Effects | Cites |\n|---|---|---|---|---|---|---|\n")
	for i := range t.Rows {
		r := &t.Rows[i]
		to := r.Target()
		if r.Forbid != "" {
			to = "refused: `" + string(r.Forbid) + "`"
		}
		cites := make([]string, len(r.Cites))
		for i, id := range r.Cites {
			cites[i] = ruleLink(id)
		}
		fmt.Fprintf(&out, "| %s | %s | %v | %v | %s | %s | %s |\n",
			r.ID, source(t, r), r.Trigger, r.Guard, to, r.EffectNames(), strings.Join(cites, " "))
	}
	return out.String()
}

// source is the From column for people: whichever of the states that are named
// and those that are not makes the shorter list.
func source(t spec.Table, r *spec.Row) string {
	var named, others []string
	for _, s := range t.States {
		if r.Covers(s) {
			named = append(named, s.String())
		} else {
			others = append(others, s.String())
		}
	}
	switch {
	case len(others) == 0:
		return "any state"
	case len(named) > len(others)+1:
		return "any state but " + strings.Join(others, ", ")
	default:
		return strings.Join(named, ", ")
	}
}

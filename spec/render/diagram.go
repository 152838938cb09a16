package render

import (
	"fmt"
	"slices"
	"strings"

	"example.com/reattach/spec"
)

// crowded is the number of source states from which a state is reached in
// words instead of by arrows: so many arrows to one place would hide the rest.
const crowded = 5

// A move is one arrow: from one state to another, by any of some triggers.
type move struct {
	from, to spec.State
	triggers []spec.Trigger
}

// Diagram returns a table as a Mermaid state diagram, with what it does not
// draw in words beneath: the ways into a crowded state, and the triggers that
// change no state. Guards and effects are left out, and so are refusals.
func Diagram(t spec.Table) string {
	moves := movesOf(t)
	var out, words strings.Builder
	out.WriteString("\n```mermaid\nstateDiagram-v2\n    direction LR\n")
	fmt.Fprintf(&out, "    [*] --> %v\n", t.Initial)
	for _, m := range moves {
		if len(into(moves, m.to)) < crowded {
			fmt.Fprintf(&out, "    %v --> %v : %s\n", m.from, m.to, list(m.triggers, "<br/>"))
		}
	}
	for _, s := range t.States {
		final := !slices.ContainsFunc(moves, func(m move) bool { return m.from == s })
		if ways := into(moves, s); len(ways) >= crowded {
			item(&words, fmt.Sprintf("Not drawn: the ways into %v%s", s, waysInWords(ways, final)))
		} else if final {
			fmt.Fprintf(&out, "    %v --> [*]\n", s)
		}
	}
	out.WriteString("```\n\n")
	everywhere := staysEverywhere(t)
	if len(everywhere) > 0 {
		item(&words, fmt.Sprintf("Every state can stay on %s.", list(everywhere, ", ")))
	}
	for _, s := range t.States {
		stays := slices.DeleteFunc(staysIn(t, s), func(t spec.Trigger) bool { return slices.Contains(everywhere, t) })
		if len(stays) > 0 {
			item(&words, fmt.Sprintf("%v can stay on %s.", s, list(stays, ", ")))
		}
	}
	return out.String() + words.String() + "\n"
}

// movesOf collects the arrows of a table in the order of its rows.
func movesOf(t spec.Table) (moves []move) {
	for i := range t.Rows {
		r := &t.Rows[i]
		for _, from := range r.From {
			if from == r.Next(from) {
				continue
			}
			at := slices.IndexFunc(moves, func(m move) bool { return m.from == from && m.to == r.To })
			if at < 0 {
				at = len(moves)
				moves = append(moves, move{from: from, to: r.To})
			}
			if !slices.Contains(moves[at].triggers, r.Trigger) {
				moves[at].triggers = append(moves[at].triggers, r.Trigger)
			}
		}
	}
	return moves
}

// into returns the moves that lead to a state.
func into(moves []move, to spec.State) (ways []move) {
	for _, m := range moves {
		if m.to == to {
			ways = append(ways, m)
		}
	}
	return ways
}

// waysInWords lists the ways into one state, those on the same triggers
// together.
func waysInWords(ways []move, final bool) string {
	var lists []string
	from := map[string][]string{}
	for _, m := range ways {
		on := list(m.triggers, ", ")
		if from[on] == nil {
			lists = append(lists, on)
		}
		from[on] = append(from[on], m.from.String())
	}
	var text strings.Builder
	if final {
		text.WriteString(", which is final")
	}
	for i, on := range lists {
		fmt.Fprintf(&text, "%s from %s on %s", [...]string{":", ";"}[min(i, 1)], strings.Join(from[on], ", "), on)
	}
	return text.String() + "."
}

// staysIn returns the triggers that some row accepts in s without leaving it.
func staysIn(t spec.Table, s spec.State) (triggers []spec.Trigger) {
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Forbid == "" && r.Covers(s) && r.Next(s) == s && !slices.Contains(triggers, r.Trigger) {
			triggers = append(triggers, r.Trigger)
		}
	}
	return triggers
}

// staysEverywhere returns the triggers on which every state stays.
func staysEverywhere(t spec.Table) (triggers []spec.Trigger) {
	return slices.DeleteFunc(staysIn(t, t.Initial), func(trigger spec.Trigger) bool {
		return slices.ContainsFunc(t.States, func(s spec.State) bool { return !slices.Contains(staysIn(t, s), trigger) })
	})
}

func list(triggers []spec.Trigger, separator string) string {
	names := make([]string, len(triggers))
	for i, t := range triggers {
		names[i] = t.String()
	}
	return strings.Join(names, separator)
}

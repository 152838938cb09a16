package main

import (
	"fmt"
	"slices"
	"strings"

	"example.com/reattach/model"
)

// mermaid draws a counterexample as a sequence diagram. Only who takes part is
// in it, but client, network and server always are.
func mermaid(c *model.Counterexample) string {
	var b strings.Builder
	tellings := tellAll(c)
	b.WriteString("sequenceDiagram\n")
	for _, p := range []participant{theClient, theNetwork, theServer} {
		fmt.Fprintf(&b, "    participant %s\n", p)
	}
	if slices.ContainsFunc(tellings, func(t telling) bool { return t.names(theStranger) }) {
		fmt.Fprintf(&b, "    participant %s as another client\n", theStranger)
	}
	for i, t := range tellings {
		for j, a := range t.arrows {
			number := ""
			if j == 0 {
				number = fmt.Sprintf("%d. ", i+1)
			}
			fmt.Fprintf(&b, "    %s\n", a.line(number))
		}
	}
	fmt.Fprintf(&b, "    Note over %s,%s: %s %s is violated\n", theClient, theServer, c.Rule, c.Name)
	return b.String()
}

func (t telling) names(p participant) bool {
	return slices.ContainsFunc(t.arrows, func(a arrow) bool { return a.from == p || a.to == p })
}

// line writes an arrow, with the number of its step.
func (a arrow) line(number string) string {
	switch {
	case a.from == "":
		return fmt.Sprintf("Note over %s: %s%s", a.to, number, a.text)
	case a.lost:
		return fmt.Sprintf("%s-x%s: %s%s", a.from, a.to, number, a.text)
	default:
		return fmt.Sprintf("%s->>%s: %s%s", a.from, a.to, number, a.text)
	}
}

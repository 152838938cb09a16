package model

import (
	"fmt"
	"strings"
)

// A Counterexample is a shortest path to a violation.
type Counterexample struct {
	Rule  string // the violated rule's id
	Name  string // the invariant's name
	Says  string // what it says, and does not hold
	Steps []TraceStep
}

// A TraceStep is one action and the state behind it.
type TraceStep struct {
	Action Action
	State  State
}

// String tells the path, one action a line, with what each of them changed.
func (c *Counterexample) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s is violated: not so: %s\n", c.Rule, c.Name, c.Says)
	before := State{}
	for i, step := range c.Steps {
		fmt.Fprintf(&b, "%3d  %-34s %s\n", i+1, step.Action, strings.Join(step.State.Since(before), "; "))
		before = step.State
	}
	return b.String()
}

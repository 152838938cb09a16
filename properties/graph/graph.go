package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Graph is what TLC found of one module at one scope.
//
// Guarantees of every Graph that [Read] or [New] returned:
//
//	(1) state 0 is the initial one, and every state is reached from it
//	(2) a state and a label have at most one successor
//	(3) a state and a request have at most one reply
type Graph struct {
	Header Header
	States []string // canonical JSON, each once
	Labels []Label
	// Edges of each state, by label. An edge that leads back is one too.
	Edges [][]Edge
	// Requests are the labels less their replies, each once.
	Requests []Request
}

// An Edge leads to a state under a label, both by their number.
type Edge struct{ Label, To int }

// A Header says what the graph is of.
type Header struct {
	Graph string `json:"graph"` // its name, and that of its file
	Shows string `json:"shows"`
	// Modules are the SHA-256 of every file of ours that TLC read.
	Modules   map[string]string `json:"modules"`
	Constants map[string]string `json:"constants"`
	States    int               `json:"states"`
	Edges     int               `json:"edges"`
	Labels    int               `json:"labels"`
	// Distinct is how many states TLC told apart, the history included.
	Distinct int    `json:"distinct"`
	Refresh  string `json:"refresh"` // the command that makes it anew
}

// A Label is an action of the specification with its parameters.
type Label struct {
	Action  string
	Params  string // canonical JSON of the parameters but the reply
	Reply   string // canonical JSON of the reply; "null" if there is none
	Request int    // its place in Graph.Requests

	reply any // as encoding/json decodes it
}

// A Request is what is asked, without what is answered.
type Request struct {
	Action string
	Params map[string]any // as encoding/json decodes them
	Labels []int          // the labels that answer it
}

// String returns the label as the specification names it.
func (l Label) String() string {
	var b strings.Builder
	b.WriteString(l.Action)
	b.WriteByte('(')
	if l.Params != "{}" {
		b.WriteString(bare(l.Params))
	}
	b.WriteByte(')')
	if l.Reply != "null" {
		b.WriteString(" = ")
		b.WriteString(bare(l.Reply))
	}
	return b.String()
}

// bare is JSON without the quotes and braces that are in a reader's way.
func bare(text string) string {
	return strings.NewReplacer(`"`, "", "{", "", "}", "", ":", " ", ",", ", ").Replace(text)
}

// replies are the names of the parameters that are answers. Where there are
// several, the reply is all of them by name.
var replies = []string{"reply", "why", "verdict", "outcome", "pos"}

// isReply says which parameters of an action are answers: those of these names,
// but for what becomes of a write, which others choose; and where a client goes
// on is all its own.
func isReply(action, name string) bool {
	switch action {
	case "Commit":
		return false
	case "Resume":
		return name == "e" || name == "n" || slices.Contains(replies, name)
	}
	return slices.Contains(replies, name)
}

// NewLabel makes a label of an action and its parameters in JSON.
func NewLabel(action string, params json.RawMessage) (Label, error) {
	var all map[string]any
	if err := json.Unmarshal(params, &all); err != nil {
		// TLC writes the empty function as an empty array.
		if string(params) != "[]" {
			return Label{}, fmt.Errorf("graph: parameters of %s: %w", action, err)
		}
		all = map[string]any{}
	}
	answers := map[string]any{}
	for name, value := range all {
		if isReply(action, name) {
			answers[name] = value
			delete(all, name)
		}
	}
	_, whole := answers["reply"]
	_, why := answers["why"]
	if whole && why {
		return Label{}, fmt.Errorf("graph: %s has two replies", action)
	}
	l := Label{Action: action, Params: Canonical(all), Reply: "null"}
	switch len(answers) {
	case 0:
	case 1:
		for _, one := range answers {
			l.Reply = Canonical(one)
		}
	default:
		l.Reply = Canonical(answers)
	}
	return l, nil
}

// Canonical is the one JSON text of a value: keys sorted, no space.
func Canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("reattach: BUG: graph: %T is not JSON: %v", v, err))
	}
	var again any
	if err := json.Unmarshal(text, &again); err != nil {
		panic(fmt.Sprintf("reattach: BUG: graph: %s: %v", text, err))
	}
	text, _ = json.Marshal(again) // of maps, whose keys it sorts
	return string(text)
}

// New checks and completes a graph of states, labels and edges.
func New(h Header, states []string, labels []Label, edges [][]Edge) (*Graph, error) {
	g := &Graph{Header: h, States: states, Labels: labels, Edges: edges}
	requests := map[string]int{}
	for i := range g.Labels {
		l := &g.Labels[i]
		if err := json.Unmarshal([]byte(l.Reply), &l.reply); err != nil {
			return nil, fmt.Errorf("graph %s: reply of %s: %w", h.Graph, l.Action, err)
		}
		key := l.Action + l.Params
		at, ok := requests[key]
		if !ok {
			at = len(g.Requests)
			requests[key] = at
			r := Request{Action: l.Action}
			if err := json.Unmarshal([]byte(l.Params), &r.Params); err != nil {
				return nil, fmt.Errorf("graph %s: %w", h.Graph, err)
			}
			g.Requests = append(g.Requests, r)
		}
		l.Request = at
		g.Requests[at].Labels = append(g.Requests[at].Labels, i)
	}
	return g, g.check()
}

// check sees to the guarantees.
func (g *Graph) check() error {
	if len(g.States) == 0 || len(g.Edges) != len(g.States) {
		return fmt.Errorf("graph %s: %d states with edges of %d", g.Header.Graph, len(g.States), len(g.Edges))
	}
	found, reached := make([]bool, len(g.States)), 1
	found[0] = true
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		replied := map[int]Edge{}
		for _, e := range g.Edges[queue[0]] {
			if e.Label < 0 || e.Label >= len(g.Labels) || e.To < 0 || e.To >= len(g.States) {
				return fmt.Errorf("graph %s: state %d has an edge %v", g.Header.Graph, queue[0], e)
			}
			r := g.Labels[e.Label].Request
			if other, twice := replied[r]; twice {
				return fmt.Errorf("graph %s: state %d answers with %v and with %v", g.Header.Graph, queue[0], g.Labels[other.Label], g.Labels[e.Label])
			}
			replied[r] = e
			if !found[e.To] {
				found[e.To] = true
				reached++
				queue = append(queue, e.To)
			}
		}
	}
	if reached != len(g.States) {
		return fmt.Errorf("graph %s: %d of %d states are reached", g.Header.Graph, reached, len(g.States))
	}
	return nil
}

// EdgeCount returns the number of edges.
func (g *Graph) EdgeCount() (n int) {
	for _, edges := range g.Edges {
		n += len(edges)
	}
	return n
}

// Actions returns the number of edges of each action.
func (g *Graph) Actions() map[string]int {
	n := map[string]int{}
	for _, edges := range g.Edges {
		for _, e := range edges {
			n[g.Labels[e.Label].Action]++
		}
	}
	return n
}

// Names returns the names of the actions, sorted.
func (g *Graph) Names() []string { return slices.Sorted(maps.Keys(g.Actions())) }

// Kind is the label less its numbers: its action, and what kind of reply it has.
func (l Label) Kind() string { return l.Action + " " + reasonIn(l.reply) }

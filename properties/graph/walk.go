package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A System is anything that claims to behave like a graph: C is one state of
// it, to be reached through its own moves only.
type System[C any] struct {
	// Start returns the system in its initial state.
	Start func() C
	Clone func(C) C
	// Ask does what the request says, and returns the reply as the graph has
	// it. ErrRefused, ErrNotHere and ErrLeft say why nothing was done. Any other
	// error is a fault that no reply can express: the walk fails.
	Ask func(C, Request) (reply any, err error)
	// Offers says that requests are made also where the graph has no edge for
	// them: Ask must refuse them then. Otherwise the graph has an edge for every
	// request that is within its bounds, the refusals too.
	Offers bool
	// Hides says of which requests the system may remember what the graph does
	// not show, even where the edge leads back; nil: of none.
	Hides func(Request) bool
	// Abstract maps the system to a state of the graph.
	Abstract func(C) any
	// Key is everything that decides how the system will behave: equal keys,
	// equal behaviour. What a refusal must leave as it was.
	Key func(C) string
}

// What a System may say to a request instead of a reply. It has done nothing.
var (
	// ErrRefused: the system does not do this now. The graph must have no edge.
	ErrRefused = errors.New("refused")
	// ErrNotHere: it is for the environment to do this, which it does not now:
	// no such frame is on its way, or the scope of the graph ends here. The
	// graph must have no edge.
	ErrNotHere = errors.New("the environment does not do this here")
	// ErrLeft: the specification allows more than the system does, on purpose.
	ErrLeft = errors.New("left out")
)

// A Walked says what a walk did. Every label was offered in every state, but
// for requests that are beyond the graph's bounds.
type Walked struct {
	Graph    string
	States   int            // pairs of a state of the graph and one of the system
	Edges    int            // of the graph, from those states
	Accepted int            // labels that happened: the graph has the edge
	Refused  int            // labels that did not happen: the graph has no such edge
	Beyond   map[string]int // requests not made, by action, because the graph has no reply in that state
	Replies  map[string]int // what was answered, by action and reply
	Covered  int            // states of the graph that were reached
	Denied   map[string]int // requests that were refused where the graph has no edge, by action
	Left     map[string]int // edges of the graph that the system does not take, by action
}

// String is the line that tests print.
func (w Walked) String() string {
	return fmt.Sprintf("graph %s: states %d edges %d accepted %d refused %d", w.Graph, w.States, w.Edges, w.Accepted, w.Refused)
}

// A Fault is the first difference between a system and a graph: no shorter path
// leads to one.
type Fault struct {
	Graph string
	Path  []Label // from the initial state
	Last  string  // what was asked then
	Says  string  // what differs
}

func (f *Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %s: %s\n  asked: %s\n  after:", f.Graph, f.Says, f.Last)
	for i, l := range f.Path {
		fmt.Fprintf(&b, "\n  %3d %v", i+1, l)
	}
	if len(f.Path) == 0 {
		b.WriteString(" nothing, in the initial state")
	}
	return b.String()
}

// Walk goes breadth first over the product of a graph and a system, from their
// initial states, and offers every label in every state. For each of them
//
//	(1) the system does what a label says exactly if the graph has an edge for it
//	(2) the state after it is the edge's
//	(3) where the edge leads back, nothing changed at all, unless the system Hides something
//
// A request is made once a state, and its reply decides about all its labels.
// The error is a [*Fault], with the shortest path to it.
func Walk[C any](g *Graph, s System[C]) (Walked, error) {
	w := walk[C]{graph: g, system: s, visited: map[string]bool{}, texts: map[string]string{}, covered: make([]bool, len(g.States))}
	w.kinds = make([]int, len(g.Labels))
	w.done = Walked{Graph: g.Header.Graph, Beyond: map[string]int{}, Replies: map[string]int{}, Denied: map[string]int{}, Left: map[string]int{}}
	start := s.Start()
	if got := w.canonical(s.Abstract(start)); got != g.States[0] {
		return w.done, w.fault(-1, "nothing", "it begins in "+difference(g.States[0], got))
	}
	w.visit(0, start, s.Key(start), -1, -1)
	for w.at = 0; w.at < len(w.queue); w.at++ {
		if err := w.expand(); err != nil {
			return w.done, err
		}
		var none C
		w.queue[w.at].system = none // it is needed no more
	}
	for _, covered := range w.covered {
		if covered {
			w.done.Covered++
		}
	}
	for l, n := range w.kinds {
		w.done.Replies[g.Labels[l].Kind()] += n
	}
	return w.done, nil
}

type walk[C any] struct {
	graph   *Graph
	system  System[C]
	visited map[string]bool
	covered []bool            // by state of the graph
	texts   map[string]string // canonical texts, by what encoding/json makes of the value
	queue   []place[C]
	at      int
	kinds   []int // how often each label happened
	done    Walked
}

// A place is a pair of states, and how it was first reached.
type place[C any] struct {
	state       int
	system      C
	key         string
	from, label int
}

func (w *walk[C]) visit(state int, c C, key string, from, label int) {
	id := fmt.Sprint(state, " ", key)
	if w.visited[id] {
		return
	}
	w.visited[id], w.covered[state] = true, true
	w.queue = append(w.queue, place[C]{state, c, key, from, label})
}

// expand makes every request at the place at hand.
func (w *walk[C]) expand() error {
	here := &w.queue[w.at]
	w.done.States++
	w.done.Edges += len(w.graph.Edges[here.state])
	expected := make([]*Edge, len(w.graph.Requests))
	for i := range w.graph.Edges[here.state] {
		e := &w.graph.Edges[here.state][i]
		expected[w.graph.Labels[e.Label].Request] = e
	}
	// Requests that change nothing share one clone: each is seen to leave it as it was.
	idle := w.system.Clone(here.system)
	for r, e := range expected {
		switch {
		case e == nil && w.system.Offers:
			if err := w.refused(idle, w.graph.Requests[r]); err != nil {
				return err
			}
		case e == nil:
			w.done.Beyond[w.graph.Requests[r].Action]++
		case e.To == here.state && !w.hides(w.graph.Requests[r]):
			if err := w.ask(idle, w.graph.Requests[r], *e); err != nil {
				return err
			}
		default:
			if err := w.ask(w.system.Clone(here.system), w.graph.Requests[r], *e); err != nil {
				return err
			}
		}
	}
	return nil
}

// canonical is Canonical of an abstract state, which is asked for after every
// label.
func (w *walk[C]) canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("reattach: BUG: graph: %T is not JSON: %v", v, err))
	}
	known, ok := w.texts[string(text)]
	if !ok {
		known = Canonical(json.RawMessage(text))
		w.texts[string(text)] = known
	}
	return known
}

func (w *walk[C]) hides(r Request) bool { return w.system.Hides != nil && w.system.Hides(r) }

// refused makes one request for which the graph has no edge.
func (w *walk[C]) refused(c C, r Request) error {
	switch reply, err := w.system.Ask(c, r); {
	case errors.Is(err, ErrNotHere):
		w.done.Beyond[r.Action]++
		return nil
	case err == nil:
		return w.fault(w.at, r.String(), fmt.Sprintf("it replies %s, and the specification does not allow that here", bare(Canonical(reply))))
	case !errors.Is(err, ErrRefused):
		return w.fault(w.at, r.String(), err.Error())
	}
	if after := w.system.Key(c); after != w.queue[w.at].key {
		return w.fault(w.at, r.String(), "it refuses, and became\n"+after)
	}
	w.done.Denied[r.Action]++
	w.done.Refused += len(r.Labels)
	return nil
}

// ask makes one request, for which the graph has an edge.
func (w *walk[C]) ask(c C, r Request, e Edge) error {
	state, key := w.queue[w.at].state, w.queue[w.at].key
	want := w.graph.Labels[e.Label]
	reply, err := w.system.Ask(c, r)
	if errors.Is(err, ErrLeft) {
		if after := w.system.Key(c); after != key {
			return w.fault(w.at, want.String(), "it leaves that out, and became\n"+after)
		}
		w.done.Left[r.Action]++
		return nil
	}
	if err != nil {
		return w.fault(w.at, want.String(), err.Error())
	}
	if !sameReply(want.reply, reply) {
		says := fmt.Sprintf("it replies %s", bare(Canonical(reply)))
		return w.fault(w.at, want.String(), says+", the specification "+bare(want.Reply))
	}
	w.done.Accepted++
	w.done.Refused += len(r.Labels) - 1
	w.kinds[e.Label]++
	after := w.system.Key(c)
	if e.To == state && (after == key || !w.hides(r)) {
		if after != key {
			return w.fault(w.at, want.String(), "nothing may change, and it became\n"+after)
		}
		return nil
	}
	if got := w.canonical(w.system.Abstract(c)); got != w.graph.States[e.To] {
		return w.fault(w.at, want.String(), "it is then in "+difference(w.graph.States[e.To], got))
	}
	w.visit(e.To, c, after, w.at, e.Label)
	return nil
}

// sameReply compares a reply as encoding/json decodes it with one in Go's own
// numbers. It is asked for every label, so it makes no JSON.
func sameReply(want, got any) bool {
	switch got := got.(type) {
	case map[string]any:
		all, ok := want.(map[string]any)
		if !ok || len(all) != len(got) {
			return false
		}
		for name, value := range got {
			if other, there := all[name]; !there || !sameReply(other, value) {
				return false
			}
		}
		return true
	case uint64:
		return want == any(float64(got))
	case int:
		return want == any(float64(got))
	default:
		return want == got
	}
}

// reasonIn is the part of a reply that says what kind it is of.
func reasonIn(reply any) string {
	switch r := reply.(type) {
	case string:
		return r
	case map[string]any:
		for _, name := range [...]string{"why", "verdict"} {
			if why, ok := r[name].(string); ok {
				return why
			}
		}
	}
	return "ok"
}

func difference(want, got string) string {
	return fmt.Sprintf("\n  %s, the specification in\n  %s", got, want)
}

func (w *walk[C]) fault(at int, last, says string) *Fault {
	f := &Fault{Graph: w.graph.Header.Graph, Last: last, Says: says}
	for ; at > 0; at = w.queue[at].from {
		f.Path = append(f.Path, w.graph.Labels[w.queue[at].label])
	}
	slices.Reverse(f.Path)
	return f
}

// String returns the request as the specification names it.
func (r Request) String() string {
	return Label{Action: r.Action, Params: Canonical(r.Params), Reply: "null"}.String()
}

// BeyondActions returns the actions of the requests that were not made, sorted.
func (w Walked) BeyondActions() []string { return slices.Sorted(maps.Keys(w.Beyond)) }

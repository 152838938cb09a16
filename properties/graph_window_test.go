package properties

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"example.com/reattach/model"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// tla/Window.tla against the model (L1) and against the real core with the real
// window and machines (L2): every labelled edge that TLC found, and every label
// that it found impossible, in every state. See graph_window_core_test.go and
// graph_window_model_test.go for what a state and a label mean there.

const tlaDir = "../tla/"

// What the walks must have done: graphs, models and cores that quietly shrank
// would otherwise go unnoticed. The model tells as many states apart as the
// graph; the core more, because it knows what its events say.
var windowGraphs = []struct {
	name        string
	edges       int
	model, core graph.Walked
	beyond      string // the actions that the bounds of the scope cut off
}{
	{
		"window", 275656,
		graph.Walked{States: 3133, Edges: 275656, Accepted: 275656, Refused: 519503},
		graph.Walked{States: 3764, Edges: 331634, Accepted: 331634, Refused: 640539},
		"[Answer Call ElapseDetach Emit]",
	},
	{
		"window-streams", 113948,
		graph.Walked{States: 3448, Edges: 113948, Accepted: 113948, Refused: 271824},
		graph.Walked{States: 4728, Edges: 157664, Accepted: 157664, Refused: 386456},
		"[Answer Call ElapseDetach Emit OpenStream]",
	},
}

// L1: the reference model behaves as the specification, edge by edge.
func TestGraphWindowModel(t *testing.T) {
	for _, of := range windowGraphs {
		t.Run(of.name, func(t *testing.T) {
			g := loadGraph(t, of.name)
			w := walked(t, g, modelSystem(g, model.TheRules()))
			pinned(t, w, of.model, of.beyond)
			if w.States != len(g.States) || w.Accepted != of.edges {
				t.Errorf("the model tells %d states and %d edges apart, the graph has %d and %d", w.States, w.Accepted, len(g.States), of.edges)
			}
			needReplies(t, g, w)
		})
	}
}

// L2: so does the real core.
func TestGraphWindowCore(t *testing.T) {
	for _, of := range windowGraphs {
		t.Run(of.name, func(t *testing.T) {
			g := loadGraph(t, of.name)
			w := walked(t, g, coreSystem(g))
			pinned(t, w, of.core, of.beyond)
			needReplies(t, g, w)
		})
	}
}

// pinned fails if a walk was not what it was when it was pinned.
func pinned(t *testing.T, got, want graph.Walked, beyond string) {
	t.Helper()
	want.Graph = got.Graph
	if got.String() != want.String() || fmt.Sprint(got.BeyondActions()) != beyond {
		t.Errorf("%v beyond %v, pinned:\n%v beyond %s", got, got.BeyondActions(), want, beyond)
	}
}

// A larger graph, exported on demand: go run ./tla/pack -graph window-large -out FILE.
func TestGraphWindowLarge(t *testing.T) {
	path := os.Getenv("REATTACH_GRAPH")
	if path == "" {
		t.Log("REATTACH_GRAPH names no graph: nothing more than the committed ones to walk")
		return
	}
	g, err := graph.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	fresh(t, g)
	t.Run("model", func(t *testing.T) { walked(t, g, modelSystem(g, model.TheRules())) })
	t.Run("core", func(t *testing.T) { walked(t, g, coreSystem(g)) })
}

func loadGraph(t testing.TB, name string) *graph.Graph {
	t.Helper()
	g, err := graph.Load(tlaDir + "graphs/" + name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	fresh(t, g)
	return g
}

// fresh fails if the modules are not those that the graph was made from.
func fresh(t testing.TB, g *graph.Graph) {
	t.Helper()
	stale, err := g.Header.Stale(tlaDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("graph %s was made from another %v; run\n\t%s", g.Header.Graph, stale, g.Header.Refresh)
	}
}

func walked[C any](t *testing.T, g *graph.Graph, s graph.System[C]) graph.Walked {
	t.Helper()
	w, err := graph.Walk(g, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(w)
	return w
}

// needReplies fails for each kind of answer of the graph that was never given.
func needReplies(t *testing.T, g *graph.Graph, w graph.Walked) {
	t.Helper()
	for _, l := range g.Labels {
		if kind := l.Kind(); w.Replies[kind] == 0 {
			t.Errorf("never answered: %s", kind)
		}
	}
}

// A sight is a session as a graph of tla/Window.tla shows it.
type sight struct {
	Seq     uint64        `json:"seq"`
	Next    uint64        `json:"next"`
	Window  [][]uint64    `json:"window"` // [seq, stream, ordinal], or [seq] of a forgotten stream
	Streams []streamSight `json:"streams"`
}

type streamSight struct {
	St     string    `json:"st"`
	Floor  [2]uint64 `json:"floor"` // seq, ordinal
	Head   [2]uint64 `json:"head"`
	Handed uint64    `json:"handed"`
	View   any       `json:"view"` // "none", or the ordinal of the last event taken
}

// stateWord is the word of the specification for a stream's state; whether
// there is a view it tells apart.
func stateWord(s spec.State) (word string, attached bool) {
	switch s {
	case spec.Unopened:
		return "unopened", false
	case spec.Detached:
		return "open", false
	case spec.Attached:
		return "open", true
	case spec.FinishedDetached:
		return "finished", false
	case spec.FinishedAttached:
		return "finished", true
	case spec.Forgotten:
		return "forgotten", false
	}
	return s.String(), false
}

// A wanted is a request of a graph with its parameters as they are used here.
type wanted struct {
	graph.Request
	stream uint64
}

func want(r graph.Request) wanted {
	w := wanted{Request: r}
	if s, ok := r.Params["s"].(float64); ok {
		w.stream = uint64(s)
	}
	return w
}

// foreignTag is the tag of a session that is not the one that is walked.
var foreignTag = spec.TagOf("another session", "")

// cursors are what a client may send for the cursor of a request: one text,
// but for what is no event id.
func (w wanted) cursors(tag spec.Tag) (sent [][]string, id spec.EventID) {
	c := w.Params["c"].(map[string]any)
	number := func(name string) uint64 { return uint64(c[name].(float64)) }
	id = spec.EventID{Tag: tag, Seq: number("seq"), Stream: number("s"), Ordinal: number("n")}
	switch c["tag"] {
	case "malformed":
		zero := spec.PositionZero(tag, 0).String()
		return [][]string{{""}, {zero, zero}, {zero + " "}, {string(tag) + ":01:0:01"}, {string(tag) + ":1:0:0"}, {"1:1:1"}}, spec.EventID{}
	case "foreign":
		id.Tag = foreignTag
	}
	return [][]string{{id.String()}}, id
}

// emission is the reply of Emit and Answer.
func emission(why spec.Reason, seq, n, evicted, lag uint64) map[string]any {
	return map[string]any{"why": whyOf(why), "seq": seq, "n": n, "evicted": evicted, "lag": lag}
}

// delivery is the reply of Deliver.
func delivery(why string, seq, n uint64, last bool) map[string]any {
	return map[string]any{"why": why, "seq": seq, "n": n, "last": last}
}

// whyOf is a reason as the specification writes it.
func whyOf(r spec.Reason) string {
	if r == "" {
		return "ok"
	}
	return string(r)
}

// reasonFrom returns the reason that an error stands for, "" for none.
func reasonFrom(err error) spec.Reason {
	var r spec.Reason
	if err != nil && !errors.As(err, &r) {
		return spec.Reason("an error without a reason: " + err.Error())
	}
	return r
}

// scopeOf reads a number from the constants of a graph.
func scopeOf(g *graph.Graph, constant string) int {
	n, err := strconv.Atoi(g.Header.Constants[constant])
	if err != nil {
		panic(fmt.Sprintf("reattach: BUG: graph %s has no constant %s", g.Header.Graph, constant))
	}
	return n
}

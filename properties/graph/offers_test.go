package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/reattach/properties/graph"
)

// A door opens and shuts, if somebody is there to push: a graph in which what is
// impossible has no edge. It may wear, which nobody sees.
type door struct {
	open bool
	wear int
}

func doorGraph(t *testing.T) *graph.Graph {
	t.Helper()
	labels := []graph.Label{label(t, "Open", `[]`), label(t, "Shut", `{"outcome":"shut"}`), label(t, "Shut", `{"outcome":"ajar"}`), label(t, "Wind", `[]`)}
	edges := [][]graph.Edge{{{Label: 0, To: 1}, {Label: 3, To: 0}}, {{Label: 1, To: 0}}}
	g, err := graph.New(graph.Header{Graph: "door"}, []string{`{"open":false}`, `{"open":true}`}, labels, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func doors(fault string) graph.System[*door] {
	return graph.System[*door]{
		Offers:   true,
		Hides:    func(r graph.Request) bool { return r.Action == "Wind" && fault != "wears where nobody may see it" },
		Start:    func() *door { return &door{} },
		Clone:    func(d *door) *door { c := *d; return &c },
		Abstract: func(d *door) any { return map[string]any{"open": d.open} },
		Key:      func(d *door) string { return fmt.Sprint(d.open, d.wear) },
		Ask: func(d *door, r graph.Request) (any, error) {
			switch {
			case r.Action == "Wind" && d.open:
				return nil, graph.ErrNotHere
			case r.Action == "Wind":
				d.wear = 1
				return nil, nil
			case r.Action == "Open" && d.open && fault != "opens again":
				if fault == "a refusal wears it" {
					d.wear++
				}
				return nil, graph.ErrRefused
			case r.Action == "Open" && fault == "does not open":
				return nil, graph.ErrRefused
			case r.Action == "Open" && fault == "nobody pushes":
				return nil, graph.ErrNotHere
			case r.Action == "Open":
				d.open = true
				return nil, nil
			case !d.open:
				return nil, graph.ErrRefused
			case fault == "leaves it open":
				return nil, graph.ErrLeft
			}
			d.open = false
			return "shut", nil
		},
	}
}

// Given a graph that has edges only for what is possible, the rest is offered
// too, and refused; what nobody brings is not offered; and what the system
// remembers beside the graph makes another place.
func TestWalkOffersWhatHasNoEdge(t *testing.T) {
	w, err := graph.Walk(doorGraph(t), doors(""))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.String(), "graph door: states 4 edges 6 accepted 6 refused 8"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if w.Covered != 2 || w.Beyond["Wind"] != 2 || w.Denied["Open"] != 2 || w.Denied["Shut"] != 2 || len(w.Left) != 0 {
		t.Errorf("%+v", w)
	}
	w, err = graph.Walk(doorGraph(t), doors("leaves it open"))
	if err != nil || w.Left["Shut"] != 2 || w.Accepted != 4 {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestWalkFindsWhatShouldBeImpossible(t *testing.T) {
	for fault, want := range map[string]struct {
		says string
		path int
	}{
		"opens again":                   {"the specification does not allow that here", 1},
		"a refusal wears it":            {"it refuses, and became", 1},
		"does not open":                 {"refused", 0},
		"nobody pushes":                 {"the environment does not do this here", 0},
		"wears where nobody may see it": {"nothing may change", 0},
	} {
		_, err := graph.Walk(doorGraph(t), doors(fault))
		var found *graph.Fault
		if !errors.As(err, &found) || !strings.Contains(found.Says, want.says) || len(found.Path) != want.path {
			t.Errorf("%s: got %v, want %q after %d labels", fault, err, want.says, want.path)
		}
	}
}

// Which parameters are answers decides what is a refusal.
func TestWhatIsAnAnswer(t *testing.T) {
	for _, of := range []struct{ action, params, want, reply string }{
		{"ReadEvent", `{"e":1,"n":2,"outcome":"next"}`, `{"e":1,"n":2}`, `"next"`},
		{"Commit", `{"outcome":"failed"}`, `{"outcome":"failed"}`, `null`},
		{"Resume", `{"e":1,"n":2}`, `{}`, `{"e":1,"n":2}`},
		{"Request", `{"e":1,"verdict":"attach","pos":3}`, `{"e":1}`, `{"pos":3,"verdict":"attach"}`},
		{"Crash", `[]`, `{}`, `null`},
	} {
		if l := label(t, of.action, of.params); l.Params != of.want || l.Reply != of.reply {
			t.Errorf("%s%s is %s with the answer %s", of.action, of.params, l.Params, l.Reply)
		}
	}
}

package properties

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/model"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// asking is what [graph.System.Ask] is for a core.
type asking = func(*session.Core, graph.Request) (any, error)

// A walk that cannot fail shows nothing. Each of these is the real core with
// one mistake between it and the walk, and is found after the shortest path
// that leads to it.
var plantedFaults = []struct {
	name  string
	found string // the action that shows it
	after int    // labels before it
	plant func(asking) asking
}{
	{"strictly after is made inclusive", "Resume", 1, func(ask asking) asking {
		return onResume(ask, func(c *session.Core, id spec.EventID) spec.EventID {
			if of := c.Stream(id.Stream); id.Ordinal > of.Floor.Ordinal && id.Ordinal <= of.Head.Ordinal {
				id.Seq, _ = c.Window().Lookup(id.Stream, id.Ordinal-1)
				id.Ordinal--
			}
			return id
		})
	}},
	{"an evicted cursor is clamped to the floor", "Resume", 2, func(ask asking) asking {
		return onResume(ask, func(c *session.Core, id spec.EventID) spec.EventID {
			if of := c.Stream(id.Stream); id.Ordinal < of.Floor.Ordinal {
				id.Seq, id.Ordinal = of.Floor.Seq, of.Floor.Ordinal
			}
			return id
		})
	}},
	{"an ordinal is enough, whatever its seq", "Resume", 1, func(ask asking) asking {
		return onResume(ask, func(c *session.Core, id spec.EventID) spec.EventID {
			if seq, ok := c.Window().Lookup(id.Stream, id.Ordinal); ok {
				id.Seq = seq
			}
			return id
		})
	}},
	{"a refusal takes the view away", "Resume", 1, func(ask asking) asking {
		return func(c *session.Core, r graph.Request) (any, error) {
			reply, err := ask(c, r)
			if answer, ok := reply.(map[string]any); ok && r.Action == "Resume" && answer["why"] != "reattach" && answer["why"] != "complete" {
				_ = c.Break(0, 0) // without a view it is refused
			}
			return reply, err
		}
	}},
	{"a delivery leaves one out", "Deliver", 3, func(ask asking) asking {
		return func(c *session.Core, r graph.Request) (any, error) {
			if v := c.Stream(want(r).stream).View; r.Action == "Deliver" && v != nil && c.Stream(v.Stream).Head.Ordinal > v.At.Ordinal+1 {
				if _, err := ask(c, r); err != nil {
					return nil, err
				}
			}
			return ask(c, r)
		}
	}},
	{"a delivery is not remembered by the next fresh attach", "Attach", 3, func(ask asking) asking {
		return func(c *session.Core, r graph.Request) (any, error) {
			reply, err := ask(c, r)
			if r.Action == "Attach" {
				floor := c.Stream(0).Floor
				id := spec.EventID{Tag: c.Tag(), Seq: floor.Seq, Ordinal: floor.Ordinal}
				_, _, err = c.Resume(session.Request{Cursors: []string{id.String()}}, 0)
			}
			return reply, err
		}
	}},
	{"two events leave where one should", "EvictOldest", 2, func(ask asking) asking {
		return after(ask, "EvictOldest", func(c *session.Core, _ uint64) { c.EvictOldest() })
	}},
	{"an answer does not finish its stream", "Answer", 1, func(ask asking) asking {
		return func(c *session.Core, r graph.Request) (any, error) {
			if n := want(r).stream; r.Action == "Answer" && n > 0 && c.Stream(n).State == spec.Attached {
				r.Action = "Emit"
			}
			return ask(c, r)
		}
	}},
	{"nobody listens, so nothing is recorded", "Emit", 0, func(ask asking) asking {
		return func(c *session.Core, r graph.Request) (any, error) {
			if r.Action == "Emit" && c.Stream(want(r).stream).State == spec.Detached {
				return emission(spec.ReasonNoView, 0, 0, 0, 0), nil
			}
			return ask(c, r)
		}
	}},
	{"a stream is forgotten as soon as it is finished", "Answer", 1, func(ask asking) asking {
		return after(ask, "Answer", func(c *session.Core, n uint64) { _ = c.CapRecords(n) }) // others refuse
	}},
	{"a call goes on after its budget", "ElapseDetach", 1, func(ask asking) asking {
		return func(c *session.Core, r graph.Request) (any, error) {
			if n := want(r).stream; r.Action == "ElapseDetach" && n > 0 && c.Stream(n).State == spec.Detached {
				return "ok", nil
			}
			return ask(c, r)
		}
	}},
}

// onResume changes cursors of this session on their way in.
func onResume(ask asking, change func(*session.Core, spec.EventID) spec.EventID) asking {
	return func(c *session.Core, r graph.Request) (any, error) {
		if r.Action != "Resume" {
			return ask(c, r)
		}
		w := want(r)
		_, id := w.cursors(c.Tag())
		if id.Tag != c.Tag() {
			return ask(c, r)
		}
		id = change(c, id)
		r.Params = map[string]any{"c": map[string]any{"tag": "own", "seq": float64(id.Seq), "s": float64(id.Stream), "n": float64(id.Ordinal)}}
		return ask(c, r)
	}
}

// after does something more when a request was answered.
func after(ask asking, action string, more func(*session.Core, uint64)) asking {
	return func(c *session.Core, r graph.Request) (any, error) {
		reply, err := ask(c, r)
		if r.Action == action {
			more(c, want(r).stream)
		}
		return reply, err
	}
}

func TestGraphWindowFindsPlantedFaults(t *testing.T) {
	g := loadGraph(t, "window")
	for _, planted := range plantedFaults {
		t.Run(planted.name, func(t *testing.T) {
			s := coreSystem(g)
			s.Ask = planted.plant(s.Ask)
			_, err := graph.Walk(g, s)
			var fault *graph.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("the walk ends with %v", err)
			}
			if !strings.HasPrefix(fault.Last, planted.found+"(") || len(fault.Path) != planted.after {
				t.Errorf("want it found by %s after %d labels:\n%v", planted.found, planted.after, fault)
			}
		})
	}
}

// modelMutants are the mutants of package model that are about one session at
// its server. The others are about a client, or about what is announced.
var modelMutants = []string{
	"numbers-restart", "window-unbounded", "event-left-out", "evicted-written", "inclusive-replay", "replay-from-start", "floor-unchecked",
	"ahead-accepted", "tag-unchecked", "seq-unchecked", "stream-unchecked", "fresh-from-floor", "fresh-below-floor", "fresh-too-late", "both-views-write",
}

// Each of them differs from the specification somewhere in the committed graphs.
func TestGraphWindowFindsModelMutants(t *testing.T) {
	graphs := []*graph.Graph{loadGraph(t, "window"), loadGraph(t, "window-streams")}
	for _, name := range modelMutants {
		m, ok := model.MutantNamed(name)
		if !ok {
			t.Fatalf("package model has no mutant %s", name)
		}
		rules := model.TheRules()
		m.Apply(&rules)
		if !slices.ContainsFunc(graphs, func(g *graph.Graph) bool { return differs(g, rules) }) {
			t.Errorf("mutant %s was not found", name)
		}
	}
}

// differs walks the model under wrong rules. Where a rule is so wrong that the
// model cannot go on, it differs too.
func differs(g *graph.Graph, rules model.Rules) (found bool) {
	defer func() {
		if recover() != nil {
			found = true
		}
	}()
	_, err := graph.Walk(g, modelSystem(g, rules))
	return err != nil
}

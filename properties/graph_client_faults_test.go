package properties

import (
	"errors"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/model"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

type (
	askOpposed  = func(*opposed, graph.Request) (any, error)
	askComposed = func(*composedGraph, graph.Request) (any, error)
)

// Each of these is the real client core with one mistake between it and the
// walk, and is found after the shortest path that leads to it.
var opposedFaults = []struct {
	name  string
	found string // the action that shows it
	after int    // labels before it
	plant func(askOpposed) askOpposed
}{
	{"200 means resumed", "ReadAccepted", 5, onFrame("ReadAccepted", func(o *opposed, f *frameSight) {
		f.E, f.N = o.epoch(), o.sight().Rec.Tok
	})},
	{"what comes is what comes next", "ReadEvent", 7, onFrame("ReadEvent", func(o *opposed, f *frameSight) {
		f.E, f.N = o.epoch(), o.sight().Rec.Tok+1
	})},
	{"an event that comes again is the next one", "ReadEvent", 10, onFrame("ReadEvent", func(o *opposed, f *frameSight) {
		if tok := o.sight().Rec.Tok; f.E == o.epoch() && f.N <= tok {
			f.N = tok + 1
		}
	})},
	{"a refusal is waited out", "ReadRefused", 5, func(ask askOpposed) askOpposed {
		return func(o *opposed, r graph.Request) (any, error) {
			if r.Action == "ReadRefused" && len(o.wire) > 0 && o.wire[0].Kind == "refused" {
				o.leave()
				actions, err := o.core.Defers(o.core.Standalone(), o.conn, 0)
				return nil, o.take(actions, err)
			}
			return ask(o, r)
		}
	}},
	{"the token moves when the event arrives", "ReadEvent", 7, func(ask askOpposed) askOpposed {
		return func(o *opposed, r graph.Request) (any, error) {
			reply, err := ask(o, r)
			if r.Action == "ReadEvent" && reply == "next" {
				err = o.write(o.pending[0])
			}
			return reply, err
		}
	}},
	{"the fence is in memory only", "Fence", 5, func(ask askOpposed) askOpposed {
		return func(o *opposed, r graph.Request) (any, error) {
			if r.Action != "Fence" || o.fence == nil {
				return ask(o, r)
			}
			before := o.record
			reply, err := ask(o, r)
			o.record = before
			return reply, err
		}
	}},
	{"an unknown outcome is forgotten with its session", "Fence", 5, func(ask askOpposed) askOpposed {
		return func(o *opposed, r graph.Request) (any, error) {
			reply, err := ask(o, r)
			if r.Action == "Fence" && err == nil {
				o.record.Unknowns = nil
			}
			return reply, err
		}
	}},
	{"a restart believes what was in hand", "Crash", 8, func(ask askOpposed) askOpposed {
		return func(o *opposed, r graph.Request) (any, error) {
			if r.Action == "Crash" && len(o.pending) > 0 {
				if err := o.write(o.pending[0]); err != nil {
					return ask(o, r)
				}
			}
			return ask(o, r)
		}
	}},
	{"an answer of an old connection is heard", "ReadAccepted", 6, func(ask askOpposed) askOpposed {
		return func(o *opposed, r graph.Request) (any, error) {
			st := o.stream(0)
			if r.Action != "ReadAccepted" || st.State != spec.Truncated || o.ended != "" {
				return ask(o, r)
			}
			actions, err := o.core.Reconnect(st.ID, false) // as if the connection were the one that is yet to be opened
			if err := o.take(actions, err); err != nil {
				return nil, err
			}
			return o.readAccepted(params(r.Params).number("e"), params(r.Params).number("n"))
		}
	}},
}

// onFrame changes the frame that an action reads, on its way in.
func onFrame(action string, change func(*opposed, *frameSight)) func(askOpposed) askOpposed {
	return func(ask askOpposed) askOpposed {
		return func(o *opposed, r graph.Request) (any, error) {
			p := params(r.Params)
			if r.Action == action && len(o.wire) > 0 && o.wire[0].Kind == readKinds[action] && o.wire[0].E == p.number("e") && o.wire[0].N == p.number("n") {
				change(o, &o.wire[0])
				r.Params = map[string]any{"e": float64(o.wire[0].E), "n": float64(o.wire[0].N)}
			}
			return ask(o, r)
		}
	}
}

func TestGraphHostileServerFindsPlantedFaults(t *testing.T) {
	g := loadGraph(t, "hostile-server")
	for _, planted := range opposedFaults {
		t.Run(planted.name, func(t *testing.T) {
			s := opposedSystem(g, false)
			s.Ask = planted.plant(s.Ask)
			_, err := graph.Walk(g, s)
			foundBy(t, err, planted.found, planted.after)
		})
	}
}

// foundBy fails unless a walk ended with a fault that this action showed after
// so many labels.
func foundBy(t *testing.T, err error, action string, after int) {
	t.Helper()
	var fault *graph.Fault
	if !errors.As(err, &fault) {
		t.Fatalf("the walk ends with %v", err)
	}
	if !strings.HasPrefix(fault.Last, action+"(") || len(fault.Path) != after {
		t.Errorf("want it found by %s after %d labels:\n%v", action, after, fault)
	}
}

// The same for the composition.
var composedGraphFaults = []struct {
	name  string
	found string
	after int
	plant func(askComposed) askComposed
}{
	{"an evicted cursor is clamped to the floor", "ServeResume", 6, func(ask askComposed) askComposed {
		return func(w *composedGraph, r graph.Request) (any, error) {
			if at := w.request; r.Action == "ServeResume" && at.Kind == "resume" && at.E == params(r.Params).number("e") {
				if floor := int(w.server.cores[at.E-1].Stream(0).Floor.Ordinal); at.N < floor {
					w.request.N = floor
					r.Params = map[string]any{"e": float64(at.E), "n": float64(floor)}
				}
			}
			return ask(w, r)
		}
	}},
	{"a late request gets the present connection", "ServeLate", 5, func(ask askComposed) askComposed {
		return func(w *composedGraph, r graph.Request) (any, error) {
			reply, err := ask(w, r)
			if e := params(r.Params).number("e"); r.Action == "ServeLate" && reply == "reattach" {
				w.conns[e-1] = "current"
			}
			return reply, err
		}
	}},
	{"a resumption opens the session again that is gone", "ServeResume", 5, func(ask askComposed) askComposed {
		return func(w *composedGraph, r graph.Request) (any, error) {
			e := params(r.Params).number("e")
			if r.Action == "ServeResume" && w.request.E == e && w.server.cores[e-1].State() == spec.Terminated {
				w.server.cores[e-1] = session.NewCore(session.DefaultConfig())
				if err := w.server.initialize(e); err != nil {
					return nil, err
				}
			}
			return ask(w, r)
		}
	}},
}

func TestGraphResumptionFindsPlantedFaults(t *testing.T) {
	g := loadGraph(t, "resumption")
	for _, planted := range composedGraphFaults {
		t.Run(planted.name, func(t *testing.T) {
			s := composedSystem(g)
			s.Ask = planted.plant(s.Ask)
			_, err := graph.Walk(g, s)
			foundBy(t, err, planted.found, planted.after)
		})
	}
}

// closedMutants are mutants of package model, each with a graph that shows it.
// Those that are missing are about a seq or a stream that is another one
// (tla/Window.tla), and about the second call in a quarantine.
var closedMutants = map[string][]string{
	"hostile-client": {
		"numbers-restart", "window-unbounded", "event-left-out", "evicted-written", "inclusive-replay", "replay-from-start", "floor-unchecked",
		"ahead-accepted", "tag-unchecked", "session-minted", "fresh-from-floor", "fresh-below-floor", "fresh-too-late", "both-views-write",
	},
	"resumption": {"announced-wrong"},
	"hostile-server": {
		"token-before-apply", "token-left-behind", "commit-after-fence", "commit-in-next-epoch", "cursor-guessed", "proof-skipped",
		"session-unproven", "clamp-trusted", "repeat-accepted", "epochs-merged", "refusal-retried", "fence-in-memory", "certainty-kept",
		"unknown-is-never-sent", "unknown-is-done", "late-answer-settles", "resolution-reopens", "quarantine-skipped", "quarantine-for-ever",
		"unknown-resent",
	},
	"hostile-server-events": {"hole-accepted"},
}

func TestGraphClosedFindsModelMutants(t *testing.T) {
	under := map[string]func(*graph.Graph, model.Rules) graph.System[*closed]{
		"resumption": resumptionUnder, "resumption-calls": resumptionUnder, "hostile-server": hostileServerUnder,
		"hostile-server-events": hostileServerUnder, "hostile-client": hostileClientUnder,
	}
	for name, mutants := range closedMutants {
		g := loadGraph(t, name)
		for _, mutant := range mutants {
			m, ok := model.MutantNamed(mutant)
			if !ok {
				t.Fatalf("package model has no mutant %s", mutant)
			}
			rules := model.TheRules()
			m.Apply(&rules)
			if !departs(g, under[name](g, rules)) {
				t.Errorf("mutant %s was not found on %s", mutant, name)
			}
		}
	}
}

// departs reports whether a system differs from the graph. Where a rule is so
// wrong that the model cannot go on, it differs too.
func departs[C any](g *graph.Graph, s graph.System[C]) (found bool) {
	defer func() {
		if recover() != nil {
			found = true
		}
	}()
	_, err := graph.Walk(g, s)
	return err != nil
}

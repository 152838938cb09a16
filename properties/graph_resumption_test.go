package properties

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// tla/Resumption.tla against a real client core and real session cores (L2),
// with a network between them that is the suite's: requests, late requests,
// answers of which any suffix is lost, views whose connection is gone. See
// graph_client_test.go and graph_hostile_client_test.go for what is whose.
var resumptionGraphs = []struct {
	name    string
	done    graph.Walked
	covered int
	beyond  string
	left    string
}{
	{
		"resumption", graph.Walked{States: 6552, Edges: 49621, Accepted: 49621, Refused: 166527}, 4960,
		"[Commit Cut Emit EndView Open OpenSession ReadAccepted ReadEnd ReadEvent ReadOpened ReadRefused Send ServeLate ServeResume]", "map[]",
	},
	{
		"resumption-calls", graph.Walked{States: 3227, Edges: 19303, Accepted: 18146, Refused: 48560}, 2525,
		"[Call CallBroken Commit Cut Emit EndView Execute Finish Open OpenSession PostRefused " +
			"ReadAccepted ReadComplete ReadEnd ReadEvent ReadOpened ReadRefused ResolveUnknown Send ServeLate ServeResume]",
		"map[CallBroken:28 Finish:1094 ResolveUnknown:35]",
	},
}

// Given client and server with a network that loses any suffix and delivers
// late, every step of either is one of the specification, over two epochs and
// with crashes (R4, R5, R6, R7, R20, R21, R22, R23).
func TestGraphResumptionCore(t *testing.T) {
	for _, of := range resumptionGraphs {
		t.Run(of.name, func(t *testing.T) {
			g := loadGraph(t, of.name)
			w := walked(t, g, composedSystem(g))
			pinned(t, w, of.done, of.beyond)
			leaves(t, w, of.covered, of.left)
		})
	}
}

// A larger graph, exported on demand: go run ./tla/pack -graph resumption-large -out FILE.
func TestGraphResumptionLarge(t *testing.T) {
	path := os.Getenv("REATTACH_GRAPH_RESUMPTION")
	if path == "" {
		t.Log("REATTACH_GRAPH_RESUMPTION names no graph: nothing more than the committed ones to walk")
		return
	}
	g, err := graph.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	fresh(t, g)
	t.Run("model", func(t *testing.T) { walked(t, g, resumptionModel(g)) })
	t.Run("core", func(t *testing.T) {
		w := walked(t, g, composedSystem(g))
		t.Logf("covered are %d states of %s, left out %v, denied %v", w.Covered, w.Graph, w.Left, w.Denied)
	})
}

// A composedGraph is one client, its sessions at one server, and the network.
type composedGraph struct {
	client        *graphClient
	server        *served
	wire          []frameSight
	request, late requestSight
	post          []int
	conns         []string // by epoch: whose connection carries its session's view, if it has one
	cap           int
}

var noRequest = requestSight{Kind: "none"}

func composedSystem(g *graph.Graph) graph.System[*composedGraph] {
	return graph.System[*composedGraph]{
		Offers: true,
		Hides:  func(r graph.Request) bool { return r.Action == "Crash" }, // a stream that was never asked for is now one that ended
		Start: func() *composedGraph {
			s, c := newServed(g), newGraphClient(g, false)
			c.coarse = true
			return &composedGraph{client: c, server: s, wire: []frameSight{}, request: noRequest, late: noRequest,
				post: make([]int, s.scope.calls), conns: make([]string, s.scope.epochs), cap: scopeOf(g, "WireCap")}
		},
		Clone: func(w *composedGraph) *composedGraph {
			c := *w
			c.client, c.server = w.client.clone(), w.server.clone()
			c.wire, c.post, c.conns = slices.Clone(w.wire), slices.Clone(w.post), slices.Clone(w.conns)
			return &c
		},
		Key: func(w *composedGraph) string {
			key := w.client.key() + w.server.key() + fmt.Sprint(w.wire, w.request, w.late, w.post)
			for e, conn := range w.conns {
				if w.server.view(e+1) != nil {
					key += conn
				}
			}
			return key
		},
		Ask: (*composedGraph).ask,
		Abstract: func(w *composedGraph) any {
			s := closedSight{clientSight: w.client.sight(), Sess: w.server.sights(), Executed: w.server.executed, Late: w.late}
			s.Wire, s.Request, s.Post = w.wire, w.request, w.post
			for e := range w.conns {
				s.Views = append(s.Views, "none")
				if v := w.server.view(e + 1); v != nil {
					s.Views[e] = viewSight{int(v.At.Ordinal), w.conns[e]}
				}
			}
			return s
		},
	}
}

// orphan takes the present connection from the client's side: a resumption that
// was under way may still arrive, and the server goes on believing in its view.
func (w *composedGraph) orphan() {
	if w.request.Kind == "resume" {
		w.late = w.request
	}
	w.request = noRequest
	for e, conn := range w.conns {
		if conn == "current" {
			w.conns[e] = "dead"
		}
	}
}

func (w *composedGraph) leave() {
	w.orphan()
	w.wire = []frameSight{}
}

// endCurrent puts the end on the wire if the present connection carries the
// view of an epoch's session.
func (w *composedGraph) endCurrent(e int, had bool) {
	if had && w.conns[e-1] == "current" {
		w.wire = append(w.wire, frameSight{Kind: "end"})
	}
}

func (w *composedGraph) ask(r graph.Request) (reply any, err error) {
	p := params(r.Params)
	e, n, k := p.number("e"), p.number("n"), p.number("k")
	if kind := readKinds[r.Action]; kind != "" {
		return w.read(kind, e, n)
	}
	was := w.client.phase()
	switch r.Action {
	case "Emit":
		return nil, w.server.emit(e, 0)
	case "Finish", "EvictOldest":
		return w.server.ask(r)
	case "OpenSession", "Execute", "EndSession", "ServeResume", "ServeLate", "Other", "Send", "EndView":
		return w.serve(r.Action, p)
	case "Cut":
		transit := len(w.wire)
		over := transit > 0 && w.wire[transit-1].Kind == "end"
		if over {
			transit--
		}
		if !slices.Contains([]string{"opening", "resuming", "streaming"}, was) || n > transit || n == transit && over {
			return nil, graph.ErrNotHere
		}
		w.wire = append(w.wire[:n:n], frameSight{Kind: "end"})
		w.orphan()
		return nil, nil
	case "Open":
		unborn := w.server.cores[len(w.conns)-1].State() == spec.Absent
		if err := w.client.open(unborn); err != nil {
			return nil, err
		}
		w.request = requestSight{Kind: "open"}
		return nil, nil
	case "Resume":
		reply, err := w.client.resume()
		if at, ok := reply.(map[string]any); ok {
			w.request = requestSight{"resume", at["e"].(int), at["n"].(int)}
		}
		return reply, err
	case "Commit":
		how := p["outcome"].(string)
		err := w.client.commit(how)
		if err == nil && how == "failed" && was == "streaming" {
			w.leave()
		}
		return nil, err
	case "Fence":
		return nil, w.client.writeFence()
	case "Crash":
		w.leave()
		return nil, w.client.begin()
	case "Call":
		if err := w.client.call(k); err != nil {
			return nil, err
		}
		w.post[k-1] = w.client.epoch()
		return nil, nil
	case "CallBroken":
		if err := w.client.mayLoseCall(k); err != nil {
			return nil, err
		}
		return nil, w.client.callBroken(k)
	case "PostRefused":
		if w.post[k-1] == 0 || w.server.cores[w.post[k-1]-1].State() == spec.Live {
			return nil, graph.ErrNotHere
		}
		if err := w.client.mayLoseCall(k); err != nil {
			return nil, err
		}
		w.post[k-1] = 0
		w.leave()
		return nil, w.client.postRefused(k)
	case "ResolveUnknown":
		return nil, w.client.resolve(k)
	}
	return nil, fmt.Errorf("nobody said what %s is here: add it to composedGraph.ask", r.Action)
}

// read lets the first frame on the wire arrive. What is not on the wire may
// arrive too, where nobody waits for it.
func (w *composedGraph) read(kind string, e, n int) (reply any, err error) {
	c := w.client
	arrived := len(w.wire) > 0 && w.wire[0].Kind == kind && (kind == "end" || kind == "refused" || w.wire[0].E == e && (kind == "opened" || w.wire[0].N == n))
	k := 0
	switch {
	case arrived:
		k = w.wire[0].K
	case sayable(c.phase(), params{"kind": kind, "e": float64(e)}, c.epoch()) || kind == "opened" && c.phase() == "opening":
		return nil, graph.ErrNotHere
	}
	reply, err = c.arrive(kind, e, n, k)
	switch {
	case err != nil:
	case kind == "accepted" && reply == "proven", kind == "event" && reply == "next":
		w.wire = slices.Clone(w.wire[1:])
	default:
		w.leave()
	}
	return reply, err
}

// serve takes a step of the server, or of what reaches it.
func (w *composedGraph) serve(action string, p params) (reply any, err error) {
	s := w.server
	e, n, k, v := p.number("e"), p.number("n"), p.number("k"), p.record("v")
	if v != nil {
		e = v.number("e")
		if view := s.view(e); view != nil && w.conns[e-1] != v["conn"] || view == nil && v["conn"] != "current" {
			return nil, graph.ErrNotHere
		}
	}
	var had bool
	if e > 0 {
		had = s.view(e) != nil
	}
	switch action {
	case "OpenSession":
		if w.request.Kind != "open" && s.cores[e-1].State() == spec.Absent {
			return nil, graph.ErrNotHere
		}
		if err := s.initialize(e); err != nil {
			return nil, err
		}
		w.request = noRequest
		w.wire = append(w.wire, frameSight{Kind: "opened", E: e})
		return nil, nil
	case "Execute":
		if w.post[k-1] == 0 {
			return nil, graph.ErrNotHere
		}
		said, err := s.post(k, w.post[k-1])
		if err == nil && said != "executed" {
			err = graph.ErrRefused
		}
		if err == nil {
			w.post[k-1] = 0
		}
		return nil, err
	case "EndSession":
		if err := s.end(e); err != nil {
			return nil, err
		}
		w.endCurrent(e, had)
		return nil, nil
	case "Send":
		if v["conn"] == "current" && len(w.wire) >= w.cap {
			return nil, graph.ErrNotHere
		}
		n, err := s.send(e, v.number("pos"))
		if err == nil && v["conn"] == "current" {
			w.wire = append(w.wire, frameSight{"event", e, n, s.said[e-1][n-1]})
		}
		return nil, err
	case "EndView":
		if err := s.endView(e, v.number("pos")); err != nil {
			return nil, err
		}
		w.endCurrent(e, true)
		return nil, nil
	case "Other":
		verdict, _, err := s.resume(e, p.record("c"), 0)
		w.granted(e, verdict, had, "other")
		return verdict, err
	}
	at := &w.request
	if action == "ServeLate" {
		at = &w.late
	}
	if *at != (requestSight{"resume", e, n}) {
		return nil, graph.ErrNotHere
	}
	verdict, pos, err := s.resume(e, params{"tag": float64(e), "n": float64(n)}, 0)
	if err != nil {
		return nil, err
	}
	*at = noRequest
	if action == "ServeLate" {
		w.granted(e, verdict, had, "dead")
		return verdict, nil
	}
	switch verdict {
	case "attach", "reattach":
		w.conns[e-1] = "current"
		w.wire = append(w.wire, frameSight{Kind: "accepted", E: e, N: pos})
	case "complete":
		w.wire = append(w.wire, frameSight{Kind: "complete", E: e, N: pos})
	default:
		w.wire = append(w.wire, frameSight{Kind: "refused", E: e})
	}
	return verdict, nil
}

// granted: a view that is not the client's present one takes the place of what
// was there.
func (w *composedGraph) granted(e int, verdict string, had bool, conn string) {
	if verdict == "attach" || verdict == "reattach" || verdict == "complete" {
		w.endCurrent(e, had)
		w.conns[e-1] = conn
	}
}

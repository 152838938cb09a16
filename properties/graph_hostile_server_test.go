package properties

import (
	"fmt"
	"slices"
	"testing"

	"example.com/reattach/properties/graph"
)

// tla/HostileServer.tla against a real client core (L2): the client alone,
// against every answer and every event in every state, clamped and honest ones
// too; and what arrives when nothing is waited for.
var hostileServerGraphs = []struct {
	name    string
	strict  bool
	done    graph.Walked
	covered int
	beyond  string
	left    string
}{
	{
		"hostile-server", false, graph.Walked{States: 5937, Edges: 21003, Accepted: 20339, Refused: 216989}, 2235,
		hostileServerBeyond, "map[CallBroken:72 Commit:12 PostRefused:36 ReadComplete:152 ReadReplay:152 ResolveUnknown:240]",
	},
	{
		"hostile-server-events", false, graph.Walked{States: 1369, Edges: 3870, Accepted: 3774, Refused: 92659}, 999,
		"[Commit Say]", "map[ReadComplete:72 ReadReplay:24]",
	},
	{
		"hostile-server-strict", true, graph.Walked{States: 3803, Edges: 13350, Accepted: 12798, Refused: 139053}, 2235,
		hostileServerBeyond, "map[CallBroken:64 Commit:8 PostRefused:32 ReadComplete:100 ReadReplay:100 ReadTorn:84 ResolveUnknown:164]",
	},
}

const hostileServerBeyond = "[Call CallBroken Commit PostRefused ResolveUnknown Resume Say]"

// Given any answer and any event in every state, the client goes on only from
// what is proved, takes only what is next, and fences what is in doubt, with
// its calls (R20, R21, R22, R23, R24, R25).
func TestGraphHostileServerCore(t *testing.T) {
	for _, of := range hostileServerGraphs {
		t.Run(of.name, func(t *testing.T) {
			g := loadGraph(t, of.name)
			w := walked(t, g, opposedSystem(g, of.strict))
			pinned(t, w, of.done, of.beyond)
			leaves(t, w, of.covered, of.left)
			needReplies(t, g, w)
		})
	}
}

// An opposed is a client against an opponent, who has the wire for himself.
type opposed struct {
	*graphClient
	wire    []frameSight
	request requestSight
	post    []int
	strict  bool
}

func opposedSystem(g *graph.Graph, strict bool) graph.System[*opposed] {
	return graph.System[*opposed]{
		Offers: true,
		Hides:  func(r graph.Request) bool { return r.Action == "Crash" }, // a stream that was never asked for is now one that ended
		Start: func() *opposed {
			c := newGraphClient(g, strict)
			c.coarse = strict // the walk without that policy tells them apart
			return &opposed{graphClient: c, wire: []frameSight{}, request: requestSight{Kind: "none"},
				post: make([]int, scopeOf(g, "MaxCalls")), strict: strict}
		},
		Clone: func(o *opposed) *opposed {
			c := *o
			c.graphClient, c.wire, c.post = o.graphClient.clone(), slices.Clone(o.wire), slices.Clone(o.post)
			return &c
		},
		Key: func(o *opposed) string { return o.key() + fmt.Sprint(o.wire, o.request, o.post) },
		Ask: (*opposed).ask,
		Abstract: func(o *opposed) any {
			s := opposedSight{clientSight: o.sight()}
			s.Wire, s.Request, s.Post = o.wire, o.request, o.post
			return s
		},
	}
}

// leave is what becomes of the connection when the client leaves it.
func (o *opposed) leave() { o.wire, o.request = []frameSight{}, requestSight{Kind: "none"} }

// readKinds are the frames that the client's steps read.
var readKinds = map[string]string{"ReadOpened": "opened", "ReadAccepted": "accepted", "ReadReplay": "replay", "ReadComplete": "complete",
	"ReadRefused": "refused", "ReadEvent": "event", "ReadEnd": "end", "ReadTorn": "torn"}

func (o *opposed) ask(r graph.Request) (reply any, err error) {
	p := params(r.Params)
	e, n, k := p.number("e"), p.number("n"), p.number("k")
	if kind := readKinds[r.Action]; kind != "" {
		return o.read(kind, e, n)
	}
	was := o.phase()
	switch r.Action {
	case "Say":
		f := p.record("f")
		if len(o.wire) > 0 || !sayable(was, f, o.epoch()) {
			return nil, graph.ErrNotHere
		}
		o.wire = []frameSight{{f["kind"].(string), f.number("e"), f.number("n"), f.number("k")}}
		o.request = requestSight{Kind: "none"}
		return nil, nil
	case "Open":
		if err := o.open(true); err != nil {
			return nil, err
		}
		o.request = requestSight{Kind: "open"}
		return nil, nil
	case "Resume":
		reply, err := o.resume()
		if at, ok := reply.(map[string]any); ok {
			o.request = requestSight{"resume", at["e"].(int), at["n"].(int)}
		}
		return reply, err
	case "Commit":
		how := p["outcome"].(string)
		err := o.commit(how)
		if err == nil && how == "failed" && was == "streaming" {
			o.leave()
		}
		return nil, err
	case "Fence":
		return nil, o.writeFence()
	case "Crash":
		o.leave()
		return nil, o.begin()
	case "Call":
		if err := o.call(k); err != nil {
			return nil, err
		}
		o.post[k-1] = o.epoch()
		return nil, nil
	case "CallBroken":
		if err := o.mayLoseCall(k); err != nil {
			return nil, err
		}
		return nil, o.callBroken(k)
	case "PostRefused":
		if o.post[k-1] == 0 {
			return nil, graph.ErrNotHere
		}
		if err := o.mayLoseCall(k); err != nil {
			return nil, err
		}
		o.post[k-1] = 0
		o.leave()
		return nil, o.postRefused(k)
	case "ResolveUnknown":
		return nil, o.resolve(k)
	case "DropRepeat":
		return nil, graph.ErrNotHere
	}
	return nil, fmt.Errorf("nobody said what %s is here: add it to opposed.ask", r.Action)
}

// read lets the frame on the wire arrive. What is not on the wire may arrive
// too, where nobody waits for it: on a connection that the client has left, or
// out of turn. Of that nothing may be heard (R21).
func (o *opposed) read(kind string, e, n int) (reply any, err error) {
	arrived := len(o.wire) > 0 && o.wire[0].Kind == kind && (kind == "end" || kind == "torn" || kind == "refused" || o.wire[0].E == e && (kind == "opened" || o.wire[0].N == n))
	k := 0
	switch {
	case arrived:
		k = o.wire[0].K
	case sayable(o.phase(), params{"kind": kind, "e": float64(e)}, o.epoch()), kind == "opened" && o.phase() == "opening",
		kind == "torn" && sayable(o.phase(), params{"kind": "end"}, 0):
		return nil, o.behind(kind, e, n) // here it would be heard, so it comes from where nothing may
	}
	switch token := o.sight().Rec.Tok; {
	case !arrived || e != 0 && e != o.epoch():
	case kind == "replay" && n == token:
		return nil, graph.ErrLeft // it announces the very position, and the core knows no modes: nothing is wrong
	case kind == "complete" && n != token:
		return nil, graph.ErrLeft // a 204 names no position
	case kind == "torn" && o.strict && o.hand != (handSight{}):
		return nil, graph.ErrLeft // the core is told when the transaction is over
	}
	if kind == "replay" { // a client that did not ask for it takes it for an acceptance of somewhere else
		kind = "accepted"
	}
	reply, err = o.arrive(kind, e, n, k)
	if err == nil {
		o.leave() // there was one frame
	}
	return reply, err
}

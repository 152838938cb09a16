package properties

import (
	"fmt"

	"example.com/reattach/model"
	"example.com/reattach/properties/graph"
)

// The closed system as the client alone, and as the server alone: the opponent
// is the suite, which puts on the wire, or asks, what the graph says.

// hostileServerModel is the client of the closed system against any server.
func hostileServerModel(g *graph.Graph) graph.System[*closed] {
	return hostileServerUnder(g, model.TheRules())
}

func hostileServerUnder(g *graph.Graph, rules model.Rules) graph.System[*closed] {
	scope := scopeOfModel(g)
	return closedSystem(g, rules, askHostileServerModel, func(c *closed) any {
		seen := opposedSight{clientSight: c.clientSight(scope)}
		for i := range seen.Wire {
			seen.Wire[i].Kind = cmpWord(c.said, seen.Wire[i].Kind)
		}
		return seen
	})
}

// An opposedSight is what the graphs of HostileServer show.
type opposedSight struct {
	clientSight
	Replaying bool `json:"replaying"` // never without mode replay, which this client does not take
}

func cmpWord(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// sayable is what HTTP lets a server say to a client in this phase, whose
// record is of epoch e.
func sayable(phase string, f params, e int) bool {
	switch f["kind"] {
	case "opened":
		return phase == "opening" && f.number("e") > e
	case "accepted", "complete", "replay", "refused":
		return phase == "resuming"
	case "event", "torn":
		return phase == "streaming"
	case "end":
		return phase == "opening" || phase == "resuming" || phase == "streaming"
	}
	return false
}

func askHostileServerModel(a *closedAsker, c *closed, r graph.Request) (reply any, err error) {
	line := &c.Lines[0]
	defer func() {
		if err == nil {
			line.Late = model.Request{} // an opponent can do now whatever a late request would lead to
			if line.Wire[0] == (model.Frame{}) {
				c.said = ""
			}
		}
	}()
	switch r.Action {
	case "Say":
		f := params(r.Params).record("f")
		if line.Wire[0] != (model.Frame{}) || !sayable(phaseWords[line.Phase], f, int(c.Record.Session)) {
			return nil, graph.ErrNotHere
		}
		kinds := map[any]uint8{"opened": model.Opened, "accepted": model.Accepted, "replay": model.Accepted, "complete": model.Complete,
			"refused": model.Refused, "event": model.Event, "end": model.End, "torn": model.End}
		line.Wire[0] = model.Frame{Kind: kinds[f["kind"]], Session: uint8(f.number("e")), Ordinal: uint8(f.number("n")), Call: uint8(f.number("k"))}
		if kind := f["kind"].(string); kind == "replay" || kind == "torn" {
			c.said = kind
		}
		line.Request = model.Request{}
		return nil, nil
	case "ReadTorn":
		if c.said != "torn" {
			return nil, graph.ErrNotHere
		}
		return a.offer(c, r, model.Action{Name: model.ReadEnd})
	case "ReadReplay": // to a client that did not ask for it, an acceptance of somewhere else
		if f := line.Wire[0]; c.said != "replay" || int(f.Session) != params(r.Params).number("e") || int(f.Ordinal) != params(r.Params).number("n") {
			return nil, graph.ErrNotHere
		}
		action, _ := a.actionOf(r)
		action.Name = model.ReadAccepted
		if reply, err = a.offer(c, r, action); err == graph.ErrRefused {
			err = graph.ErrLeft // it announces the very position, and the closed system has no modes
		}
		return reply, err
	case "ReadAccepted", "ReadEnd":
		if c.said != "" {
			return nil, graph.ErrNotHere
		}
	}
	action, ok := a.actionOf(r)
	if !ok {
		return nil, fmt.Errorf("the closed system has no action %s", r.Action)
	}
	if post := action.Call; r.Action == "PostRefused" && c.Posts[post-1] != 0 {
		ss := &c.Sessions[c.Posts[post-1]-1]
		ss.Life = model.Gone
		defer func() { ss.Life = model.Unborn }() // no server is here, and no session of one
	}
	return a.offer(c, r, action)
}

// hostileClientModel is the server of the closed system against any client.
func hostileClientModel(g *graph.Graph) graph.System[*closed] {
	return hostileClientUnder(g, model.TheRules())
}

func hostileClientUnder(g *graph.Graph, rules model.Rules) graph.System[*closed] {
	scope := scopeOfModel(g)
	return closedSystem(g, rules, askHostileClientModel, func(c *closed) any {
		all := c.sight(scope)
		seen := servedSight{Sess: all.Sess, Executed: all.Executed}
		for _, v := range all.Views {
			if of, ok := v.(viewSight); ok {
				v = of.Pos
			}
			seen.Views = append(seen.Views, v)
		}
		for range scope.Sessions {
			seen.Newest = append(seen.Newest, 0)
		}
		return seen
	})
}

// A servedSight is what the graphs of HostileClient show.
type servedSight struct {
	Sess     []sessionSight `json:"sess"`
	Views    []any          `json:"views"` // "none", or the position
	Executed []int          `json:"executed"`
	Newest   []int          `json:"newest"`
}

func askHostileClientModel(a *closedAsker, c *closed, r graph.Request) (any, error) {
	p := params(r.Params)
	e, k := p.number("e"), p.number("k")
	switch r.Action {
	case "Initialize":
		c.Lines[0].Request = model.Request{Kind: model.AskOpen}
		reply, err := a.offer(c, r, model.Action{Name: model.OpenSession, Session: uint8(e)})
		c.Lines[0] = model.Line{}
		return reply, err
	case "Post":
		if c.Executed[k-1] > 0 {
			return nil, graph.ErrNotHere
		}
		c.Posts[k-1] = uint8(e)
		next, refusal := a.m.Step(c.State, model.Action{Name: model.Execute, Call: uint8(k)})
		c.State.Posts[k-1] = 0
		switch refusal {
		case "":
			c.State = next
			return "executed", nil
		case "the scope has no further event":
			return nil, graph.ErrNotHere
		}
		return "session_unknown", nil
	case "Request":
		action, _ := a.actionOf(r)
		action.Name = model.Others
		reply, err := a.offer(c, r, action)
		if err != nil {
			return nil, err
		}
		verdict, pos := reply.(map[string]any)["verdict"], 0
		switch verdict {
		case "attach", "reattach":
			pos = int(c.Views[e-1][0][0].Position)
		case "complete":
			pos = int(action.Cursor.Ordinal)
		}
		return map[string]any{"verdict": verdict, "pos": pos}, nil
	}
	action, ok := a.actionOf(r)
	if !ok {
		return nil, fmt.Errorf("the closed system has no action %s", r.Action)
	}
	return a.offer(c, r, action)
}

package properties

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"testing"

	"example.com/reattach/model"
	"example.com/reattach/properties/graph"
)

// The graphs of tla/Resumption.tla, HostileServer.tla and HostileClient.tla
// against the closed system of package model (L1): the same states, the same
// labelled edges, and every other label refused in every state.
var closedGraphs = []struct {
	name   string
	system func(*graph.Graph) graph.System[*closed]
	done   graph.Walked
	beyond string // what the environment did not do where the specification forbids it
	left   string // edges that the closed system does not take
}{
	{"resumption", resumptionModel, graph.Walked{States: 4960, Edges: 38564, Accepted: 38564, Refused: 313596}, "[]", "map[]"},
	{"resumption-calls", resumptionModel, graph.Walked{States: 3478, Edges: 20618, Accepted: 20618, Refused: 135892}, "[]", "map[]"},
	{"hostile-server", hostileServerModel, graph.Walked{States: 2235, Edges: 8029, Accepted: 7966, Refused: 75603},
		"[ReadAccepted ReadEnd ReadReplay ReadTorn Say]", "map[ReadReplay:63]"},
	{"hostile-server-events", hostileServerModel, graph.Walked{States: 999, Edges: 2924, Accepted: 2904, Refused: 55722},
		"[ReadAccepted ReadEnd ReadReplay ReadTorn Say]", "map[ReadReplay:20]"},
	{"hostile-client", hostileClientModel, graph.Walked{States: 1675, Edges: 51154, Accepted: 51154, Refused: 96766}, "[Post]", "map[]"},
}

// L1: the closed system behaves as the specifications, edge by edge.
func TestGraphClosedModel(t *testing.T) {
	for _, of := range closedGraphs {
		t.Run(of.name, func(t *testing.T) {
			g := loadGraph(t, of.name)
			w := walked(t, g, of.system(g))
			pinned(t, w, of.done, of.beyond)
			if got := fmt.Sprint(w.Left); got != of.left {
				t.Errorf("edges that are left out: %s, pinned %s", got, of.left)
			}
			left := 0
			for _, n := range w.Left {
				left += n
			}
			if w.States != len(g.States) || w.Covered != w.States || w.Accepted+left != g.EdgeCount() {
				t.Errorf("the model tells %d states and %d edges apart, the graph has %d and %d", w.States, w.Accepted, len(g.States), g.EdgeCount())
			}
			needReplies(t, g, w)
		})
	}
}

// Closed is a state of the closed system, and what an opponent adds to it.
type closed struct {
	model.State
	said string // the opponent's frame on the wire, where the closed system has no such frame
}

// scopeOfModel reads the closed system's scope from the constants of a graph.
func scopeOfModel(g *graph.Graph) model.Config {
	strangers := map[string]model.Strangers{"Nobody": model.Nobody, "Newcomer": model.Newcomer, "Anybody": model.Anybody}
	return model.Config{Name: g.Header.Graph, Sessions: scopeOf(g, "MaxEpoch"), Streams: 1, Events: scopeOf(g, "MaxEvents"), Window: scopeOf(g, "Window"),
		Wire: scopeOf(g, "WireCap"), Calls: scopeOf(g, "MaxCalls"), Strangers: strangers[g.Header.Constants["Strangers"]]}
}

// closedSystem is the closed system as a system of a graph. Every label is
// offered to [model.Model.Step] as it is, with each of its replies.
func closedSystem(g *graph.Graph, rules model.Rules, ask func(*closedAsker, *closed, graph.Request) (any, error), abstract func(*closed) any) graph.System[*closed] {
	m, err := model.New(scopeOfModel(g), rules)
	if err != nil {
		panic("reattach: BUG: " + err.Error())
	}
	asker := &closedAsker{m: m, said: make([]any, len(g.Labels)), replies: map[string]model.Reply{"": 0}}
	for i, l := range g.Labels {
		if err := json.Unmarshal([]byte(l.Reply), &asker.said[i]); err != nil {
			panic("reattach: BUG: " + err.Error())
		}
	}
	for r := model.ReplyAttach; r <= model.ReplyRefused; r++ {
		asker.replies[r.String()] = r
	}
	ids := map[model.State]int{} // states as they were met
	return graph.System[*closed]{
		Offers:   true,
		Start:    func() *closed { return &closed{State: m.Initial()} },
		Clone:    func(c *closed) *closed { copied := *c; return &copied },
		Ask:      func(c *closed, r graph.Request) (any, error) { return ask(asker, c, r) },
		Abstract: abstract,
		Key: func(c *closed) string {
			id, ok := ids[c.State]
			if !ok {
				id = len(ids)
				ids[c.State] = id
			}
			return strconv.Itoa(id) + c.said
		},
	}
}

// A closedAsker offers the labels of a graph to the closed system.
type closedAsker struct {
	m       *model.Model
	said    []any // the reply of each label
	replies map[string]model.Reply
}

// offer offers an action with each reply that the request has in the graph. At
// most one of them is possible, for an answer is no choice.
func (a *closedAsker) offer(c *closed, r graph.Request, action model.Action) (reply any, err error) {
	err = graph.ErrRefused
	before := c.State
	tried := make([]model.Action, 0, 16)
	for _, label := range r.Labels {
		with, said := action, a.said[label]
		switch said := said.(type) {
		case string:
			with.Reply = a.replies[said]
		case map[string]any:
			with = a.complete(with, said)
		}
		if slices.Contains(tried, with) { // replies that differ in what is no parameter here
			continue
		}
		tried = append(tried, with)
		next, refusal := a.m.Step(before, with)
		if refusal != "" {
			continue
		}
		if err == nil {
			return nil, fmt.Errorf("it accepts %v and another answer", with)
		}
		c.State, reply, err = next, said, nil
	}
	return reply, err
}

// complete fills in what a reply of several parameters says.
func (a *closedAsker) complete(action model.Action, said map[string]any) model.Action {
	if e, ok := said["e"].(float64); ok {
		action.Session = uint8(e)
	}
	if n, ok := said["n"].(float64); ok {
		action.Ordinal = uint8(n)
	}
	if verdict, ok := said["verdict"].(string); ok {
		action.Reply = a.replies[verdict]
	}
	return action
}

// actionOf is the action of the closed system that a request of a graph names.
func (a *closedAsker) actionOf(r graph.Request) (model.Action, bool) {
	action := model.Action{Name: namesOfActions[r.Action]}
	p := params(r.Params)
	action.Session, action.Ordinal, action.Call = uint8(p.number("e")), uint8(p.number("n")), uint8(p.number("k"))
	if v := p.record("v"); v != nil {
		conns := map[any]uint8{"current": model.Current, "dead": model.Dead, "other": model.Other}
		action.Session, action.Ordinal, action.Conn = uint8(v.number("e")), uint8(v.number("pos")), conns[v["conn"]]
	}
	if c := p.record("c"); c != nil && c.number("tag") != 0 {
		action.Cursor = model.Key{Tag: uint8(c.number("tag")), Seq: uint8(c.number("n")), Ordinal: uint8(c.number("n"))}
	}
	if outcome, ok := p["outcome"].(string); ok {
		action.Reply = a.replies[outcome]
	}
	return action, action.Name != 0
}

var namesOfActions = func() map[string]model.Name {
	names := map[string]model.Name{}
	for _, name := range model.Names() {
		names[name.String()] = name
	}
	return names
}()

// Params are the parameters of a request.
type params map[string]any

func (p params) number(name string) int {
	n, _ := p[name].(float64)
	return int(n)
}

func (p params) record(name string) params {
	r, _ := p[name].(map[string]any)
	return r
}

// resumptionModel is the closed system as it is.
func resumptionModel(g *graph.Graph) graph.System[*closed] {
	return resumptionUnder(g, model.TheRules())
}

func resumptionUnder(g *graph.Graph, rules model.Rules) graph.System[*closed] {
	scope := scopeOfModel(g)
	return closedSystem(g, rules, func(a *closedAsker, c *closed, r graph.Request) (any, error) {
		action, ok := a.actionOf(r)
		if !ok {
			return nil, fmt.Errorf("the closed system has no action %s", r.Action)
		}
		return a.offer(c, r, action)
	}, func(c *closed) any {
		seen := c.sight(scope)
		return seen
	})
}

// A closedSight is what the graphs of Resumption show of a state.
type closedSight struct {
	Sess     []sessionSight `json:"sess"`
	Views    []any          `json:"views"` // "none", or viewSight
	Executed []int          `json:"executed"`
	clientSight
	Late requestSight `json:"late"`
}

// A clientSight is the client's part of it, and of a graph of HostileServer.
type clientSight struct {
	Wire    []frameSight `json:"wire"`
	Request requestSight `json:"request"`
	Post    []int        `json:"post"`
	Rec     recordSight  `json:"rec"`
	Calls   []string     `json:"calls"`
	Applied [][]int      `json:"applied"`
	Phase   string       `json:"phase"`
	Hand    handSight    `json:"hand"`
}

type sessionSight struct {
	St     string `json:"st"`
	Events []int  `json:"events"`
	Floor  int    `json:"floor"`
	Handed int    `json:"handed"`
}

type viewSight struct {
	Pos  int    `json:"pos"`
	Conn string `json:"conn"`
}

type frameSight struct {
	Kind string `json:"kind"`
	E    int    `json:"e"`
	N    int    `json:"n"`
	K    int    `json:"k"`
}

type requestSight struct {
	Kind string `json:"kind"`
	E    int    `json:"e"`
	N    int    `json:"n"`
}

type recordSight struct {
	St  string `json:"st"`
	E   int    `json:"e"`
	Tok int    `json:"tok"`
}

type handSight struct {
	E int `json:"e"`
	N int `json:"n"`
	K int `json:"k"`
}

// The words of the specification, by the values of the model.
var (
	phaseWords   = []string{"idle", "opening", "detached", "resuming", "streaming", "complete", "doubt"}
	frameWords   = []string{"", "opened", "accepted", "complete", "refused", "event", "end"}
	requestWords = []string{"none", "open", "resume"}
	callWords    = []string{"new", "inflight", "unknown", "answered", "resolved"}
	recordWords  = map[string]string{"Idle": "none", "Quarantined": "quarantined", "Open": "open", "Abandoned": "abandoned"}
	connWords    = []string{"none", "current", "dead", "other"}
)

// sight is what the graphs of Resumption show.
func (c *closed) sight(scope model.Config) closedSight {
	s := closedSight{clientSight: c.clientSight(scope), Sess: c.sessionSights(scope), Views: []any{}, Executed: []int{}}
	for e := range scope.Sessions {
		var view any = "none"
		for _, v := range c.Views[e][0] {
			if v.Conn != model.NoConn {
				view = viewSight{int(v.Position), connWords[v.Conn]}
			}
		}
		s.Views = append(s.Views, view)
	}
	for k := range scope.Calls {
		s.Executed = append(s.Executed, int(c.Executed[k]))
	}
	late := c.Lines[0].Late
	s.Late = requestSight{requestWords[late.Kind], int(late.Session), int(late.Ordinal)}
	return s
}

func (c *closed) sessionSights(scope model.Config) (all []sessionSight) {
	for e := range scope.Sessions {
		ss := &c.Sessions[e]
		one := sessionSight{St: []string{"unborn", "live", "gone"}[ss.Life], Events: []int{}, Floor: bits.OnesCount8(ss.Evicted), Handed: int(ss.Handed[0])}
		if ss.Finished != 0 {
			one.St = "finished"
		}
		for _, ev := range ss.Issued {
			if ev != 0 {
				one.Events = append(one.Events, int(ev&15)) // the call that it answers
			}
		}
		all = append(all, one)
	}
	return all
}

func (c *closed) clientSight(scope model.Config) clientSight {
	line := &c.Lines[0]
	s := clientSight{Wire: []frameSight{}, Post: []int{}, Calls: []string{}, Applied: [][]int{}, Phase: phaseWords[line.Phase],
		Request: requestSight{requestWords[line.Request.Kind], int(line.Request.Session), int(line.Request.Ordinal)},
		Rec:     recordSight{recordWords[c.Record.State.Spec().String()], int(c.Record.Session), int(c.Record.Token[0])},
		Hand:    handSight{int(line.Hand.Session), int(line.Hand.Ordinal), int(line.Hand.Call)},
	}
	for _, f := range line.Wire {
		if f.Kind != model.NoFrame {
			s.Wire = append(s.Wire, frameSight{frameWords[f.Kind], int(f.Session), int(f.Ordinal), int(f.Call)})
		}
	}
	for k := range scope.Calls {
		s.Post = append(s.Post, int(c.Posts[k]))
		s.Calls = append(s.Calls, callWords[c.Calls[k]])
	}
	for e := range scope.Sessions {
		run := []int{}
		for i := range c.Applied[e][0].Len() {
			run = append(run, int(c.Applied[e][0].At(i)))
		}
		s.Applied = append(s.Applied, run)
	}
	return s
}

package properties

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// tla/HostileClient.tla against real session cores (L2): the server alone, with
// two sessions, against every request that their numbers can make. The one
// stream of the specification is the standalone stream of each session, which
// never ends: the action Finish is left out, and what is complete is shown by
// the graphs of tla/Window.tla.
var hostileClientGraphs = []struct {
	name    string
	done    graph.Walked
	covered int
	beyond  string
	left    string
}{
	{
		"hostile-client", graph.Walked{States: 1149, Edges: 35288, Accepted: 34762, Refused: 57642},
		1149, "[Emit EndView Finish Initialize Post Send]", "map[Finish:526]",
	},
	{
		"hostile-client-attempts", graph.Walked{States: 1355, Edges: 76364, Accepted: 76364, Refused: 113065},
		1355, "[Emit EndView Initialize Send]", "map[]",
	},
}

// Given any cursor, or none, with any attempt, for two sessions in every state,
// the server decides exactly, opens no session for it, and a refusal touches
// nothing (R1, R4, R5, R6, R7, R8, R10).
func TestGraphHostileClientCore(t *testing.T) {
	for _, of := range hostileClientGraphs {
		t.Run(of.name, func(t *testing.T) {
			g := loadGraph(t, of.name)
			w := walked(t, g, servedSystem(g))
			pinned(t, w, of.done, of.beyond)
			leaves(t, w, of.covered, of.left)
		})
	}
}

// leaves fails if a walk covered another part of its graph than it did.
func leaves(t *testing.T, w graph.Walked, covered int, left string) {
	t.Helper()
	t.Logf("covered are %d states of %s, left out %v, denied %v", w.Covered, w.Graph, w.Left, w.Denied)
	if got := fmt.Sprint(w.Left); w.Covered != covered || got != left {
		t.Errorf("%d states of the graph are covered, left out are %s; pinned %d and %s", w.Covered, got, covered, left)
	}
}

// Served are the sessions of one server, by epoch, each a real core, and what
// was ever said on its standalone stream.
type served struct {
	scope    servedScope
	cores    []*session.Core
	said     [][]int // by epoch: the call that each event answers, 0 for none
	executed []int
}

type servedScope struct{ epochs, events, calls int }

func newServed(g *graph.Graph) *served {
	s := &served{scope: servedScope{scopeOf(g, "MaxEpoch"), scopeOf(g, "MaxEvents"), scopeOf(g, "MaxCalls")}}
	cfg := session.DefaultConfig()
	cfg.Window.Events = scopeOf(g, "Window")
	for range s.scope.epochs {
		s.cores = append(s.cores, session.NewCore(cfg))
	}
	s.said, s.executed = make([][]int, s.scope.epochs), make([]int, s.scope.calls)
	return s
}

func (s *served) clone() *served {
	c := &served{scope: s.scope, cores: slices.Clone(s.cores), said: slices.Clone(s.said), executed: slices.Clone(s.executed)}
	for i, core := range s.cores {
		c.cores[i] = core.Clone()
		c.said[i] = slices.Clone(s.said[i])
	}
	return c
}

// key is everything that decides how the server will behave.
func (s *served) key() string {
	var b strings.Builder
	for i, core := range s.cores {
		if st := core.State(); st == spec.Expired || st == spec.Terminated {
			b.WriteString("gone") // what is left in it decides nothing; that a refusal leaves it so [served.resume] sees to
			continue
		}
		b.WriteString(string(core.Snapshot()))
		fmt.Fprint(&b, s.said[i])
	}
	fmt.Fprint(&b, s.executed)
	return b.String()
}

func idOfEpoch(e int) session.SessionID { return session.SessionID{byte(e)} }

// tagOfEpoch is the tag of the session of an epoch; beyond the last one, of no
// session here.
func (s *served) tagOfEpoch(e int) spec.Tag {
	if e > s.scope.epochs {
		return foreignTag
	}
	return spec.TagOf(idOfEpoch(e).Text(), "")
}

// cursorAt is the id of an ordinal of the standalone stream of an epoch's
// session: nothing else is emitted, so its seq is the same number.
func (s *served) cursorAt(e, n int) spec.EventID {
	return spec.EventID{Tag: s.tagOfEpoch(e), Seq: uint64(n), Ordinal: uint64(n)}
}

func (s *served) sights() (all []sessionSight) {
	for i, core := range s.cores {
		info := core.Stream(0)
		one := sessionSight{St: core.State().String(), Events: []int{}, Floor: int(info.Floor.Ordinal), Handed: int(info.Handed.Ordinal)}
		switch core.State() {
		case spec.Absent:
			one.St = "unborn"
		case spec.Live:
			one.St = "live"
			one.Events = append(one.Events, s.said[i]...)
		case spec.Expired, spec.Terminated:
			one = sessionSight{St: "gone", Events: []int{}}
		}
		if core.State() == spec.Live && info.Head.Ordinal != uint64(len(s.said[i])) {
			one.St = fmt.Sprintf("live with head %v", info.Head)
		}
		all = append(all, one)
	}
	return all
}

// view returns the view of an epoch's session, or nil.
func (s *served) view(e int) *session.ViewState { return s.cores[e-1].Stream(0).View }

func servedSystem(g *graph.Graph) graph.System[*served] {
	return graph.System[*served]{
		Offers: true,
		Start:  func() *served { return newServed(g) },
		Clone:  (*served).clone,
		Key:    (*served).key,
		Ask:    (*served).ask,
		Abstract: func(s *served) any {
			seen := servedSight{Sess: s.sights(), Executed: s.executed}
			for e := range s.cores {
				seen.Views = append(seen.Views, "none")
				newest := int(s.cores[e].Stream(0).Newest.Counter)
				if s.cores[e].State() != spec.Live {
					newest = 0 // nobody can ask for it any more
				}
				seen.Newest = append(seen.Newest, newest)
				if v := s.view(e + 1); v != nil {
					seen.Views[e] = int(v.At.Ordinal)
				}
			}
			return seen
		},
	}
}

// ask makes one request of an opponent, or takes one step of the server.
func (s *served) ask(r graph.Request) (any, error) {
	p := params(r.Params)
	e := p.number("e")
	if v := p.record("v"); v != nil {
		if v["conn"] != "other" {
			return nil, graph.ErrNotHere
		}
		e = v.number("e")
	}
	switch r.Action {
	case "Request":
		verdict, pos, err := s.resume(e, p.record("c"), p.number("attempt"))
		return map[string]any{"verdict": verdict, "pos": pos}, err
	case "Initialize":
		return nil, s.initialize(e)
	case "Post":
		k := p.number("k")
		if s.executed[k-1] > 0 {
			return nil, graph.ErrNotHere
		}
		return s.post(k, e)
	case "Emit":
		return nil, s.emit(e, 0)
	case "Finish":
		if said := s.said[e-1]; s.cores[e-1].State() == spec.Live && len(said) > 0 && said[len(said)-1] != 0 {
			return nil, graph.ErrLeft
		}
		return nil, graph.ErrNotHere
	case "EvictOldest":
		return nil, refusedUnless(s.cores[e-1].EvictOldest())
	case "EndSession":
		return nil, s.end(e)
	case "Send":
		_, err := s.send(e, p.record("v").number("pos"))
		return nil, err
	case "EndView":
		return nil, s.endView(e, p.record("v").number("pos"))
	}
	return nil, fmt.Errorf("nobody said what %s is here: add it to served.ask", r.Action)
}

func refusedUnless(done bool) error {
	if done {
		return nil
	}
	return graph.ErrRefused
}

// initialize opens the session of an epoch, once and in order.
func (s *served) initialize(e int) error {
	for d := 1; d < e; d++ {
		if s.cores[d-1].State() == spec.Absent {
			return graph.ErrNotHere
		}
	}
	return refusedUnless(s.cores[e-1].Initialize(idOfEpoch(e), nil, false, false) == nil)
}

// full reports whether the scope has no further event.
func (s *served) full() bool {
	n := 0
	for i, core := range s.cores {
		if core.State() == spec.Live {
			n += len(s.said[i])
		}
	}
	return n >= s.scope.events
}

// emit says something on the standalone stream, in answer to call k or to none.
func (s *served) emit(e, k int) error {
	core := s.cores[e-1]
	if core.State() == spec.Live && s.full() {
		return graph.ErrNotHere
	}
	out, err := core.Emit(0, payloadAnswering(e, len(s.said[e-1])+1, k), 0)
	if err != nil {
		return graph.ErrRefused
	}
	s.said[e-1] = append(s.said[e-1], k)
	if out.ID != s.cursorAt(e, len(s.said[e-1])) {
		return fmt.Errorf("event %d of epoch %d has the id %v", len(s.said[e-1]), e, out.ID)
	}
	return nil
}

func payloadAnswering(e, n, k int) []byte {
	return fmt.Appendf(nil, "epoch %d event %d call %d", e, n, k)
}

// post executes call k in the session, or says why not.
func (s *served) post(k, e int) (any, error) {
	if core := s.cores[e-1]; core.State() != spec.Live {
		_, err := core.Call(nil)
		return gone(reasonFrom(err)), nil
	}
	if err := s.emit(e, k); err != nil {
		return nil, err
	}
	s.executed[k-1]++
	return "executed", nil
}

// gone is the specification's word for the reasons of a session that is none.
func gone(r spec.Reason) string {
	switch r {
	case spec.ReasonSessionUnknown, spec.ReasonSessionExpired, spec.ReasonSessionTerminated:
		return string(spec.ReasonSessionUnknown)
	}
	return string(r)
}

// end: the session expires, if nothing uses it, or its client ends it.
func (s *served) end(e int) error {
	core := s.cores[e-1]
	older := core.Stream(0).View
	finish := core.Terminate
	if e > 1 && !core.Busy() {
		finish = func() error { return core.Expire(false) }
	}
	if finish() != nil {
		return graph.ErrRefused
	}
	s.said[e-1] = nil
	if older == nil {
		return nil
	}
	return isOver(core, older, session.ErrSessionOver)
}

// resume presents a cursor, or none, to the session of an epoch.
func (s *served) resume(e int, c params, attempt int) (verdict string, pos int, err error) {
	var r session.Request
	if c.number("tag") != 0 {
		r.Cursors = []string{s.cursorAt(c.number("tag"), c.number("n")).String()}
	}
	if attempt != 0 {
		r.Attempts = []string{spec.Attempt{Generation: 1, Counter: uint64(attempt)}.String()}
	}
	core := s.cores[e-1]
	older, before := s.view(e), core.Snapshot()
	d, v, err := core.Resume(r, 0)
	switch d.Verdict {
	case spec.VerdictAttach, spec.VerdictReattach:
		if err != nil || v == nil || v.Start.Ordinal != d.Position.Ordinal || v.Start.Seq != d.Position.Seq || d.Position != s.cursorAt(e, int(d.Position.Ordinal)) {
			return "", 0, fmt.Errorf("granted at %v with view %+v: %w", d.Position, v, err)
		}
		return d.Verdict.String(), int(d.Position.Ordinal), supersedes(core, older)
	case spec.VerdictRefuse:
		if v != nil || reasonFrom(err) != d.Reason || core.Snapshot() != before {
			return "", 0, fmt.Errorf("refused with %+v, view %v, error %w", d, v, err)
		}
		return gone(d.Reason), 0, nil
	}
	return d.Verdict.String(), int(d.Position.Ordinal), err
}

// send lets the view at this position take the next event. One that is
// overtaken can only end, which is another step.
func (s *served) send(e, pos int) (n int, err error) {
	core, v := s.cores[e-1], s.view(e)
	if v == nil && pos == 0 {
		_, err := core.Deliver(0, 0)
		return 0, refusedUnless(err == nil)
	}
	if v == nil || int(v.At.Ordinal) != pos || v.At.Ordinal < core.Stream(0).Floor.Ordinal {
		return 0, graph.ErrNotHere
	}
	taken, err := core.Deliver(0, 0)
	switch {
	case err != nil:
		return 0, err
	case !taken.OK:
		return 0, graph.ErrRefused
	}
	n = int(taken.Event.Ordinal)
	if n > len(s.said[e-1]) || taken.Last || !bytes.Equal(taken.Event.Payload, payloadAnswering(e, n, s.said[e-1][n-1])) {
		return 0, fmt.Errorf("the view takes %v with %q, last: %v", taken.Event.Position, taken.Event.Payload, taken.Last)
	}
	return n, nil
}

// endView ends the view at this position: overtaken, if it is, else on purpose.
func (s *served) endView(e, pos int) error {
	core, v := s.cores[e-1], s.view(e)
	switch {
	case v == nil:
		return refusedUnless(core.EndView(0, 0) == nil)
	case int(v.At.Ordinal) != pos:
		return graph.ErrNotHere
	case v.At.Ordinal < core.Stream(0).Floor.Ordinal:
		if _, err := core.Deliver(0, 0); err == nil {
			return fmt.Errorf("a view at %v takes something behind the floor", v.At)
		}
		return isOver(core, v, session.ErrOvertaken)
	}
	if core.EndView(0, 0) != nil {
		return graph.ErrRefused
	}
	return isOver(core, v, session.ErrViewEnded)
}

package properties

import (
	"fmt"
	"hash/maphash"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/model"
	"example.com/reattach/spec"

	"github.com/anishathalye/porcupine"
)

// Linearizability: whatever several ask of one session at once, there is an
// order of it all, each thing at one moment between question and answer, in
// which the model answers the same. Run with -race, too.

var linearLimits = model.Limits{Events: 3, Streams: 5, Views: 3, Requests: 3}

// A linearState is the model of a session and of the views that it gave out. It
// is never changed: every step makes another one.
type linearState struct {
	session *model.Session
	views   map[int]linearView
	key     string
}

type linearView struct {
	stream uint64
	end    string // "" while it is open
}

func newLinearState(tag spec.Tag, l model.Limits) *linearState {
	s := &linearState{session: model.NewSession(tag, l, model.TheRules()), views: map[int]linearView{}}
	s.session.Initialize(false, false)
	return s.keyed()
}

// keyed writes down everything that decides what comes later.
func (s *linearState) keyed() *linearState {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v", s.session.Observe())
	for _, id := range slices.Sorted(maps.Keys(s.views)) {
		fmt.Fprintf(&b, " v%d=%v", id, s.views[id])
	}
	s.key = b.String()
	return s
}

// end ends the open views of a stream.
func (s *linearState) end(stream uint64, how string) {
	for id, v := range s.views {
		if v.stream == stream && v.end == "" {
			s.views[id] = linearView{stream, how}
		}
	}
}

// step is what the model answers, and the state after it.
func (s *linearState) step(a asked) (told, *linearState) {
	n := &linearState{session: s.session.Clone(), views: maps.Clone(s.views)}
	return n.do(a), n.keyed()
}

func (s *linearState) do(a asked) (o told) {
	switch a.do {
	case "emit", "answer":
		emit := s.session.Emit
		if a.do == "answer" {
			emit = s.session.Answer
		}
		e, r := emit(a.stream, a.size, 0)
		if r != "" {
			return told{reason: r}
		}
		return told{id: e.ID, attached: e.Attached, lag: e.Lag, evicted: len(e.Evicted)}
	case "call":
		if o.stream, o.reason = s.session.Call(); o.reason == "" {
			s.views[a.id] = linearView{stream: o.stream}
		}
	case "resume":
		r := s.session.Resume(0, a.cursors...)
		if r.Verdict == spec.VerdictRefuse {
			return told{reason: r.Reason}
		}
		s.end(r.Stream, "superseded")
		if r.Verdict != spec.VerdictComplete {
			s.views[a.id] = linearView{stream: r.Stream}
		}
		return told{verdict: r.Verdict, position: r.Position, skipped: r.Skipped}
	case "deliver":
		return s.deliver(a.view)
	case "break":
		if v := s.views[a.view]; v.end == "" {
			o.reason = s.session.Break(v.stream, 0)
			s.end(v.stream, "broken")
		}
	case "end view":
		if o.reason = s.session.EndView(a.stream, 0); o.reason == "" {
			s.end(a.stream, "ended")
		}
	case "notify":
		o.reason = s.session.Notify()
	case "terminate":
		if o.reason = s.session.Terminate(); o.reason == "" {
			for _, v := range maps.Clone(s.views) {
				s.end(v.stream, "session over")
			}
		}
	}
	return o
}

func (s *linearState) deliver(view int) told {
	v := s.views[view]
	if v.end != "" {
		return told{over: v.end}
	}
	t, r := s.session.Deliver(v.stream, 0)
	switch {
	case r != "":
		return told{reason: r}
	case t.Overtaken:
		s.session.Overtake(v.stream, 0)
		s.end(v.stream, "overtaken")
		return told{over: "overtaken"}
	case t.Last:
		s.end(v.stream, "delivered")
	}
	return told{took: t.OK, id: t.ID, last: t.Last}
}

// linearModel is the sequential specification, for porcupine.
func linearModel(tag spec.Tag, l model.Limits) porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return newLinearState(tag, l) },
		Step: func(state, input, output any) (bool, any) {
			want, next := state.(*linearState).step(input.(asked))
			return want == output.(told), next
		},
		Equal:             func(a, b any) bool { return a.(*linearState).key == b.(*linearState).key },
		Hash:              func(a any) uint64 { return maphash.String(seed, a.(*linearState).key) },
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v: %v", in, out) },
		DescribeState:     func(a any) string { return a.(*linearState).key },
	}
}

// crowd asks a target by several goroutines at once, and returns what was asked
// and told, and when.
func crowd(target linearTarget, seed uint64, people, questions int, gentle bool) []porcupine.Operation {
	var (
		clock, ids atomic.Int64
		mu         sync.Mutex
		views      = map[int]any{}
		known      []int // views, in the order in which they were given out
		cursors    = []string{spec.PositionZero(target.tag(), 0).String()}
		history    []porcupine.Operation
		running    sync.WaitGroup
	)
	start := make(chan struct{})
	for person := range people {
		running.Go(func() {
			d := seeded(seed*100 + uint64(person))
			<-start
			for range questions {
				mu.Lock()
				a := drawAsked(d, cursors, known, gentle)
				view := views[a.view]
				mu.Unlock()
				a.id = int(ids.Add(1))
				call := clock.Add(1)
				if d(3) == 0 {
					runtime.Gosched()
				}
				o, v := target.ask(a, view)
				back := clock.Add(1)
				mu.Lock()
				if v != nil {
					views[a.id] = v
					known = append(known, a.id)
				}
				for _, id := range []spec.EventID{o.id, o.position} {
					if id.Valid() {
						cursors = append(cursors, id.String())
					}
				}
				history = append(history, porcupine.Operation{ClientId: person, Input: a, Call: call, Output: o, Return: back})
				mu.Unlock()
			}
		})
	}
	close(start)
	running.Wait()
	return history
}

// drawAsked draws a question from what is known. Gentle crowds keep the session.
func drawAsked(d dice, cursors []string, known []int, gentle bool) asked {
	a := asked{do: pick(d, []share[string]{{"emit", 10}, {"answer", 2}, {"call", 3}, {"resume", 8}, {"deliver", 9}, {"break", 2}, {"end view", 1}, {"notify", 1}, {"terminate", 1}})}
	a.stream, a.size = uint64(d(3)), 1+d(20)
	if (a.do == "deliver" || a.do == "break") && len(known) == 0 {
		a.do = "resume"
	}
	switch a.do {
	case "terminate":
		if gentle || d(2) > 0 {
			a.do = "emit"
		}
	case "resume":
		if d(3) > 0 {
			a.cursors = []string{cursors[len(cursors)-1-d(min(len(cursors), 6))]}
		}
	case "deliver", "break":
		a.view = known[len(known)-1-d(min(len(known), 4))]
	}
	return a
}

// overlaps counts the operations that began while another one was under way.
func overlaps(history []porcupine.Operation) (n int) {
	for _, a := range history {
		if slices.ContainsFunc(history, func(b porcupine.Operation) bool { return b.Call < a.Call && a.Call < b.Return }) {
			n++
		}
	}
	return n
}

// linearize fails unless the history is linearizable, and then leaves a picture.
func linearize(t *testing.T, m porcupine.Model, history []porcupine.Operation) {
	t.Helper()
	result, info := porcupine.CheckOperationsVerbose(m, history, 20*time.Second)
	switch result {
	case porcupine.Ok:
	case porcupine.Unknown:
		t.Fatal("no order was found in time, and none was excluded")
	default:
		file, err := os.CreateTemp("", "reattach-linear-*.html")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := porcupine.Visualize(m, info, file); err != nil {
			t.Fatal(err)
		}
		t.Fatalf("there is no order in which the model answers the same; a picture is in %s", file.Name())
	}
}

// Given a session whose window holds three events, when several emit, answer,
// call, attach, re-attach, take, break and end at once, then it is as if each
// had come alone.
func TestSessionIsLinearizable(t *testing.T) {
	h := hits{}
	for seed := range uint64(lockstepRuns(120)) {
		now := time.Unix(1000, 0)
		r, err := session.NewRegistry(session.Options{WindowEvents: linearLimits.Events, Streams: linearLimits.Streams,
			Views: linearLimits.Views, Requests: linearLimits.Requests, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Open("ann", nil)
		if err != nil {
			t.Fatal(err)
		}
		history := crowd(realTarget{s}, seed, 4, 14, seed%4 > 0)
		linearize(t, linearModel(s.Tag(), linearLimits), history)
		r.Close()
		h["overlaps"] += overlaps(history)
		countTold(h, history)
	}
	h.log(t)
	h.need(t, "overlaps", "resume attach", "resume reattach", "resume complete", "resume cursor_evicted", "deliver took", "deliver over: superseded",
		"deliver over: overtaken", "deliver over: broken", "deliver over: ended", "deliver over: session over",
		"deliver nothing", "emit evicted", "emit stream_finished", "call too_many_requests", "resume too_many_views", "terminate", "resume session_terminated")
}

func countTold(h hits, history []porcupine.Operation) {
	for _, op := range history {
		a, o := op.Input.(asked), op.Output.(told)
		switch {
		case o.reason != "":
			h.hit("%s %s", a.do, o.reason)
		case o.over != "":
			h.hit("%s over: %s", a.do, o.over)
		case a.do == "resume":
			h.hit("resume %v", o.verdict)
		case a.do == "deliver" && !o.took:
			h.hit("deliver nothing")
		case a.do == "deliver":
			h.hit("deliver took")
		default:
			h.hit("%s", a.do)
		}
		h.when(o.evicted > 0, "emit evicted")
	}
}

// Given a core behind one lock, when it lets go of the lock between deciding
// about a cursor and doing it, then a history is found that has no order, with
// its picture; when it does not, none is.
func TestLostLockIsNoticed(t *testing.T) {
	limits := model.Limits{Events: 3, Streams: 1024, Requests: 64}
	find := func(seam bool) (found int, picture string) {
		for seed := range uint64(300) {
			cfg := session.DefaultConfig()
			cfg.Window.Events = limits.Events
			core := session.NewCore(cfg)
			if err := core.Initialize(session.SessionID{byte(seed)}, nil, false, false); err != nil {
				t.Fatal(err)
			}
			l := &lockedTarget{core: core, seam: seam}
			m := linearModel(l.tag(), limits)
			result, info := porcupine.CheckOperationsVerbose(m, crowd(l, seed, 4, 14, true), 20*time.Second)
			if result == porcupine.Unknown {
				t.Fatal("no order was found in time, and none was excluded")
			}
			if result == porcupine.Illegal {
				picture = filepath.Join(t.TempDir(), "lost-lock.html")
				if err := porcupine.VisualizePath(m, info, picture); err != nil {
					t.Fatal(err)
				}
				return int(seed) + 1, picture
			}
			if !seam && seed > 40 {
				break
			}
		}
		return 0, ""
	}
	if n, _ := find(false); n > 0 {
		t.Errorf("with its lock it has no order in history %d", n)
	}
	n, picture := find(true)
	if n == 0 {
		t.Fatal("the lost lock was not noticed")
	}
	text, err := os.ReadFile(picture)
	if err != nil || !strings.Contains(string(text), "resume") {
		t.Errorf("no picture: %v", err)
	}
	t.Logf("noticed in history %d", n)
}

// A registryAsked is a request of a registry for one of its sessions.
type registryAsked struct {
	id   string
	do   string
	mine bool // by the subject that owns the session
}

// Given sessions of two subjects, when both ask for all of them at once and end
// their own, then each answer is that of one moment: a session ends once, for
// its owner it has ended from then on, and the other subject sees none, ever.
func TestRegistryIsLinearizable(t *testing.T) {
	h := hits{}
	spec0 := porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byID := map[string][]porcupine.Operation{}
			for _, op := range history {
				id := op.Input.(registryAsked).id
				byID[id] = append(byID[id], op)
			}
			return slices.Collect(maps.Values(byID))
		},
		Init: func() any { return false }, // whether it has ended
		Step: func(state, input, output any) (bool, any) {
			ended, in, got := state.(bool), input.(registryAsked), output.(spec.Reason)
			switch {
			case !in.mine:
				return got == spec.ReasonSessionUnknown, ended
			case ended:
				return got == spec.ReasonSessionTerminated, ended
			}
			return got == "", in.do == "terminate"
		},
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %v", in, out) },
	}
	for seed := range uint64(40) {
		r, err := session.NewRegistry(session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		subjects := []string{"ann", "bob"}
		var ids []string
		for i := range 4 {
			s, err := r.Open(subjects[i%2], nil)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, s.ID())
		}
		var (
			clock   atomic.Int64
			mu      sync.Mutex
			history []porcupine.Operation
			running sync.WaitGroup
		)
		for person := range 4 {
			running.Go(func() {
				d, subject := seeded(seed*10+uint64(person)), subjects[person%2]
				for range 16 {
					which := d(len(ids))
					a := registryAsked{ids[which], oneOf(d, "notify", "notify", "call", "resume", "terminate"), which%2 == person%2}
					call := clock.Add(1)
					reason := askRegistry(r, subject, a)
					op := porcupine.Operation{ClientId: person, Input: a, Call: call, Output: reason, Return: clock.Add(1)}
					mu.Lock()
					history = append(history, op)
					h.hit("%s %v %s", a.do, a.mine, reason)
					mu.Unlock()
				}
			})
		}
		running.Wait()
		linearize(t, spec0, history)
		h["overlaps"] += overlaps(history)
		r.Close()
	}
	h.log(t)
	h.need(t, "overlaps", "terminate true ", "terminate true session_terminated", "notify true ", "resume true session_terminated",
		"call true ", "terminate false session_unknown", "resume false session_unknown")
}

// askRegistry looks the session up and asks it, as a request does.
func askRegistry(r *session.Registry, subject string, a registryAsked) spec.Reason {
	wish := map[string]spec.Trigger{"notify": spec.ClientNotifies, "call": spec.ClientCalls, "resume": spec.ClientResumes, "terminate": spec.ClientTerminates}[a.do]
	s, err := r.Lookup(subject, a.id, wish)
	if err != nil {
		return reasonIn(err)
	}
	switch a.do {
	case "notify":
		err = s.Notify()
	case "call":
		_, _, err = s.Call(nil)
	case "resume":
		_, _, err = s.Resume(session.Request{})
	case "terminate":
		err = s.Terminate()
	}
	return reasonIn(err)
}

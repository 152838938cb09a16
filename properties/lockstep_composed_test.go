package properties

import (
	"fmt"
	"slices"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"

	"pgregory.net/rapid"
)

// A composedStep is one thing that happens anywhere.
type composedStep struct {
	Do          string
	Party, Wire int
	Pick        int
}

var composedMoves = []share[string]{
	{"serve", 250}, {"pump", 350}, {"read", 450}, {"write", 350}, {"report", 300}, {"write fails", 4}, {"uncertain", 3}, {"emit", 120}, {"answer", 30},
	{"open", 40}, {"call", 60}, {"reconnect", 120}, {"resolve", 60}, {"abandon", 2}, {"terminate", 2}, {"crash", 8}, {"cut", 16}, {"notice", 20},
	{"dial fails", 2}, {"end view", 6}, {"evict oldest", 8}, {"wait", 20}, {"tick", 20}, {"expire", 2}, {"restart", 1}, {"drain", 1},
}

func drawComposedStep(d dice) composedStep {
	return composedStep{Do: pick(d, composedMoves), Party: d(60), Wire: d(60), Pick: d(1 << 16)}
}

// run takes the steps, then heals the network, and judges the end.
func (w *composedWorld) run(steps []composedStep) error {
	for i, s := range steps {
		w.hits.hit("move %s", s.Do)
		err := w.take(s)
		if err == nil {
			err = w.check(i%16 == 0)
		}
		if err != nil {
			return fmt.Errorf("%w\nstep %d, limits %+v, of:%s", err, i, w.limits, script(steps, i))
		}
	}
	if err := w.heal(); err != nil {
		return fmt.Errorf("healing: %w\nlimits %+v, after:%s", err, w.limits, script(steps, len(steps)))
	}
	return nil
}

func (w *composedWorld) check(all bool) error {
	for _, p := range w.byTag {
		if st := p.core.State(); (st == spec.Expired || st == spec.Terminated) && !all {
			continue
		}
		check := p.check
		if all {
			check = p.checkAll
		}
		if err := check(); err != nil {
			return err
		}
	}
	for _, p := range w.parties {
		if err := p.settled(); err != nil {
			return err
		}
	}
	return nil
}

// sessions returns those that serve, in a fixed order.
func (w *composedWorld) sessions() []*serverPair {
	var all []*serverPair
	for _, p := range w.serving {
		all = append(all, p)
	}
	all = slices.DeleteFunc(all, func(p *serverPair) bool { return p.core.State() != spec.Live && p.core.State() != spec.Draining })
	slices.SortFunc(all, func(a, b *serverPair) int { return slices.Compare(a.id[:], b.id[:]) })
	return all
}

// wireFor chooses one for which the step is meant.
func (w *composedWorld) wireFor(s composedStep) *wire {
	w.wires = slices.DeleteFunc(w.wires, func(at *wire) bool { // nothing will come of it any more
		return at.asked && (at.closed || at.life != at.who.life || at.done && len(at.frames) == 0) && (at.view == nil || at.view.End != 0)
	})
	var fit []*wire
	for _, at := range w.wires {
		apt := false
		switch s.Do {
		case "serve":
			apt = !at.asked
		case "pump":
			apt = at.view != nil && !at.done
		case "read":
			apt = len(at.frames) > 0 && at.life == at.who.life
		case "cut":
			apt = !at.cut && !at.closed && at.ask.Do != spec.SendDelete
		case "notice":
			apt = at.view != nil && at.view.End == 0 && (at.cut || at.closed || at.life != at.who.life)
		case "dial fails":
			apt = !at.asked && at.life == at.who.life && !at.cut && !at.closed && at.ask.Do != spec.SendInitialize && at.ask.Do != spec.SendDelete
		}
		if apt {
			fit = append(fit, at)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	if s.Do == "serve" && s.Pick%3 > 0 {
		return fit[len(fit)-1] // the newest: the others come late
	}
	return fit[s.Wire%len(fit)]
}

// take takes one step, whatever the state.
func (w *composedWorld) take(s composedStep) error {
	p := w.parties[s.Party%len(w.parties)]
	switch s.Do {
	case "serve", "pump", "read", "cut", "notice", "dial fails":
		at := w.wireFor(s)
		if at == nil {
			return nil
		}
		switch s.Do {
		case "serve":
			return w.serve(at)
		case "pump":
			return w.pump(at)
		case "read":
			return at.who.read(at)
		case "notice":
			return w.notice(at)
		case "cut":
			w.cutOff(at, s.Pick, s.Pick%3 == 0)
			return nil
		}
		at.asked, at.closed, at.frames = true, true, nil // it never leaves
		return at.who.take(at.who.core.DialFails(at.ask.Stream, at.ask.Conn, spec.ReasonRefused))
	case "write", "write fails", "uncertain":
		which := 0
		if s.Pick%4 == 0 {
			which = s.Wire
		}
		return p.write(which, map[string]string{"write": "", "write fails": "fails", "uncertain": "uncertain"}[s.Do])
	case "report":
		return p.report()
	case "crash":
		return p.crash()
	case "reconnect":
		return p.reconnect(s.Pick%12 == 0)
	case "call":
		return p.call(s.Pick%3 == 0)
	case "open", "resolve", "abandon", "terminate":
		return p.epochStep(s)
	case "wait":
		w.now += int64(s.Pick % 40)
		return nil
	case "restart":
		return w.restart()
	}
	return w.serverStep(s)
}

// epochStep is what a caller may want of its epoch. It asks only for what makes
// sense; what does not is for the lockstep of the client.
func (p *party) epochStep(s composedStep) error {
	switch st := p.core.State(); {
	case s.Do == "open" && (st == spec.Idle || st == spec.Abandoned || st == spec.Closed):
		if slices.ContainsFunc(p.pending, func(a client.Action) bool { return a.Do == spec.CommitEpoch }) || len(p.written) > 0 {
			return p.report()
		}
		return p.take(p.core.Open())
	case s.Do == "resolve" && st != spec.Opening && st != spec.Fencing:
		if unknowns := p.core.Record().Unknowns; len(unknowns) > 0 && !slices.ContainsFunc(p.pending, func(a client.Action) bool { return a.Do == spec.CommitResolution }) {
			return p.take(p.core.Resolve(unknowns[s.Wire%len(unknowns)].Stream, client.GaveUp))
		}
	case s.Do == "abandon" && (st == spec.Open || st == spec.Quarantined):
		return p.take(p.core.Abandon())
	case s.Do == "terminate" && (st == spec.Open || st == spec.Quarantined):
		return p.take(p.core.Terminate())
	}
	return nil
}

// serverStep is what happens inside the server.
func (w *composedWorld) serverStep(s composedStep) error {
	all := w.sessions()
	if len(all) == 0 {
		return nil
	}
	p := all[s.Party%len(all)]
	step := serverStep{Do: s.Do, Stream: s.Wire, Pick: s.Pick} // a stream with a record
	switch n := p.streamFor(step); s.Do {
	case "emit", "answer":
		return w.emit(p, n, s.Do == "answer")
	case "expire":
		if p.core.Busy() {
			return nil
		}
		delete(w.serving, p.id.Text()) // its end is not remembered: it is unknown
		fallthrough
	case "end view", "evict oldest", "tick", "drain":
		return w.serverWorld.take(p, step)
	}
	panic("reattach: BUG: nobody said how a server does " + s.Do)
}

// heal lets everything that is under way come to its end: no cut, no crash, no
// eviction, and no new event.
func (w *composedWorld) heal() error {
	w.healing = true
	for _, p := range w.sessions() {
		if p.core.State() == spec.Draining { // a drain ends with its process
			if err := p.both("Terminate", w.now, p.core.Terminate, p.twin.Terminate); err != nil {
				return err
			}
			delete(w.serving, p.id.Text())
		}
	}
	for round := range 4000 {
		moved, err := w.settleOnce()
		if err != nil {
			return err
		}
		if err := w.check(round%16 == 0); err != nil {
			return err
		}
		if !moved {
			return w.judgeEnd()
		}
	}
	return fmt.Errorf("the world does not come to rest")
}

// settleOnce takes one step of each kind that there is to take.
func (w *composedWorld) settleOnce() (moved bool, err error) {
	for _, do := range []string{"serve", "notice", "read"} {
		if at := w.wireFor(composedStep{Do: do}); at != nil {
			return true, w.take(composedStep{Do: do})
		}
	}
	for _, at := range w.wires {
		if at.view == nil || at.done {
			continue
		}
		before, open := len(at.frames), at.view.End
		if err := w.pump(at); err != nil || len(at.frames) > before || at.done || at.view.End != open {
			return true, err
		}
	}
	for _, p := range w.parties {
		switch {
		case len(p.written) > 0:
			return true, p.report()
		case len(p.pending) > 0:
			return true, p.write(0, "")
		}
		for _, st := range p.core.Snapshot().Streams {
			if p.due[st.ID] && (st.State == spec.Ended || st.State == spec.Truncated) || p.asleep[st.ID] && st.State == spec.Suspended && p.mayWake(st.ID) {
				return true, p.reconnect(false)
			}
		}
	}
	return false, nil
}

// judgeEnd: what was emitted is applied, or the client was told (R22, R23).
func (w *composedWorld) judgeEnd() error {
	for _, p := range w.parties {
		if st := p.core.State(); st != spec.Open && st != spec.Quarantined {
			w.hits.hit("at the end the epoch is %v", st)
			continue
		}
		for _, st := range p.core.Snapshot().Streams {
			if st.ID.Epoch != p.record.Epoch {
				continue
			}
			w.hits.hit("at the end a stream is %v", st.State)
			if err := p.judgeStream(st); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *party) judgeStream(st client.StreamSnapshot) error {
	switch st.State {
	case spec.Streaming:
		at, err := spec.ParseEventID(st.Cursor)
		s := p.world.byTag[at.Tag]
		if err != nil || s == nil {
			return fmt.Errorf("ledger: at the end %v reads on from %q", st.ID, st.Cursor)
		}
		if page := s.book.streams[at.Stream]; at.Ordinal != page.head() || uint64(len(p.applied[st.ID])) != page.head() {
			return fmt.Errorf("ledger: lost silently: at the end %v stands at %v of %d and has applied %d", st.ID, at, page.head(), len(p.applied[st.ID]))
		}
	case spec.Completed, spec.NotExecuted, spec.Lost:
		if _, told := p.told[st.ID]; st.ID.Request != 0 && !told {
			return fmt.Errorf("books: at the end the call %v is %v, and its caller was told nothing", st.ID, st.State)
		}
	case spec.Suspended: // there was no room for its view, and its caller knows
		if !p.asleep[st.ID] {
			return fmt.Errorf("books: at the end %v is suspended, and nobody was told", st.ID)
		}
	default:
		return fmt.Errorf("at the end %v is %v: stuck", st.ID, st.State)
	}
	return nil
}

func drawComposedSetting(d dice) serverSetting {
	return serverSetting{Events: oneOf(d, 1, 2, 3, 5, 8, 16, 64, 1024), Bytes: oneOf(d, 300, 1<<20), MaxEvent: 128, Age: oneOf[int64](d, 60, 1000, 1<<30),
		DetachBudget: oneOf[int64](d, 8, 60, 1000), Streams: oneOf(d, 3, 9, 16, 64), Views: oneOf(d, 2, 64, 64), Requests: oneOf(d, 2, 8, 64)}
}

// Given servers and clients whose real cores speak over a network that loses
// any suffix of any answer, delivers requests late and notices cuts late, with
// evictions, session loss, takeovers, failing writes and crashes at any step,
// then every log of applied events is a gapless prefix of what was emitted on
// the very stream of the very call: nothing is applied twice, nothing is lost
// silently, no epochs are merged, and no call runs twice. From fixed seeds, so
// that what happened can be counted.
func TestComposedLockstep(t *testing.T) {
	h := hits{}
	for seed := range uint64(lockstepRuns(200)) {
		d := seeded(seed)
		w := newComposedWorld(drawComposedSetting(d), 1+d(3), h)
		steps := make([]composedStep, 800)
		for i := range steps {
			steps[i] = drawComposedStep(d)
		}
		if err := w.run(steps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	h.log(t)
	for _, m := range composedMoves {
		h.need(t, "move "+m.what)
	}
	for _, r := range []spec.Reason{spec.ReasonCursorEvicted, spec.ReasonDraining, spec.ReasonSessionTerminated, spec.ReasonTooManyViews} {
		h.need(t, "resumption refused: "+string(r))
	}
	h.need(t, "session is gone: unknown", "resumption accepted", "resumption accepted on a stream that has lost events",
		"re-attached at the floor", "superseded by a newer request", "superseded by a late request of an abandoned connection",
		"a request arrived after its client gave it up", "an old connection was not heard", "frames were lost", "cut before the request arrived",
		"an event was handed over and lost on the way", "the server noticed a cut", "overtaken by eviction", "an answer was over: superseded",
		"an answer was over: overtaken", "an answer was over: ended on purpose", "an answer was over: delivered",
		"an event came to the record behind the fence, and was refused", "crashed with an event in hand", "crashed between applying and knowing it",
		"durable, and nobody knows", "suspended", "resumed after it was suspended", "opened in quarantine", "call refused: quarantined",
		"the quarantine was resolved", "told answered", "told not_run", "told unknown", "detach budget elapsed",
		"at the end a stream is Streaming", "at the end a stream is Completed", "at the end a stream is Lost")
}

// The same with settings and steps that differ each time, and shrink.
func TestComposedLockstepRandom(t *testing.T) {
	runs, taken := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		setting := rapid.Custom(func(t *rapid.T) serverSetting { return drawComposedSetting(drawn(t)) }).Draw(t, "setting")
		parties := rapid.IntRange(1, 3).Draw(t, "parties")
		step := rapid.Custom(func(t *rapid.T) composedStep { return drawComposedStep(drawn(t)) })
		steps := rapid.SliceOfN(step, rapid.SampledFrom([]int{1, 100, 400}).Draw(t, "at least"), 500).Draw(t, "steps")
		if err := newComposedWorld(setting, parties, hits{}).run(steps); err != nil {
			t.Fatal(err)
		}
		runs, taken = runs+1, taken+len(steps)
	})
	if runs < 50 || taken < 10*runs {
		t.Errorf("only %d runs with %d steps", runs, taken)
	}
}

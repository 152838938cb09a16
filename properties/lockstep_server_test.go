package properties

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/model"
	"example.com/reattach/spec"

	"pgregory.net/rapid"
)

// seen returns what can be seen of the core, in the model's terms.
func (p *serverPair) seen() model.SessionView {
	w := p.core.Window()
	v := model.SessionView{State: p.core.State(), LastSeq: w.Seq(), NextStream: p.core.NextStream(), Retained: w.Len(), Bytes: w.Bytes()}
	for _, s := range p.core.Streams() {
		id := func(seq, ordinal uint64) spec.EventID {
			return spec.EventID{Tag: p.core.Tag(), Seq: seq, Stream: s.Number, Ordinal: ordinal}
		}
		of := model.StreamView{Number: s.Number, State: s.State, Floor: id(s.Floor.Seq, s.Floor.Ordinal), Head: id(s.Head.Seq, s.Head.Ordinal),
			Handed: s.Handed.Ordinal, Retained: s.Retained}
		if s.View != nil {
			of.Position = s.View.At.Ordinal
		}
		v.Streams = append(v.Streams, of)
	}
	return v
}

// check compares everything that can be seen of the session.
func (p *serverPair) check() error {
	got, want := p.seen(), p.twin.Observe()
	if !p.world.ledgerOnly {
		if err := sameSession(got, want); err != nil {
			return err
		}
	}
	for _, s := range got.Streams {
		if p.book.streams[s.Number] == nil {
			return fmt.Errorf("ledger: stream %d has a record and was never opened", s.Number)
		}
		if s.State == spec.Detached && p.before[s.Number] != spec.Detached {
			p.since[s.Number] = p.world.now
			if _, known := p.before[s.Number]; !known {
				p.since[s.Number] = 0 // it opened so, and nobody said when
			}
		}
		p.before[s.Number] = s.State
	}
	return p.checkViews()
}

// checkViews: a view is its stream's, or it was told how it ended.
func (p *serverPair) checkViews() error {
	for _, n := range p.book.numbers {
		page, view := p.book.streams[n], p.core.Stream(n).View
		switch {
		case page.view == view && (view == nil || view.End == session.StillOpen):
		case view != nil:
			return fmt.Errorf("ledger: stream %d has a view that nobody asked for, or that is over: %+v", n, *view)
		case page.view.End == session.StillOpen:
			return fmt.Errorf("ledger: the view of stream %d is gone and was not told", n)
		default:
			p.world.hits.hit("view ended: %v", page.view.End)
			p.book.detached(page)
		}
	}
	return nil
}

// sameSession says where two views of a session differ first.
func sameSession(got, want model.SessionView) error {
	for i := range min(len(got.Streams), len(want.Streams)) {
		if got.Streams[i] != want.Streams[i] {
			return fmt.Errorf("a stream differs:\ncore  %+v\nmodel %+v", got.Streams[i], want.Streams[i])
		}
	}
	if len(got.Streams) != len(want.Streams) {
		return fmt.Errorf("the core has %d streams, the model %d:\ncore  %+v\nmodel %+v", len(got.Streams), len(want.Streams), got, want)
	}
	got.Streams, want.Streams = nil, nil
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("what can be seen differs:\ncore  %+v\nmodel %+v", got, want)
	}
	return nil
}

// checkAll is check, and in addition the bytes of the window, and the streams
// that have no record.
func (p *serverPair) checkAll() error {
	if err := p.check(); err != nil {
		return err
	}
	for n := uint64(0); n < p.core.NextStream()+2 && !p.world.ledgerOnly; n++ {
		if got, want := p.core.Stream(n).State, p.twin.StateOf(n); got != want {
			return fmt.Errorf("stream %d is %v in the core, %v in the model", n, got, want)
		}
	}
	return p.book.holds(p.core.Window())
}

// Given sessions and streams in any number, real cores with their real windows
// and the model beside them, when anything happens in any order, then both
// answer the same, look the same, and every byte handed over is what was
// emitted: each once, in order, none missing. From fixed seeds, so that what
// happened can be counted: every verdict, every reason, every row.
func TestServerLockstep(t *testing.T) {
	h := hits{}
	for seed := range uint64(lockstepRuns(150)) {
		d := seeded(seed)
		setting := drawServerSetting(d)
		steps := make([]serverStep, 500)
		for i := range steps {
			steps[i] = drawServerStep(d)
		}
		if err := newServerWorld(setting, h).run(steps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	h.log(t)
	h.needRows(t, nil, spec.SessionTable(), spec.StreamTable())
	for _, m := range serverMoves {
		h.need(t, "move "+m.what)
	}
	for _, c := range cursorKinds {
		h.need(t, "cursor "+c.what)
	}
	for _, a := range attemptKinds {
		h.need(t, "attempt "+a.what)
	}
	for _, r := range []spec.Reason{
		spec.ReasonAttemptMalformed, spec.ReasonAttemptSuperseded, spec.ReasonCursorMalformed, spec.ReasonCursorForeign, spec.ReasonCursorUnissued, spec.ReasonCursorEvicted, spec.ReasonCursorAhead,
		spec.ReasonSessionUnknown, spec.ReasonSessionExpired, spec.ReasonSessionTerminated, spec.ReasonDraining, spec.ReasonTooManyViews,
	} {
		h.need(t, "verdict refuse "+string(r))
	}
	for _, r := range []spec.Reason{
		spec.ReasonStreamUnopened, spec.ReasonStreamFinished, spec.ReasonStreamForgotten, spec.ReasonStreamStandalone, spec.ReasonStreamUnfinished,
		spec.ReasonEventTooLarge, spec.ReasonNoView, spec.ReasonViewInTheWay, spec.ReasonSessionInUse, spec.ReasonOutOfTurn,
		spec.ReasonTooManyStreams, spec.ReasonTooManyRequests, spec.ReasonTooManySessions, spec.ReasonDraining, spec.ReasonAlreadyInitialized,
		spec.ReasonSessionUnknown, spec.ReasonSessionExpired, spec.ReasonSessionTerminated,
	} {
		h.need(t, "refused "+string(r))
	}
	h.need(t, "verdict attach ", "verdict reattach ", "verdict complete ",
		"re-attached to a stream that has lost events", "re-attached at the floor", "re-attached with events to replay",
		"skipped events at a fresh attach", "superseded a view", "overtaken by eviction", "waited at the head", "delivered to its end",
		"evicted one to make room", "evicted several to make room", "evicted for age", "evicted several for age", "told of a reader that lags",
		"empty event", "too large", "numbers exhausted", "opened with high numbers", "the clock stepped back",
		"ended with an unknown outcome", "detach budget elapsed",
		"a view asked after it was superseded", "a view asked after it was broken", "a view asked after it was overtaken", "a view asked after it was stalled",
		"a view asked after it was delivered", "a view asked after it was ended on purpose", "a view asked after it was session over")
}

// The same with one long run: thousands of steps over the largest window and
// more than eight streams, numbers around 2^63.
func TestServerLockstepLong(t *testing.T) {
	h := hits{}
	setting := serverSetting{Sessions: 1, Events: 1024, Bytes: 1 << 20, MaxEvent: 64, Age: 1 << 30, DetachBudget: 3000, Streams: 12, Views: 64, Requests: 64,
		Start: 1<<63 - 500}
	d, steps := seeded(1), make([]serverStep, 6000)
	for i := range steps {
		if steps[i] = drawServerStep(d); steps[i].Do == "terminate" || steps[i].Do == "expire" || steps[i].Do == "drain" {
			steps[i].Do = "emit" // it is to last
		}
	}
	w := newServerWorld(setting, h)
	if err := w.run(steps); err != nil {
		t.Fatal(err)
	}
	h.need(t, "evicted one to make room", "re-attached to a stream that has lost events", "verdict complete ")
	for _, p := range w.pairs {
		if p.core.State() == spec.Live && (p.book.seq < 1<<63+550 || len(p.book.streams) < 9) {
			t.Errorf("the run reached seq %d and %d streams", p.book.seq, len(p.book.streams))
		}
	}
}

// The same with settings and steps that differ each time, and shrink.
func TestServerLockstepRandom(t *testing.T) {
	runs, taken := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		setting := rapid.Custom(func(t *rapid.T) serverSetting { return drawServerSetting(drawn(t)) }).Draw(t, "setting")
		step := rapid.Custom(func(t *rapid.T) serverStep { return drawServerStep(drawn(t)) })
		steps := rapid.SliceOfN(step, rapid.SampledFrom([]int{1, 60, 250}).Draw(t, "at least"), 300).Draw(t, "steps")
		if err := newServerWorld(setting, hits{}).run(steps); err != nil {
			t.Fatal(err)
		}
		runs, taken = runs+1, taken+len(steps)
	})
	if runs < 50 || taken < 10*runs {
		t.Errorf("only %d runs with %d steps", runs, taken)
	}
}

// lockstepRuns is how many runs a suite with fixed seeds makes: more where
// there is time for it.
func lockstepRuns(usual int) int {
	if lockstepFactor <= 0 || lockstepFactor > math.MaxInt16 {
		return usual
	}
	return usual * lockstepFactor
}

package properties

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// The lockstep of the server beside a store (R14): whatever is to be durable is
// first refused by it, and the model, which is not even told, stays what the
// core has to be; then it is taken, and what the store makes of it is what the
// core holds.

// A lockstepStore is the images of the cores of one run.
type lockstepStore struct {
	failing bool
	asked   []session.EntryKind // since it was last looked at
	images  map[*session.Core]*session.Image
	fault   error
	spoil   func(*session.Core) // what a wrong core does where the store fails
}

var errLockstepStore = fmt.Errorf("%w: on purpose", session.ErrNotApplied)

func (s *lockstepStore) persist(c *session.Core, e session.Entry) error {
	s.asked = append(s.asked, e.Kind)
	if s.failing {
		if s.spoil != nil {
			s.spoil(c)
		}
		return &session.StoreError{Err: errLockstepStore}
	}
	m := s.images[c]
	if m == nil {
		begun := session.NewImage("", 0)
		m = &begun
		s.images[c] = m
	}
	if err := m.Apply(e); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("a store would not take what the core asks for: %w", err)
	}
	return nil
}

// failFirst does the step while the store fails, and says if that changes
// anything, or what nobody asked the store about.
func (s *lockstepStore) failFirst(w *serverWorld, p *serverPair, step serverStep) error {
	n, now := p.streamFor(step), w.now
	if err := p.sweep(now); err != nil { // what is due is due, whatever follows
		return err
	}
	var do func() error
	switch step.Do {
	case "emit":
		do = func() error { _, err := p.core.Emit(n, w.payload(step), now); return err }
	case "answer":
		do = func() error { _, err := p.core.Answer(n, w.payload(step), now); return err }
	case "call":
		do = func() error { _, err := p.core.Call(nil); return err }
	case "elapse":
		do = func() error { return p.core.ElapseDetach(n, now) }
	case "terminate":
		do = p.core.Terminate
	case "expire":
		do = func() error { return p.core.Expire(false) }
	default:
		return nil
	}
	before := p.core.Snapshot()
	s.failing, s.asked = true, nil
	err := do()
	s.failing = false
	asked := len(s.asked) > 0
	w.hits.when(asked, "failed first: "+step.Do)
	switch {
	case asked != errors.Is(err, spec.ReasonStoreUnavailable) || err == nil:
		return fmt.Errorf("%s while the store fails: %v, and it was asked for %v", step.Do, err, s.asked)
	case p.core.Snapshot() != before:
		return fmt.Errorf("%s while the store fails, %v, has changed the core from\n%s\nto\n%s", step.Do, err, before, p.core.Snapshot())
	}
	return p.check() // and the model knows of nothing
}

// holds compares a core with its image.
func (s *lockstepStore) holds(c *session.Core) error {
	m := s.images[c]
	if s.fault != nil || m == nil {
		return s.fault
	}
	if c.State() != spec.Live && c.State() != spec.Draining {
		if m.State != c.State() {
			return fmt.Errorf("the session is %v, in the store %v", c.State(), m.State)
		}
		return nil
	}
	if err := m.Check(); err != nil {
		return err
	}
	if m.Seq != c.Window().Seq() || m.Next != c.NextStream() {
		return fmt.Errorf("the core is at seq %d and stream %d, its image at %d and %d", c.Window().Seq(), c.NextStream(), m.Seq, m.Next)
	}
	for ev := range c.Window().All() {
		if ev.Seq <= m.Evicted {
			return fmt.Errorf("the core retains %v, the store has evicted up to %d", ev.Position, m.Evicted)
		}
		kept := m.Events[ev.Seq-m.Evicted-1]
		if kept.Stream != ev.Stream || kept.Ordinal != ev.Ordinal || !bytes.Equal(kept.Payload, ev.Payload) {
			return fmt.Errorf("the core retains %v %q, the store %d:%d %q", ev.Position, ev.Payload, kept.Stream, kept.Ordinal, kept.Payload)
		}
	}
	for _, kept := range m.Streams {
		if st := c.Stream(kept.Number); st.State != spec.Forgotten {
			finished := st.State == spec.FinishedDetached || st.State == spec.FinishedAttached
			if st.Head != kept.Head || finished != kept.Finished || kept.Floor.Ordinal > st.Floor.Ordinal {
				return fmt.Errorf("stream %d: the core has %+v, the store %+v", kept.Number, st, kept)
			}
		}
	}
	return nil
}

// runWithStore is run, with a store that fails first.
func runWithStore(seed uint64, h hits, spoil func(*session.Core)) error {
	d := seeded(seed)
	setting := drawServerSetting(d)
	setting.Start = 0 // an image begins at the beginning
	w := newServerWorld(setting, h)
	store := &lockstepStore{images: map[*session.Core]*session.Image{}, spoil: spoil}
	w.cfg.Persist = store.persist
	for _, p := range w.pairs {
		if err := p.initialize(false, false); err != nil {
			return err
		}
	}
	for i := range 400 {
		step := drawServerStep(d)
		p := w.pairs[step.Session%len(w.pairs)]
		w.now += step.Wait
		err := store.failFirst(w, p, step)
		if err == nil {
			err = w.take(p, step)
		}
		if err == nil {
			err = p.check()
		}
		if err == nil {
			err = store.holds(w.pairs[step.Session%len(w.pairs)].core)
		}
		if err != nil {
			return fmt.Errorf("seed %d, step %d, %+v: %w", seed, i, step, err)
		}
	}
	return nil
}

// Given cores beside the model and a store that refuses everything once, when
// anything happens in any order, then a refusal changes nothing, no seq least of
// all, and what the store took is exactly what the core retains (R14, R11).
func TestServerLockstepWithAStoreThatFails(t *testing.T) {
	h := hits{}
	for seed := range uint64(lockstepRuns(60)) {
		if err := runWithStore(seed, h, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, do := range []string{"emit", "answer", "call", "elapse", "terminate", "expire"} {
		if h["failed first: "+do] < 3 {
			t.Errorf("%s failed %d times: that shows nothing", do, h["failed first: "+do])
		}
	}
}

// A core that uses up a seq where the store failed, or loses an event, is
// noticed.
func TestServerLockstepNoticesAFailureThatChangesSomething(t *testing.T) {
	for name, spoil := range map[string]func(*session.Core){
		"a seq is used up":    func(c *session.Core) { c.Window().Append(0, nil, 0) },
		"an event is evicted": func(c *session.Core) { c.Window().EvictOldest() },
	} {
		noticed := false
		for seed := uint64(0); seed < 20 && !noticed; seed++ {
			noticed = runWithStore(seed, hits{}, func(c *session.Core) {
				if c.Window().Has(0) {
					spoil(c)
				}
			}) != nil
		}
		if !noticed {
			t.Errorf("%s: nobody noticed", name)
		}
	}
}

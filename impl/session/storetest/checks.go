package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// take takes the session and says whether it is what it has to be.
func (l *life) take(s session.Store) error {
	hold, got, err := s.Take(l.key, owner)
	if err != nil {
		return fmt.Errorf("Take of a session that is there: %w", err)
	}
	if want := l.hold.Term + 1; l.image.State == spec.Live && (hold.Term != want || hold.Generation != l.hold.Generation) {
		return fmt.Errorf("Take after %+v gives %+v, want term %d of the same generation", l.hold, hold, want)
	}
	if !sameImage(got, l.image) {
		return fmt.Errorf("Take gives %+v, want %+v", got, l.image)
	}
	l.hold = hold
	return nil
}

// sameImage compares images; nothing and an empty payload are the same.
func sameImage(a, b session.Image) bool {
	normal := func(m session.Image) session.Image {
		m = m.Clone()
		m.Note = present(m.Note)
		m.Streams, m.Events = append([]session.StreamImage{}, m.Streams...), append([]session.EventImage{}, m.Events...)
		for i := range m.Streams {
			m.Streams[i].Note = present(m.Streams[i].Note)
		}
		for i := range m.Events {
			m.Events[i].Payload = present(m.Events[i].Payload)
		}
		return m
	}
	return reflect.DeepEqual(normal(a), normal(b))
}

func present(b []byte) []byte { return append([]byte{}, b...) }

// refuses says if the store takes an entry, or does not say why not.
func (l *life) refuses(what string, h session.Hold, e session.Entry, want error) error {
	e.At = l.image.At + 1
	switch err := l.store.Append(l.key, h, e); {
	case err == nil:
		return fmt.Errorf("%s: taken: %+v under %+v", what, e, h)
	case !errors.Is(err, want):
		return fmt.Errorf("%s: the error is %v, want one that is %v", what, err, want)
	}
	return nil
}

func conditionalOnSeq(r *run) error {
	l, err := r.lived()
	if err != nil {
		return err
	}
	good := l.next()
	for what, change := range map[string]func(*session.Entry){
		"a seq that was used":                func(e *session.Entry) { e.Seq-- },
		"a seq from the beginning":           func(e *session.Entry) { e.Seq = 0 },
		"a seq that leaves one out":          func(e *session.Entry) { e.Seq++ },
		"the last seq":                       func(e *session.Entry) { e.Seq = math.MaxUint64 },
		"an ordinal that was used":           func(e *session.Entry) { e.Ordinal-- },
		"an ordinal ahead":                   func(e *session.Entry) { e.Ordinal++ },
		"a stream never opened":              func(e *session.Entry) { e.Stream = 9 },
		"a stream that is finished":          func(e *session.Entry) { e.Stream, e.Ordinal = 1, 3 },
		"events to evict that are not there": func(e *session.Entry) { e.Evicted = e.Seq + 1 },
		"a number of a stream that was used": func(e *session.Entry) { e.Kind, e.Stream = session.OpensStream, 2 },
		"a number that leaves one out":       func(e *session.Entry) { e.Kind, e.Stream = session.OpensStream, 4 },
		"an end of a session at another seq": func(e *session.Entry) {
			e.Kind, e.State, e.Seq = session.EndsSession, spec.Terminated, e.Seq-1
		},
		"an end that is none":        func(e *session.Entry) { e.Kind, e.State = session.EndsSession, spec.Live },
		"a note at another seq":      func(e *session.Entry) { e.Kind, e.Seq = session.DescribesSession, e.Seq-1 },
		"an entry of unknown kind":   func(e *session.Entry) { e.Kind = 99 },
		"a grant at an earlier seq":  func(e *session.Entry) { e.Kind, e.Seq = session.GrantsView, e.Seq-1 },
		"an entry of no kind at all": func(e *session.Entry) { e.Kind = 0 },
	} {
		bad := good
		change(&bad)
		if err := l.refuses(what, l.hold, bad, session.ErrConflict); err != nil {
			return err
		}
	}
	return l.take(r.store)
}

func conditionalOnHold(r *run) error {
	l, err := r.lived()
	if err != nil {
		return err
	}
	other, err := r.lived()
	if err != nil {
		return err
	}
	for what, h := range map[string]session.Hold{
		"a term to come":     {Generation: l.hold.Generation, Term: l.hold.Term + 1},
		"no term":            {Generation: l.hold.Generation},
		"another generation": {Generation: l.hold.Generation + "'", Term: l.hold.Term},
	} {
		if err := l.refuses(what, h, l.next(), session.ErrHoldLost); err != nil {
			return err
		}
		if err := r.store.Confirm(l.key, h); !errors.Is(err, session.ErrHoldLost) {
			return fmt.Errorf("Confirm of %s: %v, want %v", what, err, session.ErrHoldLost)
		}
	}
	absent := life{run: r, key: session.KeyOf(session.SessionID{0: 0xff}), image: session.NewImage(owner, 1)}
	if err := absent.refuses("a session that was never begun", session.Hold{Term: 1, Generation: l.hold.Generation}, absent.next(), session.ErrHoldLost); err != nil {
		return err
	}
	if _, _, err := r.store.Take(absent.key, owner); !errors.Is(err, session.ErrNoSession) {
		return fmt.Errorf("Take of a session that was never begun: %v", err)
	}
	if err := r.store.Confirm(l.key, l.hold); err != nil {
		return fmt.Errorf("Confirm of the hold: %w", err)
	}
	return errors.Join(l.take(r.store), other.take(r.store))
}

func failureChangesNothing(r *run) error {
	l, err := r.lived()
	if err != nil {
		return err
	}
	for range 3 {
		ahead, past := l.next(), l.next()
		ahead.Seq++
		past.Seq--
		if err := l.refuses("a seq ahead", l.hold, ahead, session.ErrConflict); err != nil {
			return err
		}
		if err := l.refuses("a seq that was used", l.hold, past, session.ErrConflict); err != nil {
			return err
		}
		if err := l.append(l.next()); err != nil {
			return fmt.Errorf("after an append that failed: %w", err)
		}
	}
	if _, err := r.store.Begin(l.key, "another", 1); !errors.Is(err, session.ErrConflict) {
		return fmt.Errorf("Begin of a session that is there: %v, want %v", err, session.ErrConflict)
	}
	return l.take(r.store)
}

func durable(r *run) error {
	l, err := r.lived()
	if err != nil {
		return err
	}
	for range 4 {
		if err := l.append(l.next()); err != nil {
			return err
		}
		r.store = r.h.Open(r.TB)
		if err := l.take(r.store); err != nil {
			return fmt.Errorf("the next process: %w", err)
		}
	}
	again, err := r.begin() // a session that nothing happened in
	if err != nil {
		return err
	}
	r.store = r.h.Open(r.TB)
	return again.take(r.store)
}

func lossIsTold(r *run) error {
	l, err := r.lived()
	if err != nil || r.h.Lose == nil {
		return err
	}
	before := l.hold
	r.store = r.h.Lose(r.TB)
	if err := l.refuses("under the hold from before the loss", before, l.next(), session.ErrHoldLost); err != nil {
		return err
	}
	hold, m, err := r.store.Take(l.key, owner)
	switch {
	case errors.Is(err, session.ErrNoSession):
		return nil // all of it was lost
	case err != nil:
		return fmt.Errorf("Take after a loss: %w", err)
	case hold.Generation == before.Generation:
		return fmt.Errorf("after a loss the generation is still %q, and seq %d of %d will be issued twice", hold.Generation, m.Seq+1, l.image.Seq)
	}
	return nil
}

func takeEndsTerms(r *run) error {
	l, err := r.lived()
	if err != nil {
		return err
	}
	store := r.store
	if r.h.Beside != nil {
		store = r.h.Beside(r.TB)
	}
	before := l.hold
	if err := l.take(store); err != nil {
		return err
	}
	if err := l.refuses("under a hold that was taken", before, l.next(), session.ErrHoldLost); err != nil {
		return err
	}
	if err := r.store.Confirm(l.key, before); !errors.Is(err, session.ErrHoldLost) {
		return fmt.Errorf("Confirm of a hold that was taken: %v, want %v", err, session.ErrHoldLost)
	}
	r.store = store
	return l.append(l.next())
}

func linearizable(r *run) error {
	l, err := r.lived()
	if err != nil {
		return err
	}
	other := r.store
	if r.h.Beside != nil {
		other = r.h.Beside(r.TB)
	}
	for range 5 {
		if err := l.append(l.next()); err != nil {
			return err
		}
		if err := l.take(other); err != nil {
			return fmt.Errorf("right after an append: %w", err)
		}
		if err := other.Confirm(l.key, l.hold); err != nil {
			return fmt.Errorf("Confirm right after a take: %w", err)
		}
		r.store, other = other, r.store
	}
	if err := l.append(session.Entry{Kind: session.EndsSession, Seq: l.image.Seq, State: spec.Terminated}); err != nil {
		return err
	}
	if err := other.Confirm(l.key, l.hold); !errors.Is(err, session.ErrHoldLost) {
		return fmt.Errorf("Confirm right after the end: %v, want %v", err, session.ErrHoldLost)
	}
	return nil
}

func endStays(r *run) error {
	for _, state := range []spec.State{spec.Expired, spec.Terminated} {
		l, err := r.lived()
		if err != nil {
			return err
		}
		if err := l.append(session.Entry{Kind: session.EndsSession, Seq: l.image.Seq, State: state}); err != nil {
			return err
		}
		for range 2 {
			for _, e := range []session.Entry{l.next(), {Kind: session.OpensStream, Seq: l.image.Seq, Stream: 3}} {
				if err := r.store.Append(l.key, l.hold, e); !errors.Is(err, session.ErrConflict) && !errors.Is(err, session.ErrHoldLost) {
					return fmt.Errorf("%v after the end: %v, want a refusal", e.Kind, err)
				}
			}
			if err := r.store.Confirm(l.key, l.hold); !errors.Is(err, session.ErrHoldLost) {
				return fmt.Errorf("Confirm after the end: %v, want %v", err, session.ErrHoldLost)
			}
			if _, err := r.store.Begin(l.key, owner, 2000); !errors.Is(err, session.ErrConflict) {
				return fmt.Errorf("Begin of a session that has ended: %v, want %v", err, session.ErrConflict)
			}
			_, m, err := r.store.Take(l.key, owner)
			if err != nil || m.State != state || len(m.Events)+len(m.Streams) > 0 {
				return fmt.Errorf("Take of a session that is %v gives %+v, %v", state, m, err)
			}
			r.store = r.h.Open(r.TB)
		}
	}
	return nil
}

func anotherSubject(r *run) error {
	l, err := r.lived()
	if err != nil {
		return err
	}
	ended, err := r.lived()
	if err != nil {
		return err
	}
	if err := ended.append(session.Entry{Kind: session.EndsSession, Seq: ended.image.Seq, State: spec.Terminated}); err != nil {
		return err
	}
	for what, key := range map[string]session.Key{"live": l.key, "ended": ended.key} {
		if hold, m, err := r.store.Take(key, "another subject"); !errors.Is(err, session.ErrNoSession) {
			return fmt.Errorf("Take of another subject's %s session gives %+v, %+v, %v", what, hold, m, err)
		}
	}
	if err := r.store.Confirm(l.key, l.hold); err != nil {
		return fmt.Errorf("Confirm after another subject's Take: %w", err)
	}
	return l.take(r.store)
}

func copies(r *run) error {
	l, err := r.lived()
	if err != nil {
		return err
	}
	e := l.next()
	e.At, e.Data = l.image.At+1, []byte("given")
	if err := r.store.Append(l.key, l.hold, e); err != nil {
		return err
	}
	if err := l.image.Apply(e); err != nil {
		return err
	}
	copy(e.Data, "wrong")
	if _, m, err := r.store.Take(l.key, owner); err == nil {
		l.hold.Term++
		for _, ev := range m.Events {
			copy(ev.Payload, bytes.Repeat([]byte("x"), len(ev.Payload)))
		}
	}
	return l.take(r.store)
}

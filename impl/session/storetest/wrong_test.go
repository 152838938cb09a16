package storetest_test

import (
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/session/storetest"
	"example.com/reattach/spec"
)

// A fault is one way to get a store wrong.
type fault string

const (
	none                fault = "none"
	unconditional       fault = "an append is taken at whatever seq"
	holdUnchecked       fault = "whoever knows the key may write"
	generationUnchecked fault = "the term is compared, and the generation not"
	failureUsesSeq      fault = "an append that failed has used up its seq"
	beginsAnew          fault = "a second begin empties the session"
	notDurable          fault = "what was acknowledged last is not there after a crash"
	generationStays     fault = "acknowledged and lost, and the generation is the same"
	takeFencesNothing   fault = "a take leaves the older hold as good as its own"
	lags                fault = "a read is answered by a copy that lags by one entry"
	confirmsFromMemory  fault = "an instance confirms what it once knew"
	tombstonesForgotten fault = "a session that has ended is forgotten at once"
	revived             fault = "an ended session lives again after a restart"
	subjectUnchecked    fault = "the key is enough, whoever asks"
	strangerTakes       fault = "a stranger is told nothing, and has taken the session"
	aliased             fault = "the caller's bytes are kept"
	lendsItsOwn         fault = "the store's own bytes are returned"
)

// wrong is a store with a fault, or with none.
type wrong struct {
	fault      fault
	generation string
	sessions   map[session.Key]*wrongSession
}

type wrongSession struct {
	hold          session.Hold
	image, before session.Image // before: one entry ago
	confirmed     bool
}

func newWrong(f fault) *wrong {
	return &wrong{fault: f, generation: "1", sessions: map[session.Key]*wrongSession{}}
}

func (w *wrong) harness() storetest.Harness {
	return storetest.Harness{
		Open: func(testing.TB) session.Store {
			for _, s := range w.sessions {
				if w.fault == notDurable {
					s.image = s.before.Clone()
				}
				if w.fault == revived && s.image.State != spec.Live {
					s.image = s.before.Clone()
				}
			}
			return w
		},
		Beside: func(testing.TB) session.Store { return w },
		Lose: func(testing.TB) session.Store {
			for _, s := range w.sessions {
				s.image = s.before.Clone()
			}
			if w.fault != generationStays {
				w.generation = "2"
			}
			return w
		},
	}
}

func (w *wrong) Begin(key session.Key, subject string, at int64) (session.Hold, error) {
	if w.sessions[key] != nil && w.fault != beginsAnew {
		return session.Hold{}, session.ErrConflict
	}
	m := session.NewImage(subject, at)
	w.sessions[key] = &wrongSession{hold: session.Hold{Term: 1}, image: m, before: m.Clone()}
	return session.Hold{Generation: w.generation, Term: 1}, nil
}

func (w *wrong) Take(key session.Key, subject string) (session.Hold, session.Image, error) {
	s := w.sessions[key]
	if s != nil && s.image.Subject != subject && w.fault == strangerTakes {
		s.hold.Term++
	}
	if s == nil || s.image.Subject != subject && w.fault != subjectUnchecked {
		return session.Hold{}, session.Image{}, session.ErrNoSession
	}
	if s.image.State == spec.Live {
		s.hold.Term++
	}
	m := s.image
	if w.fault == lags {
		m = s.before
	}
	if w.fault != lendsItsOwn {
		m = m.Clone()
	}
	return session.Hold{Generation: w.generation, Term: s.hold.Term}, m, nil
}

// holds reports whether the hold is the session's.
func (w *wrong) holds(s *wrongSession, h session.Hold) bool {
	switch {
	case s == nil:
		return false
	case w.fault == holdUnchecked:
		return true
	case w.fault == takeFencesNothing:
		return h.Term >= 1 && h.Term <= s.hold.Term && h.Generation == w.generation
	case w.fault == generationUnchecked:
		return h.Term == s.hold.Term
	}
	return h.Term == s.hold.Term && h.Generation == w.generation
}

func (w *wrong) Confirm(key session.Key, h session.Hold) error {
	s := w.sessions[key]
	if w.holds(s, h) && s.image.State == spec.Live || w.fault == confirmsFromMemory && s != nil && s.confirmed && w.holds(s, h) {
		s.confirmed = true
		return nil
	}
	return session.ErrHoldLost
}

func (w *wrong) Append(key session.Key, h session.Hold, e session.Entry) error {
	s := w.sessions[key]
	if !w.holds(s, h) {
		return session.ErrHoldLost
	}
	if w.fault == unconditional {
		e.Seq = s.image.Seq
	}
	given, before := e.Data, s.image.Clone()
	if err := s.image.Apply(e); err != nil {
		if w.fault == failureUsesSeq && e.Kind == session.AppendsEvent && e.Seq > s.image.Seq {
			s.image.Seq++
			s.image.Events = append(s.image.Events, session.EventImage{})
		}
		return err
	}
	s.before = before
	if n := len(s.image.Events); w.fault == aliased && e.Kind == session.AppendsEvent {
		s.image.Events[n-1].Payload = given
	}
	if w.fault == tombstonesForgotten && e.Kind == session.EndsSession {
		delete(w.sessions, key)
	}
	return nil
}

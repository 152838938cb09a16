package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// What a store can be asked for, each with what shows that it happened.
var durableMoves = []struct {
	kind session.EntryKind
	do   func(*session.Session) error
	then func(*session.Session) bool
}{
	{session.AppendsEvent, func(s *session.Session) error { _, err := s.Standalone().Emit([]byte("e")); return err },
		func(s *session.Session) bool {
			v, _, _ := s.Resume(session.Request{Cursors: zeroOf(s, 0)})
			return len(reads(v)) == 2
		}},
	{session.AppendsEvent, func(s *session.Session) error { _, err := s.Stream(1).Answer([]byte("a")); return err },
		func(s *session.Session) bool {
			v, _, _ := s.Resume(session.Request{Cursors: zeroOf(s, 1)})
			return v.Finished() && slices.Equal(reads(v), []string{"1:a"})
		}},
	{session.OpensStream, func(s *session.Session) error { _, _, err := s.Call("c"); return err },
		func(s *session.Session) bool { return s.Stream(2).State() != spec.Unopened }},
	{session.GrantsView, func(s *session.Session) error {
		_, _, err := s.Resume(session.Request{Cursors: zeroOf(s, 0), Attempts: []string{"3.3"}})
		return err
	}, func(s *session.Session) bool {
		_, d, _ := s.Resume(session.Request{Cursors: zeroOf(s, 0), Attempts: []string{"3.2"}})
		return d.Reason == spec.ReasonAttemptSuperseded
	}},
	{session.DescribesSession, func(s *session.Session) error { return s.Describe([]byte("note")) }, nil},
	{session.EndsSession, (*session.Session).Terminate, func(s *session.Session) bool { return s.State() == spec.Terminated }},
}

func zeroOf(s *session.Session, stream uint64) []string {
	return []string{spec.PositionZero(s.Tag(), stream).String()}
}

// Whatever a store does with what it is asked for, a session is either as if it
// had been done or as if it had not, and its caller knows which.
func TestEveryFailureOfAStoreIsSettled(t *testing.T) {
	for i, m := range durableMoves {
		for _, how := range []failure{sound, notApplied, unknownApplied, unknownNot} {
			t.Run(fmt.Sprintf("%d %v %d", i, m.kind, how), func(t *testing.T) {
				store := newShaky()
				s := opens(t, stored(t, store), "alice")
				s.Standalone().Emit([]byte("before"))
				if _, _, err := s.Call("the call"); err != nil {
					t.Fatal(err)
				}
				store.book, store.how = nil, how
				err := m.do(s)
				done := how == sound || how == unknownApplied
				if (err == nil) != done || err != nil && !errors.Is(err, spec.ReasonStoreUnavailable) {
					t.Fatalf("its caller is told %v", err)
				}
				failed := new(session.StoreError)
				if errors.As(err, &failed) && failed.Unknown {
					t.Errorf("the store could be read, and the outcome is said to be unknown: %v", err)
				}
				if (len(store.book) == 1 && store.book[0] == m.kind) != done {
					t.Errorf("the store has %v", store.book)
				}
				if !done { // nothing has happened, and it can be tried again
					if m.then != nil && m.kind != session.AppendsEvent && m.kind != session.GrantsView && m.then(s) {
						t.Error("it happened all the same")
					}
					if err := m.do(s); err != nil {
						t.Fatalf("once more: %v", err)
					}
				}
				if m.then != nil && !m.then(s) {
					t.Error("it has not happened")
				}
			})
		}
	}
}

// Where the store cannot even be read, the session is let go of: its views end,
// nothing of the event is on them, and who asks is told to come back until the
// store can say what holds.
func TestWhatCannotBeSettledIsLetGoOf(t *testing.T) {
	for _, how := range []failure{unknownApplied, unknownNot} {
		store := newShaky()
		r := stored(t, store)
		s := opens(t, r, "alice")
		v := resumes(t, s, s.StandalonePosition())
		store.how, store.dark = how, 2
		_, err := s.Standalone().Emit([]byte("e"))
		failed := new(session.StoreError)
		if !errors.As(err, &failed) || !failed.Unknown {
			t.Fatalf("the emitter is told %v", err)
		}
		if _, err := v.Next(context.Background(), nil); !errors.Is(err, session.ErrSessionOver) {
			t.Errorf("the view got %v", err)
		}
		if _, _, err := s.Resume(session.Request{}); !errors.Is(err, spec.ReasonStoreUnavailable) {
			t.Errorf("who holds on to it is told %v", err)
		}
		_, err = r.Lookup("alice", s.ID(), spec.ClientResumes) // the store is still dark
		refuses(t, err, spec.ReasonStoreUnavailable)
		again := looksUp(t, r, s.ID())
		want := []string{}
		if how == unknownApplied {
			want = []string{"1:e"}
		}
		expect(t, "after it was read", append([]string{}, reads(resumes(t, again, s.StandalonePosition()))...), want...)
		if e, err := again.Standalone().Emit([]byte("f")); err != nil || int(e.ID.Seq) != len(want)+1 {
			t.Errorf("the next event is %v, %v", e.ID, err)
		}
	}
}

// A store that has not what it acknowledged, under the same generation, is not
// believed any more: the session ends, rather than that a seq means two events.
func TestAStoreThatContradictsItselfEndsTheSession(t *testing.T) {
	store := newShaky()
	r := stored(t, store)
	s := opens(t, r, "alice")
	s.Standalone().Emit([]byte("one"))
	store.forgets(t, s)
	_, err := s.Standalone().Emit([]byte("two"))
	refuses(t, err, spec.ReasonStoreUnavailable)
	_, err = r.Lookup("alice", s.ID(), spec.ClientResumes)
	refuses(t, err, spec.ReasonSessionTerminated)
	_, err = stored(t, store).Lookup("alice", s.ID(), spec.ClientResumes)
	refuses(t, err, spec.ReasonSessionTerminated)
}

// forgets puts the session of another history in the place of this one, under a
// hold that is as good.
func (s *shaky) forgets(t *testing.T, lost *session.Session) {
	t.Helper()
	s.MemoryStore = session.NewMemoryStore()
	if _, err := s.Begin(session.KeyOf(session.ParseSessionID(lost.ID())), "alice", time.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
}

// A call that nobody came back for ends durably, or not yet (R9b).
func TestACancelledCallEndsInTheStoreToo(t *testing.T) {
	store := newShaky()
	now := time.Now()
	r := registry(t, session.Options{Store: store, Notes: plainNotes{}, DetachBudget: time.Minute, Now: func() time.Time { return now }})
	s := opens(t, r, "alice")
	call, v, err := s.Call("c")
	if err != nil {
		t.Fatal(err)
	}
	v.Break()
	store.how = notApplied
	now = now.Add(2 * time.Minute)
	r.Sweep()
	if got := call.State(); got != spec.Detached {
		t.Fatalf("the store did not take the end, and the call is %v", got)
	}
	now = now.Add(2 * time.Minute)
	r.Sweep()
	again := looksUp(t, stored(t, store), s.ID())
	expect(t, "the call", reads(resumes(t, again, spec.PositionZero(s.Tag(), 1))), "1:"+session.UnknownText)
}

// A refused session leaves nothing in the store, and a store that does not take
// a session opens none.
func TestOpeningWithAStore(t *testing.T) {
	store := &noBegin{}
	r := stored(t, store)
	if _, err := r.Open("alice", nil); !errors.Is(err, spec.ReasonStoreUnavailable) {
		t.Errorf("open: %v", err)
	}
	if st := r.Stats(); st.Sessions != 0 {
		t.Errorf("%d sessions", st.Sessions)
	}
	r.Drain()
	_, err := r.Open("alice", nil)
	refuses(t, err, spec.ReasonDraining)
	if store.asked != 1 {
		t.Errorf("the store was asked %d times, want once", store.asked)
	}
	if _, err := session.NewRegistry(session.Options{Store: store, Generation: "1"}); err == nil {
		t.Error("a generation beside that of the store's")
	}
}

type noBegin struct {
	session.Store
	asked int
}

func (s *noBegin) Begin(session.Key, string, int64) (session.Hold, error) {
	s.asked++
	return session.Hold{}, errDark
}

// hookNotes are told of each session that comes back.
type hookNotes struct {
	plainNotes
	restored func() error
}

func (n hookNotes) Restored(any) error { return n.restored() }

// Given an application that fails, and then panics, when it is told of a session
// that came back, then nobody waits for that for ever, it is not counted as open,
// and the next one who asks gets it.
func TestAnApplicationThatFailsARestoration(t *testing.T) {
	store := newShaky()
	id := opens(t, stored(t, store), "alice").ID()
	way := 0
	r := registry(t, session.Options{Store: store, Sessions: 1, SubjectSessions: 1, Notes: hookNotes{restored: func() error {
		switch way++; way {
		case 1:
			return errDark
		case 2:
			panic("the application's own fault")
		}
		return nil
	}}})
	ask := func() (s *session.Session, err error, panicked any) {
		defer func() { panicked = recover() }()
		s, err = r.Lookup("alice", id, spec.ClientResumes)
		return s, err, nil
	}
	if _, err, _ := ask(); !errors.Is(err, errDark) || !errors.Is(err, spec.ReasonStoreUnavailable) {
		t.Errorf("it failed: %v", err)
	}
	if _, _, panicked := ask(); panicked == nil {
		t.Error("its panic was swallowed")
	}
	if s, err, _ := ask(); err != nil || s.State() != spec.Live || r.Stats().Sessions != 1 {
		t.Errorf("afterwards: %v, %d sessions", err, r.Stats().Sessions)
	}
}

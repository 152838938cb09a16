package session_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// Stories of sessions that a store keeps (R14).

// A shaky store is one in memory that can be told to fail.
type shaky struct {
	*session.MemoryStore
	how  failure // of the next append
	dark int     // so many reads fail then
	book []session.EntryKind
}

// A failure says what becomes of an append.
type failure int

const (
	sound          failure = iota
	notApplied             // and the store says so
	unknownApplied         // the answer is lost
	unknownNot             // the request is lost
)

var errDark = errors.New("the store does not answer")

func (s *shaky) Append(key session.Key, h session.Hold, e session.Entry) error {
	how := s.how
	s.how = sound
	switch how {
	case notApplied:
		return fmt.Errorf("%w: disk full", session.ErrNotApplied)
	case unknownNot:
		return errDark
	}
	err := s.MemoryStore.Append(key, h, e)
	if err == nil {
		s.book = append(s.book, e.Kind)
	}
	if how == unknownApplied {
		return errDark
	}
	return err
}

func (s *shaky) Take(key session.Key, subject string) (session.Hold, session.Image, error) {
	if s.dark > 0 {
		s.dark--
		return session.Hold{}, session.Image{}, errDark
	}
	return s.MemoryStore.Take(key, subject)
}

func newShaky() *shaky { return &shaky{MemoryStore: session.NewMemoryStore()} }

// plainNotes keep what calls were opened with, which are strings.
type plainNotes struct{}

func (plainNotes) Call(meta any) []byte { return fmt.Append(nil, meta) }
func (plainNotes) Restore(_ *session.Session, note []byte) (any, error) {
	return "restored: " + string(note), nil
}
func (plainNotes) RestoreCall(_ any, note []byte) any { return string(note) }
func (plainNotes) Restored(any) error                 { return nil }

func stored(t testing.TB, s session.Store) *session.Registry {
	return registry(t, session.Options{Store: s, Notes: plainNotes{}, WindowEvents: 8,
		Unknown: func(c session.LostCall) []byte { return fmt.Appendf(nil, "unknown: %v", c.Call) }})
}

func looksUp(t testing.TB, r *session.Registry, id string) *session.Session {
	t.Helper()
	s, err := r.Lookup("alice", id, spec.ClientResumes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reads takes everything that a view has.
func reads(v *session.View) (texts []string) {
	for {
		d, ok, err := v.TryNext(nil)
		if !ok || err != nil {
			return texts
		}
		texts = append(texts, fmt.Sprintf("%d:%s", d.ID.Ordinal, d.Payload))
	}
}

func resumes(t testing.TB, s *session.Session, cursor spec.EventID) *session.View {
	t.Helper()
	v, d, err := s.Resume(session.Request{Cursors: []string{cursor.String()}})
	if err != nil || v == nil {
		t.Fatalf("resume at %v: %+v, %v", cursor, d, err)
	}
	return v
}

func expect(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// Given a session with a window that has wrapped, an answered call and one that
// runs, when its process is gone and another one is asked for it, then
// everything goes on where it was, and the running call has an unknown outcome.
func TestASessionOutlivesItsProcess(t *testing.T) {
	store := newShaky()
	before := stored(t, store)
	s := opens(t, before, "alice")
	if err := s.Describe([]byte("mine")); err != nil {
		t.Fatal(err)
	}
	var ids []spec.EventID
	for i := range 6 {
		e, err := s.Standalone().Emit(fmt.Append(nil, "s", i+1))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	one, _, err := s.Call("first")
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := s.Call("second")
	if err != nil {
		t.Fatal(err)
	}
	one.Emit([]byte("progress"))
	one.Answer([]byte("answer"))
	last, _ := two.Emit([]byte("progress")) // evicts s1

	after := stored(t, store) // the first one is not even told
	again := looksUp(t, after, s.ID())
	if again == s || again.Tag() != s.Tag() || again.Meta() != "restored: mine" || again.State() != spec.Live {
		t.Errorf("restored: %v %v %v", again, again.Meta(), again.State())
	}
	expect(t, "the standalone stream", reads(resumes(t, again, ids[2])), "4:s4", "5:s5", "6:s6")
	expect(t, "the call that was answered", reads(resumes(t, again, spec.PositionZero(s.Tag(), 1))), "1:progress", "2:answer")
	expect(t, "the call that ran", reads(resumes(t, again, last.ID)), "2:unknown: second")
	_, _, err = again.Resume(session.Request{Cursors: []string{ids[0].String()}})
	refuses(t, err, spec.ReasonCursorEvicted)

	e, err := again.Standalone().Emit([]byte("s7"))
	if err != nil || e.ID.Seq != last.ID.Seq+2 || e.ID.Ordinal != 7 {
		t.Errorf("the next event is %v (%v), want seq %d and ordinal 7", e.ID, err, last.ID.Seq+2)
	}
	if three, _, err := again.Call("third"); err != nil || three.Number() != 3 {
		t.Errorf("the next stream: %v, %v", three, err)
	}
	if _, err := again.Stream(1).Emit([]byte("more")); !errors.Is(err, spec.ReasonStreamFinished) {
		t.Errorf("an event behind an answer: %v", err)
	}

	// The first process still has its copy. It finds out by the next thing that it does.
	if _, err := s.Standalone().Emit([]byte("s7")); !errors.Is(err, spec.ReasonStoreUnavailable) || !errors.Is(err, session.ErrHoldLost) {
		t.Errorf("an event under a hold that is lost: %v", err)
	}
	select {
	case <-two.Done():
	default:
		t.Error("the work of the first process goes on, for nobody")
	}
	if st := before.Stats(); st.Sessions != 0 || st.Remembered != 0 {
		t.Errorf("the first process still has it, or believes that it ended: %+v", st)
	}
}

// Who is asked for a session that another instance has taken since does not
// decide by what it once knew: it takes the session back, as it is now (R14).
func TestAStaleCopyDecidesNothing(t *testing.T) {
	store := newShaky()
	first, second := stored(t, store), stored(t, store)
	s := opens(t, first, "alice")
	e, err := looksUp(t, second, s.ID()).Standalone().Emit([]byte("elsewhere"))
	if err != nil {
		t.Fatal(err)
	}
	again := looksUp(t, first, s.ID())
	if again == s {
		t.Error("the first instance answers with its old copy")
	}
	v, d, err := again.Resume(session.Request{Cursors: []string{e.ID.String()}})
	if err != nil || v == nil {
		t.Errorf("the cursor of an event of the other instance: %+v, %v", d, err)
	}
}

// What views were handed is not stored, so a view without a cursor repeats
// nothing of before, and begins at the head (R7).
func TestAFreshViewRepeatsNothingAfterARestart(t *testing.T) {
	store := newShaky()
	s := opens(t, stored(t, store), "alice")
	s.Standalone().Emit([]byte("perhaps handed"))
	again := looksUp(t, stored(t, store), s.ID())
	v, _, err := again.Resume(session.Request{})
	if err != nil {
		t.Fatal(err)
	}
	again.Standalone().Emit([]byte("new"))
	expect(t, "a fresh view", reads(v), "2:new")
}

// An attempt that was granted is remembered: an older one comes too late (R10).
func TestAttemptsOutliveAProcess(t *testing.T) {
	store := newShaky()
	s := opens(t, stored(t, store), "alice")
	zero := []string{s.StandalonePosition().String()}
	if _, _, err := s.Resume(session.Request{Cursors: zero, Attempts: []string{"2.5"}}); err != nil {
		t.Fatal(err)
	}
	again := looksUp(t, stored(t, store), s.ID())
	_, _, err := again.Resume(session.Request{Cursors: zero, Attempts: []string{"1.9"}})
	refuses(t, err, spec.ReasonAttemptSuperseded)
	if _, _, err := again.Resume(session.Request{Cursors: zero, Attempts: []string{"2.5"}}); err != nil {
		t.Errorf("the same attempt: %v", err)
	}
}

// An end is an end in every process, and only its own subject learns of it.
func TestEndsOutliveAProcess(t *testing.T) {
	store := newShaky()
	first := stored(t, store)
	ended, closed := opens(t, first, "alice"), opens(t, first, "alice")
	if err := ended.Terminate(); err != nil {
		t.Fatal(err)
	}
	first.Close() // loses nothing (R12)
	second := stored(t, store)
	_, err := second.Lookup("alice", ended.ID(), spec.ClientResumes)
	refuses(t, err, spec.ReasonSessionTerminated)
	for _, id := range []string{ended.ID(), closed.ID(), session.SessionID{1}.Text()} {
		_, err := second.Lookup("bob", id, spec.ClientResumes)
		refuses(t, err, spec.ReasonSessionUnknown)
	}
	looksUp(t, second, closed.ID())
}

// A store that has lost something is of another generation: what was issued
// before is foreign, and no seq means two events.
func TestAnotherGenerationIsForeign(t *testing.T) {
	store := &renewed{shaky: newShaky()}
	s := opens(t, stored(t, store), "alice")
	e, _ := s.Standalone().Emit([]byte("lost"))
	store.generation = "2"
	if _, err := s.Standalone().Emit([]byte("refused")); !errors.Is(err, session.ErrHoldLost) {
		t.Fatalf("an append under the old generation: %v", err)
	}
	again := looksUp(t, stored(t, store), s.ID())
	_, _, err := again.Resume(session.Request{Cursors: []string{e.ID.String()}})
	refuses(t, err, spec.ReasonCursorForeign)
	if again.Tag() == s.Tag() || again.StandalonePosition() == s.StandalonePosition() {
		t.Error("the tag is the same in another generation")
	}
}

// renewed says another generation than its store.
type renewed struct {
	*shaky
	generation string
}

func (s *renewed) Begin(key session.Key, subject string, at int64) (session.Hold, error) {
	h, err := s.shaky.Begin(key, subject, at)
	h.Generation = s.generation
	return h, err
}

func (s *renewed) Take(key session.Key, subject string) (session.Hold, session.Image, error) {
	h, m, err := s.shaky.Take(key, subject)
	h.Generation = s.generation
	return h, m, err
}

func (s *renewed) Append(key session.Key, h session.Hold, e session.Entry) error {
	if h.Generation != s.generation {
		return session.ErrHoldLost
	}
	h.Generation = ""
	return s.shaky.Append(key, h, e)
}

func (s *renewed) Confirm(key session.Key, h session.Hold) error {
	if h.Generation != s.generation {
		return session.ErrHoldLost
	}
	h.Generation = ""
	return s.shaky.Confirm(key, h)
}

// An entry changes the image that it presumes, and no other one (R14).
func TestAnEntryAppliesToWhatItPresumes(t *testing.T) {
	m := session.NewImage("alice", 1)
	for i := range uint64(3) {
		if err := m.Apply(session.Entry{Kind: session.AppendsEvent, Seq: i, Ordinal: i + 1}); err != nil {
			t.Fatal(err)
		}
	}
	note := session.Entry{Kind: session.DescribesSession, Seq: 3, Evicted: 2, Data: []byte("note")}
	for _, seq := range []uint64{0, 2, 4} {
		wrong := note
		wrong.Seq, wrong.Evicted = seq, 0
		if err := m.Apply(wrong); !errors.Is(err, session.ErrConflict) || m.Note != nil || m.Seq != 3 {
			t.Errorf("an entry that presumes seq %d: %v, and the image is %+v", seq, err, m)
		}
	}
	if err := m.Apply(note); err != nil || string(m.Note) != "note" || len(m.Events) != 1 || m.Check() != nil {
		t.Errorf("an entry that presumes what is so: %v, and the image is %+v", err, m)
	}
}

package session_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// Stories of the registry: R3, R6 and R13 as a running server meets them.

func registry(t testing.TB, o session.Options) *session.Registry {
	t.Helper()
	r, err := session.NewRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func opens(t testing.TB, r *session.Registry, subject string) *session.Session {
	t.Helper()
	s, err := r.Open(subject, nil)
	if err != nil {
		t.Fatalf("open for %s: %v", subject, err)
	}
	return s
}

// everyWish is every trigger with which a request can name a session.
var everyWish = []spec.Trigger{spec.ClientInitializes, spec.ClientCalls, spec.ClientNotifies, spec.ClientResumes, spec.ClientTerminates}

func TestAnotherSubjectSeesWhatAnUnknownSessionShows(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	ended := opens(t, r, "alice")
	if err := ended.Terminate(); err != nil {
		t.Fatal(err)
	}
	unknown := strings.Repeat("A", 22)
	for _, wish := range everyWish {
		_, want := r.Lookup("bob", unknown, wish)
		refuses(t, want, spec.ReasonSessionUnknown)
		for what, id := range map[string]string{"live": s.ID(), "ended": ended.ID()} {
			_, err := r.Lookup("bob", id, wish)
			if err == nil || err.Error() != want.Error() {
				t.Errorf("%v: another subject's %s session: %v, an unknown one: %v", wish, what, err, want)
			}
		}
		if got, err := r.Lookup("alice", s.ID(), wish); got != s || err != nil {
			t.Errorf("%v: its own subject gets %v, %v", wish, got, err)
		}
	}
	if _, ok := r.Find("bob", s.ID()); ok {
		t.Error("found for another subject")
	}
	if got, ok := r.Find("alice", s.ID()); got != s || !ok {
		t.Error("not found for its own subject")
	}
}

// TestRestartForgetsEverything: a session of a server that is gone is unknown on
// every method, and asking for it creates nothing.
func TestRestartForgetsEverything(t *testing.T) {
	old := registry(t, session.Options{})
	s := opens(t, old, "alice")
	old.Close()
	fresh := registry(t, session.Options{})
	for _, wish := range everyWish {
		_, err := fresh.Lookup("alice", s.ID(), wish)
		refuses(t, err, spec.ReasonSessionUnknown)
	}
	if st := fresh.Stats(); st.Sessions != 0 || st.Remembered != 0 {
		t.Errorf("asking created %+v", st)
	}
}

func TestInitializeThatNamesAnUnknownSessionOpensNone(t *testing.T) {
	var rows []string
	r := registry(t, session.Options{Observe: func(o session.Observation) {
		if o.Step.Row != nil {
			rows = append(rows, o.Step.Row.ID)
		}
	}})
	_, err := r.Lookup("alice", strings.Repeat("A", 22), spec.ClientInitializes)
	refuses(t, err, spec.ReasonSessionUnknown)
	if len(rows) != 0 {
		t.Errorf("it fired %v", rows)
	}
	s := opens(t, r, "alice")
	refuses(t, s.Initialize(), spec.ReasonAlreadyInitialized)
	if len(rows) == 0 {
		t.Error("and nobody would have seen it")
	}
}

func TestOnlyOneTextNamesASession(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	id := s.ID()
	if len(id) != 22 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		t.Fatalf("id %q", id)
	}
	last := id[len(id)-1] // it holds 4 bits of padding
	var others []string
	for c := byte(' '); c <= '~'; c++ {
		if c != last {
			others = append(others, id[:21]+string(c))
		}
	}
	others = append(others, "", id[:21], id+"=", id+"A", " "+id, id+"\n", id[:20]+"\n"+id[20:], strings.Repeat("é", 11))
	for _, other := range others {
		if _, err := r.Lookup("alice", other, spec.ClientCalls); !errors.Is(err, spec.ReasonSessionUnknown) {
			t.Errorf("%q finds the session %q: %v", other, id, err)
		}
	}
}

func TestSessionIDsAreNotRepeatedNorLogged(t *testing.T) {
	var log bytes.Buffer
	r := registry(t, session.Options{
		SubjectSessions: 300, DetachBudget: time.Hour,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	seen := map[string]bool{}
	for range 300 {
		s := opens(t, r, "alice")
		id := s.ID()
		if seen[id] {
			t.Fatalf("id %s came twice", id)
		}
		seen[id] = true
		_, v, err := s.Call(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Break(); err != nil {
			t.Fatal(err)
		}
		_, _, _ = s.Resume(session.Request{Cursors: []string{"nonsense"}})
		_, _, _ = s.Resume(session.Request{})
		slog.New(slog.NewTextHandler(&log, nil)).Info("printed", "session", s)
		if err := s.Terminate(); err != nil {
			t.Fatal(err)
		}
	}
	for _, sometimes := range []string{"opened", "refused", "ended", "work cancelled", "printed"} {
		if !strings.Contains(log.String(), sometimes) {
			t.Errorf("the log never says %q", sometimes)
		}
	}
	for id := range seen {
		if strings.Contains(log.String(), id) {
			t.Fatalf("the log gives away the session id %s", id)
		}
	}
}

func TestSessionsAreCapped(t *testing.T) {
	r := registry(t, session.Options{Sessions: 3, SubjectSessions: 2})
	first := opens(t, r, "alice")
	opens(t, r, "alice")
	_, err := r.Open("alice", nil)
	refuses(t, err, spec.ReasonTooManySessions) // hers
	opens(t, r, "bob")
	_, err = r.Open("carol", nil)
	refuses(t, err, spec.ReasonTooManySessions) // the server's
	if st := r.Stats(); st.Sessions != 3 || st.Subjects != 2 {
		t.Errorf("%+v: a full server forgets nobody", st)
	}
	if err := first.Terminate(); err != nil {
		t.Fatal(err)
	}
	opens(t, r, "carol")
}

func TestMetaIsTheApplications(t *testing.T) {
	r := registry(t, session.Options{})
	s, err := r.Open("alice", 1)
	if err != nil || s.Meta() != 1 || s.Subject() != "alice" {
		t.Fatal(s, err)
	}
	s.SetMeta(2)
	st, v, err := s.Call("three")
	if err != nil || s.Meta() != 2 || st.Meta() != "three" || v.Stream() != st || st.Session() != s || v.Session() != s {
		t.Fatal(s.Meta(), st.Meta(), err)
	}
	if got := s.Stream(st.Number()); got != st {
		t.Error("a stream has two handles")
	}
	if s.Stream(7).State() != spec.Unopened {
		t.Error("stream 7 is", s.Stream(7).State())
	}
}

func TestLeavingWithoutEnteringIsOurOwnFault(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	s.Enter()
	s.Leave()
	defer func() {
		if recover() == nil {
			t.Error("a request left that had not entered")
		}
	}()
	s.Leave()
}

func TestOptionsThatContradictEachOther(t *testing.T) {
	for name, o := range map[string]session.Options{
		"WindowEvents":    {WindowEvents: -1},
		"WindowAge":       {WindowAge: time.Microsecond},
		"Age":             {WindowAge: 50 * 24 * time.Hour},
		"EventBytes":      {WindowBytes: 100, EventBytes: 100},
		"SubjectSessions": {Sessions: 5, SubjectSessions: 6},
		"Streams":         {Streams: 64, Requests: 64},
		"Requests":        {Streams: 1},
		"DetachBudget":    {DetachBudget: -time.Second},
	} {
		r, err := session.NewRegistry(o)
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []session.Options{
		{},
		{WindowBytes: 100, EventBytes: 99},
		{WindowBytes: 100}, // the default of EventBytes follows
		{Sessions: 5},
		{Streams: 2},
		{Streams: 65, Requests: 64},
	} {
		r, err := session.NewRegistry(o)
		if err != nil {
			t.Errorf("%+v: %v", o, err)
			continue
		}
		r.Close()
	}
}

func TestTooLargeThroughTheRegistry(t *testing.T) {
	r := registry(t, session.Options{EventBytes: 10})
	st := opens(t, r, "alice").Standalone()
	_, err := st.Emit(make([]byte, 11))
	var tooLarge *window.TooLargeError
	if !errors.Is(err, spec.ReasonEventTooLarge) || !errors.As(err, &tooLarge) {
		t.Errorf("got %v", err)
	}
	if e, err := st.Emit(make([]byte, 10)); err != nil || e.ID.Seq != 1 {
		t.Errorf("and then %v, %v", e.ID, err)
	}
}

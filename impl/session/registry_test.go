package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// Stories of the registry: R3, R6, R9b, R12 and R13 as a running server meets
// them. Time is virtual.

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

func TestEndsAreRememberedWithinBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{RememberedEnds: 2, RememberedEndAge: time.Minute, SessionBudget: 10 * time.Second})
		end := func() string {
			s := opens(t, r, "alice")
			if err := s.Terminate(); err != nil {
				t.Fatal(err)
			}
			return s.ID()
		}
		says := func(id string, want spec.Reason) {
			t.Helper()
			_, err := r.Lookup("alice", id, spec.ClientCalls)
			refuses(t, err, want)
		}
		first, second := end(), end()
		says(first, spec.ReasonSessionTerminated)
		third := end()
		says(first, spec.ReasonSessionUnknown) // by count
		says(second, spec.ReasonSessionTerminated)
		time.Sleep(30 * time.Second)
		idle := opens(t, r, "alice")
		time.Sleep(11 * time.Second)
		says(idle.ID(), spec.ReasonSessionExpired)
		says(third, spec.ReasonSessionTerminated)
		time.Sleep(20 * time.Second)
		says(third, spec.ReasonSessionUnknown) // by age
		says(idle.ID(), spec.ReasonSessionExpired)
		time.Sleep(time.Minute)
		if st := r.Stats(); st.Remembered != 0 {
			t.Errorf("%d ends are remembered for ever", st.Remembered)
		}
	})
}

// TestAliveIsAlive: what is in use outlives its budgets five times, and a
// stream that is resumed just within its budget is not cancelled.
func TestAliveIsAlive(t *testing.T) {
	budgets := session.Options{DetachBudget: time.Second, SessionBudget: time.Second}
	for name, use := range map[string]func(t *testing.T, s *session.Session){
		"a view is open": func(t *testing.T, s *session.Session) {
			v, _, err := s.Resume(session.Request{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if err := v.Break(); err != nil {
				t.Fatal(err)
			}
		},
		"a call is running": func(t *testing.T, s *session.Session) {
			st, v, err := s.Call(nil)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if _, err := st.Answer([]byte("done")); err != nil {
				t.Fatal(err)
			}
			if d, err := v.Next(t.Context(), nil); err != nil || string(d.Payload) != "done" {
				t.Fatal(d, err)
			}
		},
		"a call without a reader is answered": func(t *testing.T, s *session.Session) {
			st, v, err := s.Call(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Break(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(700 * time.Millisecond)
			if _, err := st.Answer([]byte("done")); err != nil {
				t.Fatal(err)
			}
		},
		"a call without a reader is cancelled": func(t *testing.T, s *session.Session) {
			st, v, err := s.Call(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Break(); err != nil {
				t.Fatal(err)
			}
			<-st.Done()
		},
		"a request is open": func(t *testing.T, s *session.Session) {
			s.Enter()
			time.Sleep(5 * time.Second)
			s.Leave()
		},
		"a stream is resumed within its budget": func(t *testing.T, s *session.Session) {
			st, v, err := s.Call(nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				if err := v.Break(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(900 * time.Millisecond)
				if v, _, err = s.Resume(session.Request{Cursors: []string{spec.PositionZero(s.Tag(), st.Number()).String()}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := st.Answer([]byte("done")); err != nil {
				t.Fatal(err)
			}
			if d, err := v.Next(t.Context(), nil); err != nil || !d.Last {
				t.Fatal(d, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := registry(t, budgets)
				s := opens(t, r, "alice")
				use(t, s)
				time.Sleep(900 * time.Millisecond) // the budget begins when the use ends
				if s.State() != spec.Live {
					t.Fatalf("after its use the session is %v", s.State())
				}
				time.Sleep(200 * time.Millisecond)
				if s.State() != spec.Expired {
					t.Fatalf("after its budget the session is %v", s.State())
				}
			})
		})
	}
}

func TestThinkingAgentKeepsItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{})
		s := opens(t, r, "alice")
		for range 5 {
			time.Sleep(10 * time.Minute) // POSTs only, and no view between them
			st, v, err := s.Call(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Answer([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := v.Next(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(31 * time.Minute)
		if s.State() != spec.Expired {
			t.Errorf("a session that nobody uses is %v", s.State())
		}
	})
}

func TestEmittingIsNoSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{SessionBudget: 10 * time.Second})
		s := opens(t, r, "alice")
		for range 12 {
			time.Sleep(time.Second)
			_, _ = s.Standalone().Emit([]byte("news"))
		}
		if s.State() != spec.Expired {
			t.Errorf("a session that only its server talks in is %v", s.State())
		}
	})
}

func TestAbandonedCallIsCancelledAndFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{
			DetachBudget: time.Minute, WindowAge: time.Minute, SessionBudget: time.Hour,
			Unknown: func(c session.LostCall) []byte { return []byte(c.Call.(string)) },
		})
		s := opens(t, r, "alice")
		st, v, err := s.Call("call 7")
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Break(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		select {
		case <-st.Done():
			t.Fatal("cancelled within the budget")
		default:
		}
		gone := time.Now()
		<-st.Done()
		if late := time.Since(gone); late > 2*time.Second {
			t.Errorf("cancelled %v late", late-time.Second)
		}
		if _, err := st.Answer(nil); !errors.Is(err, spec.ReasonStreamFinished) {
			t.Errorf("the handler answers too late: %v", err)
		}
		v, _, err = s.Resume(session.Request{Cursors: []string{v.Position().String()}})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := v.Next(t.Context(), nil); err != nil || string(d.Payload) != "call 7" || !d.Last {
			t.Fatalf("%q, %v", d.Payload, err)
		}
		time.Sleep(62 * time.Second)
		if st.State() != spec.Forgotten {
			t.Errorf("long after its end the stream is %v", st.State())
		}
		if s.State() != spec.Live {
			t.Errorf("and its session %v", s.State())
		}
		select {
		case <-s.Stream(st.Number()).Done():
		default:
			t.Error("a late handle does not know that the work was cancelled")
		}
	})
}

func TestEventsAgeWithoutTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{WindowAge: time.Minute})
		s := opens(t, r, "alice")
		cursor := s.StandalonePosition().String()
		if _, err := s.Standalone().Emit([]byte("x")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Second)
		if _, _, err := s.Resume(session.Request{Cursors: []string{cursor}}); err != nil {
			t.Fatalf("within its age: %v", err)
		}
		time.Sleep(2 * time.Second)
		_, d, err := s.Resume(session.Request{Cursors: []string{cursor}})
		refuses(t, err, spec.ReasonCursorEvicted)
		if d.Floor.Ordinal != 1 || d.Head.Ordinal != 1 {
			t.Errorf("floor %v, head %v", d.Floor, d.Head)
		}
	})
}

func TestNextWakesForEventsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{})
		s := opens(t, r, "alice")
		for _, c := range []struct {
			name string
			do   func(*session.View) error
			want error
		}{
			{"superseded", func(*session.View) error { _, _, err := s.Resume(session.Request{}); return err }, session.ErrSuperseded},
			{"ended on purpose", func(v *session.View) error { return v.Stream().EndView() }, session.ErrViewEnded},
			{"broken", func(v *session.View) error { return v.Break() }, session.ErrBroken},
			{"session over", func(*session.View) error { return s.Terminate() }, session.ErrSessionOver},
		} {
			v, _, err := s.Resume(session.Request{})
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan error)
			go func() {
				d, err := v.Next(t.Context(), nil)
				if err == nil && string(d.Payload) != "x" {
					err = errors.New("took " + string(d.Payload))
				}
				got <- err
				_, err = v.Next(t.Context(), nil)
				got <- err
			}()
			synctest.Wait() // it sleeps
			if _, err := s.Standalone().Emit([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := <-got; err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			synctest.Wait()
			if err := c.do(v); err != nil {
				t.Fatal(err)
			}
			if err := <-got; !errors.Is(err, c.want) {
				t.Errorf("the reader of a view that is %s gets %v", c.name, err)
			}
			if err := v.Break(); err != nil {
				t.Errorf("%s: breaking a view that has ended: %v", c.name, err)
			}
		}
	})
}

func TestNextGivesUpWithItsContext(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	v, _, err := s.Resume(session.Request{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Next(ctx, nil); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if _, err := s.Standalone().Emit([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if d, err := v.Next(t.Context(), nil); err != nil || string(d.Payload) != "x" {
		t.Errorf("and then %q, %v: the view was not to end", d.Payload, err)
	}
}

func TestEventsOfAViewThatIsDelivered(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	st, v, err := s.Call(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"1", "2"} {
		if _, err := st.Emit([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.Answer([]byte("3")); err != nil {
		t.Fatal(err)
	}
	if v.Lag() != 3 || v.Mode() != "attach" || v.Finished() || v.Skipped() != 0 || v.Position() != spec.PositionZero(s.Tag(), st.Number()) {
		t.Errorf("lag %d, mode %s, position %v", v.Lag(), v.Mode(), v.Position())
	}
	var all string
	for d, err := range v.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all += string(d.Payload)
		if d.Last != (all == "123") {
			t.Errorf("%q is last: %v", d.Payload, d.Last)
		}
	}
	if all != "123" {
		t.Errorf("the view yields %s", all)
	}
	if _, err := v.Next(t.Context(), nil); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	select {
	case <-st.Done():
		t.Error("an answer is no cancellation")
	default:
	}
}

func TestTakeStopsWhereItIsTold(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	v, _, err := s.Resume(session.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"1", "2", "3", "4"} {
		if _, err := s.Standalone().Emit([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	var wire []byte
	for _, want := range []struct {
		n    int
		wire string
	}{{2, "12"}, {2, "1234"}, {0, "1234"}} {
		n, err := v.Take(func(d session.Delivery) bool {
			wire = append(wire, d.Payload...)
			return len(wire)%2 != 0
		})
		if err != nil || n != want.n || string(wire) != want.wire {
			t.Fatalf("took %d, wire %s, %v", n, wire, err)
		}
	}
}

func TestDrainAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{})
		s := opens(t, r, "alice")
		st, call, err := s.Call(nil)
		if err != nil {
			t.Fatal(err)
		}
		get, _, err := s.Resume(session.Request{})
		if err != nil {
			t.Fatal(err)
		}
		r.Drain()
		for _, v := range []*session.View{call, get} {
			if _, err := v.Next(t.Context(), nil); !errors.Is(err, session.ErrViewEnded) {
				t.Errorf("stream %d: %v", v.Stream().Number(), err)
			}
		}
		_, err = r.Open("bob", nil)
		refuses(t, err, spec.ReasonDraining)
		_, _, err = s.Resume(session.Request{})
		refuses(t, err, spec.ReasonDraining)
		_, _, err = s.Call(nil)
		refuses(t, err, spec.ReasonDraining)
		if _, err := st.Answer([]byte("still")); err != nil {
			t.Error(err)
		}
		if !r.Stats().Draining {
			t.Error("it does not say that it drains")
		}
		r.Close()
		<-s.Done()
		<-st.Done()
		if st := r.Stats(); st.Sessions != 0 || st.Subjects != 0 {
			t.Errorf("closed, it holds %+v", st)
		}
		r.Close() // once more is nothing
	})
}

func TestDoneOfEveryEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{SessionBudget: time.Second})
		s := opens(t, r, "alice")
		done := s.Done()
		select {
		case <-done:
			t.Fatal("done while it lives")
		default:
		}
		<-done // it expires
		<-s.Done()
		other := opens(t, r, "alice")
		if err := other.Terminate(); err != nil {
			t.Fatal(err)
		}
		<-other.Done() // asked for afterwards only
	})
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

// TestIdleSessionIsSmall measures what 10,000 sessions take in which nothing
// happens, their places in the registry included.
func TestIdleSessionIsSmall(t *testing.T) {
	const many = 10_000
	r := registry(t, session.Options{SubjectSessions: many})
	opens(t, r, "alice") // what the first one of all needs
	goroutines, before := runtime.NumGoroutine(), heap()
	for range many - 1 {
		opens(t, r, "alice")
	}
	each := (heap() - before) / many
	t.Logf("an idle session takes %d bytes", each)
	if each > 200 {
		t.Errorf("an idle session takes %d bytes, want at most 200", each)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines were started", n-goroutines)
	}
	runtime.KeepAlive(r)
}

func TestEmitAndDeliverAllocateNothing(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	st, payload := s.Standalone(), make([]byte, 256)
	for range 600 { // the window is full, and as large as it gets
		if _, err := st.Emit(payload); err != nil {
			t.Fatal(err)
		}
	}
	v, _, err := s.Resume(session.Request{})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 256)
	read := func() {
		for {
			d, ok, err := v.TryNext(buf)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return
			}
			buf = d.Payload
		}
	}
	read()
	for name, f := range map[string]func(){
		"emit without anybody waiting": func() { _, _ = st.Emit(payload); _, _ = st.Emit(payload); read() },
		"emit to a waiting reader":     func() { _, _ = st.Emit(payload); read() },
	} {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

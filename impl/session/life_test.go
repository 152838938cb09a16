package session_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// Stories of R6, R9b and R12: what keeps a session alive, and what ends it. Time
// is virtual.

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
		if _, err := get.Next(t.Context(), nil); !errors.Is(err, session.ErrViewEnded) {
			t.Errorf("the standalone stream: %v", err)
		}
		if _, _, err := call.TryNext(nil); err != nil {
			t.Errorf("the call's stream: %v", err)
		}
		_, err = r.Open("bob", nil)
		refuses(t, err, spec.ReasonDraining)
		_, _, err = s.Resume(session.Request{})
		refuses(t, err, spec.ReasonDraining)
		_, _, err = s.Call(nil)
		refuses(t, err, spec.ReasonDraining)
		if _, err := st.Emit([]byte("still")); err != nil {
			t.Error(err)
		}
		r.EndViews()
		if _, err := call.Next(t.Context(), nil); !errors.Is(err, session.ErrViewEnded) {
			t.Errorf("the call's stream, when the time is up: %v", err)
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

// TestTableThatKeepsEverythingAlive: with the rows of the budgets deleted the
// registry refuses to end anything, and is not kept busy by it.
func TestTableThatKeepsEverythingAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machines, err := fsm.NewServer(spec.SessionTable().Without("SS14"), spec.StreamTable().Without("ST44"))
		if err != nil {
			t.Fatal(err)
		}
		refused := map[spec.Trigger]int{}
		r := registry(t, session.Options{
			Machines: machines, DetachBudget: time.Second, SessionBudget: time.Second,
			Observe: func(o session.Observation) {
				if o.Refused != nil {
					refused[o.Refused.Trigger]++
				}
			},
		})
		idle, calling := opens(t, r, "alice"), opens(t, r, "alice")
		_, v, err := calling.Call(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Break(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if idle.State() != spec.Live || calling.State() != spec.Live || v.Stream().State() != spec.Detached {
			t.Errorf("%v, %v, %v", idle.State(), calling.State(), v.Stream().State())
		}
		for _, trigger := range []spec.Trigger{spec.SessionBudgetElapses, spec.DetachBudgetElapses} {
			if n := refused[trigger]; n < 5 || n > 10 {
				t.Errorf("%v was refused %d times in 10 budgets", trigger, n)
			}
		}
	})
}

func TestDrainedViewsWereInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{SessionBudget: time.Minute})
		s := opens(t, r, "alice")
		if _, _, err := s.Resume(session.Request{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		r.Drain()
		time.Sleep(50 * time.Second)
		if s.State() != spec.Draining {
			t.Errorf("within its budget the session is %v", s.State())
		}
		time.Sleep(15 * time.Second)
		if s.State() != spec.Expired {
			t.Errorf("after its budget the session is %v", s.State())
		}
	})
}

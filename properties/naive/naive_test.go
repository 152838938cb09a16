package naive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	"example.com/reattach/properties/naive"
)

// Each test shows one corruption, and that it is gone when the fault is: what
// the fault does is done by nothing else.

func TestReplayInclusiveAppliesTwice(t *testing.T) {
	for faults, want := range map[naive.ServerFault]string{
		naive.ReplayInclusive: "a b b c answer",
		0:                     "a b c answer",
	} {
		t.Run(faults.String(), func(t *testing.T) {
			s := newStage(t, naive.ServerOptions{Faults: faults}, naive.AppendBlindly, "a b | c", cut{event: 2})
			if err := s.call(); err != nil {
				t.Fatal(err)
			}
			s.expect(want, 1)
		})
	}
}

func TestReplayInclusiveIsNoticedByAClientThatCompares(t *testing.T) {
	s := newStage(t, naive.ServerOptions{Faults: naive.ReplayInclusive}, 0, "a b | c", cut{event: 2})
	if err := s.call(); !errors.Is(err, naive.ErrNotNext) {
		t.Errorf("call: %v, want ErrNotNext", err)
	}
	s.expect("a b", 1)
}

func TestReplayFromStartAppliesHistoryTwice(t *testing.T) {
	// The cursor names b, and only the newest three are good for a cursor.
	const script = "a b | c d e f g"
	for faults, want := range map[naive.ServerFault]string{
		naive.ReplayFromStart | naive.KeepEverything: "a b a b c d e f g answer",
		naive.ReplayFromStart:                        "a b f g answer", // what is left of it: a hole
	} {
		t.Run(faults.String(), func(t *testing.T) {
			s := newStage(t, naive.ServerOptions{Faults: faults, Window: 3}, naive.AppendBlindly, script, cut{event: 2})
			s.late = true
			if err := s.call(); err != nil {
				t.Fatal(err)
			}
			s.expect(want, 1)
		})
	}
	t.Run("none", func(t *testing.T) {
		s := newStage(t, naive.ServerOptions{Window: 3}, naive.AppendBlindly, script, cut{event: 2})
		s.late = true
		if err := s.call(); !errors.Is(err, naive.ErrRefused) {
			t.Errorf("call: %v, want ErrRefused", err)
		}
		s.expect("a b", 1)
	})
}

func TestKeepEverythingGrows(t *testing.T) {
	const events = 400
	script := ""
	for range events {
		script += "x "
	}
	retained := func(faults naive.ServerFault) (sessions int, bytes int64) {
		before := heap()
		s := newStage(t, naive.ServerOptions{Faults: faults, Window: 4, Forget: 20 * time.Millisecond}, naive.AppendBlindly, script)
		for range 20 {
			// Each session's client goes away at the first event, for good.
			if err := s.client.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, leave := context.WithCancel(t.Context())
			s.mu.Lock()
			s.on, s.then = "x", leave
			s.mu.Unlock()
			s.client.Call(ctx, json.RawMessage(`{}`))
			leave()
			<-s.ended
		}
		for end := time.Now().Add(5 * time.Second); faults == 0 && s.server.Sessions() > 0 && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		bytes = heap() - before
		sessions = s.server.Sessions()
		runtime.KeepAlive(s)
		return sessions, bytes
	}
	if n, bytes := retained(naive.KeepEverything); n != 21 || bytes < 20*events*60 {
		t.Errorf("kept %d sessions and %d bytes, want all 21 and every event", n, bytes)
	}
	if n, bytes := retained(0); n != 0 || bytes > 20*events*60 {
		t.Errorf("without the fault %d sessions and %d bytes are kept, want none", n, bytes)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestRollingDeploy(t *testing.T) {
	// The first instance ends its streams cleanly and another takes the
	// address. Whoever mints a session there greets it.
	deploy := func(t *testing.T, next naive.ServerFault, cf naive.ClientFault) (*stage, error) {
		s := newStage(t, naive.ServerOptions{Name: "old"}, cf, "a b |")
		second := s.newServer(naive.ServerOptions{Name: "new", Faults: next, Greet: func(_ string, emit func(json.RawMessage)) {
			emit(named("hello"))
			emit(named("progress"))
		}}, "A B")
		s.whenApplied("b", func() {
			s.mu.Lock()
			s.handler = second
			s.mu.Unlock()
			s.server.Drain()
		})
		return s, s.call()
	}
	t.Run("minted session is merged and the call runs again", func(t *testing.T) {
		s, err := deploy(t, naive.MintOnResume, naive.TrustStatus|naive.AppendBlindly|naive.RetryPOST)
		if err != nil {
			t.Fatal(err)
		}
		s.expect("a b hello progress A B answer", 2)
	})
	t.Run("a client that compares sessions applies nothing", func(t *testing.T) {
		s, err := deploy(t, naive.MintOnResume, 0)
		if !errors.Is(err, naive.ErrSessionChanged) {
			t.Errorf("call: %v, want ErrSessionChanged", err)
		}
		s.expect("a b", 1)
	})
	t.Run("404 is renewed in silence and the call runs again", func(t *testing.T) {
		s, err := deploy(t, 0, naive.RenewOn404|naive.AppendBlindly)
		if err != nil {
			t.Fatal(err)
		}
		s.expect("a b hello progress A B answer", 2)
	})
	t.Run("404 is believed", func(t *testing.T) {
		s, err := deploy(t, 0, naive.AppendBlindly)
		if !errors.Is(err, naive.ErrSessionGone) {
			t.Errorf("call: %v, want ErrSessionGone", err)
		}
		s.expect("a b", 1)
	})
}

func TestRestartIDsReplaysOtherEvents(t *testing.T) {
	// The first call has issued 1 to 3. The second is cut after its first
	// event, so the cursor should be 4; numbered anew it is 1.
	for faults, want := range map[naive.ServerFault]string{
		naive.RestartIDs: "a b answer a b answer a b answer",
		0:                "a b answer a b answer",
	} {
		t.Run(faults.String(), func(t *testing.T) {
			s := newStage(t, naive.ServerOptions{Faults: faults}, naive.AppendBlindly, "a b")
			if err := s.call(); err != nil {
				t.Fatal(err)
			}
			s.cutNext(1)
			if err := s.call(); err != nil {
				t.Fatal(err)
			}
			s.expect(want, 2)
		})
	}
}

func TestAcceptAnyCursorSkipsOrRepeats(t *testing.T) {
	// The session's log is a b c answer, and both cursors are of another one.
	foreign := map[string]int{"another-session:2": 2, "another-session:999": 0} // events that each gets
	for faults, status := range map[naive.ServerFault]int{
		naive.AcceptAnyCursor: http.StatusOK,
		0:                     http.StatusConflict,
	} {
		t.Run(faults.String(), func(t *testing.T) {
			s := newStage(t, naive.ServerOptions{Faults: faults}, naive.AppendBlindly, "a b c")
			if err := s.call(); err != nil {
				t.Fatal(err)
			}
			for cursor, events := range foreign {
				req, _ := http.NewRequest(http.MethodGet, "http://example.test/", nil)
				req.Header.Set("Mcp-Session-Id", s.client.Token().Session)
				req.Header.Set("Last-Event-ID", cursor)
				got, n := s.answer(req)
				if got != status {
					t.Errorf("cursor %s: status %d, want %d", cursor, got, status)
				}
				if status == http.StatusOK && n != events {
					t.Errorf("cursor %s: %d events, want %d", cursor, n, events)
				}
			}
		})
	}
}

func TestTokenFirstLosesTheEventThatWasCut(t *testing.T) {
	for faults, want := range map[naive.ClientFault]string{
		naive.TokenFirst: "a c answer",
		0:                "a b c answer",
	} {
		t.Run(faults.String(), func(t *testing.T) {
			s := newStage(t, naive.ServerOptions{}, faults, "a b | c", cut{event: 2, inside: true})
			if err := s.call(); err != nil {
				t.Fatal(err)
			}
			s.expect(want, 1)
		})
	}
}

func TestTokenFirstLosesTheEventOfACrash(t *testing.T) {
	for faults, want := range map[naive.ClientFault]string{
		naive.TokenFirst: "a c answer",
		0:                "a b c answer",
	} {
		t.Run(faults.String(), func(t *testing.T) {
			s := newStage(t, naive.ServerOptions{}, faults, "a b c")
			s.crash = "b"
			if err := s.call(); err == nil {
				t.Fatal("the application did not crash")
			}
			if err := s.client.Resume(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.expect(want, 1)
		})
	}
}

func TestApplyPartialAppliesGarbage(t *testing.T) {
	for faults, want := range map[naive.ClientFault]string{
		naive.ApplyPartial: "a garbled c answer",
		0:                  "a b c answer",
	} {
		t.Run(faults.String(), func(t *testing.T) {
			s := newStage(t, naive.ServerOptions{}, faults, "a b | c", cut{event: 2, inside: true})
			if err := s.call(); err != nil {
				t.Fatal(err)
			}
			s.expect(want, 1)
		})
	}
}

func TestRetryPOSTExecutesTwice(t *testing.T) {
	// The connection breaks inside the first event: there is nothing to resume
	// from, and the call has been executed.
	s := newStage(t, naive.ServerOptions{}, naive.RetryPOST|naive.AppendBlindly, "a", cut{event: 1, inside: true})
	if err := s.call(); err != nil {
		t.Fatal(err)
	}
	s.expect("a answer", 2)

	s = newStage(t, naive.ServerOptions{}, naive.AppendBlindly, "a", cut{event: 1, inside: true})
	if err := s.call(); !errors.Is(err, naive.ErrUnanswered) {
		t.Errorf("call: %v, want ErrUnanswered", err)
	}
	s.expect("", 1)
}

func TestFaultsHaveNames(t *testing.T) {
	got := fmt.Sprint(naive.ReplayInclusive|naive.AcceptAnyCursor, " ", naive.TrustStatus|naive.RetryPOST, " ", naive.ServerFault(0))
	if want := "ReplayInclusive+AcceptAnyCursor TrustStatus+RetryPOST none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

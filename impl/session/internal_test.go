package session

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSweepEvictsWithoutTraffic: nobody asks for the session again, and yet its
// memory is given back.
func TestSweepEvictsWithoutTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := NewRegistry(Options{WindowAge: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s, err := r.Open("alice", nil)
		if err != nil {
			t.Fatal(err)
		}
		retained := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.core.window.Len()
		}
		for round := range 3 {
			for range 5 {
				if _, err := s.Standalone().Emit([]byte("x")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
			}
			if n := retained(); n != 5 {
				t.Errorf("round %d: %d events retained within their age", round, n)
			}
			time.Sleep(35 * time.Second)
			if n := retained(); n != 2 {
				t.Errorf("round %d: %d events retained, want the 2 of the last minute", round, n)
			}
			time.Sleep(time.Minute)
			if n := retained(); n != 0 {
				t.Errorf("round %d: %d events retained beyond their age", round, n)
			}
		}
	})
}

func TestSessionIDText(t *testing.T) {
	all := SessionID{}
	for i := range all {
		all[i] = 0xFF
	}
	for _, id := range []SessionID{{}, all, newSessionID(), newSessionID()} {
		text := id.Text()
		if got, ok := parseSessionID(text); !ok || got.id() != id || got != id.key() {
			t.Errorf("%x is written %s and read %x, %v", id, text, got, ok)
		}
	}
	if _, ok := parseSessionID(strings.Replace(all.Text(), "_", "!", 1)); ok {
		t.Error("a character that is no digit was read as one")
	}
}

// ParseSessionID is for tests that look into a store.
func ParseSessionID(text string) SessionID {
	key, _ := parseSessionID(text)
	return key.id()
}

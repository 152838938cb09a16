package session_test

import (
	"runtime"
	"testing"

	"example.com/reattach/impl/session"
)

// What sessions, emitting and delivering cost.

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

package properties

import (
	"flag"
	"math/bits"
	"runtime"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/window"
)

var memorySessions = flag.Int("memory.sessions", 2000, "sessions of TestMemoryFormula")

// memoryFormula is what docs/operating.md says that n sessions take, in bytes,
// each of which retains so many events of so many bytes on its standalone
// stream.
func memoryFormula(n, events, size int) int {
	const idle, body = 184, 384 // a session with its place in the registry; what a window has that is not empty
	each := idle
	if events > 0 {
		each += body + window.EntryBytes<<bits.Len(uint(events-1)) + events*size*5/4
	}
	return n * each
}

// The formula tells the truth: what sessions take is measured at three sizes,
// and is no more than it says, and no less than seven tenths of that.
func TestMemoryFormula(t *testing.T) {
	for _, c := range []struct {
		what         string
		events, size int
	}{{"idle", 0, 0}, {"16 events of 256 bytes", 16, 256}, {"a full window of 256 bytes each", 256, 256}} {
		n := *memorySessions
		if raceDetector {
			n = min(n, 300)
		}
		if c.events > 16 {
			n = min(n, 10_000) // or it would not fit
		}
		registry, err := session.NewRegistry(session.Options{Sessions: n, SubjectSessions: n})
		if err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, c.size)
		before := heapInUse()
		for range n {
			s, err := registry.Open("", nil)
			if err != nil {
				t.Fatal(err)
			}
			for range c.events {
				if _, err := s.Standalone().Emit(payload); err != nil {
					t.Fatal(err)
				}
			}
		}
		measured, computed := heapInUse()-before, int64(memoryFormula(n, c.events, c.size))
		t.Logf("%d sessions, %s: measured %d bytes, computed %d (%.2f)", n, c.what, measured, computed, float64(measured)/float64(computed))
		if measured > computed || measured < computed*7/10 {
			t.Errorf("%s: %d bytes, and the formula says %d", c.what, measured, computed)
		}
		registry.Close()
	}
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

package window_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"example.com/reattach/impl/window"
)

// An idle session, its standalone stream open, costs the header alone.
func TestIdleWindowIsItsHeader(t *testing.T) {
	var w window.Window
	w.Open(0)
	if w.MemoryBytes() != window.HeaderBytes || window.HeaderBytes > 32 {
		t.Errorf("an idle window takes %d bytes, its header %d, want 32", w.MemoryBytes(), window.HeaderBytes)
	}
}

// A full window of 256 events of 256 bytes takes at most a tenth more than its
// payload, and MemoryBytes says what the allocator says.
func TestFullWindowMemory(t *testing.T) {
	const windows, payload = 100, 256 * 256
	ws := make([]window.Window, windows)
	data := make([]byte, 256)
	before := heap()
	for i := range ws {
		ws[i].Open(0)
		for range 1000 {
			_, _, _ = ws[i].Append(0, data, 0)
		}
	}
	took := (heap() - before) / windows
	says := ws[0].MemoryBytes()
	t.Logf("%d bytes a window, %.3f of the payload; MemoryBytes says %d", took, float64(took)/payload, says)
	if says > payload*110/100 || ws[0].Bytes() != payload {
		t.Errorf("%d bytes for %d of payload", says, ws[0].Bytes())
	}
	if diff := float64(took)/float64(says) - 1; diff > 0.05 || diff < -0.05 {
		t.Errorf("the heap grew by %d, MemoryBytes says %d", took, says)
	}
	runtime.KeepAlive(ws)
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The arena stays under the bytes allowed and one largest event (and what the
// allocator rounds up), whatever sizes come in whatever order; and follows what
// is retained when that is less.
func TestArenaIsBounded(t *testing.T) {
	limits := window.Limits{Events: 64, Age: 100, Bytes: 1 << 20, MaxEvent: 1 << 19}
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, limits.MaxEvent)
	w := window.New(&limits)
	w.Open(0)
	largest, wrapped := 0, 0
	for i := range 20_000 {
		size := rng.IntN(limits.MaxEvent) >> (rng.IntN(16) * (i / 4000 % 2)) // large ones, then mostly small ones
		_, _, _ = w.Append(0, data[:size], 0)
		largest = max(largest, w.ArenaBytes())
		if w.Shape()[0] == 'w' {
			wrapped++
		}
		if w.ArenaBytes() > 8<<10 && w.Bytes() < w.ArenaBytes()/4-w.ArenaBytes()/64 {
			t.Fatalf("event %d: %d bytes retained in an arena of %d", i, w.Bytes(), w.ArenaBytes())
		}
	}
	if bound := limits.Bytes + limits.MaxEvent; largest > bound+16<<10 || largest < limits.Bytes || wrapped < 1000 {
		t.Errorf("the arena reached %d, bound %d, and was wrapped %d times", largest, bound, wrapped)
	}
}

// A session that grows quiet gives its memory back, step by step, and at last
// keeps no more than its streams' floors and heads; forgotten streams leave
// nothing.
func TestQuietWindowShrinks(t *testing.T) {
	var w window.Window
	data := make([]byte, 4096)
	for s := range uint64(200) {
		w.Open(s)
	}
	for i := range uint64(256) {
		_, _, _ = w.Append(i%200, data, int64(i))
	}
	full := w.MemoryBytes()
	w.EvictBefore(246)
	if tenth := w.MemoryBytes(); w.Len() != 10 || tenth > full/8 {
		t.Errorf("with 10 of 256 events: %d bytes of %d", tenth, full)
	}
	w.EvictBefore(1000)
	if left := w.MemoryBytes(); w.Len() != 0 || left > 32+192+256*window.RecordBytes {
		t.Errorf("with no event and 200 streams: %d bytes", left)
	}
	for s := range uint64(198) {
		w.Forget(s)
	}
	if left := w.MemoryBytes(); left > 32+192+32*window.RecordBytes { // few records are not worth moving
		t.Errorf("with no event and 2 streams: %d bytes", left)
	}
	w.Forget(198)
	w.Forget(199)
	if left := w.MemoryBytes(); left != window.HeaderBytes || w.Seq() != 256 {
		t.Errorf("with nothing: %d bytes, last seq %d", left, w.Seq())
	}
}

// Case 16, for the window: a million streams come and go, some overlapping, one
// event each, and leave nothing behind but the numbers.
func TestCase16MillionStreams(t *testing.T) {
	var w window.Window
	data := make([]byte, 64)
	most := 0
	for s := range uint64(1_000_000) {
		w.Open(s)
		if _, _, err := w.Append(s, data, int64(s)); err != nil {
			t.Fatal(err)
		}
		if s >= 20 {
			w.Forget(s - 20)
		}
		most = max(most, w.MemoryBytes())
	}
	if w.StreamCount() != 20 || w.Len() != 256 || w.Seq() != 1_000_000 || most > 64<<10 {
		t.Errorf("%d streams, %d events, seq %d, at most %d bytes", w.StreamCount(), w.Len(), w.Seq(), most)
	}
}

// At a full window an append costs no allocation, with events of one size, of
// changing sizes, and on many streams; and no read costs one.
func TestNoAllocations(t *testing.T) {
	data := make([]byte, 512)
	for name, size := range map[string]func(i int) int{
		"one size":   func(int) int { return 256 },
		"many sizes": func(i int) int { return 200 + i*37%100 },
	} {
		for _, streams := range []int{1, 30} {
			var w window.Window
			for s := range streams {
				w.Open(uint64(s))
			}
			i := 0
			appendOne := func() {
				i++
				if _, _, err := w.Append(uint64(i%streams), data[:size(i)], int64(i)); err != nil {
					t.Fatal(err)
				}
			}
			for range 2000 {
				appendOne()
			}
			if n := testing.AllocsPerRun(1000, appendOne); n != 0 {
				t.Errorf("%s, %d streams: an append allocates %v times", name, streams, n)
			}
			floor, _ := w.Floor(0)
			sum := 0
			read := func() {
				for ev := range w.After(floor) {
					sum += len(ev.Payload)
				}
				for ev, ok := w.Next(floor); ok; ev, ok = w.Next(ev.Position) {
					sum += len(ev.Payload)
				}
				w.Classify(floor)
			}
			if n := testing.AllocsPerRun(100, read); n != 0 || sum == 0 {
				t.Errorf("%s, %d streams: a read allocates %v times", name, streams, n)
			}
		}
	}
}

package window_test

import (
	"math"
	"reflect"
	"testing"

	"example.com/reattach/impl/window"
	"pgregory.net/rapid"
)

// Append with its shortcut against Append without it, over random histories:
// both windows are the same after every step, to the last byte of the arena and
// the last unused place of the index, and what the shortcut does not take it
// leaves as it was.
func TestSteadyAppendIsAppend(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		limits := window.Limits{
			Events:   rapid.IntRange(1, 9).Draw(t, "events"),
			Age:      rapid.SampledFrom([]int64{3, 20, math.MaxUint32}).Draw(t, "age"),
			Bytes:    rapid.SampledFrom([]int{40, 100, 1 << 20}).Draw(t, "bytes"),
			MaxEvent: rapid.SampledFrom([]int{9, 50}).Draw(t, "largest event"),
		}
		start := rapid.SampledFrom([]uint64{0, 0, math.MaxUint64 - 40}).Draw(t, "seq")
		with, without := window.Resume(&limits, start), window.Resume(&limits, start)
		streams := uint64(rapid.IntRange(1, 3).Draw(t, "streams"))
		for s := range streams {
			with.Open(s)
			without.Open(s)
		}
		now := rapid.SampledFrom([]int64{0, math.MinInt64, math.MaxInt64 - 100}).Draw(t, "start of time")
		content := byte(0)
		for range 120 {
			switch rapid.IntRange(0, 30).Draw(t, "step") {
			case 0:
				with.EvictOldest()
				without.EvictOldest()
			case 1:
				with.EvictDue(now)
				without.EvictDue(now)
			case 2:
				if s := rapid.Uint64Range(0, streams-1).Draw(t, "forgotten"); with.StreamCount() > 1 && with.Has(s) {
					with.Forget(s)
					without.Forget(s)
				}
			default:
				if now < math.MaxInt64-100 {
					now += rapid.SampledFrom([]int64{0, 0, 0, 1, 1, -1, 5, 30, math.MaxUint32, math.MaxUint32 + 2}).Draw(t, "later")
				}
				stream := uint64(max(0, rapid.IntRange(-8, int(streams)-1).Draw(t, "stream")))
				if !with.Has(stream) {
					continue
				}
				payload := make([]byte, rapid.SampledFrom([]int{5, 5, 5, 0, 1, 8, 30, 60}).Draw(t, "size"))
				for i := range payload {
					content++
					payload[i] = content
				}
				steady := try(t, &with, stream, payload, now, seen)
				p, evicted, err := with.Append(stream, payload, now)
				p2, evicted2, err2 := without.AppendByAnyCase(stream, payload, now)
				if p != p2 || evicted != evicted2 || !reflect.DeepEqual(err, err2) {
					t.Fatalf("with the shortcut %v, %d, %v; without it %v, %d, %v", p, evicted, err, p2, evicted2, err2)
				}
				if steady && (evicted != 1 || err != nil) {
					t.Fatalf("the shortcut was taken for an event that evicted %d: %v", evicted, err)
				}
			}
			if !reflect.DeepEqual(&with, &without) {
				t.Fatalf("with the shortcut\n%+v\nwithout it\n%+v", with, without)
			}
		}
	})
	t.Log(seen)
	for _, sometimes := range []string{"steady", "wrapped", "empty", "other"} {
		if seen[sometimes] < 20 {
			t.Errorf("%q was reached %d times", sometimes, seen[sometimes])
		}
	}
}

// try asks a copy of the window whether the shortcut takes the event. If not,
// the copy must be as before.
func try(t *rapid.T, w *window.Window, stream uint64, payload []byte, now int64, seen map[string]int) bool {
	c := w.Clone()
	if c.AppendSteadily(stream, payload, now) == 0 {
		if !reflect.DeepEqual(&c, w) {
			t.Fatalf("the shortcut left the event to others, and yet\n%+v\nbecame\n%+v", w, &c)
		}
		seen["other"]++
		return false
	}
	seen["steady"]++
	if len(payload) == 0 {
		seen["empty"]++
	}
	if shape := w.Shape(); shape[0] == 'w' {
		seen["wrapped"]++
	}
	return true
}

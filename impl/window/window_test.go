package window_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/reattach/impl/window"
)

// ordinals are those of the stream's events after p.
func ordinals(w *window.Window, p window.Position) (out []uint64) {
	for e := range w.After(p) {
		out = append(out, e.Ordinal)
	}
	return out
}

func mustAppend(t *testing.T, w *window.Window, stream uint64, size int, now int64) (window.Position, int) {
	t.Helper()
	p, evicted, err := w.Append(stream, make([]byte, size), now)
	if err != nil {
		t.Fatalf("append of %d bytes to stream %d: %v", size, stream, err)
	}
	return p, evicted
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "reattach: BUG: window: ") {
			t.Errorf("%s: panic %v, want one that names the bug", what, r)
		}
	}()
	f()
}

// Each bound from both sides: what it allows is retained, one more is not.
func TestBoundsToTheByte(t *testing.T) {
	limits := window.Limits{Events: 3, Age: 10, Bytes: 100, MaxEvent: 60}
	type step struct {
		size    int
		now     int64
		evicted int
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"as many events as allowed", []step{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}},
		{"one more", []step{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 1}}},
		{"as many bytes as allowed", []step{{40, 0, 0}, {60, 0, 0}}},
		{"one more byte", []step{{41, 0, 0}, {60, 0, 1}}},
		{"one event pushes out two", []step{{50, 0, 0}, {41, 0, 0}, {60, 0, 2}}},
		{"an empty event at the bound", []step{{40, 0, 0}, {60, 0, 0}, {0, 0, 0}}},
		{"as old as allowed", []step{{1, 0, 0}, {1, 10, 0}}},
		{"one unit older", []step{{1, 0, 0}, {1, 11, 1}}},
		{"two too old, one not", []step{{1, 0, 0}, {1, 1, 0}, {1, 2, 0}, {1, 12, 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := window.New(&limits)
			w.Open(0)
			for i, s := range c.steps {
				if _, evicted := mustAppend(t, &w, 0, s.size, s.now); evicted != s.evicted {
					t.Errorf("step %d evicted %d, want %d", i+1, evicted, s.evicted)
				}
			}
		})
	}
}

// Case 48, for the window: too large an event is refused, by its own cap or by
// the window's, before it gets a number, and the next one gets that number.
func TestCase48TooLargeUsesNoNumber(t *testing.T) {
	for _, c := range []struct{ maxEvent, bytes, accepted int }{{60, 100, 60}, {100, 100, 99}, {1000, 100, 99}} {
		w := window.New(&window.Limits{Events: 3, Age: 10, Bytes: c.bytes, MaxEvent: c.maxEvent})
		w.Open(0)
		_, _, err := w.Append(0, make([]byte, c.accepted+1), 0)
		var e *window.TooLargeError
		if !errors.Is(err, window.ErrTooLarge) || !errors.As(err, &e) || e.Size != c.accepted+1 || e.Max != c.accepted {
			t.Errorf("cap %d, window %d: %v", c.maxEvent, c.bytes, err)
		}
		if p, _ := mustAppend(t, &w, 0, c.accepted, 0); p.Seq != 1 || p.Ordinal != 1 {
			t.Errorf("the next event is %v, want 1:0:1", p)
		}
	}
}

// R2: numbers go on after everything has been evicted, one by one, by age or by
// a lost stream; they end at the last number of 64 bits and never start again.
func TestNumbersNeverRestart(t *testing.T) {
	w := window.New(nil)
	w.Open(0)
	w.Open(1)
	for i := range uint64(20) {
		if p, _ := mustAppend(t, &w, 0, 3, int64(i)); p.Seq != 2*i+1 || p.Ordinal != i+1 {
			t.Fatalf("event %d is %v", i+1, p)
		}
		mustAppend(t, &w, 1, 3, int64(i))
		switch i % 3 {
		case 0:
			for w.EvictOldest() {
			}
		case 1:
			w.EvictBefore(math.MaxInt64)
		}
	}
	w.EvictDue(math.MaxInt64)
	if w.Len() != 0 || w.Seq() != 40 {
		t.Errorf("%d events left, last seq %d", w.Len(), w.Seq())
	}
}

func TestNumbersEnd(t *testing.T) {
	t.Run("seq", func(t *testing.T) {
		w := window.Resume(nil, math.MaxUint64-1)
		w.Open(0)
		if p, _ := mustAppend(t, &w, 0, 1, 0); p.Seq != math.MaxUint64 || p.Ordinal != 1 {
			t.Fatalf("the last event is %v", p)
		}
		_, _, err := w.Append(0, []byte("x"), 0)
		var e *window.ExhaustedError
		if !errors.Is(err, window.ErrExhausted) || !errors.As(err, &e) || e.Seq != math.MaxUint64 {
			t.Errorf("one more: %v", err)
		}
		if got := ordinals(&w, window.Position{}); !slices.Equal(got, []uint64{1}) {
			t.Errorf("after the refusal the window holds %v", got)
		}
	})
	t.Run("ordinal", func(t *testing.T) {
		w := window.Resume(nil, math.MaxUint64-3)
		floor := window.Position{Seq: math.MaxUint64 - 3, Stream: 9, Ordinal: math.MaxUint64 - 3}
		w.OpenAt(floor)
		w.Open(8)
		for range 3 {
			mustAppend(t, &w, 9, 1, 0)
		}
		for _, stream := range []uint64{8, 9} {
			if err := w.CanAppend(stream, 1); !errors.Is(err, window.ErrExhausted) {
				t.Errorf("stream %d: %v", stream, err)
			}
		}
		if got := ordinals(&w, floor); !slices.Equal(got, []uint64{math.MaxUint64 - 2, math.MaxUint64 - 1, math.MaxUint64}) {
			t.Errorf("after %v come %v", floor, got)
		}
		if next := (window.Position{Seq: math.MaxUint64, Stream: 9, Ordinal: math.MaxUint64}); w.Classify(next) != window.InWindow {
			t.Errorf("%v is %v", next, w.Classify(next))
		}
	})
}

// R14: a session that is read back gives the same numbers to the same events.
func TestResumeRebuildsTheWindow(t *testing.T) {
	limits := window.Limits{Events: 5, Age: 100, Bytes: 100, MaxEvent: 10}
	w := window.New(&limits)
	for s := range uint64(3) {
		w.Open(s)
	}
	for i := range 17 {
		_, _, _ = w.Append(uint64(i*i)%3, []byte{byte(i)}, int64(i))
	}
	again := window.Resume(&limits, w.Seq()-uint64(w.Len()))
	for _, s := range w.Streams() {
		floor, _ := w.Floor(s)
		again.OpenAt(floor)
	}
	for e := range w.All() {
		if p, _, err := again.Append(e.Stream, e.Payload, e.Stamp); err != nil || p != e.Position {
			t.Fatalf("event %v came back as %v, %v", e.Position, p, err)
		}
	}
	for _, s := range w.Streams() {
		floor, _ := w.Floor(s)
		gotFloor, _ := again.Floor(s)
		head, _ := w.Head(s)
		gotHead, _ := again.Head(s)
		if floor != gotFloor || head != gotHead {
			t.Errorf("stream %d: floor %v head %v, want %v %v", s, gotFloor, gotHead, floor, head)
		}
	}
}

// Case 03, for the window: a clock that stands still or steps back changes
// neither order nor floor; ages count from the latest time that was seen.
func TestCase03ClockStepsBack(t *testing.T) {
	w := window.New(&window.Limits{Events: 10, Age: 100, Bytes: 1000, MaxEvent: 10})
	w.Open(0)
	for _, now := range []int64{500, 500, 400, -7, 450, 500} {
		mustAppend(t, &w, 0, 1, now)
	}
	for k := range uint64(6) {
		if got := ordinals(&w, window.Position{Seq: k, Ordinal: k}); len(got) != int(6-k) || len(got) > 0 && got[0] != k+1 {
			t.Errorf("after %d come %v", k, got)
		}
	}
	if stamp, _ := w.OldestStamp(); stamp != 500 || w.EvictDue(0) != 0 || w.EvictDue(600) != 0 || w.EvictDue(601) != 6 {
		t.Errorf("oldest stamp %d, %d events left", stamp, w.Len())
	}
}

// Stamps may lie anywhere in 64 bits, also further apart than an index entry
// can say: what is too old by then is gone.
func TestStampsOverTheWholeRange(t *testing.T) {
	const age = math.MaxUint32
	limits := window.Limits{Events: 10, Age: age, Bytes: 1000, MaxEvent: 10}
	for _, start := range []int64{math.MinInt64, -age, 0, math.MaxInt64 - 3*age} {
		w := window.New(&limits)
		w.Open(0)
		now := start
		for i, gap := range []int64{0, age, age - 5, 5, age} {
			now += gap
			mustAppend(t, &w, 0, 1, now)
			var stamps []int64
			for e := range w.All() {
				stamps = append(stamps, e.Stamp-start)
			}
			want := [][]int64{{0}, {0, age}, {age, 2*age - 5}, {age, 2*age - 5, 2 * age}, {2 * age, 3 * age}}[i]
			if !slices.Equal(stamps, want) {
				t.Errorf("start %d, step %d: stamps %v, want %v", start, i+1, stamps, want)
			}
		}
		if _, evicted := mustAppend(t, &w, 0, 1, math.MaxInt64); start < 0 && evicted != 2 {
			t.Errorf("start %d: a leap to the end of time evicted %d", start, evicted)
		}
	}
}

// Cases 13 and 38, for the window: on a stream with head 3 in a session that is
// at seq 5.
func TestClassifyByTheContract(t *testing.T) {
	w := window.New(&window.Limits{Events: 4, Age: 10, Bytes: 100, MaxEvent: 10})
	w.Open(1)
	w.Open(2)
	for _, s := range []uint64{1, 2, 1, 2, 1} { // 1:1:1 is evicted
		mustAppend(t, &w, s, 1, 0)
	}
	for _, c := range []struct {
		seq, stream, ordinal uint64
		want                 window.Standing
		why                  string
	}{
		{0, 1, 0, window.Evicted, "position 0, below the floor"},
		{0, 2, 0, window.AtFloor, "position 0, nothing was evicted"},
		{7, 1, 0, window.Evicted, "below the floor no seq can be checked"},
		{1, 1, 1, window.AtFloor, "the floor"},
		{2, 1, 1, window.Unissued, "the floor's ordinal with another seq"},
		{3, 1, 2, window.InWindow, "a retained event"},
		{5, 1, 3, window.InWindow, "the head"},
		{4, 1, 2, window.Unissued, "case 38: the seq of another stream's event"},
		{4, 1, 3, window.Unissued, "case 38: the same with the head's ordinal"},
		{4, 1, 4, window.Unissued, "case 38: a seq that was issued, an ordinal that was not"},
		{3, 1, 3, window.Unissued, "case 38: right seq, wrong ordinal"},
		{6, 1, 3, window.Unissued, "a seq beyond everything with an issued ordinal"},
		{6, 1, 4, window.Ahead, "case 13: ahead by one"},
		{1005, 1, 1003, window.Ahead, "ahead by a thousand"},
		{math.MaxUint64, 1, math.MaxUint64, window.Ahead, "ahead by everything"},
		{6, 1, 2 + 1<<32, window.Ahead, "an ordinal that looks like a retained one in 32 bits"},
		{3, 1, 2 + 1<<32, window.Unissued, "the same with its seq"},
		{3, 3, 1, window.NoRecord, "a stream that was never opened"},
	} {
		p := window.Position{Seq: c.seq, Stream: c.stream, Ordinal: c.ordinal}
		if got := w.Classify(p); got != c.want {
			t.Errorf("%s: %v is %v, want %v", c.why, p, got, c.want)
		}
	}
	w.Forget(1)
	if got := w.Classify(window.Position{Seq: 5, Stream: 1, Ordinal: 3}); got != window.NoRecord {
		t.Errorf("the head of a forgotten stream is %v", got)
	}
}

// A payload may be one that this window lent: it is copied before or while its
// place is used again.
func TestAppendOfALentPayload(t *testing.T) {
	for events := 1; events < 6; events++ {
		w := window.New(&window.Limits{Events: events, Age: 10, Bytes: 64, MaxEvent: 20})
		w.Open(0)
		_, _, _ = w.Append(0, []byte("first payload"), 0)
		for i := range 50 {
			head, _ := w.Head(0)
			var lent []byte
			for e := range w.All() {
				lent = e.Payload
				break
			}
			want := string(lent)
			p, _, err := w.Append(0, lent, 0)
			if err != nil {
				t.Fatal(err)
			}
			if ev, ok := w.Next(head); !ok && events > 1 {
				t.Fatalf("%d events, copy %d: %v is missing", events, i, p)
			} else if ok && string(ev.Payload) != want {
				t.Fatalf("%d events, copy %d is %q", events, i, ev.Payload)
			}
		}
	}
}

// What is lent cannot be used to overwrite its neighbour by appending to it.
func TestLentPayloadHasNoRoom(t *testing.T) {
	w := window.New(nil)
	w.Open(0)
	_, _, _ = w.Append(0, []byte("one"), 0)
	_, _, _ = w.Append(0, []byte("two"), 0)
	ev, _ := w.Next(window.Position{})
	own := ev.Clone()
	_ = append(ev.Payload, "more"...)
	next, _ := w.Next(ev.Position)
	if string(next.Payload) != "two" || !bytes.Equal(own.AppendTo(nil), []byte("one")) {
		t.Errorf("the neighbour is now %q", next.Payload)
	}
}

// Mistakes of the program that uses a window are told at once.
func TestMistakesPanic(t *testing.T) {
	w := window.New(nil)
	w.Open(0)
	mustAppend(t, &w, 0, 1, 0)
	mustPanic(t, "append without a record", func() { _, _, _ = w.Append(5, nil, 0) })
	mustPanic(t, "open twice", func() { w.Open(0) })
	mustPanic(t, "a floor that was never issued", func() { w.OpenAt(window.Position{Seq: 9, Stream: 1, Ordinal: 1}) })
	mustPanic(t, "a floor that is retained", func() { w.OpenAt(window.Position{Seq: 1, Stream: 1, Ordinal: 1}) })
	mustPanic(t, "more events than seqs", func() { w.OpenAt(window.Position{Seq: 1, Stream: 1, Ordinal: 2}) })
	mustPanic(t, "an ordinal without a seq", func() { w.OpenAt(window.Position{Stream: 1, Ordinal: 2}) })
	for _, l := range []window.Limits{
		{Events: 0, Age: 1, Bytes: 2, MaxEvent: 1}, {Events: 1<<24 + 1, Age: 1, Bytes: 2, MaxEvent: 1},
		{Events: 1, Age: 0, Bytes: 2, MaxEvent: 1}, {Events: 1, Age: 1 << 32, Bytes: 2, MaxEvent: 1},
		{Events: 1, Age: 1, Bytes: 1, MaxEvent: 1}, {Events: 1, Age: 1, Bytes: 1<<30 + 1, MaxEvent: 1},
		{Events: 1, Age: 1, Bytes: 2, MaxEvent: 0},
	} {
		if l.Validate() == nil {
			t.Errorf("%+v is accepted", l)
		}
		mustPanic(t, fmt.Sprintf("%+v", l), func() { window.New(&l) })
	}
	if l := (window.Limits{Events: 1, Age: 1, Bytes: 2, MaxEvent: 1}); l.Validate() != nil {
		t.Errorf("%+v: %v", l, l.Validate())
	}
}

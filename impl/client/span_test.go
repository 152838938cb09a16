package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSeenStreamsAreBounded(t *testing.T) {
	var spans []Span
	for n := uint64(1); n < 1000; n += 2 { // every second number is never seen
		spans = addSeen(spans, n)
	}
	if len(spans) != maxSpans {
		t.Errorf("%d spans", len(spans))
	}
	for n := uint64(1); n < 1000; n += 2 {
		if !seen(spans, n) {
			t.Fatalf("%d is forgotten", n)
		}
	}
	if seen(spans, 998) || seen(spans, 1000) {
		t.Error("a new number counts as seen")
	}
	spans = nil
	for _, n := range []uint64{5, 3, 4, 1, 2, 4} {
		spans = addSeen(spans, n)
	}
	if diff := cmp.Diff([]Span{{1, 5}}, spans); diff != "" {
		t.Error(diff)
	}
}

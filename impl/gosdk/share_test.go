package gosdk

import (
	"testing"

	"example.com/reattach/impl/session"
)

// A call's share of the window is half of it by count, or by bytes if its events
// are large, divided among those who read, and never nothing.
func TestShareOfTheWindow(t *testing.T) {
	p := newPace(session.Options{WindowEvents: 100, WindowBytes: 1000})
	for _, test := range []struct {
		readers    int
		size, want uint64
	}{
		{1, 1, 50}, {2, 1, 25}, {7, 1, 7}, {51, 1, 1}, {1000, 1, 1}, {0, 0, 50},
		{1, 10, 50}, {1, 11, 45}, {1, 100, 5}, {5, 100, 1}, {1, 501, 1}, {1, 1 << 40, 1},
	} {
		if got := p.share(test.readers, test.size); got != test.want {
			t.Errorf("%d readers, %d bytes: a share of %d, want %d", test.readers, test.size, got, test.want)
		}
	}
	if got := newPace(session.Options{}).share(1, 1); got != 128 {
		t.Errorf("by default %d, want half of the default window", got)
	}
}

package client

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Given ten thousand clients that were refused at the same moment, when each
// draws its next attempt, then they are spread evenly over the whole range of
// the jitter: no tenth of it holds a fifth more or less than its share (R26).
// The same holds where the waits have reached their bound; where the jitter is
// left out, all come back together, and that would be noticed.
func TestJitterSpreadsAStorm(t *testing.T) {
	const clients, parts = 10_000, 10
	spread := func(draw func() float64, attempt int) (least, most int) {
		o, err := Options{Rand: draw}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		full := min(o.BackoffMax, o.BackoffBase<<min(attempt-1, 20))
		var in [parts]int
		for range clients {
			wait := o.backoff(attempt, 0)
			part := int(parts * (wait - full/2) / (full / 2))
			if wait < full/2 || part > parts {
				t.Fatalf("attempt %d waits %v of %v", attempt, wait, full)
			}
			in[min(part, parts-1)]++
		}
		least = clients
		for _, n := range in {
			least, most = min(least, n), max(most, n)
		}
		return least, most
	}
	const share = clients / parts // its standard deviation is 30
	for _, attempt := range []int{1, 2, 3, 20} {
		if least, most := spread(rand.New(rand.NewPCG(5, uint64(attempt))).Float64, attempt); least < share*4/5 || most > share*6/5 {
			t.Errorf("attempt %d: %d to %d of %d clients in a tenth", attempt, least, most, clients)
		}
	}
	if _, most := spread(func() float64 { return 0.5 }, 3); most != clients {
		t.Errorf("without jitter only %d of %d come together: this test sees nothing", most, clients)
	}
	// Later waits are as long as what the server asked for, at least.
	o, _ := Options{}.withDefaults()
	if wait := o.backoff(1, 5*time.Second); wait < 5*time.Second {
		t.Errorf("asked to wait 5s, waits %v", wait)
	}
}

package properties

import (
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// Does the time of the answer tell a stranger that a session exists (R13)? The
// code path is the same, which TestStrangerSeesTheUnknown shows byte by byte;
// this looks at the clock.
//
// Look-ups of another's session and of one that never was are timed in batches,
// in random order, and the medians compared. How small a difference would be
// seen is measured, not claimed: in the same run the same look-up is timed with
// a leak planted in it that costs as much as hashing the id once more. What the
// two kinds differ by must be small beside what the leak shows, or the test
// could not have seen one of that size.
func TestTimingTellsNothing(t *testing.T) {
	registry, err := session.NewRegistry(session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	var theirs []string
	for range 500 {
		s, err := registry.Open("alice", nil)
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, s.ID())
	}
	nobodys := make([]string, len(theirs)) // of the same form, never issued
	for i := range nobodys {
		text := []byte(theirs[i])
		slices.Reverse(text[:len(text)-2]) // the last two characters hold bits that must be zero
		nobodys[i] = string(text)
	}
	var sink byte
	look := func(ids []string, leak bool) time.Duration {
		began := time.Now()
		for _, id := range ids {
			if _, err := registry.Lookup("bob", id, spec.ClientCalls); err == nil {
				t.Error("bob found a session")
			}
			if leak {
				sum := sha256.Sum256([]byte(id))
				sink ^= sum[0]
			}
		}
		return time.Since(began)
	}
	const rounds, batch = 1500, 50
	kinds := []struct {
		ids  []string
		leak bool
	}{{theirs, false}, {nobodys, false}, {nobodys, true}}
	samples := make([][]time.Duration, len(kinds))
	for range rounds {
		at := rand.IntN(len(theirs) - batch)
		for _, k := range rand.Perm(len(kinds)) {
			samples[k] = append(samples[k], look(kinds[k].ids[at:at+batch], kinds[k].leak))
		}
	}
	median := func(d []time.Duration) time.Duration {
		d = slices.Sorted(slices.Values(d))
		return d[len(d)/2] / batch
	}
	their, nobody, leaking := median(samples[0]), median(samples[1]), median(samples[2])
	t.Logf("another's %v, nobody's %v, nobody's with a leak %v", their, nobody, leaking)
	leak := leaking - nobody
	if leak <= 0 {
		t.Fatalf("the planted leak shows %v: nothing could be seen", leak)
	}
	if told := (their - nobody).Abs(); told > leak/2 {
		t.Errorf("look-ups of another's session differ by %v; a leak of the size of one hash shows %v", told, leak)
	}
}

package session

import (
	"encoding/binary"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func sessionOf(n uint64) *Session {
	s := new(Session)
	binary.BigEndian.PutUint64(s.core.id[:], n/3) // some share their first words, some their shard
	binary.BigEndian.PutUint64(s.core.id[8:], n%3<<6|n%2)
	return s
}

// The index against a map, over random histories of coming and going.
func TestIndexIsAMap(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		x, m := newIndex(), map[idKey]*Session{}
		x.factor = rapid.SampledFrom([]uint64{1, 3, x.factor}).Draw(t, "factor") // with 1 all ids collide
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			s := sessionOf(rapid.Uint64Range(0, 200).Draw(t, "id"))
			key := s.core.id.key()
			switch known := m[key] != nil; {
			case known && rapid.IntRange(0, 2).Draw(t, "removed") > 0:
				x.remove(key)
				delete(m, key)
				seen["removed"]++
			case !known && rapid.IntRange(0, 3).Draw(t, "a stranger is removed") == 0:
				x.remove(key)
			case !known:
				x.add(s)
				m[key] = s
				seen["added"]++
			}
			for n := range uint64(201) {
				key := sessionOf(n).core.id.key()
				if got := x.find(key); got != m[key] {
					t.Fatalf("session %d: found %p, want %p", n, got, m[key])
				}
			}
		}
		all, places := 0, 0
		for i := range x.shards {
			sh := &x.shards[i]
			all += len(sh.all())
			places += len(*sh.table.Load())
			if len(sh.all()) != sh.live || sh.live > sh.used || 4*sh.used > 3*len(*sh.table.Load()) {
				t.Fatalf("shard %d has %d sessions and says %d, %d used of %d places", i, len(sh.all()), sh.live, sh.used, len(*sh.table.Load()))
			}
		}
		if all != len(m) || places > 8*len(m)+4*firstPlaces {
			t.Fatalf("%d sessions in %d places, want %d", all, places, len(m))
		}
	})
	if seen["added"] < 1000 || seen["removed"] < 1000 {
		t.Errorf("too little happened: %v", seen)
	}
}

// The id of nobody, which is that of what is gone, finds nobody.
func TestIndexNeverFindsWhatIsGone(t *testing.T) {
	x := newIndex()
	other := sessionOf(3)
	other.core.id[15] = 0 // of the same shard
	none := new(Session)
	x.add(none)
	x.add(other)
	x.remove(none.core.id.key())
	if s := x.find(idKey{}); s != nil {
		t.Errorf("found %p, which is gone: %v", s, s == gone)
	}
	if s := x.find(other.core.id.key()); s != other {
		t.Errorf("found %p, want the one that is there", s)
	}
}

// Who is there is found at every moment, whoever comes and goes meanwhile, and
// who is not is not.
func TestIndexFindsWithoutALock(t *testing.T) {
	x := newIndex()
	const there = 500
	for n := range uint64(there) {
		x.add(sessionOf(n))
	}
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	for w := range uint64(2) {
		writers.Go(func() {
			for round := uint64(0); ; round++ {
				select {
				case <-stop:
					return
				default:
				}
				s := sessionOf(there + (w*1000+round%300)*10)
				x.add(s)
				if x.find(s.core.id.key()) != s {
					t.Error("who has just come is not found")
				}
				x.remove(s.core.id.key())
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for range 200 {
				for n := range uint64(there) {
					key := sessionOf(n).core.id.key()
					if s := x.find(key); s == nil || s.core.id.key() != key {
						t.Errorf("session %d is there and was not found", n)
						return
					}
				}
				if x.find(sessionOf(1<<40).core.id.key()) != nil {
					t.Error("a session that never was is found")
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	writers.Wait()
}

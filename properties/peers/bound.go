package main

import (
	"hash/maphash"
	"sync"
)

// The bounds: what nobody can do without, and nothing else. They know one size
// of event, one stream, no floor and no refusal.

// A boundRing copies payloads into slots under a lock, with a stamp.
type boundRing struct {
	mu     sync.Mutex
	last   uint64
	slots  int
	stamps []int64
	sizes  []uint16
	bytes  []byte
}

func (r *boundRing) append(payload []byte, now int64) {
	r.mu.Lock()
	if r.slots < windowEvents && r.last >= uint64(r.slots) {
		r.grow(max(4, 4*r.slots))
	}
	r.last++
	i := int(r.last % uint64(r.slots))
	copy(r.bytes[i*eventBytes:(i+1)*eventBytes], payload)
	r.stamps[i], r.sizes[i] = now, uint16(len(payload))
	r.mu.Unlock()
}

// grow is for a ring that begins small: its slots move.
func (r *boundRing) grow(slots int) {
	n := boundRing{slots: slots, stamps: make([]int64, slots), sizes: make([]uint16, slots), bytes: make([]byte, slots*eventBytes)}
	for seq := uint64(1); seq <= r.last; seq++ {
		from, to := int(seq%uint64(r.slots)), int(seq%uint64(slots))
		copy(n.bytes[to*eventBytes:(to+1)*eventBytes], r.bytes[from*eventBytes:])
		n.stamps[to], n.sizes[to] = r.stamps[from], r.sizes[from]
	}
	r.slots, r.stamps, r.sizes, r.bytes = n.slots, n.stamps, n.sizes, n.bytes
}

// after copies what follows a cursor, and says how many events that were.
func (r *boundRing) after(cursor uint64, to []byte) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := int(r.last - cursor)
	first := int((cursor + 1) % uint64(r.slots))
	piece := min(n, r.slots-first)
	to = append(to, r.bytes[first*eventBytes:(first+piece)*eventBytes]...)
	_ = append(to, r.bytes[:(n-piece)*eventBytes]...)
	return n
}

func (r *boundRing) reader(total, n int) func() int {
	to := make([]byte, 0, windowEvents*eventBytes)
	return func() int { return r.after(uint64(total-n), to) }
}

// A boundHandles is a ring for each session, at hand.
type boundHandles struct{ rings []boundRing }

func openBoundHandles(sessions int) (store, error) {
	s := &boundHandles{rings: make([]boundRing, sessions)}
	for i := range s.rings {
		s.rings[i].grow(windowEvents)
	}
	return s, nil
}

func (s *boundHandles) append(session int, payload []byte) {
	s.rings[session].append(payload, coarseNow.Load())
}
func (s *boundHandles) reader(total, n int, _ bool) (func() int, error) {
	return s.rings[0].reader(total, n), nil
}
func (s *boundHandles) close() {}

// A boundMap finds the ring of a session by its id, and rings begin empty.
type boundMap struct {
	seed   maphash.Seed
	names  []string
	shards [64]struct {
		sync.RWMutex
		rings map[string]*boundRing
		_     [24]byte
	}
}

func openBoundMap(sessions int) (store, error) {
	s := &boundMap{seed: maphash.MakeSeed(), names: sessionNames(sessions)}
	for i := range s.shards {
		s.shards[i].rings = map[string]*boundRing{}
	}
	for _, name := range s.names {
		s.shards[maphash.String(s.seed, name)%64].rings[name] = &boundRing{}
	}
	return s, nil
}

func (s *boundMap) find(name string) *boundRing {
	shard := &s.shards[maphash.String(s.seed, name)%64]
	shard.RLock()
	r := shard.rings[name]
	shard.RUnlock()
	return r
}

func (s *boundMap) append(session int, payload []byte) {
	s.find(s.names[session]).append(payload, coarseNow.Load())
}

func (s *boundMap) reader(total, n int, _ bool) (func() int, error) {
	to := make([]byte, 0, windowEvents*eventBytes)
	return func() int { return s.find(s.names[0]).after(uint64(total-n), to) }, nil
}
func (s *boundMap) close() {}

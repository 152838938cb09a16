package session_test

import (
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"example.com/reattach/impl/session"
)

// The bounds of these benchmarks are what a lock, a copy, a coarse clock and a
// look-up cost: boundRing alone, and behind a sharded map by name. Only ratios
// within one run mean anything.

const (
	benchEvents = 256
	benchSize   = 256
)

type boundRing struct {
	mu   sync.Mutex
	last uint64
	size [benchEvents]uint16
	at   [benchEvents]int64
	buf  []byte
}

func (r *boundRing) append(data []byte, now int64) {
	r.mu.Lock()
	r.last++
	i := int(r.last % benchEvents)
	copy(r.buf[i*benchSize:(i+1)*benchSize], data)
	r.size[i], r.at[i] = uint16(len(data)), now
	r.mu.Unlock()
}

type boundMap struct {
	seed   maphash.Seed
	shards [64]struct {
		sync.RWMutex
		m map[string]*boundRing
		_ [24]byte
	}
}

func (b *boundMap) get(id string) *boundRing {
	shard := &b.shards[maphash.String(b.seed, id)%64]
	shard.RLock()
	r := shard.m[id]
	shard.RUnlock()
	return r
}

func benchRegistry(b *testing.B) *session.Registry {
	r, err := session.NewRegistry(session.Options{Sessions: 1 << 20, SubjectSessions: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.Close)
	return r
}

func fullSession(b *testing.B, r *session.Registry) *session.Session {
	s, err := r.Open("alice", nil)
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, benchSize)
	for range benchEvents + 10 {
		if _, err := s.Standalone().Emit(data); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func BenchmarkEmit(b *testing.B) {
	data := make([]byte, benchSize)
	var clock atomic.Int64
	b.Run("bound-handle", func(b *testing.B) {
		r := &boundRing{buf: make([]byte, benchEvents*benchSize)}
		for b.Loop() {
			r.append(data, clock.Load())
		}
	})
	b.Run("handle", func(b *testing.B) {
		st := fullSession(b, benchRegistry(b)).Standalone()
		b.ReportAllocs()
		for b.Loop() {
			st.Emit(data)
		}
	})
	b.Run("bound-id", func(b *testing.B) {
		m := &boundMap{seed: maphash.MakeSeed()}
		for i := range m.shards {
			m.shards[i].m = map[string]*boundRing{}
		}
		ids := make([]string, 1)
		r := benchRegistry(b)
		for i := range ids {
			ids[i] = fullSession(b, r).ID()
			m.shards[maphash.String(m.seed, ids[i])%64].m[ids[i]] = &boundRing{buf: make([]byte, benchEvents*benchSize)}
		}
		for b.Loop() {
			m.get(ids[0]).append(data, clock.Load())
		}
	})
	b.Run("find", func(b *testing.B) {
		r := benchRegistry(b)
		id := fullSession(b, r).ID()
		for b.Loop() {
			r.Find("alice", id)
		}
	})
	b.Run("id", func(b *testing.B) {
		r := benchRegistry(b)
		id := fullSession(b, r).ID()
		b.ReportAllocs()
		for b.Loop() {
			s, _ := r.Find("alice", id)
			s.Emit(0, data)
		}
	})
}

func BenchmarkDeliver(b *testing.B) {
	data := make([]byte, benchSize)
	s := fullSession(b, benchRegistry(b))
	v, _, err := s.Resume(session.Request{})
	if err != nil {
		b.Fatal(err)
	}
	_, _ = v.Take(func(session.Delivery) bool { return true })
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		s.Standalone().Emit(data)
		d, ok, err := v.TryNext(buf)
		if !ok || err != nil {
			b.Fatal("nothing delivered", err)
		}
		buf = d.Payload
	}
}

func BenchmarkIdleSession(b *testing.B) {
	const many = 10_000
	r := benchRegistry(b)
	before := heap()
	for range many {
		if _, err := r.Open("alice", nil); err != nil {
			b.Fatal(err)
		}
	}
	after := heap()
	for b.Loop() {
	}
	b.ReportMetric(float64(after-before)/many, "B/session")
	b.ReportMetric(float64(unsafe.Sizeof(session.Session{})), "B/struct")
	runtime.KeepAlive(r)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

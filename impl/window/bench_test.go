package window_test

import (
	"sync"
	"testing"

	"example.com/reattach/impl/window"
)

// The bound of these benchmarks is what a lock, the copy of the bytes and the
// bare numbers cost: boundRing, which has slots of one size, one stream, and no
// bounds but its own. Only ratios within one run mean anything.

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

func (r *boundRing) append(data []byte, now int64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	i := int(r.last % benchEvents)
	copy(r.buf[i*benchSize:(i+1)*benchSize], data)
	r.size[i], r.at[i] = uint16(len(data)), now
	return r.last
}

type lockedWindow struct {
	mu sync.Mutex
	w  window.Window
}

func (l *lockedWindow) append(stream uint64, data []byte, now int64) window.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, _, _ := l.w.Append(stream, data, now)
	return p
}

func fullWindow(streams uint64) *lockedWindow {
	l := new(lockedWindow)
	for s := range streams {
		l.w.Open(s)
	}
	data := make([]byte, benchSize)
	for i := range uint64(benchEvents + 100) {
		l.append(i%streams, data, 0)
	}
	return l
}

func BenchmarkAppend(b *testing.B) {
	data := make([]byte, benchSize)
	b.Run("bound", func(b *testing.B) {
		r := &boundRing{buf: make([]byte, benchEvents*benchSize)}
		for range b.N {
			r.append(data, 1)
		}
	})
	b.Run("window", func(b *testing.B) {
		l := fullWindow(1)
		b.ReportAllocs()
		for range b.N {
			l.append(0, data, 1)
		}
	})
	b.Run("window-16-streams", func(b *testing.B) {
		l := fullWindow(16)
		b.ReportAllocs()
		for i := range b.N {
			l.append(uint64(i)%16, data, 1)
		}
	})
}

// BenchmarkAppendMany goes round 4,096 full windows, so that nothing is cached.
func BenchmarkAppendMany(b *testing.B) {
	const many = 4096
	data := make([]byte, benchSize)
	b.Run("bound", func(b *testing.B) {
		rings := make([]boundRing, many)
		for i := range rings {
			rings[i].buf = make([]byte, benchEvents*benchSize)
		}
		for i := range b.N {
			rings[i%many].append(data, 1)
		}
	})
	b.Run("window", func(b *testing.B) {
		ws := make([]lockedWindow, many)
		for i := range ws {
			ws[i].w.Open(0)
			for range benchEvents {
				ws[i].append(0, data, 0)
			}
		}
		b.ResetTimer()
		for i := range b.N {
			ws[i%many].append(0, data, 1)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{16, 255} {
		name := map[int]string{16: "16", 255: "255"}[n]
		b.Run("bound-"+name, func(b *testing.B) { // the bytes alone, in one piece
			src, dst := make([]byte, n*benchSize), make([]byte, n*benchSize)
			for range b.N {
				copy(dst, src)
			}
		})
		l := fullWindow(1)
		head, _ := l.w.Head(0)
		from := window.Position{Seq: head.Seq - uint64(n), Ordinal: head.Ordinal - uint64(n)}
		b.Run("lent-"+name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				got := 0
				p := from
				for ev, ok := l.w.Next(p); ok; ev, ok = l.w.Next(p) {
					p = ev.Position
					got++
				}
				if got != n {
					b.Fatalf("read %d events, want %d", got, n)
				}
			}
		})
		b.Run("copied-"+name, func(b *testing.B) {
			dst := make([]byte, 0, n*benchSize)
			b.ReportAllocs()
			for range b.N {
				dst = dst[:0]
				for ev := range l.w.After(from) {
					dst = ev.AppendTo(dst)
				}
			}
			if len(dst) != n*benchSize {
				b.Fatalf("read %d bytes, want %d", len(dst), n*benchSize)
			}
		})
	}
}

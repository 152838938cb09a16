package main

import (
	"runtime"
	"sync"
	"time"
)

// A memory watches how much of the heap is in use, less what was in use when
// it began. Server and client live in this process, so the number is of both;
// what the ledger keeps is a few bytes an event.
type memory struct {
	mu   sync.Mutex
	base uint64
	peak uint64
	stop chan struct{}
	done sync.WaitGroup
}

// watchMemory samples until close, four times a second, and whenever asked.
func watchMemory() *memory {
	m := &memory{base: heapInUse(), stop: make(chan struct{})}
	m.done.Go(func() {
		for {
			select {
			case <-m.stop:
				return
			case <-time.After(250 * time.Millisecond):
				m.sample()
			}
		}
	})
	return m
}

// sample returns the bytes in use now.
func (m *memory) sample() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := heapInUse()
	now -= min(now, m.base)
	m.peak = max(m.peak, now)
	return int64(now)
}

// close ends the watch with a last sample and returns the peak.
func (m *memory) close() int64 {
	close(m.stop)
	m.done.Wait()
	m.sample()
	return int64(m.peak)
}

// heapInUse returns the bytes of all reachable objects.
func heapInUse() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

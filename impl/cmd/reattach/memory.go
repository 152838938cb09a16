package main

import (
	"runtime"
	"sync"
)

// A memory watches how much of the heap is in use, less what was in use when
// it began. Server and client live in this process, so the number is of both;
// what the ledger keeps is a few bytes an event.
type memory struct {
	mu   sync.Mutex
	base uint64
	peak uint64
}

func watchMemory() *memory { return &memory{base: heapInUse()} }

// sample returns the bytes in use now. It is asked at the moments that a
// story has: what is allocated while the heap is being measured counts as in
// use, so a sample says most when nothing else happens.
func (m *memory) sample() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := heapInUse()
	now -= min(now, m.base)
	m.peak = max(m.peak, now)
	return int64(now)
}

// highest returns the highest sample.
func (m *memory) highest() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(m.peak)
}

// heapInUse returns the bytes of all reachable objects.
func heapInUse() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

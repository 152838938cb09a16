package main

import (
	"runtime"
	"sync"
)

// A memory watches how much of this process's heap is in use. Server, client
// and ledger all live in it, so the number is of all of them.
type memory struct {
	mu   sync.Mutex
	peak int64
}

// sample returns the bytes of all reachable objects now. It is asked at the
// moments that a story has: what is allocated while the heap is being measured
// counts as in use, so a sample says most when nothing else happens.
func (m *memory) sample() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	m.peak = max(m.peak, int64(s.HeapAlloc))
	return int64(s.HeapAlloc)
}

// highest returns the highest sample.
func (m *memory) highest() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peak
}

package client

import "sync"

// A queue runs what is added to it one at a time and in order, in a goroutine
// that lives only while there is something to run.
type queue struct {
	mu      sync.Mutex
	waiting []func()
	running bool
}

func (q *queue) add(group *sync.WaitGroup, f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, f)
	if !q.running {
		q.running = true
		group.Go(q.run)
	}
}

func (q *queue) run() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.running, q.waiting = false, nil
			q.mu.Unlock()
			return
		}
		f := q.waiting[0]
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		f()
	}
}

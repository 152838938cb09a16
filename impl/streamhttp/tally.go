package streamhttp

import "sync"

// A tally counts what runs, and tells when nothing does. Unlike a
// sync.WaitGroup it may grow while somebody waits.
type tally struct {
	mu      sync.Mutex
	n       int
	waiting []chan struct{}
}

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
}

func (t *tally) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n > 0 {
		return
	}
	if t.n < 0 {
		panic("reattach: BUG: a tally below zero")
	}
	for _, c := range t.waiting {
		close(c)
	}
	t.waiting = nil
}

// idle is closed as soon as nothing runs.
func (t *tally) idle() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(chan struct{})
	if t.n == 0 {
		close(c)
	} else {
		t.waiting = append(t.waiting, c)
	}
	return c
}

package session

import (
	"sync"

	"example.com/reattach/spec"
)

// tombstone is what is remembered of a session that has ended, so that its own
// client learns how (R6); to everybody else it was never there (R13).
type tombstone struct {
	subject string
	state   spec.State
	at      int64
}

// graveyard holds the tombstones, bounded by count and age (R14).
type graveyard struct {
	count int   // at most, at least 1
	age   int64 // at most, in stamps

	mu    sync.RWMutex
	known map[SessionID]tombstone
	order []SessionID // oldest first, from first on
	first int
}

// bury remembers the end of a session.
func (g *graveyard) bury(id SessionID, t tombstone) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prune(t.at)
	if len(g.known) == g.count {
		g.dropOldest()
	}
	if g.known == nil {
		g.known = make(map[SessionID]tombstone)
	}
	g.known[id] = t
	g.order = append(g.order, id)
}

// stateOf returns how the subject's session ended, or Absent if that is not
// known, or is nothing that this subject may know.
func (g *graveyard) stateOf(id SessionID, subject string) spec.State {
	g.mu.RLock()
	defer g.mu.RUnlock()
	t, ok := g.known[id]
	if !ok || t.subject != subject {
		return spec.Absent
	}
	return t.state
}

// knows reports whether an ended session had this id: it must not live again.
func (g *graveyard) knows(id SessionID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	_, ok := g.known[id]
	return ok
}

// sweep forgets what is too old.
func (g *graveyard) sweep(now int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prune(now)
}

// prune forgets what is too old, oldest first.
func (g *graveyard) prune(now int64) {
	for len(g.known) > 0 && now-g.known[g.order[g.first]].at > g.age {
		g.dropOldest()
	}
}

func (g *graveyard) dropOldest() {
	delete(g.known, g.order[g.first])
	g.first++
	if g.first*2 >= len(g.order) { // half of it is gone: give it back
		g.order = append([]SessionID(nil), g.order[g.first:]...)
		g.first = 0
	}
	if len(g.known) == 0 {
		g.known = nil
	}
}

func (g *graveyard) size() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.known)
}

package session

import (
	"fmt"
	"sync"

	"example.com/reattach/spec"
)

// A MemoryStore is a [Store] in memory: what every store does, without the part
// that is hard. It outlives a [Registry] and not its process, so it is for tests
// and as a pattern. It remembers as many ends as a registry does by default.
type MemoryStore struct {
	mu       sync.Mutex
	sessions map[Key]*memorySession
	ended    []Key // oldest first
}

type memorySession struct {
	hold  Hold
	image Image
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore { return &MemoryStore{sessions: make(map[Key]*memorySession)} }

// Begin makes a session.
func (m *MemoryStore) Begin(key Key, subject string, at int64) (Hold, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[key] != nil {
		return Hold{}, fmt.Errorf("%w: it was begun before", ErrConflict)
	}
	s := &memorySession{hold: Hold{Term: 1}, image: NewImage(subject, at)}
	m.sessions[key] = s
	return s.hold, nil
}

// Take reads a session and makes the caller its holder.
func (m *MemoryStore) Take(key Key, subject string) (Hold, Image, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[key]
	if s == nil || s.image.Subject != subject {
		return Hold{}, Image{}, ErrNoSession
	}
	if s.image.State == spec.Live {
		s.hold.Term++
	}
	return s.hold, s.image.Clone(), nil
}

// Confirm returns nil if the hold is the session's.
func (m *MemoryStore) Confirm(key Key, h Hold) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[key]
	if s == nil || s.hold != h || s.image.State != spec.Live {
		return ErrHoldLost
	}
	return nil
}

// Append applies an entry.
func (m *MemoryStore) Append(key Key, h Hold, e Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[key]
	if s == nil || s.hold != h {
		return ErrHoldLost
	}
	if err := s.image.Apply(e); err != nil {
		return err
	}
	if e.Kind == EndsSession {
		m.ended = append(m.ended, key)
		if len(m.ended) > spec.DefaultRememberedEnds {
			delete(m.sessions, m.ended[0])
			m.ended = m.ended[1:]
		}
	}
	return nil
}

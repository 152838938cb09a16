package main

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/tmaxmax/go-sse"
)

// go-sse's FiniteReplayer. The library keeps one for all topics and has one
// goroutine use it; here each session has its own, with a lock.
type gosseStore struct {
	names    []string
	mu       sync.RWMutex
	sessions map[string]*gosseSession
}

type gosseSession struct {
	mu       sync.Mutex
	replayer *sse.FiniteReplayer
}

var gosseTopics = []string{sse.DefaultTopic}

func openGosse(sessions int) (store, error) {
	s := &gosseStore{names: sessionNames(sessions), sessions: map[string]*gosseSession{}}
	for _, name := range s.names {
		r, err := sse.NewFiniteReplayer(windowEvents, true)
		if err != nil {
			return nil, err
		}
		s.sessions[name] = &gosseSession{replayer: r}
	}
	return s, nil
}

func (s *gosseStore) find(name string) *gosseSession {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sessions[name]
}

func (s *gosseStore) append(i int, payload []byte) {
	x := s.find(s.names[i])
	m := &sse.Message{}
	m.AppendData(string(payload)) // the copy
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, err := x.replayer.Put(m, gosseTopics); err != nil {
		panic(err)
	}
}

// A gosseCounter counts what it is sent, or writes it, as that library does.
type gosseCounter struct {
	n       int
	encoded bool
	wire    bytes.Buffer
}

func (c *gosseCounter) Send(m *sse.Message) error {
	if c.n++; c.encoded {
		_, err := m.WriteTo(&c.wire)
		return err
	}
	return nil
}
func (c *gosseCounter) Flush() error { return nil }

func (s *gosseStore) reader(total, n int, encoded bool) (func() int, error) {
	counter := &gosseCounter{encoded: encoded}
	subscription := sse.Subscription{Client: counter, LastEventID: sse.ID(strconv.Itoa(total - 1 - n)), Topics: gosseTopics}
	return func() int {
		counter.n = 0
		counter.wire.Reset()
		x := s.find(s.names[0])
		x.mu.Lock()
		defer x.mu.Unlock()
		if err := x.replayer.Replay(subscription); err != nil {
			panic(err)
		}
		return counter.n
	}, nil
}

func (s *gosseStore) close() {}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	mcpgoserver "github.com/mark3labs/mcp-go/server"
)

// mcp-go's InMemoryEventStore. It has no bound: a session shrinks only when it
// is purged whole, so it is, every four windows, and that is in the figure.
type mcpgoStore struct {
	store  *mcpgoserver.InMemoryEventStore
	names  []string
	events []int
	ids    []string // of session 0, as many as there is room for
}

func openMcpgo(sessions int) (store, error) {
	s := &mcpgoStore{store: mcpgoserver.NewInMemoryEventStore(), names: sessionNames(sessions), events: make([]int, sessions)}
	s.ids = make([]string, 0, 2*windowEvents)
	return s, nil
}

func (s *mcpgoStore) append(i int, payload []byte) {
	if s.events[i]++; s.events[i] > 4*windowEvents {
		s.store.PurgeSession(context.Background(), s.names[i])
		s.events[i] = 1
	}
	id, err := s.store.StoreEvent(context.Background(), s.names[i], gosdkStream, json.RawMessage(payload))
	if err != nil {
		panic(err)
	}
	if i == 0 && len(s.ids) < cap(s.ids) {
		s.ids = append(s.ids, id)
	}
}

// reader frames an event as that server does when it replays.
func (s *mcpgoStore) reader(total, n int, encoded bool) (func() int, error) {
	cursor := s.ids[total-1-n]
	var wire bytes.Buffer
	return func() (read int) {
		wire.Reset()
		if _, err := s.store.ReplayEventsAfter(context.Background(), s.names[0], cursor, func(id string, data json.RawMessage) error {
			if read++; encoded {
				fmt.Fprintf(&wire, "id: %s\n", id)
				fmt.Fprintf(&wire, "event: message\ndata: %s\n\n", data)
			}
			return nil
		}); err != nil {
			panic(err)
		}
		return read
	}, nil
}

func (s *mcpgoStore) close() {}

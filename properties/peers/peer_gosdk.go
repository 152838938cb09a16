package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The official SDK's MemoryEventStore. It bounds the bytes of the whole process,
// not of a session: the bound is what the row's windows hold together.
type gosdkStore struct {
	store *mcp.MemoryEventStore
	names []string
}

const gosdkStream = "STREAMSTREAMSTREAMSTREAM01"

func openGosdk(bytesOf func(sessions int) int) func(int) (store, error) {
	return func(sessions int) (store, error) {
		s := &gosdkStore{mcp.NewMemoryEventStore(nil), sessionNames(sessions)}
		s.store.SetMaxBytes(bytesOf(sessions))
		for _, name := range s.names {
			if err := s.store.Open(context.Background(), name, gosdkStream); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
}

func fullWindows(sessions int) int { return sessions * windowEvents * eventBytes }
func oneWindow(int) int            { return windowEvents * eventBytes }

func (s *gosdkStore) append(i int, payload []byte) {
	if err := s.store.Append(context.Background(), s.names[i], gosdkStream, bytes.Clone(payload)); err != nil {
		panic(err)
	}
}

// reader frames an event as the SDK's writeEvent does.
func (s *gosdkStore) reader(total, n int, encoded bool) (func() int, error) {
	var wire bytes.Buffer
	return func() (read int) {
		wire.Reset()
		for data, err := range s.store.After(context.Background(), s.names[0], gosdkStream, total-1-n) {
			if err != nil {
				panic(err)
			}
			if read++; encoded {
				fmt.Fprintf(&wire, "event: %s\n", "message")
				fmt.Fprintf(&wire, "id: %s\n", fmt.Sprintf("%s_%d", gosdkStream, total-1-n+read))
				wire.WriteString("data: ")
				wire.Write(data)
				wire.WriteString("\n\n")
			}
		}
		return read
	}, nil
}

func (s *gosdkStore) close() {}

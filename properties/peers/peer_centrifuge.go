package main

import (
	"bytes"
	"context"
	"time"

	"github.com/centrifugal/centrifuge"
)

// centrifuge's memory broker: a channel for a session, with a history of the
// window's size and age.
type centrifugeStore struct {
	broker  *centrifuge.MemoryBroker
	names   []string
	options centrifuge.PublishOptions
	epoch   string // of session 0's channel
}

type nobody struct{}

func (nobody) HandlePublication(string, *centrifuge.Publication, centrifuge.StreamPosition, bool, *centrifuge.Publication) error {
	return nil
}
func (nobody) HandleJoin(string, *centrifuge.ClientInfo) error  { return nil }
func (nobody) HandleLeave(string, *centrifuge.ClientInfo) error { return nil }

func openCentrifuge(sessions int) (store, error) {
	node, err := centrifuge.New(centrifuge.Config{})
	if err != nil {
		return nil, err
	}
	broker, err := centrifuge.NewMemoryBroker(node, centrifuge.MemoryBrokerConfig{})
	if err != nil {
		return nil, err
	}
	if err := broker.RegisterBrokerEventHandler(nobody{}); err != nil {
		return nil, err
	}
	s := &centrifugeStore{broker: broker, names: sessionNames(sessions), options: centrifuge.PublishOptions{HistorySize: windowEvents, HistoryTTL: 5 * time.Minute}}
	for i, name := range s.names { // which makes the channel
		_, position, err := broker.History(name, centrifuge.HistoryOptions{})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			s.epoch = position.Epoch
		}
	}
	return s, nil
}

func (s *centrifugeStore) append(i int, payload []byte) {
	if _, err := s.broker.Publish(s.names[i], bytes.Clone(payload), s.options); err != nil {
		panic(err)
	}
}

// reader frames an event in the shortest way: that server speaks a protocol of
// its own.
func (s *centrifugeStore) reader(total, n int, encoded bool) (func() int, error) {
	since := centrifuge.StreamPosition{Offset: uint64(total - n), Epoch: s.epoch}
	options := centrifuge.HistoryOptions{Filter: centrifuge.HistoryFilter{Since: &since, Limit: -1}}
	wire := make([]byte, 0, windowEvents*(eventBytes+40))
	return func() int {
		wire = wire[:0]
		events, _, err := s.broker.History(s.names[0], options)
		if err != nil {
			panic(err)
		}
		for _, e := range events {
			if encoded {
				wire = appendFramed(wire, e.Offset, e.Data)
			}
		}
		return len(events)
	}, nil
}

func (s *centrifugeStore) close() { _ = s.broker.Close(context.Background()) }

package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// The work of the store rows.
const (
	windowEvents = 256
	eventBytes   = 256
	manySessions = 10_000
)

// A store is what everybody is adapted to. Sessions are numbered; who is keyed
// by a session's id looks it up each time, unless the row says otherwise.
type store interface {
	// append records one event and keeps a copy.
	append(session int, payload []byte)
	// reader returns what reads the n newest of total events of session 0, after
	// a cursor, and says how many those were. With encoded it frames each into
	// one buffer, as the server that the store belongs to does on the wire.
	reader(total, n int, encoded bool) (func() int, error)
	close()
}

// A keeper opens a store with so many sessions in which nothing was said.
type keeper struct {
	name string
	open func(sessions int) (store, error)
}

// sessionNames are as long as the ids of most SDKs.
func sessionNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("SESSION%019d", i*2654435761%1000000007)
	}
	return names
}

// event returns the payload of an event, which is a message of MCP.
func event() []byte {
	const head, tail = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"message":"`, `"}}`
	return []byte(head + strings.Repeat("x", eventBytes-len(head)-len(tail)) + tail)
}

// coarseNow is a clock that ticks every ten milliseconds: what a five-minute
// age needs. The bounds use it.
var coarseNow atomic.Int64

func init() {
	began := time.Now()
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			coarseNow.Store(int64(time.Since(began)))
		}
	}()
}

// fill appends so many events to each session.
func fill(s store, sessions, events int) {
	payload := event()
	for range events {
		for i := range sessions {
			s.append(i, payload)
		}
	}
}

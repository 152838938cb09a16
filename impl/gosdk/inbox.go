package gosdk

import (
	"context"
	"strings"
	"sync"
	"time"
)

// An inbox bounds the notifications of a client that wait for the SDK. The SDK
// handles them one after the other and queues what comes meanwhile, without
// bound; so their POSTs wait here instead, each with the connection that it
// costs its client.
//
// Some never reach a handler, because their params cannot be read: they are
// taken as done when no handler has run for a while.
type inbox struct {
	mu      sync.Mutex
	waiting int           // handed over, and not known to be done
	running int           // handlers
	last    time.Time     // when one of them began or ended
	moved   chan struct{} // closed when one has ended
}

const (
	inboxSize = 64
	inboxRest = 100 * time.Millisecond
)

// enter waits for room; it reports false if any of the ends came first.
func (b *inbox) enter(work, request context.Context) bool {
	for {
		moved, ok := b.tryEnter()
		if ok {
			return true
		}
		select {
		case <-moved:
		case <-time.After(inboxRest):
		case <-work.Done():
			return false
		case <-request.Done():
			return false
		}
	}
}

func (b *inbox) tryEnter() (moved <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting >= inboxSize && b.running == 0 && time.Since(b.last) >= inboxRest {
		b.waiting = 0
	}
	if b.waiting < inboxSize {
		b.waiting++
		return nil, true
	}
	if b.moved == nil {
		b.moved = make(chan struct{})
	}
	return b.moved, false
}

func (b *inbox) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running++
	b.last = time.Now()
}

func (b *inbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	b.waiting = max(b.waiting-1, 0)
	b.last = time.Now()
	if b.moved != nil {
		close(b.moved)
		b.moved = nil
	}
}

// isNotification reports whether a method is one of the notifications that the
// SDK's server handles. It drops every other one: a program can add methods,
// but no notifications.
func isNotification(method string) bool {
	switch strings.TrimPrefix(method, "notifications/") {
	case "initialized", "cancelled", "progress", "roots/list_changed":
		return true
	}
	return false
}

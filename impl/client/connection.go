package client

import (
	"context"
	"errors"
	"io"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// A connection is one request that a stream made, and the reading of its
// answer, in a goroutine of its own.
type connection struct {
	c        *Client
	stream   StreamID
	number   uint64
	resuming bool
	told     bool // that the stream was resumed
	ctx      context.Context
	cancel   context.CancelFunc
}

// connect sends the request of a stream. c.mu is held.
func (c *Client) connect(a Action) {
	n := &connection{c: c, stream: a.Stream, number: a.Conn, resuming: a.Do == spec.SendResume}
	n.ctx, n.cancel = context.WithCancel(c.ctx)
	c.conns[a.Conn] = n.cancel
	c.group.Go(func() {
		n.run(a)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.disconnect(a.Conn)
		c.forget(a.Stream)
	})
}

// disconnect ends a connection. c.mu is held.
func (c *Client) disconnect(number uint64) {
	if cancel := c.conns[number]; cancel != nil {
		cancel()
		delete(c.conns, number)
	}
}

func (n *connection) run(a Action) {
	c := n.c
	var resp Response
	var err error
	if a.Do == spec.SendPost {
		resp, err = c.transport.Post(n.ctx, PostRequest{Session: a.Session, Request: a.Stream.Request, Key: a.Call.Key, Payload: a.Payload})
	} else {
		timeout := time.AfterFunc(c.o.AnswerTimeout, n.cancel)
		resp, err = c.transport.Get(n.ctx, GetRequest{Session: a.Session, Request: a.Stream.Request, Cursor: a.Cursor, Attempt: a.Numbered})
		timeout.Stop()
	}
	if resp.Events != nil {
		defer resp.Events.Close()
	}
	goesOn := n.feed(func(core *Core) ([]Action, error) { return n.answered(core, a.Cursor, resp, err) })
	switch {
	case goesOn && resp.Events != nil:
		n.read(resp)
	case goesOn: // a single message, and it was not the answer
		n.feed(func(core *Core) ([]Action, error) { return core.StreamEnds(n.stream, n.number) })
	}
}

// answered gives the answer to the core.
func (n *connection) answered(core *Core, cursor string, resp Response, err error) ([]Action, error) {
	switch {
	case errors.Is(err, ErrNotSent):
		return core.DialFails(n.stream, n.number, spec.ReasonNoConnection)
	case err != nil:
		return core.ConnectionBreaks(n.stream, n.number)
	case resp.Kind == ResponseComplete && n.resuming && resp.Position != "" && resp.Position != cursor:
		resp.Kind = ResponseStream // complete, but somewhere else: no proof either (R21)
	}
	switch resp.Kind {
	case ResponseStream:
		return core.Accepts(n.stream, n.number, Accepted{SessionID: resp.SessionID, Position: resp.Position})
	case ResponseOnce:
		return core.AnswersOnce(n.stream, n.number, resp.SessionID, resp.Event)
	case ResponseComplete:
		return core.Completes(n.stream, n.number, resp.SessionID)
	}
	if n.resuming {
		switch status := resp.Status; {
		case status == statusUnauthorized:
			return core.Challenges(n.stream, n.number)
		case status == statusRequestTimeout, status == statusTooEarly, status == statusTooManyRequests, status >= 500:
			return core.Defers(n.stream, n.number, resp.RetryAfter)
		}
	}
	return core.Refuses(n.stream, n.number, Refusal{Status: resp.Status, Reason: resp.Reason, Sealed: resp.Sealed})
}

// read feeds the events of an accepted view to the core, one at a time, until
// the view ends or the core has closed the connection.
func (n *connection) read(resp Response) {
	accepted := time.Now()
	unproven := time.AfterFunc(n.c.o.AnswerTimeout, func() {
		if n.state() == spec.Unproven {
			n.cancel()
		}
	})
	defer unproven.Stop()
	for {
		ev, err := resp.Events.Next()
		switch {
		case errors.Is(err, io.EOF):
			n.feed(func(core *Core) ([]Action, error) { return core.StreamEnds(n.stream, n.number) })
			return
		case err != nil:
			n.feed(func(core *Core) ([]Action, error) { return core.ConnectionBreaks(n.stream, n.number) })
			return
		}
		alive := time.Since(accepted) >= n.c.o.KeepAlive
		goesOn := n.feed(func(core *Core) ([]Action, error) {
			if alive {
				core.Lived(n.stream, n.number)
			}
			return core.EventArrives(n.stream, n.number, ev)
		})
		if !goesOn {
			return
		}
		if alive {
			accepted = time.Now()
		}
	}
}

// feed gives the core something that arrived and, where that opens a
// transaction, waits for it and hands the event on. It reports whether the
// connection may bring more.
func (n *connection) feed(arrival func(*Core) ([]Action, error)) bool {
	c := n.c
	c.mu.Lock()
	earlier := c.inHand[n.stream] // of the connection before, which may not have handed it on yet
	_, err := c.locked(arrival)
	c.refused(n.stream, err)
	done := c.inHand[n.stream]
	c.mu.Unlock()
	if err != nil {
		return false
	}
	if done != earlier {
		n.handOn(done)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.tellResumed()
	return c.conns[n.number] != nil
}

// tellResumed tells that the view of a resumption is proven (R21). c.mu is held.
func (n *connection) tellResumed() {
	c := n.c
	if s := c.core.streams[n.stream]; n.resuming && !n.told && s != nil && s.conn == n.number && s.state == spec.Streaming {
		n.told = true
		c.report(n.stream, StreamResumed, "")
	}
}

// handOn waits for a transaction and tells the application of the event that
// was applied.
func (n *connection) handOn(done chan Action) {
	c, a := n.c, <-done
	defer c.handed(n.stream, done, a.Outcome)
	if a.Do != spec.ReturnEvent {
		return
	}
	for _, ev := range a.Events {
		if c.o.OnEvent != nil {
			c.o.OnEvent(ev)
		}
		c.mu.Lock()
		f := c.flights[n.stream]
		c.mu.Unlock()
		if f != nil && f.onEvent != nil && !ev.Answer {
			f.onEvent(ev)
		}
	}
}

// handed ends the wait for a stream's transaction. The outcome comes last, so
// that a call ends after its last event was told.
func (c *Client) handed(id StreamID, done chan Action, o *Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inHand[id] == done {
		delete(c.inHand, id)
	}
	c.conclude(o)
	if f := c.flights[id]; f != nil && c.closed {
		f.tell()
	}
}

// refused tells who waits for a stream that the table, which somebody edited,
// leaves where it is: no caller may wait for that. c.mu is held.
func (c *Client) refused(id StreamID, err error) {
	var refused *fsm.RefusedError
	if s := c.core.streams[id]; errors.As(err, &refused) && s != nil && !terminal(s.state) {
		c.suspend(id, err)
	}
}

func (n *connection) state() spec.State {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if s := n.c.core.streams[n.stream]; s != nil && s.conn == n.number {
		return s.state
	}
	return spec.Lost
}

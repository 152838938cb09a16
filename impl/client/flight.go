package client

import (
	"context"
	"fmt"

	"example.com/reattach/spec"
)

// A flight is a call from the caller's side: who waits for it, and what came
// of it. It outlives its stream, for a pending call may be awaited again.
type flight struct {
	id      StreamID
	onEvent func(Event)
	changed chan struct{} // closed when one of the following changes
	outcome *Outcome      // final
	pending error         // why nobody should wait now
	waiters int
}

// maxSettled bounds the outcomes that are kept for calls that nobody awaits.
const maxSettled = 1024

func newFlight(id StreamID, onEvent func(Event)) *flight {
	return &flight{id: id, onEvent: onEvent, changed: make(chan struct{})}
}

func (f *flight) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// settle gives a call its outcome. c.mu is held.
func (c *Client) settle(o *Outcome) {
	if o == nil {
		return
	}
	outcome := *o
	if tell := c.o.OnOutcome; tell != nil {
		c.callbacks.add(&c.group, func() { tell(outcome) })
	}
	f := c.flights[o.Stream]
	if f == nil {
		return
	}
	f.outcome, f.pending = &outcome, nil
	f.tell()
	if f.waiters > 0 {
		return
	}
	c.settled = append(c.settled, o.Stream)
	if len(c.settled) > maxSettled {
		delete(c.flights, c.settled[0])
		c.settled = c.settled[1:]
	}
}

// await waits until the call is answered, or nobody should wait any more.
func (c *Client) await(ctx context.Context, f *flight) (Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.waiters++
	defer func() { f.waiters-- }()
	for {
		if f.outcome != nil {
			delete(c.flights, f.id)
			return f.outcome.result()
		}
		if f.pending != nil {
			return Event{}, &PendingError{Stream: f.id, Err: f.pending}
		}
		if c.closed && c.inHand[f.id] == nil {
			return Event{}, &PendingError{Stream: f.id, Err: ErrClosed}
		}
		changed, closed := f.changed, c.ctx.Done()
		if c.closed {
			closed = nil // what is in hand is still told
		}
		c.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-closed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		c.mu.Lock()
		if err != nil && f.outcome == nil {
			return Event{}, &PendingError{Stream: f.id, Err: err}
		}
	}
}

// result is the outcome as a caller of [Client.Call] sees it.
func (o *Outcome) result() (Event, error) {
	switch o.Kind {
	case OutcomeAnswered:
		return o.Answer, nil
	case OutcomeNotRun:
		return Event{}, &NotRunError{Stream: o.Stream, Reason: o.Reason}
	case OutcomeLost:
		return Event{}, &LostError{Stream: o.Stream}
	case OutcomeUnknown:
		return Event{}, &UnknownError{Stream: o.Stream, Reason: o.Reason}
	}
	panic(fmt.Sprintf("reattach: BUG: outcome of kind %d", o.Kind))
}

// suspend tells who waits for the call that it is pending. c.mu is held.
func (c *Client) suspend(id StreamID, why error) {
	if f := c.flights[id]; f != nil && f.outcome == nil {
		f.pending = why
		f.tell()
	}
}

// Await waits for a call that is pending, or that was recovered, as Call does.
// A call whose outcome was taken already, or that this client never knew, is
// ErrNoStream.
func (c *Client) Await(ctx context.Context, id StreamID) (Event, error) {
	c.mu.Lock()
	f := c.flights[id]
	c.mu.Unlock()
	if f == nil {
		return Event{}, fmt.Errorf("%w: %v", ErrNoStream, id)
	}
	return c.await(ctx, f)
}

// Resume tries to resume a suspended stream again; its attempts begin anew.
// Await then waits for its call.
func (c *Client) Resume(ctx context.Context, id StreamID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.do(func(core *Core) ([]Action, error) {
		actions, err := core.Resume(id)
		if err == nil {
			c.since[id] = c.now()
			if f := c.flights[id]; f != nil {
				f.pending = nil
			}
		}
		return actions, err
	})
}

// report tells the application about a stream. c.mu is held.
func (c *Client) report(id StreamID, kind StreamReportKind, why spec.Reason) {
	if tell := c.o.OnStream; tell != nil {
		c.callbacks.add(&c.group, func() { tell(StreamReport{Stream: id, Kind: kind, Reason: why}) })
	}
}

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/reattach/spec"
)

// A Client drives a [Core] over a [Transport] and a [Store]: it sends what the
// core hands out, feeds it what comes back, waits where it must, and tells the
// callers. It decides nothing about resumption by itself.
//
// It is safe for concurrent use. After [New] it resumes by itself what the
// record says; it never opens a session by itself, and never opens another one
// after one was abandoned: that is the caller's decision (R22).
type Client struct {
	transport Transport
	store     Store
	o         Options
	recovered Recovered

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	group  sync.WaitGroup

	commits   queue // writes of the record, in the order of the core
	callbacks queue

	sending sync.Mutex // calls enter the record in the order of their ids

	mu        sync.Mutex // guards what follows; never held while waiting
	core      *Core
	closed    bool
	changed   chan struct{}            // closed and replaced when the epoch's state, or what is below, changes
	conns     map[uint64]func()        // open connections, and how to close them
	inHand    map[StreamID]chan Action // who waits for a stream's transaction
	flights   map[StreamID]*flight
	settled   []StreamID             // flights with an outcome that nobody awaits
	since     map[StreamID]time.Time // the last progress of streams that are being resumed
	refresh   map[StreamID]bool      // streams that need new credentials first
	opening   *attempt
	resolving map[StreamID][]chan error
	asking    map[StreamID]bool // unknown outcomes that the ledger is being asked for, for who waits for the call
	release   func() error      // the store, to the next holder
	deletes   int               // DELETEs under way
	gaveUp    bool              // the fence could not be written, for now
}

// An attempt is an opening that a caller waits for.
type attempt struct {
	payload []byte
	err     error // of the transport or the store
	done    chan error
}

// Recovered is what the record said when the client was made.
type Recovered struct {
	State    spec.State // of the epoch: Idle if there was no record
	Epoch    uint64
	Session  Session    // of an open epoch
	Resumed  []StreamID // streams that go on, the standalone one too
	Pending  []StreamID // the calls among them: Await them
	Lost     []StreamID // calls without a position, which are unknown outcomes from now on
	Unknowns []Unknown  // unresolved in the record
}

// New makes a client of what the store holds, and takes the lease of it (R30):
// spec.ReasonLeaseHeld says that another client has the store. An open record is
// recovered: its streams are resumed at once, its calls can be awaited.
func New(ctx context.Context, t Transport, s Store, o Options) (*Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Apply != nil {
		s = RepeatOnCrash(s, o.Apply)
	}
	observeWith(&o)
	record, release, err := lease(ctx, s)
	if err != nil {
		return nil, err
	}
	core, actions, err := NewCore(record, o.Core)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	c := &Client{transport: t, store: s, o: o, core: core, release: sync.OnceValue(release), asking: map[StreamID]bool{}, changed: make(chan struct{}),
		conns: map[uint64]func(){}, inHand: map[StreamID]chan Action{}, flights: map[StreamID]*flight{},
		since: map[StreamID]time.Time{}, refresh: map[StreamID]bool{}, resolving: map[StreamID][]chan error{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.recovered = recoveredFrom(record, core)
	for _, call := range record.Calls {
		id := StreamID{record.Epoch, call.Request}
		c.flights[id] = newFlight(id, nil)
	}
	if o.NoStandalone {
		actions = slices.DeleteFunc(actions, func(a Action) bool { return a.Do == spec.ScheduleResume && a.Stream == core.Standalone() })
		c.recovered.Resumed = slices.DeleteFunc(c.recovered.Resumed, func(id StreamID) bool { return id == core.Standalone() })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dispatch(actions)
	return c, nil
}

func recoveredFrom(record Record, core *Core) Recovered {
	rec := Recovered{State: core.State(), Epoch: record.Epoch, Unknowns: record.Unknowns}
	if record.State == RecordOpen {
		rec.Session = core.session()
	}
	for _, s := range core.Snapshot().Streams {
		switch {
		case s.State == spec.Ended || s.State == spec.Truncated:
			rec.Resumed = append(rec.Resumed, s.ID)
			if s.ID.Request != 0 {
				rec.Pending = append(rec.Pending, s.ID)
			}
		case s.State == spec.Lost && s.ID.Request != 0:
			rec.Lost = append(rec.Lost, s.ID)
		}
	}
	return rec
}

// Recovered tells what the record said when the client was made.
func (c *Client) Recovered() Recovered { return c.recovered }

// do runs one method of the core and starts what it leads to.
func (c *Client) do(move func(*Core) ([]Action, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.locked(move)
	return err
}

// locked is do with c.mu held.
func (c *Client) locked(move func(*Core) ([]Action, error)) ([]Action, error) {
	if c.closed {
		return nil, ErrClosed
	}
	from := c.core.State()
	actions, err := move(c.core)
	if to := c.core.State(); to != from {
		c.stateChanged(from, to)
	}
	c.dispatch(actions)
	return actions, err
}

func (c *Client) stateChanged(from, to spec.State) {
	snap := c.core.Snapshot()
	if tell := c.o.OnState; tell != nil {
		change := StateChange{Epoch: snap.Record.Epoch, From: from, To: to, Reason: snap.Reason}
		c.callbacks.add(&c.group, func() { tell(change) })
	}
	if to == spec.Fencing {
		c.gaveUp = false
	}
	if to == spec.Closed && c.opening != nil { // nobody reports to it any more
		c.opened(&OpenError{Reason: spec.ReasonEpochClosed})
	}
	c.tell()
}

// tell wakes who waits for the epoch. c.mu is held.
func (c *Client) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// waitFor waits until ready, which is asked with c.mu held.
func (c *Client) waitFor(ctx context.Context, ready func() bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !ready() {
		if c.closed {
			return ErrClosed
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-c.ctx.Done():
		case <-ctx.Done():
		}
		c.mu.Lock()
		if err := ctx.Err(); err != nil && !ready() {
			return err
		}
	}
	return nil
}

// Open opens a session with a message of the caller's, and with it a new
// epoch. While unknown outcomes of earlier epochs are unresolved the epoch is
// in quarantine: see Unknowns and Resolve. The error is an [*OpenError], or a
// refusal such as epoch_open. If ctx ends first, the opening goes on.
func (c *Client) Open(ctx context.Context, payload []byte) error {
	a := &attempt{payload: payload, done: make(chan error, 1)}
	err := c.do(func(core *Core) ([]Action, error) {
		actions, err := core.Open()
		if err == nil {
			c.opening = a
		}
		return actions, err
	})
	if err != nil {
		return err
	}
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// opened tells the caller of Open. c.mu is held.
func (c *Client) opened(err error) {
	if c.opening != nil {
		c.opening.done <- err
		c.opening = nil
	}
}

// Abandon gives the epoch up: what is in flight is an unknown outcome from now
// on. It returns when the fence is durable and the session's DELETE was tried.
func (c *Client) Abandon(ctx context.Context) error {
	return c.end(ctx, func(core *Core) ([]Action, error) { return core.Abandon() })
}

// Terminate ends the session by the caller's wish; otherwise it is Abandon.
func (c *Client) Terminate(ctx context.Context) error {
	return c.end(ctx, func(core *Core) ([]Action, error) { return core.Terminate() })
}

func (c *Client) end(ctx context.Context, move func(*Core) ([]Action, error)) error {
	err := c.do(func(core *Core) ([]Action, error) {
		actions, err := move(core)
		if err == nil {
			c.gaveUp = false
		}
		return actions, err
	})
	if err != nil {
		return err
	}
	err = c.waitFor(ctx, func() bool {
		return c.gaveUp || c.core.State() != spec.Fencing && c.deletes == 0
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gaveUp {
		return fmt.Errorf("client: the fence is not durable: %w", spec.ReasonCommitFailed)
	}
	return nil
}

// Unknowns returns the unresolved unknown outcomes, of every epoch.
func (c *Client) Unknowns() []Unknown {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.Record().Clone().Unknowns
}

// Resolve decides what an unknown outcome was. When the last one of an earlier
// epoch is resolved the quarantine ends. ErrNoUnknown if there is none.
func (c *Client) Resolve(ctx context.Context, unknown StreamID, d Decision) error {
	return c.decide(ctx, unknown, func(core *Core) ([]Action, error) { return core.Resolve(unknown, d) })
}

func (c *Client) decide(ctx context.Context, unknown StreamID, move func(*Core) ([]Action, error)) error {
	done := make(chan error, 1)
	err := c.do(func(core *Core) ([]Action, error) {
		actions, err := move(core)
		if err == nil {
			c.resolving[unknown] = append(c.resolving[unknown], done)
		}
		return actions, err
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// State returns the state of the epoch.
func (c *Client) State() spec.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.State()
}

// Session returns the session of the current epoch, the zero Session if none
// is open.
func (c *Client) Session() Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.core.open() {
		return Session{}
	}
	return c.core.session()
}

// Snapshot returns what the core knows.
func (c *Client) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.Snapshot()
}

// Close stops the client and waits for what it started. The record stays as it
// is, and so does the session: a client made of the same store, whose lease this
// one gives back, goes on. Calls that are waited for return a [*PendingError].
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	c.cancel()
	c.mu.Unlock()
	c.group.Wait()
	return c.release()
}

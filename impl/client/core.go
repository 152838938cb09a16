package client

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// A Core is one epoch of a client and its streams: what is known, and what may
// happen next. It is synchronous and does nothing by itself: no I/O, clock or
// goroutine. Every method is one trigger of a table; it computes the facts,
// fires, and returns the effects as data ([Action]).
//
// Guarantees, whatever is reported to it:
//
//	(1) a method that returns an error changed nothing
//	(2) what arrives on a connection that is not its stream's current one is a
//	    *ConnectionError and never reaches the table (R21)
//	(3) what the table does not allow is a *fsm.RefusedError
//	(4) a cursor moves only when StreamCommitted reports the change that moves
//	    it (R20)
//	(5) a call gets at most one Outcome
//
// A Core is not safe for concurrent use.
type Core struct {
	o       CoreOptions
	state   spec.State
	record  Record // as last reported durable
	streams map[StreamID]*stream
	conns   uint64 // the last connection number handed out
	next    uint64 // the next request id
	gets    uint64 // requests for views, under this lease (R10)

	opening  opening
	closing  bool        // the caller wishes the session to end
	reason   spec.Reason // why the epoch is being fenced
	failures int         // of the fence's write, in a row
	reported bool        // the unknown outcomes of this epoch were reported
}

// CoreOptions are the settings of a core. Zero values are the defaults.
type CoreOptions struct {
	Machines       *fsm.Client // fsm.DefaultClient()
	Strict         bool        // abandon a stream that was truncated, instead of resuming it (R24)
	ResumeAttempts int         // in a row without progress; spec.DefaultResumeAttempts (R26)
	FenceAttempts  int         // spec.DefaultFenceAttempts
	Profile        *Profile    // how a foreign server's event ids order; nil: they are opaque (R22)
	// NoResending declares that nothing between this client and its server
	// ever sends a POST twice. Only then is a typed refusal proof that a call
	// did not run (R23).
	NoResending bool
	// Observe is told of every row that fired and of every refusal; one of the
	// two is nil. It must be quick, and must not call back.
	Observe func(step *fsm.Step, refused *fsm.RefusedError)
}

// An opening is an initialize that was sent.
type opening struct {
	conn    uint64
	session string
}

// NewCore returns the core of a record, and what is to be done at once. A
// record that is open is recovered: no connection survives a restart, so every
// stream ended between two events, as far as the record knows. Those with a
// token are resumed; a call without one becomes an unknown outcome.
//
// The record must be valid.
func NewCore(r Record, o CoreOptions) (*Core, []Action, error) {
	if err := r.Validate(); err != nil {
		return nil, nil, fmt.Errorf("client: record: %w", err)
	}
	o.Machines = cmp.Or(o.Machines, fsm.DefaultClient())
	o.ResumeAttempts = cmp.Or(o.ResumeAttempts, spec.DefaultResumeAttempts)
	o.FenceAttempts = cmp.Or(o.FenceAttempts, spec.DefaultFenceAttempts)
	if o.ResumeAttempts < 1 || o.FenceAttempts < 1 {
		return nil, nil, fmt.Errorf("client: %d attempts to resume and %d to fence: at least one each", o.ResumeAttempts, o.FenceAttempts)
	}
	c := &Core{o: o, record: r, streams: map[StreamID]*stream{}, next: max(r.NextRequest, 1)}
	switch {
	case r.State == RecordNone:
		c.state = spec.Idle
	case r.State == RecordFenced:
		c.state = spec.Abandoned
	case r.State == RecordClosed:
		c.state = spec.Closed
	case r.UnknownsBefore(r.Epoch):
		c.state = spec.Quarantined
	default:
		c.state = spec.Open
	}
	if r.State != RecordOpen {
		return c, nil, nil
	}
	actions, err := c.recover()
	if err != nil {
		return nil, nil, fmt.Errorf("client: recovering epoch %d: %w", r.Epoch, err)
	}
	return c, actions, nil
}

// recover gives every stream of the record an end.
func (c *Core) recover() ([]Action, error) {
	standalone := c.addStream(0, Call{})
	if _, ok := c.record.findToken(0); ok {
		standalone.state = spec.Streaming
	}
	for _, call := range c.record.Calls {
		s := c.addStream(call.Request, call)
		s.state, s.recorded = spec.Streaming, true
	}
	r := run{core: c, reason: spec.ReasonStreamTruncated}
	for _, s := range c.sorted() {
		if s.state != spec.Streaming { // Unsent, or lost with the epoch meanwhile
			continue
		}
		r.reason = s.endReason()
		if err := r.stream(s, spec.StreamEnds, s.standing()); err != nil {
			return nil, err
		}
	}
	return r.actions, nil
}

// State returns the state of the epoch's machine.
func (c *Core) State() spec.State { return c.state }

// Record returns the record as it was last reported durable.
func (c *Core) Record() Record { return c.record }

// Standalone names the standalone stream of the current epoch.
func (c *Core) Standalone() StreamID { return StreamID{Epoch: c.record.Epoch} }

// session is what a request of the current epoch carries.
func (c *Core) session() Session { return Session{ID: c.record.SessionID, Meta: c.record.Meta} }

// addStream gives the current epoch a stream, in its initial state, where the
// record says that it stands.
func (c *Core) addStream(request uint64, call Call) *stream {
	s := &stream{id: StreamID{c.record.Epoch, request}, state: spec.Unsent, call: call, profile: c.o.Profile}
	if i, ok := c.record.findToken(request); ok {
		s.moveTo(c.record.Streams[i].LastEventID, c.record.Tag)
		if high, err := spec.ParseEventID(c.record.Streams[i].High); err == nil && high.Tag == c.record.Tag {
			s.high = high
		}
	}
	c.streams[s.id] = s
	return s
}

// doubting reports whether some call is about to become an unknown outcome.
func (c *Core) doubting() bool {
	for _, s := range c.streams {
		if s.hand.change.Kind == DoubtCall {
			return true
		}
	}
	return false
}

// sorted returns the streams in the order of their ids.
func (c *Core) sorted() []*stream {
	return slices.SortedFunc(maps.Values(c.streams), func(a, b *stream) int { return a.id.compare(b.id) })
}

// lookup returns a stream, or the error that says that there is none.
func (c *Core) lookup(id StreamID) (*stream, error) {
	if s := c.streams[id]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("%w: %v", ErrNoStream, id)
}

// arriving returns the stream of something that arrives on a connection. This
// is the fence of every connection but the current one (R21).
func (c *Core) arriving(id StreamID, conn uint64) (*stream, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	if s.conn != conn {
		return nil, &ConnectionError{Stream: id, Conn: conn, Current: s.conn}
	}
	return s, nil
}

// connect returns a new connection number.
func (c *Core) connect() uint64 {
	c.conns++
	return c.conns
}

// Forget drops a stream that is Completed, NotExecuted or Lost, has no
// transaction in hand and, if it is a call's, its outcome; or a call that was
// never sent. It reports whether the stream is gone. Without it what is known
// of a finished stream stays until the next epoch begins.
func (c *Core) Forget(id StreamID) bool {
	s := c.streams[id]
	if s == nil {
		return true
	}
	unsent := s.state == spec.Unsent && s.isCall()
	if !unsent && (!terminal(s.state) || s.hand.change.Kind != 0 || s.isCall() && !s.settled) {
		return false
	}
	delete(c.streams, id)
	return true
}

func terminal(s spec.State) bool {
	return s == spec.Completed || s == spec.NotExecuted || s == spec.Lost
}

// Clone returns a core that shares nothing with c that either changes.
func (c *Core) Clone() *Core {
	clone := *c
	clone.streams = make(map[StreamID]*stream, len(c.streams))
	for id, s := range c.streams {
		copied := *s
		copied.ids = slices.Clone(s.ids)
		clone.streams[id] = &copied
	}
	return &clone
}

// A Snapshot is everything that a core knows, as plain data: what proofs
// compare.
type Snapshot struct {
	State       spec.State
	Record      Record
	Streams     []StreamSnapshot // in the order of their ids
	NextRequest uint64
	Opening     uint64 // connection of the last initialize
	Closing     bool
	Reason      spec.Reason
	Failures    int
	Reported    bool // the unknown outcomes were reported
}

// A StreamSnapshot is one stream of a [Snapshot].
type StreamSnapshot struct {
	ID       StreamID
	State    spec.State
	Conn     uint64
	Cursor   string
	High     spec.EventID // after an explicit empty id
	Foreign  []string     // ids of this connection that cannot be ordered
	Retry    time.Duration
	InHand   Change // Kind 0: no transaction is open
	Event    Event  // in hand
	Attempts int
	Recorded bool // its call is in the record, or was
	Settled  bool // its call has its outcome
}

// Snapshot returns what c knows. It shares the record's slices, which nobody
// changes.
func (c *Core) Snapshot() Snapshot {
	snap := Snapshot{State: c.state, Record: c.record, NextRequest: c.next, Opening: c.opening.conn,
		Closing: c.closing, Reason: c.reason, Failures: c.failures, Reported: c.reported}
	for _, s := range c.sorted() {
		snap.Streams = append(snap.Streams, StreamSnapshot{ID: s.id, State: s.state, Conn: s.conn, Cursor: s.cursor,
			High: s.high, Foreign: slices.Clone(s.ids), Retry: s.retry, InHand: s.hand.change, Event: s.hand.event,
			Attempts: s.attempts, Recorded: s.recorded, Settled: s.settled})
	}
	return snap
}

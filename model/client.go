package model

import (
	"maps"
	"slices"

	"example.com/reattach/spec"
)

// A Client is the client's side at any size, to be driven in lockstep with an
// implementation: each method is one trigger of the client's tables, and
// answers "" when it happened, or the reason why it was refused and changed
// nothing.
//
// Like a core it does no I/O: a transaction that a method begins is in hand
// until the suite says that it is durable or that it failed. The record is what
// is durable. Only what arrives on a stream's present connection may be told;
// the suite holds back the rest (R21). Event ids are those of our servers: an
// id of another form proves nothing and ends the epoch.
type Client struct {
	rules  Rules
	strict bool // a stream that breaks is abandoned (R24)

	epoch   spec.State
	closing bool    // the caller wishes the session to end
	said    bool    // the fence in hand says so: the wish came before it was written
	opening Opening // what initialize was answered with
	record  DurableRecord
	streams map[StreamID]*clientStream
	applied []Applied
}

// A StreamID names a client's stream by the epoch and the request id of its
// call; request 0 is the standalone stream.
type StreamID struct{ Epoch, Request uint64 }

// An Opening is the answer to initialize.
type Opening struct {
	SessionID  string
	Standalone string // position 0 of the standalone stream, "" if not announced (R7)
}

// A DurableRecord is the client's one record of an epoch (R20, R23).
type DurableRecord struct {
	Epoch       uint64
	State       spec.State // Idle: there is none; Open, Abandoned, Closed
	SessionID   string
	Tag         spec.Tag // the session's in event ids
	NextRequest uint64   // never used before (R29)

	Tokens   map[uint64]spec.EventID // request → last applied position
	Cleared  map[uint64]spec.EventID // request → the token that an explicit empty id took away (R25)
	Seen     map[uint64]bool         // the server's stream numbers that calls of this epoch had (R21)
	Calls    map[uint64]bool         // requests in flight
	Unknowns map[StreamID]bool       // unresolved, of whatever epoch
	About    map[uint64]StreamID     // the requests in flight that are about an unknown outcome, and no call of their own (R23)
}

// Applied is one event that the application applied.
type Applied struct {
	Stream StreamID
	ID     spec.EventID
}

// NewClient returns a client without an epoch.
func NewClient(rules Rules, strict bool) *Client {
	return &Client{rules: rules, strict: strict, epoch: spec.Idle, streams: map[StreamID]*clientStream{},
		record: DurableRecord{State: spec.Idle, NextRequest: 1, Tokens: map[uint64]spec.EventID{}, Cleared: map[uint64]spec.EventID{},
			Seen: map[uint64]bool{}, Calls: map[uint64]bool{}, Unknowns: map[StreamID]bool{}, About: map[uint64]StreamID{}}}
}

// Clone returns an independent copy.
func (c *Client) Clone() *Client {
	d := *c
	d.record = c.record.clone()
	d.applied = slices.Clone(c.applied)
	d.streams = maps.Clone(c.streams)
	for id, st := range d.streams {
		own := *st
		d.streams[id] = &own
	}
	return &d
}

func (r DurableRecord) clone() DurableRecord {
	r.Tokens, r.Cleared, r.Seen = maps.Clone(r.Tokens), maps.Clone(r.Cleared), maps.Clone(r.Seen)
	r.Calls, r.Unknowns, r.About = maps.Clone(r.Calls), maps.Clone(r.Unknowns), maps.Clone(r.About)
	return r
}

// closed is why an epoch in this state takes no call.
func closedBecause(epoch spec.State) spec.Reason {
	switch epoch {
	case spec.Fencing, spec.Abandoned:
		return spec.ReasonEpochAbandoned
	case spec.Closed:
		return spec.ReasonEpochClosed
	}
	return spec.ReasonEpochNotOpen
}

// Open asks for a session (R6, R22).
func (c *Client) Open() spec.Reason {
	switch c.epoch {
	case spec.Opening, spec.Quarantined, spec.Open:
		return spec.ReasonEpochOpen
	case spec.Fencing:
		return spec.ReasonEpochFencing
	}
	c.epoch = spec.Opening
	return ""
}

// Opened: initialize was answered with a session. The record of the new epoch
// is in hand (R23).
func (c *Client) Opened(o Opening) spec.Reason {
	if c.epoch != spec.Opening && c.epoch != spec.Closed {
		return spec.ReasonOutOfTurn
	}
	if c.epoch == spec.Opening {
		c.opening = o
	}
	return ""
}

// OpeningFails: initialize failed, or its record could not be written.
func (c *Client) OpeningFails() spec.Reason {
	switch c.epoch {
	case spec.Opening:
		c.epoch = spec.Idle
		if len(c.record.Unknowns) > 0 {
			c.epoch = spec.Abandoned
		}
	case spec.Closed:
	default:
		return spec.ReasonOutOfTurn
	}
	return ""
}

// EpochCommitted: the record of the new epoch is durable. It carries over every
// unresolved unknown, and the epoch opens in quarantine while there is one
// (R23). If the caller has closed meanwhile, the epoch is fenced at once.
func (c *Client) EpochCommitted() spec.Reason {
	if c.epoch != spec.Opening && c.epoch != spec.Closed {
		return spec.ReasonOutOfTurn
	}
	c.record = c.record.clone()
	c.record.Epoch++
	c.record.State, c.record.SessionID = spec.Open, c.opening.SessionID
	c.record.Tag = spec.TagOf(c.record.SessionID, "") // unless the server says otherwise at once
	c.record.Tokens, c.record.Cleared = map[uint64]spec.EventID{}, map[uint64]spec.EventID{}
	c.record.Calls, c.record.Seen = map[uint64]bool{}, map[uint64]bool{}
	if at := ReadCursor(c.opening.Standalone); at.Form == FormID {
		c.record.Tag, c.record.Tokens[0] = at.ID.Tag, at.ID
	}
	if c.epoch == spec.Closed {
		c.closing = true
		c.fence()
		return ""
	}
	c.streams[StreamID{c.record.Epoch, 0}] = &clientStream{state: spec.Unsent}
	c.epoch = c.rules.StateAtOpening(len(c.record.Unknowns))
	return ""
}

// Call opens a stream for a call, which is on its way into the record (R20).
// In quarantine only those pass that the contract lists (R23).
func (c *Client) Call(passes bool) (StreamID, spec.Reason) {
	if r := c.admits(passes); r != "" {
		return StreamID{}, r
	}
	id := StreamID{c.record.Epoch, c.nextRequest()}
	c.streams[id] = &clientStream{state: spec.Recording, call: true, hand: inHand{kind: addCall}}
	return id, ""
}

// Ask opens a keyed re-send of an unknown outcome, or a status query, which is
// about none in the record's eyes: in quarantine too, but to no server that does not name the key's ledger (R23,
// R28).
func (c *Client) Ask(about StreamID, foreign bool) (StreamID, spec.Reason) {
	if EpochLives(c.epoch) && foreign {
		return StreamID{}, spec.ReasonLedgerForeign
	}
	id, r := c.Call(true)
	if r == "" {
		c.streams[id].about = &about
	}
	return id, r
}

// nextRequest is a request id that was never used, in the record or beside it
// (R29).
func (c *Client) nextRequest() uint64 {
	next := c.record.NextRequest
	for id := range c.streams {
		next = max(next, id.Request+1)
	}
	return next
}

// Notify sends a message that is no call.
func (c *Client) Notify(passes bool) spec.Reason { return c.admits(passes) }

func (c *Client) admits(passes bool) spec.Reason {
	switch {
	case c.rules.MayCall(c.epoch, CallNew), c.epoch == spec.Quarantined && passes:
		return ""
	case c.epoch == spec.Quarantined:
		return spec.ReasonQuarantined
	}
	return closedBecause(c.epoch)
}

// Resolve: the caller decides what an unknown outcome was (R23).
func (c *Client) Resolve() spec.Reason {
	switch c.epoch {
	case spec.Opening:
		return spec.ReasonEpochNotOpen
	case spec.Fencing:
		return spec.ReasonEpochFencing
	}
	return ""
}

// ResolutionCommitted: that decision is durable; the last one ends the
// quarantine (R23).
func (c *Client) ResolutionCommitted(id StreamID) {
	delete(c.record.Unknowns, id)
	c.epoch = c.rules.WhenResolved(c.epoch, c.carried())
}

// carried counts the unresolved unknowns of earlier epochs.
func (c *Client) carried() (n int) {
	for id := range c.record.Unknowns {
		if id.Epoch < c.record.Epoch {
			n++
		}
	}
	return n
}

// Contradict: any doubt of R21 and R22 about the epoch.
func (c *Client) Contradict() spec.Reason {
	switch c.epoch {
	case spec.Idle, spec.Opening:
		return spec.ReasonEpochNotOpen
	}
	c.doubt()
	return ""
}

// doubt begins the fence if the epoch is open, for all its streams at once.
func (c *Client) doubt() {
	if EpochLives(c.epoch) {
		c.fence()
	}
}

// fence: nothing of the epoch is read any more; that it is over is in hand.
func (c *Client) fence() {
	c.epoch, c.said = spec.Fencing, c.closing
	for id, st := range c.streams {
		if id.Epoch == c.record.Epoch && !st.final() {
			st.state = spec.Lost
		}
	}
}

// Abandon: the caller gives the epoch up; said again, it asks for another
// attempt at the fence.
func (c *Client) Abandon() spec.Reason {
	switch c.epoch {
	case spec.Quarantined, spec.Open:
		c.fence()
	case spec.Fencing:
		c.said = c.closing
	default:
		return spec.ReasonEpochNotOpen
	}
	return ""
}

// Terminate: the caller ends the session.
func (c *Client) Terminate() spec.Reason {
	switch c.epoch {
	case spec.Closed:
		return spec.ReasonEpochClosed
	case spec.Quarantined, spec.Open:
		c.closing = true
		c.fence()
	case spec.Fencing:
		c.closing = true
	default:
		c.epoch = spec.Closed
	}
	return ""
}

// FenceCommitted: the end of the epoch is durable, and in the same transaction
// every call in flight became an unknown outcome (R22, R23). A wish to close
// that came after the fence was written is not in the record.
func (c *Client) FenceCommitted() spec.Reason {
	if c.epoch != spec.Fencing {
		return spec.ReasonOutOfTurn
	}
	c.record = c.record.clone()
	for request := range c.record.Calls {
		if c.rules.WhenCertaintyEnds(CallInFlight) == CallUnknown {
			c.record.doubts(StreamID{c.record.Epoch, request})
		}
	}
	c.epoch = c.rules.WhenFenced(spec.Open)
	c.record.State = c.epoch
	if c.closing {
		c.epoch = spec.Closed
	}
	if c.said {
		c.record.State = spec.Closed
	}
	c.closing = false
	clear(c.record.Tokens)
	clear(c.record.Cleared)
	return ""
}

// doubts makes an unknown outcome of a request in flight: a call of its own, for
// what is about an unknown outcome leaves that one as it is.
func (r *DurableRecord) doubts(id StreamID) {
	if about, ok := r.About[id.Request]; !ok || about != (StreamID{}) && !r.Unknowns[about] {
		r.Unknowns[id] = true
	}
	delete(r.Calls, id.Request)
	delete(r.About, id.Request)
}

// TakenOver: another holder of the record goes on with the session. Nothing is
// fenced and nothing deleted (R10, R30).
func (c *Client) TakenOver() spec.Reason {
	switch c.epoch {
	case spec.Idle, spec.Opening:
		return spec.ReasonEpochNotOpen
	case spec.Quarantined, spec.Open:
		c.fence()
		c.epoch, c.closing = spec.Abandoned, false
	}
	return ""
}

// FenceCommitFailed: it is not. Another holder's record is not ours to fence
// (R30); any other fence is tried again.
func (c *Client) FenceCommitFailed(stale bool) spec.Reason {
	if c.epoch != spec.Fencing {
		return spec.ReasonOutOfTurn
	}
	if stale {
		c.epoch, c.closing = spec.Abandoned, false
		return ""
	}
	c.said = c.closing
	return ""
}

// Restart: the process died, and begins again from its record. A call of which
// no position is known is an unknown outcome, to be recorded; every other
// stream is resumable (R20, R24).
func (c *Client) Restart() {
	clear(c.streams)
	c.closing = false
	c.epoch = c.record.State
	if c.epoch != spec.Open {
		return
	}
	c.epoch = c.rules.StateAtOpening(c.carried())
	standalone := &clientStream{state: spec.Unsent}
	if _, cleared := c.record.Cleared[0]; cleared {
		standalone.state = spec.Lost // it was there, and nothing says where it goes on (R24, R25)
	}
	c.streams[StreamID{c.record.Epoch, 0}] = standalone
	for request := range c.record.Tokens {
		c.streams[StreamID{c.record.Epoch, request}] = &clientStream{state: spec.Ended, call: c.record.Calls[request]}
	}
	for request := range c.record.Calls {
		if _, positioned := c.record.Tokens[request]; !positioned {
			c.streams[StreamID{c.record.Epoch, request}] = &clientStream{state: spec.Lost, call: true, hand: inHand{kind: markUnknown}}
		}
	}
}

package properties

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/client"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// A graphClient is a real client core with its durable record, as the client of
// the specification. The specification has one stream, on which the calls are
// answered too; the core has one for each call. So
//
//	the stream          the standalone stream
//	a call              a call, whose POST was answered at once with position 0
//	an event with k     the same event, and the answer on call k's own stream:
//	                    both are in hand, and what becomes of one becomes of both
//	CallBroken(k)       its connection breaks, and the resumption learns that
//	                    nothing will come (204)
//	PostRefused(k)      … and the resumption is refused: the session is gone
//
// A core does not read on while a transaction is in hand. The end of a
// connection that comes then is known to the suite, and told when the
// transaction is over, as the driver of the core does.
type graphClient struct {
	core    *client.Core
	record  client.Record
	options client.CoreOptions
	calls   []string // what became of each call that the record holds no more
	applied [][]int
	hand    handSight       // what the transaction of the standalone stream applies
	pending []client.Action // of the standalone stream, of the answered call: not yet written
	fence   *client.Action
	ended   string // the connection ended behind an event in hand: "end" or "torn"
	conn    uint64 // the last connection of the standalone stream
	coarse  bool   // see key
}

// sessionOf names the session of an epoch, as the server's core does.
func sessionOf(e int) string { return idOfEpoch(e).Text() }

// idAt is the id of an event of the standalone stream of an epoch's session.
func idAt(e, n int) spec.EventID {
	return spec.EventID{Tag: spec.TagOf(sessionOf(e), ""), Seq: uint64(n), Ordinal: uint64(n)}
}

func newGraphClient(g *graph.Graph, strict bool) *graphClient {
	c := &graphClient{calls: slices.Repeat([]string{"new"}, scopeOf(g, "MaxCalls")),
		applied: make([][]int, scopeOf(g, "MaxEpoch"))}
	for e := range c.applied {
		c.applied[e] = []int{}
	}
	// The specification counts no attempts: R26 is shown by tla/LiveResumption.tla.
	c.options = client.CoreOptions{Strict: strict, ResumeAttempts: 1 << 30}
	if err := c.begin(); err != nil {
		panic("reattach: BUG: " + err.Error())
	}
	return c
}

func (c *graphClient) clone() *graphClient {
	n := *c
	n.core = c.core.Clone()
	n.calls, n.pending = slices.Clone(c.calls), slices.Clone(c.pending)
	n.applied = slices.Clone(c.applied)
	for e := range n.applied {
		n.applied[e] = slices.Clone(n.applied[e])
	}
	return &n
}

// begin begins a process from the record.
func (c *graphClient) begin() error {
	core, actions, err := client.NewCore(c.record, c.options)
	if err != nil {
		return err
	}
	c.core, c.pending, c.fence, c.hand, c.ended = core, nil, nil, handSight{}, ""
	c.conn = 1 << 40 // of an earlier life
	return c.take(actions, nil)
}

// take keeps the writes that the core hands out, and its connections.
func (c *graphClient) take(actions []client.Action, err error) error {
	if err != nil {
		return err
	}
	for _, a := range actions {
		switch {
		case a.Do == spec.CommitFence:
			c.fence = &a
		case a.Change.Kind != 0:
			c.pending = append(c.pending, a)
		case (a.Do == spec.SendResume || a.Do == spec.SendGet) && a.Stream.Request == 0:
			c.conn = a.Conn
		}
		for _, o := range append(slices.Clone(a.Outcomes), outcomeIn(a)...) {
			if k := int(o.Stream.Request); o.Kind == client.OutcomeAnswered {
				c.calls[k-1] = "answered"
			}
		}
	}
	return nil
}

func outcomeIn(a client.Action) []client.Outcome {
	if a.Outcome == nil {
		return nil
	}
	return []client.Outcome{*a.Outcome}
}

// epoch is the specification's number of the record's epoch: that of its session.
func (c *graphClient) epoch() int {
	for e := range c.applied {
		if c.record.SessionID == sessionOf(e+1) {
			return e + 1
		}
	}
	return 0
}

// stream is a stream of the current epoch.
func (c *graphClient) stream(request uint64) client.StreamSnapshot {
	id := client.StreamID{Epoch: c.core.Record().Epoch, Request: request}
	for _, s := range c.core.Snapshot().Streams {
		if s.ID == id {
			return s
		}
	}
	return client.StreamSnapshot{ID: id, State: spec.Unsent}
}

// phase is the specification's word for what the client is doing.
func (c *graphClient) phase() string {
	switch st := c.core.State(); st {
	case spec.Opening:
		return "opening"
	case spec.Fencing:
		return "doubt"
	case spec.Open, spec.Quarantined:
	default:
		return "idle"
	}
	switch s := c.stream(0); {
	case c.ended != "", s.State == spec.Unsent, s.State == spec.Ended, s.State == spec.Truncated:
		return "detached"
	case s.State == spec.Resuming:
		return "resuming"
	case s.State == spec.Streaming, s.State == spec.Committing:
		return "streaming"
	case s.State == spec.Completed:
		return "complete"
	default:
		return s.State.String()
	}
}

// callWord is the specification's word for a call.
func (c *graphClient) callWord(k int) string {
	if _, ok := c.record.Call(uint64(k)); ok {
		return "inflight"
	}
	for _, u := range c.record.Unknowns {
		if u.Stream.Request == uint64(k) {
			return "unknown"
		}
	}
	return c.calls[k-1]
}

// sight fills in the client's part of what a graph shows.
func (c *graphClient) sight() clientSight {
	s := clientSight{Calls: []string{}, Applied: c.applied, Phase: c.phase(), Hand: c.hand}
	s.Rec = recordSight{St: "none", E: c.epoch()}
	switch c.record.State {
	case client.RecordOpen:
		s.Rec.St = "open"
		if c.record.UnknownsBefore(c.record.Epoch) {
			s.Rec.St = "quarantined"
		}
		token, _ := c.record.Token(0)
		id, err := spec.ParseEventID(token.LastEventID)
		if s.Rec.Tok = int(id.Ordinal); err != nil || id != idAt(s.Rec.E, s.Rec.Tok) {
			s.Rec.St = "open at " + token.LastEventID
		}
	case client.RecordFenced:
		s.Rec.St = "abandoned"
		s.Rec.Tok = len(c.applied[s.Rec.E-1]) // the record keeps no token of an epoch that is over (R25)
	}
	for k := range c.calls {
		s.Calls = append(s.Calls, c.callWord(k+1))
	}
	return s
}

// key is everything that decides how the client will behave. Numbers of
// connections, versions and attempts only grow, and are compared with nothing
// but themselves. A coarse key does not tell apart why a stream has no
// connection, nor what is left of an epoch that was abandoned: the walks over
// HostileServer do.
func (c *graphClient) key() string {
	var b strings.Builder
	r := c.record
	fmt.Fprint(&b, c.core.State(), r.Epoch, r.State, r.SessionID, r.NextRequest, r.Streams, r.Calls, r.Seen)
	for _, u := range r.Unknowns {
		fmt.Fprint(&b, u.Stream)
	}
	snap := c.core.Snapshot()
	fmt.Fprint(&b, snap.NextRequest, snap.Closing, snap.Reported)
	for _, s := range snap.Streams {
		state := s.State.String()
		if c.coarse && s.InHand.Kind == 0 {
			switch {
			case s.State == spec.Lost:
				continue
			case s.State == spec.Unsent && s.Cursor != "", s.State == spec.Truncated:
				state = spec.Ended.String()
			}
		}
		fmt.Fprint(&b, "\n", s.ID, state, s.Conn != 0, s.ID.Request != 0 || s.Conn == 0 || s.Conn == c.conn, s.Cursor, s.High, s.InHand.Kind, s.InHand.Epoch, s.InHand.Before, s.InHand.After, s.Recorded, s.Settled)
	}
	fmt.Fprint(&b, "\n", c.calls, c.applied, c.hand, len(c.pending), c.fence != nil, c.ended, snap.Record.Version == r.Version)
	return b.String()
}

// denied turns a refusal of the core's into graph.ErrRefused: of its table, or
// of its fence against every connection but the current one. Any other error is
// a fault.
func denied(err error) error {
	var refused *fsm.RefusedError
	var other *client.ConnectionError
	if errors.As(err, &refused) || errors.As(err, &other) || errors.Is(err, client.ErrNoStream) {
		return graph.ErrRefused
	}
	return err
}

// open asks for a session. The scope ends with its last epoch.
func (c *graphClient) open(left bool) error {
	if st := c.core.State(); !left && (st == spec.Idle || st == spec.Abandoned || st == spec.Closed) {
		return graph.ErrNotHere
	}
	actions, err := c.core.Open()
	return denied(c.take(actions, err))
}

// opened: the answer to initialize, and the record of the epoch in one write.
func (c *graphClient) opened(e int) error {
	conn := c.core.Snapshot().Opening
	actions, err := c.core.Opened(conn, client.Opened{SessionID: sessionOf(e), Standalone: idAt(e, 0).String()})
	if err := denied(c.take(actions, err)); err != nil {
		return err
	}
	for i, a := range c.pending {
		if a.Do == spec.CommitEpoch {
			c.pending = slices.Delete(c.pending, i, i+1)
			if err := c.write(a); err != nil {
				return err
			}
			actions, err := c.core.EpochCommitted(c.record)
			return c.take(actions, err)
		}
	}
	return errors.New("the record of the epoch was not handed out")
}

// write makes a change durable.
func (c *graphClient) write(a client.Action) error {
	next, err := a.Change.Apply(c.record)
	if err == nil {
		c.record = next
	}
	return err
}

// resume asks to continue after the token, and returns where.
func (c *graphClient) resume() (any, error) {
	if c.hand != (handSight{}) && c.hand.E != c.epoch() {
		// The specification has one hand. The core has one a stream: it does not
		// wait for the commit of an epoch that is over, which can only be refused.
		return nil, graph.ErrNotHere
	}
	id := c.core.Standalone()
	st := c.stream(0)
	var actions []client.Action
	var err error
	if st.State == spec.Unsent && st.Cursor != "" {
		if actions, err = c.core.Offer(id); err != nil {
			return nil, denied(err)
		}
		if err := c.take(actions, nil); err != nil {
			return nil, err
		}
	}
	actions, err = c.core.Reconnect(id, false)
	if err := denied(c.take(actions, err)); err != nil {
		return nil, err
	}
	for _, a := range actions {
		if a.Do == spec.SendResume {
			at, err := spec.ParseEventID(a.Cursor)
			e := c.epoch()
			if err != nil || a.Session.ID != sessionOf(e) || at != idAt(e, int(at.Ordinal)) {
				return nil, fmt.Errorf("session %q is asked to go on at %q", a.Session.ID, a.Cursor)
			}
			return map[string]any{"e": e, "n": int(at.Ordinal)}, nil
		}
	}
	return nil, errors.New("no resumption was sent")
}

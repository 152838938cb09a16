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

// outcome says whether what was read ended certainty.
func (c *graphClient) outcome(otherwise string) string {
	if c.core.State() == spec.Fencing {
		return "doubt"
	}
	return otherwise
}

// arrive lets a frame arrive, whether or not anybody waits for it.
func (c *graphClient) arrive(kind string, e, n, k int) (reply any, err error) {
	switch kind {
	case "opened":
		return nil, c.opened(e)
	case "accepted":
		return c.readAccepted(e, n)
	case "complete":
		return c.readComplete(e)
	case "refused":
		return nil, c.readRefused()
	case "event":
		return c.readEvent(e, n, k)
	case "end", "torn":
		return nil, c.readEnd(kind == "torn")
	}
	return nil, fmt.Errorf("nobody said how %s is read", kind)
}

// behind lets the connection speak that the client had before its present one.
// Nothing of it may be heard, however right it is (R21).
func (c *graphClient) behind(kind string, e, n int) error {
	id, conn, says := c.core.Standalone(), c.conn-1, idAt(e, n).String()
	var err error
	switch opening := c.core.State() == spec.Opening; kind {
	case "opened":
		_, err = c.core.Opened(c.core.Snapshot().Opening-1, client.Opened{SessionID: sessionOf(e), Standalone: says})
	case "accepted", "replay":
		_, err = c.core.Accepts(id, conn, client.Accepted{SessionID: sessionOf(e), Position: says})
	case "complete":
		_, err = c.core.Completes(id, conn, sessionOf(e))
	case "refused":
		_, err = c.core.Refuses(id, conn, client.Refusal{Status: 404, Reason: spec.ReasonSessionUnknown})
	case "event":
		_, err = c.core.EventArrives(id, conn, client.Event{ID: says, HasID: true, Payload: []byte("too late")})
	case "end", "torn":
		switch {
		case opening:
			_, err = c.core.OpeningFails(c.core.Snapshot().Opening-1, spec.ReasonRefused)
		case kind == "end":
			_, err = c.core.StreamEnds(id, conn)
		default:
			_, err = c.core.ConnectionBreaks(id, conn)
		}
	}
	var other *client.ConnectionError
	if !errors.As(err, &other) {
		return fmt.Errorf("%s of an old connection is heard: %v", kind, err)
	}
	return graph.ErrRefused
}

// doubts checks that something ends certainty which is as wrong as what another
// session says, on a clone.
func (c *graphClient) doubts(what any, arrives func(*client.Core, uint64) ([]client.Action, error)) error {
	n := c.clone()
	actions, err := arrives(n.core, c.conn)
	if err := n.take(actions, err); err != nil || n.phase() != "doubt" || n.fence == nil {
		return fmt.Errorf("%v is as wrong, and makes it %s: %w", what, n.phase(), err)
	}
	return nil
}

// staleText is an id whose ordinal follows and whose seq does not. Where there
// is no such number it is the id of nobody.
func staleText(id spec.EventID) string {
	if id.Seq == 0 {
		return "0"
	}
	return id.String()
}

// readAccepted: 200 to a resumption.
func (c *graphClient) readAccepted(e, n int) (any, error) {
	if e != c.epoch() && c.stream(0).State == spec.Resuming {
		own, sent := c.record.SessionID, c.stream(0).Cursor
		beyond := spec.EventID{Tag: c.record.Tag, Seq: 9, Ordinal: 9}.String()
		for _, said := range [][2]string{{"", sent}, {sessionOf(e), sent}, {own, idAt(e, n).String()}, {own, beyond}, {own, sent + "0"}, {"", ""}} {
			a := client.Accepted{SessionID: said[0], Position: said[1]}
			if err := c.doubts(a, func(c *client.Core, conn uint64) ([]client.Action, error) { return c.Accepts(c.Standalone(), conn, a) }); err != nil {
				return nil, err
			}
		}
	}
	unproven := c.clone()
	actions, err := c.core.Accepts(c.core.Standalone(), c.conn, client.Accepted{SessionID: sessionOf(e), Position: idAt(e, n).String()})
	said, err := c.outcomeOf("proven", c.take(actions, err))
	if said == "proven" {
		err = unproven.provesItself(c)
	}
	return said, err
}

// provesItself checks, where the client was right to go on from a position that
// was announced, what it makes of an answer without one: it is proved by an event
// that is only the position, and then as good; till then nothing but the very
// next event is taken (R21).
func (c *graphClient) provesItself(announced *graphClient) error {
	id, sent := c.core.Standalone(), c.stream(0).Cursor
	actions, err := c.core.Accepts(id, c.conn, client.Accepted{SessionID: c.record.SessionID})
	if err := c.take(actions, err); err != nil || c.stream(0).State != spec.Unproven {
		return fmt.Errorf("an answer without a position makes it %v: %w", c.stream(0).State, err)
	}
	for _, wrong := range []string{sent, "", "1", idAt(c.epoch(), int(c.stream(0).High.Ordinal)+9).String()} {
		ev := client.Event{ID: wrong, HasID: wrong != "", Payload: []byte("not next")}
		if err := c.doubts(wrong, func(c *client.Core, conn uint64) ([]client.Action, error) {
			return c.EventArrives(c.Standalone(), conn, ev)
		}); err != nil {
			return err
		}
	}
	actions, err = c.core.EventArrives(id, c.conn, client.Event{ID: sent, HasID: true})
	if err := c.take(actions, err); err != nil {
		return err
	}
	if got, want := c.key(), announced.key(); got != want {
		return fmt.Errorf("a position that comes as an event makes it\n%s\nand one that was announced\n%s", got, want)
	}
	return nil
}

// readComplete: 204 to a resumption, which names no position. With it a call
// that is unanswered learns that nothing will come.
func (c *graphClient) readComplete(e int) (any, error) {
	if e != c.epoch() && c.stream(0).State == spec.Resuming {
		if err := c.doubts("204 of nobody", func(c *client.Core, conn uint64) ([]client.Action, error) {
			return c.Completes(c.Standalone(), conn, "")
		}); err != nil {
			return nil, err
		}
	}
	actions, err := c.core.Completes(c.core.Standalone(), c.conn, sessionOf(e))
	said, err := c.outcomeOf("proven", c.take(actions, err))
	if err != nil || said == "doubt" {
		return said, err
	}
	for k := range c.calls {
		if c.callWord(k+1) == "inflight" {
			if err := c.callBroken(k + 1); err != nil {
				return nil, err
			}
		}
	}
	return said, nil
}

func (c *graphClient) outcomeOf(otherwise string, err error) (any, error) {
	if err := denied(err); err != nil {
		return nil, err
	}
	return c.outcome(otherwise), nil
}

// readRefused: a final refusal of a resumption.
func (c *graphClient) readRefused() error {
	actions, err := c.core.Refuses(c.core.Standalone(), c.conn, client.Refusal{Status: 409, Reason: spec.ReasonCursorEvicted})
	return denied(c.take(actions, err))
}

// readEvent: a whole event. If it answers a call that is in flight, the answer
// arrives on that call's own stream at the same time.
func (c *graphClient) readEvent(e, n, k int) (any, error) {
	if e != c.epoch() && c.stream(0).State == spec.Streaming {
		at, _ := spec.ParseEventID(c.stream(0).Cursor)
		next := spec.EventID{Tag: at.Tag, Seq: at.Seq + 1, Ordinal: at.Ordinal + 1}
		elsewhere, hole, stale := next, next, next
		elsewhere.Stream, hole.Seq, hole.Ordinal, stale.Seq = 1, at.Seq+2, at.Ordinal+2, at.Seq
		for _, id := range []string{"", at.String(), elsewhere.String(), hole.String(), staleText(stale), "1", next.String() + " "} {
			ev := client.Event{ID: id, HasID: id != "", Payload: []byte("as wrong")}
			if err := c.doubts(id, func(c *client.Core, conn uint64) ([]client.Action, error) {
				return c.EventArrives(c.Standalone(), conn, ev)
			}); err != nil {
				return nil, err
			}
		}
	}
	actions, err := c.core.EventArrives(c.core.Standalone(), c.conn, client.Event{ID: idAt(e, n).String(), HasID: true, Payload: payloadAnswering(e, n, k)})
	said, err := c.outcomeOf("next", c.take(actions, err))
	if err != nil || said == "doubt" {
		return said, err
	}
	c.hand = handSight{e, n, k}
	if k > 0 && c.callWord(k) == "inflight" {
		return said, c.answer(k)
	}
	return said, nil
}

// answer lets the answer of a call arrive on its own stream.
func (c *graphClient) answer(k int) error {
	conn, err := c.connected(k)
	if err != nil {
		return err
	}
	s := c.stream(uint64(k))
	id, err := spec.ParseEventID(s.Cursor)
	if err != nil {
		return err
	}
	id.Seq, id.Ordinal = id.Seq+1, id.Ordinal+1
	actions, err := c.core.EventArrives(s.ID, conn, client.Event{ID: id.String(), HasID: true, Payload: []byte("answer"), Answer: true})
	return c.take(actions, err)
}

// connected sees to it that the stream of a call has a proven view.
func (c *graphClient) connected(k int) (conn uint64, err error) {
	s := c.stream(uint64(k))
	if s.State != spec.Streaming {
		if conn, err = c.resuming(k); err != nil {
			return 0, err
		}
		actions, err := c.core.Accepts(s.ID, conn, client.Accepted{SessionID: c.record.SessionID, Position: s.Cursor})
		return conn, c.take(actions, err)
	}
	return s.Conn, nil
}

// resuming cuts the stream of a call, if it is connected, and resumes it.
func (c *graphClient) resuming(k int) (conn uint64, err error) {
	s := c.stream(uint64(k))
	if s.State == spec.Streaming {
		actions, err := c.core.StreamEnds(s.ID, s.Conn) // between two events: the strict policy has nothing to say
		if err := c.take(actions, err); err != nil {
			return 0, err
		}
	}
	actions, err := c.core.Reconnect(s.ID, false)
	if err := c.take(actions, err); err != nil {
		return 0, err
	}
	return c.stream(uint64(k)).Conn, nil
}

// readEnd: the connection is over, cleanly or inside an event.
func (c *graphClient) readEnd(torn bool) error {
	if c.core.State() == spec.Opening {
		actions, err := c.core.OpeningFails(c.core.Snapshot().Opening, spec.ReasonRefused)
		return denied(c.take(actions, err))
	}
	ends := c.core.ConnectionBreaks
	if st := c.stream(0); st.State == spec.Streaming && !torn {
		ends = c.core.StreamEnds
	}
	actions, err := ends(c.core.Standalone(), c.conn)
	if c.hand != (handSight{}) && c.ended == "" && c.stream(0).State == spec.Committing {
		if denied(err) != graph.ErrRefused {
			return fmt.Errorf("the end of the connection is heard while a transaction is in hand: %v", err)
		}
		c.ended = map[bool]string{true: "torn", false: "end"}[torn]
		return nil
	}
	return denied(c.take(actions, err))
}

// commit is what becomes of the transaction in hand.
func (c *graphClient) commit(how string) error {
	if c.hand == (handSight{}) {
		if c.stream(0).State == spec.Lost {
			return graph.ErrNotHere // what was in hand when a stream was lost is reported later: the table lets it pass
		}
		actions, err := c.core.StreamCommitted(c.core.Standalone(), c.record)
		return denied(c.take(actions, err))
	}
	k := c.hand.K
	alsoAnswers := slices.ContainsFunc(c.pending, func(a client.Action) bool { return a.Stream.Request != 0 })
	_, stale := c.pending[0].Change.Apply(c.record)
	switch {
	case (stale == nil) != (how != "refused"):
		return graph.ErrRefused
	case how == "applied" && k > 0 && !alsoAnswers && c.callWord(k) == "inflight":
		// An opponent's answer to a call that was made after it was read.
		if st := c.stream(uint64(k)).State; st == spec.Lost {
			return graph.ErrLeft
		}
		if err := c.answer(k); err != nil {
			return err
		}
	}
	writes := c.pending
	c.pending = nil
	for _, a := range writes {
		if err := c.settle(a, how); err != nil {
			return err
		}
	}
	c.hand = handSight{}
	return c.tellEnd()
}

// settle writes one change, or does not, and reports what became of it.
func (c *graphClient) settle(a client.Action, how string) error {
	if how != "applied" {
		why := map[string]spec.Reason{"failed": spec.ReasonCommitFailed, "refused": spec.ReasonRecordStale}[how]
		actions, err := c.core.StreamCommitFailed(a.Stream, how == "refused", why)
		return c.take(actions, err)
	}
	if err := c.write(a); err != nil {
		return err
	}
	if a.Stream.Request == 0 {
		c.applied[c.hand.E-1] = append(c.applied[c.hand.E-1], c.hand.N)
	}
	actions, err := c.core.StreamCommitted(a.Stream, c.record)
	return c.take(actions, err)
}

// tellEnd tells the core of an end that came behind the event that was in hand.
func (c *graphClient) tellEnd() error {
	if c.ended == "" {
		return nil
	}
	torn := c.ended == "torn"
	c.ended = ""
	if c.stream(0).State != spec.Streaming {
		return nil // it is over already
	}
	return c.readEnd(torn)
}

// writeFence makes the end of the epoch durable.
func (c *graphClient) writeFence() error {
	if c.fence == nil {
		actions, err := c.core.FenceCommitted(c.record)
		return denied(c.take(actions, err))
	}
	a := *c.fence
	if err := c.write(a); err != nil {
		return err
	}
	c.fence = nil
	actions, err := c.core.FenceCommitted(c.record)
	return c.take(actions, err)
}

// call makes call k. The specification makes one at a time, in order, and none
// when its stream is complete.
func (c *graphClient) call(k int) error {
	for j := range c.calls {
		if word := c.callWord(j + 1); word == "inflight" || j+1 < k && word == "new" || j+1 == k && word != "new" {
			return graph.ErrNotHere
		}
	}
	if c.phase() == "complete" {
		return graph.ErrNotHere
	}
	id, actions, err := c.core.Call(client.Call{}, false)
	if err := denied(c.take(actions, err)); err != nil {
		return err
	}
	if id.Request != uint64(k) {
		return fmt.Errorf("call %d has the request id %d", k, id.Request)
	}
	actions, err = c.core.Send(id, []byte("call"))
	if err := c.take(actions, err); err != nil {
		return err
	}
	if err := c.writeOf(id.Request, func(r client.Record) ([]client.Action, error) { return c.core.CallCommitted(id, r) }); err != nil {
		return err
	}
	position := spec.PositionZero(c.record.Tag, uint64(k))
	midway := spec.EventID{Tag: c.record.Tag, Seq: 1, Stream: uint64(k), Ordinal: 1}
	for _, wrong := range [][2]string{{"", position.String()}, {c.record.SessionID, midway.String()}, {c.record.SessionID, idAt(c.epoch(), 0).String()},
		{c.record.SessionID, spec.PositionZero(foreignTag, uint64(k)).String()}, {"another", position.String()}} {
		a, opened := client.Accepted{SessionID: wrong[0], Position: wrong[1]}, c.stream(id.Request).Conn
		if err := c.doubts(a, func(core *client.Core, _ uint64) ([]client.Action, error) { return core.Accepts(id, opened, a) }); err != nil {
			return err
		}
	}
	actions, err = c.core.Accepts(id, c.stream(id.Request).Conn, client.Accepted{SessionID: c.record.SessionID, Position: position.String()})
	if err := c.take(actions, err); err != nil {
		return err
	}
	return c.writeOf(id.Request, func(r client.Record) ([]client.Action, error) { return c.core.StreamCommitted(id, r) })
}

// writeOf makes the pending change of a call durable, and reports it.
func (c *graphClient) writeOf(request uint64, report func(client.Record) ([]client.Action, error)) error {
	for i, a := range c.pending {
		if a.Stream.Request == request {
			c.pending = slices.Delete(c.pending, i, i+1)
			if err := c.write(a); err != nil {
				return err
			}
			actions, err := report(c.record)
			return c.take(actions, err)
		}
	}
	return fmt.Errorf("call %d has no write under way", request)
}

// mayLoseCall says why a call's connection does not bring anything now.
func (c *graphClient) mayLoseCall(k int) error {
	if c.callWord(k) != "inflight" || c.phase() == "complete" {
		return graph.ErrNotHere
	}
	switch s := c.stream(uint64(k)); s.State {
	case spec.Lost:
		_, err := c.core.Reconnect(s.ID, false)
		return denied(err)
	case spec.Committing: // its answer is in hand: the core reads nothing more
		if _, err := c.core.ConnectionBreaks(s.ID, s.Conn); denied(err) != graph.ErrRefused {
			return fmt.Errorf("call %d is cut while its answer is in hand: %v", k, err)
		}
		return graph.ErrLeft
	}
	return nil
}

// callBroken: certainty about a call ends, while the epoch lives.
func (c *graphClient) callBroken(k int) error {
	conn, err := c.resuming(k)
	if err != nil {
		return err
	}
	id := c.stream(uint64(k)).ID
	actions, err := c.core.Completes(id, conn, c.record.SessionID)
	if err := c.take(actions, err); err != nil {
		return err
	}
	return c.writeOf(id.Request, func(r client.Record) ([]client.Action, error) { return c.core.StreamCommitted(id, r) })
}

// postRefused: the session of a call is gone.
func (c *graphClient) postRefused(k int) error {
	conn, err := c.resuming(k)
	if err != nil {
		return err
	}
	actions, err := c.core.Refuses(c.stream(uint64(k)).ID, conn, client.Refusal{Status: 404, Reason: spec.ReasonSessionUnknown})
	return c.take(actions, err)
}

// resolve: the caller decides. While an epoch is opened or fenced the core
// makes the caller wait, which the specification does not.
func (c *graphClient) resolve(k int) error {
	if c.callWord(k) != "unknown" {
		return graph.ErrNotHere
	}
	var unknown client.StreamID
	for _, u := range c.record.Unknowns {
		if u.Stream.Request == uint64(k) {
			unknown = u.Stream
		}
	}
	actions, err := c.core.Resolve(unknown, client.GaveUp)
	if st := c.core.State(); denied(err) == graph.ErrRefused && (st == spec.Opening || st == spec.Fencing) {
		return graph.ErrLeft
	}
	if err != nil {
		return err
	}
	if err := c.write(actions[0]); err != nil {
		return err
	}
	c.calls[k-1] = "resolved"
	actions, err = c.core.ResolutionCommitted(c.record)
	return c.take(actions, err)
}

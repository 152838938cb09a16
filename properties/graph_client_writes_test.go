package properties

import (
	"fmt"
	"slices"

	"example.com/reattach/impl/client"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// What becomes of a graphClient's transactions and calls.

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

package client

import (
	"fmt"

	"example.com/reattach/spec"
)

// The triggers of a stream that the caller, its transactions and time bring
// about. Those that a connection brings are in arrivals.go.

// Send: a call that was opened is to be sent, with this payload.
func (c *Core) Send(id StreamID, payload []byte) ([]Action, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	if s.state == spec.Unsent && !s.isCall() {
		return nil, fmt.Errorf("%w: the standalone stream carries no call", ErrWrongStream)
	}
	r := run{core: c, first: func() { s.payload = payload }}
	err = r.stream(s, spec.CallerSends, s.standing())
	return r.actions, err
}

// CallCommitted: the call is in the record.
func (c *Core) CallCommitted(id StreamID, durable Record) ([]Action, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	r := run{core: c, first: func() { s.hand, s.recorded = inHand{}, true; c.know(durable) }}
	err = r.stream(s, spec.CallCommitted, s.standing())
	return r.actions, err
}

// CallCommitFailed: it is not.
func (c *Core) CallCommitFailed(id StreamID, stale bool, why spec.Reason) ([]Action, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	r := run{core: c, reason: why, first: func() { s.hand = inHand{} }}
	err = r.stream(s, spec.CallCommitFailed, s.standing().With(spec.RecordStale, stale))
	return r.actions, err
}

// Offer: the server announced the standalone stream's position when the
// session was opened: re-attach there, and miss nothing (R7).
func (c *Core) Offer(id StreamID) ([]Action, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	if s.state == spec.Unsent && !s.positioned() {
		return nil, fmt.Errorf("%w: no position was announced", ErrWrongStream)
	}
	r := run{core: c}
	err = r.stream(s, spec.StandaloneOffered, s.standing())
	return r.actions, err
}

// Listen: ask for the standalone stream without a cursor. Where the stream was
// lost or refused in this epoch, and forgotten, it begins anew.
func (c *Core) Listen(id StreamID) ([]Action, error) {
	s := c.streams[id]
	if s == nil && id == c.Standalone() && c.open() {
		s = c.addStream(0, Call{})
	}
	if s == nil {
		_, err := c.lookup(id)
		return nil, err
	}
	if s.state == spec.Unsent && (s.isCall() || s.positioned()) {
		return nil, fmt.Errorf("%w: only a standalone stream without a position begins without one", ErrWrongStream)
	}
	r := run{core: c}
	err := r.stream(s, spec.CallerListens, s.standing())
	return r.actions, err
}

// Reconnect: it is time to resume, or, if outOfTime, the time without progress
// is over (R26).
func (c *Core) Reconnect(id StreamID, outOfTime bool) ([]Action, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	r := run{core: c, reason: spec.ReasonStreamSuspended}
	err = r.stream(s, spec.ClientReconnects, s.standing().
		With(spec.AttemptsLeft, !outOfTime && s.attempts < c.o.ResumeAttempts))
	return r.actions, err
}

// Resume: the caller wants a suspended stream resumed. Its attempts begin anew.
func (c *Core) Resume(id StreamID) ([]Action, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	r := run{core: c, first: func() { s.attempts = 0 }}
	err = r.stream(s, spec.CallerResumes, s.standing())
	return r.actions, err
}

// Lived: the stream's view, which is proven, lived for a keep-alive interval
// and received bytes. That is progress (R26). It is no trigger: nothing but
// the count of attempts changes.
func (c *Core) Lived(id StreamID, conn uint64) {
	if s := c.streams[id]; s != nil && s.conn == conn && s.state == spec.Streaming {
		s.attempts = 0
	}
}

// StreamCommitted: the transaction that the stream has in hand is durable.
func (c *Core) StreamCommitted(id StreamID, durable Record) ([]Action, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	hand := s.hand
	if hand.change.Answers && s.call.Resends != (StreamID{}) {
		return c.resentCommitted(s, durable)
	}
	return c.streamCommitted(s, durable)
}

// resentCommitted: the answer to a re-send is durable, and with it the
// resolution of the unknown outcome. It fires ResolutionCommitted as well.
func (c *Core) resentCommitted(s *stream, durable Record) ([]Action, error) {
	facts := spec.Facts(0).With(spec.UnknownsCarried, durable.UnknownsBefore(durable.Epoch))
	if _, err := c.o.Machines.Epoch.Resolve(c.state, spec.ResolutionCommitted, facts); err != nil { // all of it, or nothing
		return nil, err
	}
	actions, err := c.streamCommitted(s, durable)
	if err != nil {
		return nil, err
	}
	more, err := c.ResolutionCommitted(durable)
	return append(actions, more...), err
}

func (c *Core) streamCommitted(s *stream, durable Record) ([]Action, error) {
	hand := s.hand
	r := run{core: c, reason: hand.change.Reason, event: hand.event, first: func() {
		s.hand = inHand{}
		c.know(durable)
		if hand.change.Kind != AdvanceToken {
			return
		}
		if hand.applies && hand.to.cursor != s.cursor {
			s.attempts = 0 // the cursor advanced (R26)
		}
		s.move(hand.to)
	}}
	err := r.stream(s, spec.StreamCommitted, s.standing())
	return r.actions, err
}

// StreamCommitFailed: it is not, and no event of it was applied; stale says
// that the record was fenced or is not this client's any more.
func (c *Core) StreamCommitFailed(id StreamID, stale bool, why spec.Reason) ([]Action, error) {
	s, err := c.lookup(id)
	if err != nil {
		return nil, err
	}
	if hand := s.hand; hand.change.Kind == DoubtCall {
		why = hand.change.Reason
	}
	r := run{core: c, reason: why, event: s.hand.event, first: func() { s.hand = inHand{} }}
	err = r.stream(s, spec.StreamCommitFailed, s.standing().With(spec.RecordStale, stale))
	return r.actions, err
}

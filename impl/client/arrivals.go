package client

import (
	"time"

	"example.com/reattach/spec"
)

// The triggers of a stream that arrive on a connection. Each is refused with a
// [*ConnectionError] unless the connection is the stream's current one (R21).

// An Accepted is what the head of an accepted view says.
type Accepted struct {
	SessionID string // "" if missing
	Position  string // "" if none was announced
}

// A Refusal is a final refusal.
type Refusal struct {
	Status int
	Reason spec.Reason // of a typed refusal, else ""
	Sealed bool        // it says that the call's key is sealed (R28)
}

// reason says why, also where the refusal does not.
func (f Refusal) reason() spec.Reason {
	switch {
	case f.Reason != "":
		return f.Reason
	case f.Status == statusNotFound:
		return spec.ReasonSessionUnknown
	case f.Status >= 300 && f.Status < 400:
		return spec.ReasonRedirected
	default:
		return spec.ReasonRefused
	}
}

// castsDoubt reports whether the refusal says that the session is no more, or that
// the server and the client do not mean the same one.
func (f Refusal) castsDoubt() bool {
	switch f.Reason {
	case spec.ReasonSessionRequired, spec.ReasonSessionUnknown, spec.ReasonSessionExpired, spec.ReasonSessionTerminated:
		return true
	}
	return f.Status == statusNotFound
}

// sameSession returns the fact, and the reason if it does not hold.
func (c *Core) sameSession(id string) (bool, spec.Reason) {
	switch {
	case id == c.record.SessionID, id == "" && c.o.Profile.silent():
		return true, ""
	case id == "":
		return false, spec.ReasonSessionMissing
	default:
		return false, spec.ReasonSessionChanged
	}
}

// DialFails: the request never left this process.
func (c *Core) DialFails(id StreamID, conn uint64, why spec.Reason) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	r := run{core: c, reason: why}
	err = r.stream(s, spec.DialFails, s.standing())
	return r.actions, err
}

// Accepts: 200 and an event stream. It goes on only from where it must (R21).
func (c *Core) Accepts(id StreamID, conn uint64, a Accepted) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	same, why := c.sameSession(a.SessionID)
	judged, expected := c.expects(s, a.Position)
	if same && !expected {
		why = spec.ReasonPositionUnexpected
	}
	r := run{core: c, reason: why, judged: judged}
	err = r.stream(s, spec.ServerAccepts, s.standing().
		With(spec.SameSession, same).
		With(spec.PositionAnnounced, a.Position != "").
		With(spec.PositionExpected, a.Position != "" && expected))
	return r.actions, err
}

// AnswersOnce: 200 and a single message instead of a stream.
func (c *Core) AnswersOnce(id StreamID, conn uint64, sessionID string, ev Event) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	same, why := c.sameSession(sessionID)
	if same {
		why = spec.ReasonEventWithoutID
	}
	ev = s.reads(ev)
	r := run{core: c, reason: why, event: ev, judged: judgement{to: place{s.cursor, s.at, s.ours}}}
	err = r.stream(s, spec.ServerAnswersOnce, s.standing().With(spec.SameSession, same))
	return r.actions, err
}

// Completes: 204, nothing was missed and nothing will come. An answer without
// a session id is another session's (R21).
func (c *Core) Completes(id StreamID, conn uint64, sessionID string) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	same, why := c.sameSession(sessionID)
	if same {
		why = spec.ReasonStreamCompleted
	}
	r := run{core: c, reason: why}
	err = r.stream(s, spec.ServerCompletes, s.standing().With(spec.SameSession, same))
	return r.actions, err
}

// Defers: not now. The resumption is tried again, after at least this long.
func (c *Core) Defers(id StreamID, conn uint64, retryAfter time.Duration) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	r := run{core: c, wait: retryAfter}
	err = r.stream(s, spec.ServerDefers, s.standing())
	return r.actions, err
}

// Challenges: the resumption was answered with 401. The token stays.
func (c *Core) Challenges(id StreamID, conn uint64) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	r := run{core: c}
	err = r.stream(s, spec.ServerChallenges, s.standing())
	return r.actions, err
}

// Refuses: a final refusal.
func (c *Core) Refuses(id StreamID, conn uint64, f Refusal) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	proves := f.Sealed || c.o.NoResending && f.Reason.Status() != 0
	r := run{core: c, reason: f.reason()}
	err = r.stream(s, spec.ServerRefuses, s.standing().
		With(spec.AttemptSuperseded, f.Reason == spec.ReasonAttemptSuperseded && (s.state == spec.Resuming || !s.isCall())). // a POST has no attempt
		With(spec.SessionGone, f.castsDoubt()).
		With(spec.ProvesNotExecuted, s.isCall() && proves))
	return r.actions, err
}

// EventArrives: an event that arrived whole.
func (c *Core) EventArrives(id StreamID, conn uint64, ev Event) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	ev = s.reads(ev)
	j := c.judge(s, ev)
	r := run{core: c, reason: j.reason, event: ev, judged: j, first: func() {
		if ev.HasRetry {
			s.retry = ev.Retry
		}
	}}
	payload := len(ev.Payload) > 0
	err = r.stream(s, spec.EventArrives, s.standing().
		With(spec.HasPayload, payload).
		With(spec.InOrder, j.inOrder).
		With(spec.MovesPosition, j.moves).
		With(spec.PositionAnnounced, !payload && ev.ID != ""))
	return r.actions, err
}

// StreamEnds: a clean end, between two events.
func (c *Core) StreamEnds(id StreamID, conn uint64) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	r := run{core: c, reason: s.endReason()}
	err = r.stream(s, spec.StreamEnds, s.standing())
	return r.actions, err
}

// ConnectionBreaks: an end anywhere else, or no answer at all.
func (c *Core) ConnectionBreaks(id StreamID, conn uint64) ([]Action, error) {
	s, err := c.arriving(id, conn)
	if err != nil {
		return nil, err
	}
	why := spec.ReasonStreamTruncated
	if s.positioned() && !s.orderable() {
		why = spec.ReasonEventUnorderable
	}
	r := run{core: c, reason: why}
	err = r.stream(s, spec.ConnectionBreaks, s.standing().With(spec.Strict, c.o.Strict))
	return r.actions, err
}

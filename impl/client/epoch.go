package client

import (
	"fmt"

	"example.com/reattach/spec"
)

// Opened is what the server's answer to an opening says.
type Opened struct {
	SessionID  string
	Standalone string // position 0 of the standalone stream; "" if it was not announced
	Meta       []byte // the transport's own word; kept in the record, and part of every [Session]
	Ledger     string // the name of the server's ledger; "" if it named none (R28)
}

// maxSessionID bounds a session id, in bytes.
const maxSessionID = 1024

// check returns why the answer opens no session, "" if it does.
func (o Opened) check() spec.Reason {
	if o.SessionID == "" || len(o.SessionID) > maxSessionID {
		return spec.ReasonSessionMissing
	}
	for i := 0; i < len(o.SessionID); i++ {
		if o.SessionID[i] < 0x21 || o.SessionID[i] > 0x7e {
			return spec.ReasonSessionMissing
		}
	}
	if o.Ledger != "" && !spec.IsLedgerName(o.Ledger) {
		return spec.ReasonLedgerForeign
	}
	if o.Standalone == "" {
		return ""
	}
	id, err := spec.ParseEventID(o.Standalone)
	if err != nil || id != spec.PositionZero(id.Tag, 0) {
		return spec.ReasonPositionUnexpected
	}
	return ""
}

// tag returns the session's: the digest of its id, unless the server issued the
// standalone stream's position together with the session. Then that position's
// tag is the session's, which may hold the generation of the server's store
// (R14).
func (o Opened) tag() spec.Tag {
	if id, err := spec.ParseEventID(o.Standalone); err == nil {
		return id.Tag
	}
	return spec.TagOf(o.SessionID, "")
}

// Open: the caller wants a session.
func (c *Core) Open() ([]Action, error) {
	r := run{core: c, first: func() { c.closing, c.failures, c.reason = false, 0, "" }}
	err := r.epoch(spec.CallerOpens, 0)
	return r.actions, err
}

// Opened: initialize was answered. An answer that names no session, or a
// standalone position that is not the position 0 of stream 0, fails the
// opening.
func (c *Core) Opened(conn uint64, o Opened) ([]Action, error) {
	if conn != c.opening.conn {
		return nil, &ConnectionError{Stream: StreamID{Epoch: c.record.Epoch + 1}, Conn: conn, Current: c.opening.conn}
	}
	why := o.check()
	if why == "" && (o.SessionID == c.record.SessionID || o.tag() == c.record.Tag) {
		why = spec.ReasonSessionTerminated // the last epoch's, which has ended: it does not live again (R6)
	}
	if why != "" {
		return c.openingFails(why, o.SessionID)
	}
	r := run{core: c, opened: o, session: o.SessionID, first: func() { c.opening.session = o.SessionID }}
	err := r.epoch(spec.ServerOpens, 0)
	return r.actions, err
}

// OpeningFails: initialize failed.
func (c *Core) OpeningFails(conn uint64, why spec.Reason) ([]Action, error) {
	if conn != c.opening.conn {
		return nil, &ConnectionError{Stream: StreamID{Epoch: c.record.Epoch + 1}, Conn: conn, Current: c.opening.conn}
	}
	return c.openingFails(why, "")
}

// EpochCommitFailed: the record of the new epoch could not be written. It
// fires OpeningFails.
func (c *Core) EpochCommitFailed(why spec.Reason) ([]Action, error) {
	return c.openingFails(why, c.opening.session)
}

func (c *Core) openingFails(why spec.Reason, session string) ([]Action, error) {
	r := run{core: c, reason: why, session: session}
	err := r.epoch(spec.OpeningFails, spec.Facts(0).With(spec.UnknownsCarried, len(c.record.Unknowns) > 0))
	return r.actions, err
}

// EpochCommitted: the record of the new epoch is durable. Its standalone
// stream is [Core.Standalone]: Offer it if the server announced its position,
// else Listen, or leave it.
func (c *Core) EpochCommitted(durable Record) ([]Action, error) {
	r := run{core: c, first: func() {
		for id, s := range c.streams {
			if s.hand.change.Kind == 0 { // nothing will be reported of it any more
				delete(c.streams, id)
			}
		}
		c.record, c.reported = durable, false
		c.next = max(c.next, durable.NextRequest)
		if c.open() {
			c.addStream(0, Call{})
		} else {
			c.reason = spec.ReasonCallerDecided // closed meanwhile: the session is fenced at once
		}
	}}
	err := r.epoch(spec.EpochCommitted, spec.Facts(0).With(spec.UnknownsCarried, durable.UnknownsBefore(durable.Epoch)))
	return r.actions, err
}

// Call: the caller calls. It gives the call a request id and a stream, which
// is Unsent; Send is the next step. Every field but Request may be given; passes
// says that the call may be sent in quarantine, as status queries and re-sends
// may in any case (R23).
//
// A status query and a re-send go only to a server that names the ledger of
// their key, in quarantine or not (R28). A re-send is of an unresolved unknown
// outcome, and has its key, method and digest: ErrNoUnknown, ErrOtherCall.
func (c *Core) Call(call Call, passes bool) (StreamID, []Action, error) {
	id := StreamID{Epoch: c.record.Epoch, Request: c.next}
	call.Request = id.Request
	asks := call.Query || call.Resends != StreamID{}
	if err := c.resends(call); err != nil {
		return StreamID{}, nil, err
	}
	r := run{core: c, first: func() {
		c.next++
		c.addStream(id.Request, call)
	}}
	facts := spec.Facts(0).With(spec.PassesQuarantine, passes || asks).With(spec.LedgerForeign, asks && !c.names(call.Key))
	if err := r.epoch(spec.CallerCalls, facts); err != nil {
		return StreamID{}, nil, err
	}
	return id, r.actions, nil
}

// names reports whether the session's server named the ledger of a key.
func (c *Core) names(key string) bool {
	k, err := spec.ParseKey(key)
	return err == nil && k.Ledger == c.record.Ledger
}

// resends returns why a call is not the re-send that it says it is.
func (c *Core) resends(call Call) error {
	if call.Resends == (StreamID{}) {
		return nil
	}
	u, ok := c.record.Unknown(call.Resends)
	switch {
	case !ok:
		return fmt.Errorf("%w: %v", ErrNoUnknown, call.Resends)
	case call.Query || u.Key == "" || u.Key != call.Key || u.Method != call.Method || u.Digest != call.Digest:
		return fmt.Errorf("%w: %v was %s with digest %.16s, this is %s with %.16s", ErrOtherCall, call.Resends, u.Method, u.Digest, call.Method, call.Digest)
	}
	return nil
}

// Notify: the caller sends a message that is not a call.
func (c *Core) Notify(payload []byte, passes bool) ([]Action, error) {
	r := run{core: c, message: payload}
	err := r.epoch(spec.CallerNotifies, spec.Facts(0).With(spec.PassesQuarantine, passes))
	return r.actions, err
}

// Resolve: the caller decides what an unknown outcome was (R23).
func (c *Core) Resolve(unknown StreamID, d Decision) ([]Action, error) {
	r := run{core: c, unknown: unknown, decided: d}
	err := r.epoch(spec.CallerResolves, 0)
	return r.actions, err
}

// Settle: the server's ledger says that a call of unknown outcome ran, and hands
// its answer over: it is applied in the transaction that resolves (R20, R23).
func (c *Core) Settle(unknown StreamID, answer Event) ([]Action, error) {
	answer.Stream, answer.Resolves, answer.Answer, answer.ID, answer.HasID = unknown, unknown, true, "", false
	r := run{core: c, unknown: unknown, decided: DidExecute, event: answer}
	err := r.epoch(spec.CallerResolves, 0)
	return r.actions, err
}

// ResolutionCommitted: a decision is durable.
func (c *Core) ResolutionCommitted(durable Record) ([]Action, error) {
	r := run{core: c, first: func() { c.know(durable) }}
	err := r.epoch(spec.ResolutionCommitted, spec.Facts(0).With(spec.UnknownsCarried, durable.UnknownsBefore(durable.Epoch)))
	return r.actions, err
}

// ResolutionCommitFailed: it is not.
func (c *Core) ResolutionCommitFailed(unknown StreamID, why spec.Reason) ([]Action, error) {
	r := run{core: c, unknown: unknown, reason: why}
	err := r.epoch(spec.ResolutionCommitFailed, 0)
	return r.actions, err
}

// Contradict: something that belongs to no stream casts doubt on the session
// of an epoch, such as a 404 to a message (R22). It fires ServerContradicts.
func (c *Core) Contradict(epoch uint64, why spec.Reason) ([]Action, error) {
	if epoch != c.record.Epoch {
		return nil, &EpochError{Epoch: epoch, Current: c.record.Epoch}
	}
	r := run{core: c, reason: why}
	err := r.abandon()
	return r.actions, err
}

// TakenOver: another holder of the record goes on with the session (R30). It
// fires AnotherTakesOver.
func (c *Core) TakenOver(epoch uint64, why spec.Reason) ([]Action, error) {
	if epoch != c.record.Epoch {
		return nil, &EpochError{Epoch: epoch, Current: c.record.Epoch}
	}
	r := run{core: c, reason: why}
	err := r.yield()
	return r.actions, err
}

// Abandon: the caller gives the epoch up. While the fence is being written it
// asks for another attempt.
func (c *Core) Abandon() ([]Action, error) {
	r := run{core: c, first: func() {
		c.failures = 0
		c.reason = cmpReason(c.reason, spec.ReasonCallerDecided)
	}}
	err := r.epoch(spec.CallerAbandons, 0)
	return r.actions, err
}

// Terminate: the caller ends the session.
func (c *Core) Terminate() ([]Action, error) {
	r := run{core: c, first: func() {
		c.closing = true
		c.reason = cmpReason(c.reason, spec.ReasonCallerDecided)
	}}
	err := r.epoch(spec.CallerTerminates, 0)
	return r.actions, err
}

// FenceCommitted: the fence is durable.
func (c *Core) FenceCommitted(durable Record) ([]Action, error) {
	r := run{core: c, session: durable.SessionID, first: func() { c.know(durable) }}
	err := r.epoch(spec.FenceCommitted, spec.Facts(0).With(spec.ClosingWished, c.closing))
	return r.actions, err
}

// FenceCommitFailed: the fence is not durable; stale says that the record is
// not this client's any more.
func (c *Core) FenceCommitFailed(stale bool, why spec.Reason) ([]Action, error) {
	r := run{core: c, reason: why, first: func() { c.failures++ }}
	err := r.epoch(spec.FenceCommitFailed, spec.Facts(0).
		With(spec.RecordStale, stale).
		With(spec.AttemptsLeft, c.failures+1 < c.o.FenceAttempts))
	return r.actions, err
}

// know takes a record that was reported durable for the newest, unless one was
// reported already that came after it, or it is of another epoch.
func (c *Core) know(durable Record) {
	if durable.Epoch == c.record.Epoch && durable.Version >= c.record.Version {
		c.record = durable
	}
	c.next = max(c.next, durable.NextRequest)
}

// open reports whether streams may move.
func (c *Core) open() bool { return c.state == spec.Open || c.state == spec.Quarantined }

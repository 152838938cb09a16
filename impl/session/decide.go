package session

import (
	"fmt"

	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// A Request is a request for a view, as far as the decision is concerned.
type Request struct {
	// Cursors are the cursors that came with the request, as they came. None
	// asks for the standalone stream (R7); an empty one, or more than one, is
	// malformed.
	Cursors []string

	// Attempts are the numbers of the attempt, as they came (R10): none, from a
	// client that numbers nothing, supersedes whatever there is; one is to have
	// the form of [spec.Attempt]; more are malformed.
	Attempts []string
}

// attempt reads the request's attempt: zero if there is none.
func (r Request) attempt() (a spec.Attempt, err error) {
	switch len(r.Attempts) {
	case 0:
		return a, nil
	case 1:
		return spec.ParseAttempt(r.Attempts[0])
	default:
		return a, spec.ErrAttempt
	}
}

// A Decision is the answer to a request for a view.
type Decision struct {
	Verdict spec.Verdict
	Reason  spec.Reason // why, if the verdict is refuse; else ""

	// Position is where the view begins (attach, reattach), or the end that
	// the client has reached (complete).
	Position spec.EventID
	// Skipped counts the events that lie before Position, were never handed
	// to a view, and are evicted (attach only, R7).
	Skipped uint64

	// Attempt is the request's, zero without one: what was granted to it is not
	// taken back by an older one (R10).
	Attempt spec.Attempt

	// The data of a refusal, each as far as it is known (EventID.Valid): the
	// cursor as it was understood, and the floor and head of its stream.
	Cursor, Floor, Head spec.EventID
}

// Decide is the decision boundary of the contract: which verdict a request for
// a view gets from a session. It is a pure function; the checks come in the
// contract's order, and the first that fails gives the reason:
//
//	session, form (of the attempt, of the cursor), tag, stream, below the
//	floor, at the floor and in the window, beyond the head, attempt
//
// Nothing here clamps: there is no cursor for which another position would be
// as good (R5). The attempt comes last, so that whose cursor is good for nothing
// learns that, and not that it is late.
func Decide(r Request, c *Core) Decision {
	if reason := c.closedFor(); reason != "" {
		return refuse(reason, Decision{})
	}
	attempt, err := r.attempt()
	if err != nil {
		return refuse(spec.ReasonAttemptMalformed, Decision{})
	}
	d := decideCursor(r, c)
	d.Attempt = attempt
	if d.Verdict == spec.VerdictRefuse || attempt.IsZero() {
		return d
	}
	if attempt.Compare(c.glance(d.Position.Stream).newest) < 0 {
		return refuse(spec.ReasonAttemptSuperseded, Decision{Cursor: d.Cursor, Floor: d.Floor, Head: d.Head, Attempt: attempt})
	}
	return d
}

// decideCursor decides about the cursor of a live session.
func decideCursor(r Request, c *Core) Decision {
	if len(r.Cursors) == 0 {
		return c.decideFresh()
	}
	if len(r.Cursors) > 1 {
		return refuse(spec.ReasonCursorMalformed, Decision{})
	}
	cursor, err := spec.ParseEventID(r.Cursors[0])
	if err != nil {
		return refuse(spec.ReasonCursorMalformed, Decision{})
	}
	d := Decision{Cursor: cursor}
	if cursor.Tag != c.Tag() {
		return refuse(spec.ReasonCursorForeign, d)
	}
	if cursor.Stream >= c.NextStream() {
		return refuse(spec.ReasonCursorUnissued, d)
	}
	head, known := c.window.Head(cursor.Stream)
	if known {
		floor, _ := c.window.Floor(cursor.Stream)
		d.Floor, d.Head = c.eventID(floor), c.eventID(head)
	}
	p := window.Position{Seq: cursor.Seq, Stream: cursor.Stream, Ordinal: cursor.Ordinal}
	switch c.window.Classify(p) {
	case window.NoRecord, window.Evicted:
		return refuse(spec.ReasonCursorEvicted, d)
	case window.Unissued:
		return refuse(spec.ReasonCursorUnissued, d)
	case window.Ahead:
		return refuse(spec.ReasonCursorAhead, d)
	}
	d.Position = cursor
	d.Verdict = spec.VerdictReattach
	if p == head && finished(c.glance(p.Stream).state) {
		d.Verdict = spec.VerdictComplete
	}
	return d
}

// closedFor returns why the session gives no views at all, or "".
func (c *Core) closedFor() spec.Reason {
	switch c.state {
	case spec.Live:
		return ""
	case spec.Draining:
		return spec.ReasonDraining
	case spec.Expired:
		return spec.ReasonSessionExpired
	case spec.Terminated:
		return spec.ReasonSessionTerminated
	default:
		return spec.ReasonSessionUnknown
	}
}

// decideFresh attaches to the standalone stream after the last of its events
// that a view ever took, or at its floor if that is later (R7).
func (c *Core) decideFresh() Decision {
	start := c.glance(0).handed
	var skipped uint64
	if floor, _ := c.window.Floor(0); floor.Ordinal > start.Ordinal {
		skipped = floor.Ordinal - start.Ordinal
		start = floor
	}
	return Decision{Verdict: spec.VerdictAttach, Position: c.eventID(start), Skipped: skipped}
}

func refuse(reason spec.Reason, d Decision) Decision {
	d.Verdict, d.Reason = spec.VerdictRefuse, reason
	return d
}

// refusedBy is the decision as it is answered after err kept it from being done.
func (d Decision) refusedBy(err error) Decision {
	if _, decided := err.(*RefusalError); decided {
		return d
	}
	return refuse(reasonOf(err), Decision{Cursor: d.Cursor, Floor: d.Floor, Head: d.Head, Attempt: d.Attempt})
}

// begins reports whether the decision gives a view.
func (d Decision) begins() bool {
	return d.Verdict == spec.VerdictAttach || d.Verdict == spec.VerdictReattach
}

// A RefusalError is a decision to refuse a cursor, as an error. It is its
// reason to errors.Is:
//
//	errors.Is(err, spec.ReasonCursorEvicted)
type RefusalError struct{ Decision Decision }

func (e *RefusalError) Error() string {
	d := e.Decision
	text := "session: cursor refused: " + string(d.Reason)
	if d.Cursor.Valid() {
		text += fmt.Sprintf(": cursor %v", d.Cursor)
	}
	if d.Head.Valid() {
		text += fmt.Sprintf(", its stream holds what follows %d up to %d", d.Floor.Ordinal, d.Head.Ordinal)
	}
	return text
}

// Unwrap returns the reason.
func (e *RefusalError) Unwrap() error { return e.Decision.Reason }

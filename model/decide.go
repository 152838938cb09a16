package model

import "example.com/reattach/spec"

// A Standing is everything that the decision boundary sees of a session, seen
// from one cursor: where the place that the cursor names stands in its stream.
type Standing struct {
	Session spec.State // Absent, Live, Draining, Expired or Terminated
	Tag     spec.Tag   // the session's

	Assigned bool   // the stream's number was assigned
	Recorded bool   // and its record is still kept
	Finished bool   // nothing will follow its head
	Floor    uint64 // highest evicted ordinal of the stream
	Head     uint64 // highest issued ordinal of the stream
	Handed   uint64 // highest ordinal of the stream ever handed to a view

	Newest spec.Attempt // the newest attempt that was granted a view of the stream (R10)

	LastSeq uint64 // highest seq that the session issued
	SeqHere uint64 // seq issued with the cursor's ordinal, while the session can tell (floor ≤ ordinal ≤ head)
}

// A Decision is the answer of the decision boundary: exactly one verdict.
type Decision struct {
	Verdict spec.Verdict
	Reason  spec.Reason // only with VerdictRefuse
	Start   uint64      // the ordinal after which the view begins; only with attach and reattach
}

// Accepts reports whether the decision opens a view.
func (d Decision) Accepts() bool {
	return d.Verdict == spec.VerdictAttach || d.Verdict == spec.VerdictReattach
}

// A Check is one question of the decision boundary. It answers with the reason
// to refuse, or with "" when it has nothing against the cursor.
type Check func(Standing, Cursor) spec.Reason

// decide is the decision boundary (R5): the checks in the contract's order,
// and where none refuses, exactly one of attach, reattach and complete.
func (r *Rules) decide(s Standing, c Cursor) Decision {
	refuse := func(reason spec.Reason) Decision { return Decision{Verdict: spec.VerdictRefuse, Reason: reason} }
	if reason := r.SessionServes(s, c); reason != "" {
		return refuse(reason)
	}
	if reason := r.AttemptFormed(s, c); reason != "" {
		return refuse(reason)
	}
	if reason := r.CursorFormed(s, c); reason != "" {
		return refuse(reason)
	}
	if c.Form == FormNone {
		if reason := r.AttemptInTime(s, c); reason != "" {
			return refuse(reason)
		}
		return Decision{Verdict: spec.VerdictAttach, Start: r.FreshStart(s.Floor, s.Handed)}
	}
	for _, check := range [...]Check{r.TagMatches, r.StreamKnown, r.NotBelowFloor, r.IssuedHere, r.NotBeyondHead, r.AttemptInTime} {
		if reason := check(s, c); reason != "" {
			return refuse(reason)
		}
	}
	if s.Finished && c.ID.Ordinal == s.Head {
		return Decision{Verdict: spec.VerdictComplete}
	}
	return Decision{Verdict: spec.VerdictReattach, Start: r.ResumeStart(c.ID.Ordinal)}
}

// AttemptFormed: an attempt that cannot be read is refused whatever it may have
// meant (R10).
func AttemptFormed(_ Standing, c Cursor) spec.Reason {
	if c.BadAttempt {
		return spec.ReasonAttemptMalformed
	}
	return ""
}

// AttemptInTime: an attempt older than one that was granted comes too late; the
// same one once more, a newer one, and one without a number are granted (R10).
func AttemptInTime(s Standing, c Cursor) spec.Reason {
	older := c.Attempt.Generation < s.Newest.Generation ||
		c.Attempt.Generation == s.Newest.Generation && c.Attempt.Counter < s.Newest.Counter
	if older && c.Attempt != (spec.Attempt{}) {
		return spec.ReasonAttemptSuperseded
	}
	return ""
}

// CursorFormed: a cursor that is no event id, an empty one, or two of them, is
// refused whatever it may have meant (R1, R5).
func CursorFormed(_ Standing, c Cursor) spec.Reason {
	if c.Form == FormMalformed {
		return spec.ReasonCursorMalformed
	}
	return ""
}

// TagMatches: a cursor names the session that issued it, and is good there
// only (R1).
func TagMatches(s Standing, c Cursor) spec.Reason {
	if c.ID.Tag != s.Tag {
		return spec.ReasonCursorForeign
	}
	return ""
}

// StreamKnown: a stream number that was never assigned has issued nothing; of
// a stream without a record nothing can be proved any more (R1, R5).
func StreamKnown(s Standing, _ Cursor) spec.Reason {
	switch {
	case !s.Assigned:
		return spec.ReasonCursorUnissued
	case !s.Recorded:
		return spec.ReasonCursorEvicted
	}
	return ""
}

// NotBelowFloor: what followed a cursor below the floor is gone, so nothing
// can continue it; never clamp it to the oldest retained event (R5).
func NotBelowFloor(s Standing, c Cursor) spec.Reason {
	if c.ID.Ordinal < s.Floor {
		return spec.ReasonCursorEvicted
	}
	return ""
}

// IssuedHere: between floor and head the seq must be the very one that was
// issued with that ordinal on that stream (R1).
func IssuedHere(s Standing, c Cursor) spec.Reason {
	if s.Floor <= c.ID.Ordinal && c.ID.Ordinal <= s.Head && c.ID.Seq != s.SeqHere {
		return spec.ReasonCursorUnissued
	}
	return ""
}

// NotBeyondHead: a cursor beyond the head is ahead of this server if both its
// numbers are still to be issued; with a seq that is used up it can never
// become an id of this stream (R5).
func NotBeyondHead(s Standing, c Cursor) spec.Reason {
	switch {
	case c.ID.Ordinal <= s.Head:
		return ""
	case c.ID.Seq > s.LastSeq:
		return spec.ReasonCursorAhead
	}
	return spec.ReasonCursorUnissued
}

package client

import (
	"math"
	"slices"
	"unicode/utf8"

	"example.com/reattach/spec"
)

// A judgement is what the proof rules say of an event (R21, R22): whether it
// is exactly what must come next, and where it puts the stream if it is.
type judgement struct {
	inOrder bool
	reason  spec.Reason // why not, if it is not
	moves   bool        // the cursor changes although nothing is delivered
	to      place
	opens   uint64 // the server's number of a call's stream, if it becomes known here
}

func doubt(why spec.Reason) judgement { return judgement{reason: why} }

// judge is the proof of one event. It changes nothing.
func (c *Core) judge(s *stream, ev Event) judgement {
	stays := place{s.cursor, s.at, s.ours}
	switch payload := len(ev.Payload) > 0; {
	case ev.ID == "" && payload && s.positioned():
		return doubt(spec.ReasonEventWithoutID)
	case ev.ID == "" && !payload && ev.HasID:
		return judgement{inOrder: true, moves: s.positioned()} // cleared (R25)
	case ev.ID == "":
		return judgement{inOrder: true, to: stays}
	case s.ours:
		return next(s.at, ev)
	case s.positioned():
		return s.judgeForeign(ev)
	default:
		return c.judgeFirst(s, ev)
	}
}

// next is the proof among ids of ours, after position at: one ordinal more and
// a greater seq, in the same stream of the same session. A hole is as fatal as
// a repeat.
func next(at spec.EventID, ev Event) judgement {
	id, err := spec.ParseEventID(ev.ID)
	switch {
	case err != nil || id.Tag != at.Tag || id.Stream != at.Stream:
		return doubt(spec.ReasonEventUnorderable)
	case len(ev.Payload) == 0 && id == at:
		return judgement{inOrder: true, to: ours(id)} // a position, where we stand
	case len(ev.Payload) == 0:
		return doubt(spec.ReasonPositionUnexpected)
	case id.Ordinal <= at.Ordinal:
		return doubt(spec.ReasonEventRepeated)
	case at.Ordinal == math.MaxUint64 || id.Ordinal != at.Ordinal+1:
		return doubt(spec.ReasonEventSkipped)
	case id.Seq <= at.Seq:
		return doubt(spec.ReasonEventOutOfOrder)
	}
	return judgement{inOrder: true, to: ours(id)}
}

func ours(id spec.EventID) place { return place{id.String(), id, true} }

// judgeForeign is what can be proved among ids that cannot be ordered: that
// none comes twice on this connection.
func (s *stream) judgeForeign(ev Event) judgement {
	to := place{cursor: ev.ID}
	_, err := spec.ParseEventID(ev.ID)
	switch {
	case err == nil:
		return doubt(spec.ReasonEventUnorderable) // an id of ours, if not of this session, among those of others
	case len(ev.ID) > maxForeignID || !utf8.ValidString(ev.ID):
		return doubt(spec.ReasonEventUnorderable)
	case len(ev.Payload) == 0 && ev.ID == s.cursor:
		return judgement{inOrder: true, to: to}
	case ev.ID == s.cursor || slices.Contains(s.ids, ev.ID):
		return doubt(spec.ReasonEventRepeated)
	}
	if why := s.profile.judge(s.cursor, ev.ID, s.isCall()); why != "" {
		return doubt(why)
	}
	return judgement{inOrder: true, moves: len(ev.Payload) == 0, to: to}
}

// judgeFirst is the proof of the first id on a stream that has no position. It
// decides whose ids the stream carries.
func (c *Core) judgeFirst(s *stream, ev Event) judgement {
	id, err := spec.ParseEventID(ev.ID)
	payload := len(ev.Payload) > 0
	switch {
	case err != nil && (c.record.Announced || s.high.Valid()):
		return doubt(spec.ReasonEventUnorderable) // a server of ours, and not an id of ours
	case err != nil:
		return s.judgeForeign(ev)
	case id.Tag != c.record.Tag:
		return doubt(spec.ReasonEventUnorderable)
	}
	j := judgement{inOrder: true, moves: !payload, to: ours(id)}
	switch {
	case s.isCall() && s.high.Valid():
		return afterClearing(s.high, ev)
	case s.isCall():
		// Without a position in the headers the stream must still be one that
		// was never seen, from its beginning on.
		if id.Stream == 0 || seen(c.record.Seen, id.Stream) {
			return doubt(spec.ReasonPositionUnexpected)
		}
		if payload && id.Ordinal != 1 || !payload && id.Ordinal != 0 {
			return doubt(spec.ReasonPositionUnexpected)
		}
		j.opens = id.Stream
	case id.Stream != 0 || payload && id.Ordinal == 0:
		return doubt(spec.ReasonPositionUnexpected)
	case s.high.Valid():
		return afterClearing(s.high, ev)
	}
	return j
}

// afterClearing is the proof of an id that follows an explicit empty one: the
// cursor is gone, but what was applied stays applied.
func afterClearing(high spec.EventID, ev Event) judgement {
	j := next(high, ev)
	j.moves = j.inOrder && len(ev.Payload) == 0
	return j
}

// expects is the proof of a position that an answer announces (R21): to a
// resumption the cursor that was sent; to a POST position 0 of a stream that
// was never seen; to a GET without a cursor any position of the standalone
// stream, but none before what was applied.
func (c *Core) expects(s *stream, position string) (judgement, bool) {
	if s.state == spec.Resuming {
		return judgement{to: place{s.cursor, s.at, s.ours}}, position == s.cursor
	}
	id, err := spec.ParseEventID(position)
	if err != nil || id.Tag != c.record.Tag {
		return judgement{}, false
	}
	j := judgement{to: ours(id)}
	if s.isCall() {
		j.opens = id.Stream
		return j, id.Stream != 0 && id.Ordinal == 0 && !seen(c.record.Seen, id.Stream)
	}
	return j, id.Stream == 0 && (!s.high.Valid() || id.Ordinal >= s.high.Ordinal)
}

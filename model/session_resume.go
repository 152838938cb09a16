package model

import "example.com/reattach/spec"

// Resumed is what a request for a view comes to.
type Resumed struct {
	Verdict spec.Verdict
	Reason  spec.Reason // only with VerdictRefuse
	Stream  uint64      // the stream asked for

	Position   spec.EventID // where the view begins; with complete, the head
	Skipped    uint64       // with attach: events that are gone and were never handed to a view
	Superseded bool         // an older view of the stream writes nothing more (R10)

	// What a refusal of a live session tells beside its reason, as far as it is
	// known: the cursor if it was an event id, floor and head if it was one of a
	// stream of this session that has a record. Else zero.
	Cursor, Floor, Head spec.EventID

	Attempt spec.Attempt // of the request, if its form was looked at
}

// Resume is a request for a view with the cursors that it carried: none, or
// one that is to be good (R4, R5, R7, R10).
func (s *Session) Resume(now int64, cursors ...string) Resumed {
	return s.ResumeAs(now, nil, cursors...)
}

// ResumeAs is Resume of a request that is numbered (R10).
func (s *Session) ResumeAs(now int64, attempts []string, cursors ...string) Resumed {
	c := ReadCursor(cursors...).With(attempts...)
	if s.serves() {
		s.EvictDue(now)
	}
	n := c.ID.Stream
	if c.BadAttempt {
		n = 0 // the cursor was not looked at
	}
	standing := s.Standing(c)
	d := s.rules.decide(standing, c)
	if d.Accepts() && s.crowded() && !s.streams[n].attached {
		// Only a request that would be granted needs room, and none that takes
		// over the view of its own stream does (R3, R10).
		d = Decision{Verdict: spec.VerdictRefuse, Reason: spec.ReasonTooManyViews}
	}
	r := Resumed{Verdict: d.Verdict, Reason: d.Reason, Stream: n}
	if s.state == spec.Live {
		r.Attempt = c.Attempt
	}
	if d.Verdict == spec.VerdictRefuse {
		if s.state != spec.Live {
			return r // nothing was looked at
		}
		if c.Form == FormID && !c.BadAttempt {
			r.Cursor = c.ID
		}
		if c.Form == FormID && !c.BadAttempt && c.ID.Tag == s.tag && standing.Recorded {
			r.Floor, r.Head = s.id(s.floor(n)), s.id(s.head(n))
		}
		return r
	}
	st := s.streams[n]
	if c.Attempt != (spec.Attempt{}) {
		st.granted = append(st.granted, c.Attempt)
	}
	older, newer := ViewOf{Stream: n}, ViewOf{Stream: n}
	r.Superseded = st.attached && !s.rules.Survives(older, newer)
	if d.Verdict == spec.VerdictComplete {
		r.Position = s.id(s.head(n))
		st.attached = false
		s.settle()
		return r
	}
	begin, _ := s.at(n, d.Start)
	begin.ordinal = d.Start
	r.Position = s.id(begin)
	if d.Verdict == spec.VerdictAttach {
		r.Skipped = Skipped(standing.Floor, standing.Handed)
	}
	st.attached, st.position = true, d.Start
	return r
}

// Standing returns what the decision boundary sees of the session, from a
// cursor. What is due must have been evicted before.
func (s *Session) Standing(c Cursor) Standing {
	n := c.ID.Stream
	st, recorded := s.streams[n]
	view := Standing{Session: s.state, Tag: s.tag, Assigned: n < s.next, Recorded: recorded, LastSeq: s.lastSeq}
	if !recorded {
		return view
	}
	floor, head := s.floor(n), s.head(n)
	view.Floor, view.Head, view.Handed, view.Finished = floor.ordinal, head.ordinal, st.handed, st.finished
	for _, a := range st.granted {
		if view.Newest.Generation < a.Generation || view.Newest.Generation == a.Generation && view.Newest.Counter < a.Counter {
			view.Newest = a
		}
	}
	if here, ok := s.at(n, c.ID.Ordinal); ok && here.ordinal >= floor.ordinal {
		view.SeqHere = here.seq
	}
	return view
}

// crowded reports whether as many views are open as there may be.
func (s *Session) crowded() bool {
	if s.limits.Views <= 0 {
		return false
	}
	open := 0
	for _, st := range s.streams {
		if st.attached {
			open++
		}
	}
	return open >= s.limits.Views
}

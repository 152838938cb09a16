package model

import (
	"slices"

	"example.com/reattach/spec"
)

// What the session retains, computed from the events ever issued and the set
// of those ever evicted.

// id returns the event id of an issued event.
func (s *Session) id(ev issued) spec.EventID {
	return spec.EventID{Tag: s.tag, Seq: ev.seq, Stream: ev.stream, Ordinal: ev.ordinal}
}

// head is the highest event ever issued on a stream; position 0 if none was.
func (s *Session) head(stream uint64) issued {
	return s.highest(stream, func(issued) bool { return true })
}

// floor is the highest event of a stream ever evicted; position 0 if none was.
func (s *Session) floor(stream uint64) issued {
	return s.highest(stream, func(ev issued) bool { return ev.evicted })
}

func (s *Session) highest(stream uint64, among func(issued) bool) issued {
	found := issued{stream: stream}
	for _, ev := range s.issued {
		if ev.stream == stream && ev.ordinal > found.ordinal && among(ev) {
			found = ev
		}
	}
	return found
}

// at returns the event that was issued with an ordinal of a stream.
func (s *Session) at(stream, ordinal uint64) (issued, bool) {
	for _, ev := range s.issued {
		if ev.stream == stream && ev.ordinal == ordinal {
			return ev, true
		}
	}
	return issued{stream: stream}, ordinal == 0
}

// load is what the window holds, events of forgotten streams included: they
// keep their place until they are evicted in their turn.
func (s *Session) load() (l Load) {
	for _, ev := range s.issued {
		if !ev.evicted {
			l.Events++
			l.Bytes += ev.size
		}
	}
	return l
}

// EvictOldest evicts the oldest retained event (R3), and reports whether there
// was one.
func (s *Session) EvictOldest() bool {
	_, ok := s.evictOldest(func(issued) bool { return true })
	s.settle()
	return ok
}

// evictOldest evicts the oldest retained event if it is of a kind.
func (s *Session) evictOldest(kind func(issued) bool) (spec.EventID, bool) {
	for i := range s.issued {
		if ev := &s.issued[i]; !ev.evicted {
			ev.evicted = kind(*ev)
			return s.id(*ev), ev.evicted
		}
	}
	return spec.EventID{}, false
}

// EvictDue evicts every event that is too old (R3), and returns how many.
func (s *Session) EvictDue(now int64) int { return len(s.evictDue(now)) }

func (s *Session) evictDue(now int64) (evicted []spec.EventID) {
	now = s.notBefore(now)
	for {
		id, ok := s.evictOldest(func(ev issued) bool { return TooOld(now-ev.stamp, s.limits) })
		if !ok {
			break
		}
		evicted = append(evicted, id)
	}
	s.settle()
	return evicted
}

// notBefore is a stamp of a clock that may have stepped back: it counts as that
// of the newest retained event, if it is lower. Order is never taken from it.
func (s *Session) notBefore(now int64) int64 {
	for _, ev := range slices.Backward(s.issued) {
		if !ev.evicted {
			return max(now, ev.stamp)
		}
	}
	return now
}

// fits reports whether a stream can be given another event of a size: it is
// within the bounds, and there are numbers left (R2, R3).
func (s *Session) fits(stream uint64, size int) bool {
	_, seqLeft := s.rules.NextNumber(s.lastSeq)
	_, ordinalLeft := s.rules.NextNumber(s.head(stream).ordinal)
	return seqLeft && ordinalLeft && Fits(size, s.limits)
}

// record issues the next event of a stream, and evicts until the window holds
// no more than it may (R2, R3, R11).
func (s *Session) record(stream uint64, size int, stamp int64) (ev issued, evicted []spec.EventID) {
	ev = issued{stream: stream, size: size, stamp: stamp}
	ev.seq, _ = s.rules.NextNumber(s.lastSeq)
	ev.ordinal, _ = s.rules.NextNumber(s.head(stream).ordinal)
	s.issued = append(s.issued, ev)
	s.lastSeq = ev.seq
	for s.rules.Overflows(s.load(), s.limits) {
		id, ok := s.evictOldest(func(issued) bool { return true })
		if !ok {
			panic("reattach: BUG: an empty window of the model overflows")
		}
		evicted = append(evicted, id)
	}
	return ev, evicted
}

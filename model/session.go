package model

import (
	"maps"
	"slices"

	"example.com/reattach/spec"
)

// A Session is the server's side of one session at any size, to be driven in
// lockstep with an implementation: each method is one trigger of the server's
// tables, and answers "" when it happened, or the reason why it was refused
// and changed nothing.
//
// It keeps every event ever issued and which of them were ever evicted; floor,
// head, load and every verdict are computed from these sets each time. So its
// cost grows with the events ever issued, not with those retained.
//
// Stamps are in any unit, the one of [Limits.Age]. A method with a stamp first
// evicts what is due; a stamp lower than that of the newest retained event
// counts as that one.
type Session struct {
	rules  Rules
	limits Limits
	tag    spec.Tag

	state   spec.State         // Absent, Live, Draining, Expired, Terminated
	issued  []issued           // every event ever issued, in order
	lastSeq uint64             // the highest seq ever used up
	streams map[uint64]*stream // those with a record
	next    uint64             // the number of the next stream
}

// An issued event stays in the set of the issued ones for ever.
type issued struct {
	seq, stream, ordinal uint64
	size                 int
	stamp                int64
	evicted              bool // it is in the set of those ever evicted
}

// A stream is a record of a logical stream.
type stream struct {
	finished bool
	attached bool
	position uint64         // ordinal up to which its view has taken events; only with a view
	handed   uint64         // highest ordinal ever handed to a view (R7)
	granted  []spec.Attempt // the attempts of every request that was granted (R10)
}

// NewSession returns a session that was not opened yet.
func NewSession(tag spec.Tag, limits Limits, rules Rules) *Session {
	return &Session{rules: rules, limits: limits, tag: tag, state: spec.Absent, streams: map[uint64]*stream{}}
}

// StartAt makes the session's numbers go on behind seq, as if as many events
// had been issued, and lost, before. Call it before Initialize.
func (s *Session) StartAt(seq uint64) { s.lastSeq = seq }

// Clone returns an independent copy.
func (s *Session) Clone() *Session {
	c := *s
	c.issued = slices.Clone(s.issued)
	c.streams = maps.Clone(s.streams)
	for n, st := range c.streams {
		own := *st
		own.granted = slices.Clone(st.granted)
		c.streams[n] = &own
	}
	return &c
}

// absence is what a session that does not serve says of itself (R6).
func absence(state spec.State) spec.Reason {
	switch state {
	case spec.Expired:
		return spec.ReasonSessionExpired
	case spec.Terminated:
		return spec.ReasonSessionTerminated
	}
	return spec.ReasonSessionUnknown
}

func (s *Session) serves() bool { return s.state == spec.Live || s.state == spec.Draining }

// Initialize opens the session and its standalone stream (R6, R7). full and
// draining say what the server as a whole is.
func (s *Session) Initialize(full, draining bool) spec.Reason {
	switch {
	case s.serves():
		return spec.ReasonAlreadyInitialized
	case s.state != spec.Absent:
		return absence(s.state)
	case draining:
		return spec.ReasonDraining
	case full:
		return spec.ReasonTooManySessions
	}
	s.state = spec.Live
	s.open(s.next, false)
	return ""
}

// Call is a request in a POST: it opens the next stream together with its view
// (R7), unless a cap is reached (R3). For a new record that one makes room, of
// the finished streams without a view, which is closest to eviction.
func (s *Session) Call() (number uint64, r spec.Reason) {
	switch {
	case s.state == spec.Draining:
		return 0, spec.ReasonDraining
	case !s.serves():
		return 0, absence(s.state)
	case s.limits.Requests > 0 && s.inFlight() >= s.limits.Requests:
		return 0, spec.ReasonTooManyRequests
	}
	if s.limits.Streams > 0 && len(s.streams) >= s.limits.Streams {
		oldest, ok := s.oldestForgettable()
		if !ok {
			return 0, spec.ReasonTooManyStreams
		}
		delete(s.streams, oldest)
	}
	number = s.next
	s.open(number, true)
	return number, ""
}

// Notify is a notification, or an answer to a request of the server.
func (s *Session) Notify() spec.Reason {
	if s.serves() {
		return ""
	}
	return absence(s.state)
}

// Terminate is DELETE: the session is over for good (R6).
func (s *Session) Terminate() spec.Reason {
	if !s.serves() {
		return absence(s.state)
	}
	s.end(spec.Terminated)
	return ""
}

// Expire: nothing kept the session alive for its budget (R9b).
func (s *Session) Expire(inUse bool) spec.Reason {
	switch {
	case !s.serves():
		return spec.ReasonOutOfTurn
	case inUse:
		return spec.ReasonSessionInUse
	}
	s.end(spec.Expired)
	return ""
}

// Drain: shutdown has begun; nothing new is taken, and the view on which no
// call waits is ended (R12).
func (s *Session) Drain(now int64) spec.Reason {
	if !s.serves() {
		return spec.ReasonOutOfTurn
	}
	s.EvictDue(now)
	if s.state == spec.Live {
		s.state = spec.Draining
		s.streams[0].attached = false
		s.settle()
	}
	return ""
}

// end: everything that the session knew is forgotten.
func (s *Session) end(as spec.State) {
	s.state = as
	clear(s.streams)
	s.issued = nil
}

// open gives a stream its record and the next number.
func (s *Session) open(n uint64, withView bool) {
	s.streams[n] = &stream{attached: withView}
	s.next = n + 1
}

// inFlight counts the calls in flight: those without an answer, and those whose
// answer a view still carries.
func (s *Session) inFlight() (n int) {
	for number, st := range s.streams {
		if number != 0 && (!st.finished || st.attached) {
			n++
		}
	}
	return n
}

// oldestForgettable returns the stream that is finished and without a view
// whose last event is the oldest.
func (s *Session) oldestForgettable() (oldest uint64, ok bool) {
	for n, st := range s.streams {
		if st.finished && !st.attached && (!ok || s.head(n).seq < s.head(oldest).seq) {
			oldest, ok = n, true
		}
	}
	return oldest, ok
}

// settle forgets every finished stream without a view of which nothing is
// retained any more (R9b, R11).
func (s *Session) settle() {
	for n, st := range s.streams {
		if st.finished && !st.attached && s.floor(n).ordinal == s.head(n).ordinal {
			delete(s.streams, n)
		}
	}
}

// StateOf returns the state of a stream by its name in package spec.
func (s *Session) StateOf(n uint64) spec.State {
	st, ok := s.streams[n]
	switch {
	case n >= s.next:
		return spec.Unopened
	case !ok:
		return spec.Forgotten
	case st.finished && st.attached:
		return spec.FinishedAttached
	case st.finished:
		return spec.FinishedDetached
	case st.attached:
		return spec.Attached
	}
	return spec.Detached
}

package model

import "example.com/reattach/spec"

// Emitted is what an emitter learns.
type Emitted struct {
	ID       spec.EventID
	Attached bool           // a view will carry it
	Lag      uint64         // events of the stream that its view has not taken yet; only with a view
	Evicted  []spec.EventID // what left the window for age or for want of room, oldest first
}

// Taken is what a view takes to its wire.
type Taken struct {
	ID   spec.EventID
	Size int
	OK   bool // false: there is nothing to take now
	Last bool // the last event of a finished stream: the view has ended with it
	// Overtaken: the next event is gone (R9). Nothing has happened yet; it is for
	// the caller to say Overtake.
	Overtaken bool
}

// missing is why a stream without a record cannot move.
func (s *Session) missing(n uint64) spec.Reason {
	if s.StateOf(n) == spec.Unopened {
		return spec.ReasonStreamUnopened
	}
	return spec.ReasonStreamForgotten
}

// OpenStream gives the next number to a stream (R2). Numbers are assigned in
// order: opening another one than the next is the suite's fault.
func (s *Session) OpenStream(n uint64, withView bool) spec.Reason {
	if n < s.next {
		return spec.ReasonOutOfTurn
	}
	if n > s.next {
		panic("reattach: BUG: the suite opens a stream out of order")
	}
	s.open(n, withView)
	return ""
}

// OpenStreamAt opens the next stream as if events up to a position had been
// issued on it, and lost, before.
func (s *Session) OpenStreamAt(floor spec.EventID) {
	s.open(floor.Stream, false)
	if floor.Ordinal > 0 {
		s.issued = append(s.issued, issued{seq: floor.Seq, stream: floor.Stream, ordinal: floor.Ordinal, evicted: true})
	}
}

// Emit records an event that is not the last one (R11).
func (s *Session) Emit(n uint64, size int, now int64) (Emitted, spec.Reason) {
	return s.emit(n, size, now, false)
}

// Answer records the last event of a stream (R11).
func (s *Session) Answer(n uint64, size int, now int64) (Emitted, spec.Reason) {
	return s.emit(n, size, now, true)
}

func (s *Session) emit(n uint64, size int, now int64, last bool) (e Emitted, r spec.Reason) {
	now = s.notBefore(now)
	e.Evicted = s.evictDue(now)
	st, ok := s.streams[n]
	switch {
	case !ok:
		return e, s.missing(n)
	case st.finished:
		return e, spec.ReasonStreamFinished
	case last && n == 0:
		return e, spec.ReasonStreamStandalone
	case !s.fits(n, size):
		return e, spec.ReasonEventTooLarge
	}
	ev, evicted := s.record(n, size, now)
	st.finished = last
	e.ID, e.Attached, e.Evicted = s.id(ev), st.attached, append(e.Evicted, evicted...)
	if st.attached {
		e.Lag = ev.ordinal - st.position
	}
	s.settle()
	return e, ""
}

// Deliver: the view takes the next event to its wire (R4).
func (s *Session) Deliver(n uint64, now int64) (t Taken, r spec.Reason) {
	s.EvictDue(now)
	st, ok := s.streams[n]
	if !ok || !st.attached {
		return t, spec.ReasonNoView
	}
	floor, head := s.floor(n), s.head(n)
	next, ok := s.rules.NextOrdinal(st.position, floor.ordinal, head.ordinal)
	if !ok {
		t.Overtaken = st.position < floor.ordinal
		return t, ""
	}
	ev, _ := s.at(n, next)
	t = Taken{ID: s.id(ev), Size: ev.size, OK: true, Last: st.finished && next == head.ordinal}
	st.position = next
	st.handed = max(st.handed, next)
	st.attached = !t.Last
	s.settle()
	return t, ""
}

// EndView: the server ends the view on purpose; the client may resume.
func (s *Session) EndView(n uint64, now int64) spec.Reason { return s.detach(n, now) }

// Overtake: the view is cut, because the next event is gone (R9).
func (s *Session) Overtake(n uint64, now int64) spec.Reason { return s.detach(n, now) }

// Stall: the view is cut, because it accepts too little (R9).
func (s *Session) Stall(n uint64, now int64) spec.Reason { return s.detach(n, now) }

// Break: the connection of the view is gone.
func (s *Session) Break(n uint64, now int64) spec.Reason { return s.detach(n, now) }

func (s *Session) detach(n uint64, now int64) spec.Reason {
	s.EvictDue(now)
	st, ok := s.streams[n]
	if !ok || !st.attached {
		return spec.ReasonNoView
	}
	st.attached = false
	s.settle()
	return ""
}

// ElapseDetach: the stream was without a view for its budget. Its call is
// answered with a typed error of a size (R9b).
func (s *Session) ElapseDetach(n uint64, answerSize int, now int64) spec.Reason {
	now = s.notBefore(now)
	s.EvictDue(now)
	st, ok := s.streams[n]
	switch {
	case !ok:
		return s.missing(n)
	case st.attached:
		return spec.ReasonViewInTheWay
	case st.finished:
		return spec.ReasonStreamFinished
	case n == 0:
		return spec.ReasonStreamStandalone
	}
	if s.fits(n, answerSize) {
		s.record(n, answerSize, now)
	}
	st.finished = true
	s.settle()
	return ""
}

// EndRetention: the last retained event of the stream is gone. The session
// sees to it by itself; this is for suites that fire the trigger.
func (s *Session) EndRetention(n uint64) spec.Reason { return s.forget(n) }

// CapRecords: there is no room for another stream's record (R3). Call sees to
// it by itself; this is for suites that fire the trigger.
func (s *Session) CapRecords(n uint64) spec.Reason { return s.forget(n) }

func (s *Session) forget(n uint64) spec.Reason {
	st, ok := s.streams[n]
	switch {
	case !ok:
		return s.missing(n)
	case !st.finished:
		return spec.ReasonStreamUnfinished
	case st.attached:
		return spec.ReasonViewInTheWay
	}
	delete(s.streams, n)
	return ""
}

// EndStream: the session is over, and so is the stream (R6).
func (s *Session) EndStream(n uint64) spec.Reason {
	if _, ok := s.streams[n]; !ok {
		return s.missing(n)
	}
	delete(s.streams, n)
	return ""
}

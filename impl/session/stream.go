package session

import "example.com/reattach/spec"

// A Stream is a handle of one logical stream of a session, and safe for
// concurrent use. It outlives its stream: one that is finished or forgotten
// refuses what it is asked for.
type Stream struct {
	session *Session
	number  uint64
	rec     *record // nil: the stream had no record when the handle was given out
	done    chan struct{}
}

// Standalone returns the stream that no call opened: number 0.
func (s *Session) Standalone() *Stream { return s.Stream(0) }

// Stream returns a handle of the stream with that number, whether there is one
// or not.
func (s *Session) Stream(n uint64) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.core.at(n)
	if rec.state == spec.Unopened || rec.state == spec.Forgotten {
		return &Stream{session: s, number: n} // it may be opened later
	}
	return s.handle(rec)
}

// handle returns the one handle of a record. The session is locked.
func (s *Session) handle(rec *record) *Stream {
	if rec.handle == nil {
		rec.handle = &Stream{session: s, number: rec.number, rec: rec}
	}
	return rec.handle
}

// record returns the stream's record. The session is locked.
func (st *Stream) record() *record {
	if st.rec != nil {
		return st.rec
	}
	return st.session.core.at(st.number)
}

// Number returns the stream's number: 0 is the standalone stream.
func (st *Stream) Number() uint64 { return st.number }

// Session returns the stream's session.
func (st *Stream) Session() *Session { return st.session }

// Meta returns what the call was opened with.
func (st *Stream) Meta() any {
	st.session.mu.Lock()
	defer st.session.mu.Unlock()
	return st.record().meta
}

// State returns the stream's state.
func (st *Stream) State() spec.State {
	st.session.mu.Lock()
	defer st.session.mu.Unlock()
	return st.record().state
}

// Emit fires HandlerEmits: it records an event that is not the stream's last
// one, whether anybody reads it or not (R11). It copies the payload, allocates
// nothing, and waits for no reader.
//
// With a store it waits until that has the event (R14).
//
// The error is a refusal: spec.ReasonEventTooLarge (a [*window.TooLargeError]
// or [*window.ExhaustedError] to errors.As), ReasonStreamFinished,
// ReasonStreamForgotten, ReasonStreamUnopened; or a [*StoreError].
func (st *Stream) Emit(payload []byte) (e Emitted, err error) {
	err = st.session.emit(st.number, st.rec, spec.HandlerEmits, payload, &e)
	return e, err
}

// Emit is [Stream.Emit] for the stream with that number, without a handle.
func (s *Session) Emit(stream uint64, payload []byte) (e Emitted, err error) {
	err = s.emit(stream, nil, spec.HandlerEmits, payload, &e)
	return e, err
}

// emit fires a trigger of the stream of this record, or else of this number.
// What it tells goes to e. It is Core.emit with the session's own part between
// the two ways that takes: calling that costs a tenth more (BenchmarkEmit/handle).
func (s *Session) emit(n uint64, rec *record, t spec.Trigger, payload []byte, e *Emitted) error {
	now := s.owner.registry.clock.Load()
	s.mu.Lock()
	if rec == nil {
		rec = s.core.at(n)
	}
	if ordinal := s.core.emitPlainly(rec, t, payload, now); ordinal != 0 {
		// Events that are older than this one are retained, so the session is
		// due before this one is.
		s.core.retireSome()
		s.core.tell(rec, ordinal, 1, e)
		rec.wakeReader()
		s.mu.Unlock()
		return nil
	}
	return s.emitByRow(rec, t, payload, now, e)
}

// emitByRow is the rest of emit, and unlocks the session.
func (s *Session) emitByRow(rec *record, t spec.Trigger, payload []byte, now int64, e *Emitted) error {
	err := s.core.emitByRow(rec, t, payload, now, e)
	rec.wakeReader()
	// The event is due with the window's age, which is later than what the
	// session is due for already, but for the first event in a long time.
	if due := now + s.core.cfg.Window.Age + 1; due < s.due && err == nil {
		s.plan(due)
	}
	if err != nil && s.core.lost() {
		err = s.told(err)
		s.release(s.owner.registry.now())
		return err
	}
	s.mu.Unlock()
	return err
}

// wakeReader tells the stream's view, if it has one and that waits.
func (rec *record) wakeReader() {
	if rec.view != nil {
		rec.view.wait.wake()
	}
}

// Answer fires HandlerAnswers: it records the stream's last event. Its errors
// are those of Emit, and spec.ReasonStreamStandalone.
func (st *Stream) Answer(payload []byte) (e Emitted, err error) {
	err = st.session.emit(st.number, st.rec, spec.HandlerAnswers, payload, &e)
	if err == nil {
		st.session.rest() // the call does not run any more
	}
	return e, err
}

// rest notes that something which kept the session alive is over.
func (s *Session) rest() {
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.release(now)
	s.active = now
}

// EndView fires HandlerEndsView: the stream's view ends cleanly between two
// events, and its client may resume. The error is spec.ReasonNoView if there
// is none.
func (st *Stream) EndView() error {
	s := st.session
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.release(now)
	s.active = now
	rec := st.record()
	return s.core.EndView(rec.number, now)
}

// Done returns a channel that is closed when the stream's work is to stop: its
// detach budget has elapsed (R9b), or the session has ended. An answer does not
// close it. A stream that is forgotten already has nothing left to do.
func (st *Stream) Done() <-chan struct{} {
	st.session.mu.Lock()
	defer st.session.mu.Unlock()
	if st.done == nil {
		st.done = make(chan struct{})
		if rec := st.record(); rec.cancelled || rec.state == spec.Forgotten {
			close(st.done)
		}
	}
	return st.done
}

// cancel closes Done. The session is locked.
func (st *Stream) cancel() {
	switch {
	case st == nil: // no handle was given out: nobody works on it
	case st.done == nil: // nobody waits; the record says it
	default:
		close(st.done)
	}
}

package session

import (
	"bytes"
	"errors"

	"example.com/reattach/spec"
)

// held is this process's hold of a session in the store. The session's lock
// guards it.
type held struct {
	registry *Registry
	subject  string
	key      Key
	hold     Hold
	// lost is why the session here is not any more what the store holds, or may
	// not be: then it is let go of.
	lost error
	// broken: the store contradicts what it acknowledged. The session is over.
	broken bool
}

// begin draws an id for a new session, and begins it in the store if there is
// one.
func (r *Registry) begin(subject string) (SessionID, *held, error) {
	id := r.newID()
	if r.options.Store == nil {
		return id, nil, nil
	}
	r.mu.Lock()
	full, draining := r.full(subject), r.draining
	r.mu.Unlock()
	if full || draining { // this is seen before anything is written
		if err := NewCore(r.cfg).Initialize(id, nil, full, draining); err != nil {
			r.log("session refused", "reason", string(reasonOf(err)))
			return id, nil, err
		}
	}
	h := &held{registry: r, subject: subject, key: KeyOf(id)}
	hold, err := r.options.Store.Begin(h.key, subject, r.unix())
	if err != nil {
		// Whatever became of it, nobody knows the id.
		return id, nil, &StoreError{Err: err}
	}
	h.hold = hold
	return id, h, nil
}

// discard ends a session that was begun in the store and then refused. Nobody
// knows its id, so it does not matter if this fails.
func (h *held) discard() {
	if h != nil {
		_ = h.registry.options.Store.Append(h.key, h.hold, Entry{Kind: EndsSession, State: spec.Terminated, At: h.registry.unix()})
	}
}

// unix is the time as stores keep it, in milliseconds.
func (r *Registry) unix() int64 { return r.options.Now().UnixMilli() }

// configOf returns the configuration of sessions that the store holds in this
// generation: it is part of their tags, so what an earlier one issued is
// foreign in this one (R14).
func (r *Registry) configOf(generation string) *Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stored == nil || r.stored.Generation != generation {
		cfg := *r.cfg
		cfg.Generation = generation
		r.stored = &cfg
	}
	return r.stored
}

// persist asks the store, for a core whose session is locked.
func persist(c *Core, e Entry) error {
	h := c.body.held
	switch {
	case h.lost != nil && e.Kind == EndsSession: // it is being let go of
		return nil
	case h.lost != nil:
		return &StoreError{Unknown: true, Err: h.lost}
	}
	e.At = h.registry.unix()
	err := h.registry.options.Store.Append(h.key, h.hold, e)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotApplied):
		return &StoreError{Err: err}
	case errors.Is(err, ErrHoldLost):
		return h.lose(err, false)
	case errors.Is(err, ErrConflict):
		return h.lose(err, true)
	}
	return h.settle(e, err)
}

// settle finds out whether an entry was applied whose outcome is not known, by
// taking the session again: after that it is not under way any more. What
// cannot be found out is not guessed: the session is let go of.
func (h *held) settle(e Entry, unknown error) error {
	hold, m, err := h.registry.options.Store.Take(h.key, h.subject)
	switch {
	case err != nil:
		return h.lose(errors.Join(unknown, err), errors.Is(err, ErrNoSession))
	case hold.Generation != h.hold.Generation, m.State == spec.Live && hold.Term != h.hold.Term+1:
		return h.lose(errors.Join(unknown, ErrHoldLost), false)
	}
	h.hold = hold
	before := m.State == spec.Live && m.Seq == e.Seq
	var applied bool
	switch e.Kind {
	case AppendsEvent:
		applied = m.State == spec.Live && m.Seq == e.Seq+1
	case EndsSession:
		applied = m.State == e.State
	case OpensStream:
		applied, before = before && m.Next == e.Stream+1, before && m.Next == e.Stream
	case DescribesSession:
		applied = before && bytes.Equal(m.Note, e.Data)
	case GrantsView:
		s := m.stream(e.Stream)
		applied = before && (s == nil || s.Attempt == e.Attempt)
	}
	switch {
	case applied:
		return nil
	case before:
		return &StoreError{Err: unknown}
	}
	return h.lose(errors.Join(unknown, m.conflict(e)), true)
}

func (h *held) lose(err error, broken bool) error {
	h.lost, h.broken = err, broken
	return &StoreError{Unknown: true, Err: err}
}

// lost reports whether the session is to be let go of.
func (c *Core) lost() bool { return c.body != nil && c.body.held != nil && c.body.held.lost != nil }

// letGo ends what this process has of a session, and not the session: its views
// end, and its handlers are told to stop. It is in the store for whoever asks
// next. One whose store contradicts itself is over, here and as far as possible
// there. The session is locked.
func (s *Session) letGo(now int64) (logged []Note) {
	h := s.core.body.held
	logged = s.settleNotes(now) // those of the method that found out
	if s.over() || s.core.Terminate() != nil {
		return logged
	}
	logged = append(logged, s.settleNotes(now)...)
	if h.broken {
		s.endBroken(h)
	}
	return logged
}

// endBroken makes the end of a session durable that its store contradicts, if
// the store lets it.
func (s *Session) endBroken(h *held) {
	store := h.registry.options.Store
	if hold, m, err := store.Take(h.key, h.subject); err == nil && m.State == spec.Live {
		_ = store.Append(h.key, hold, Entry{Kind: EndsSession, State: spec.Terminated, Seq: m.Seq, At: h.registry.unix()})
	}
	h.registry.log("the store contradicts itself, the session is over", "session", string(s.core.Tag()), "error", h.lost)
}

// told is what a refusal by a session that was let go of says: not that it is
// over, which nobody here knows.
func (s *Session) told(err error) error {
	if err == nil || !s.core.lost() || s.core.body.held.broken {
		return err
	}
	if stored := new(StoreError); errors.As(err, &stored) {
		return err
	}
	return &StoreError{Unknown: true, Err: s.core.body.held.lost}
}

// confirm asks the store whether the session here is still the session. If not
// it is let go of, and current is false: it has to be looked up again.
func (s *Session) confirm() (current bool, err error) {
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.release(now)
	if s.over() {
		return false, nil
	}
	h := s.core.body.held
	switch err := s.owner.registry.options.Store.Confirm(h.key, h.hold); {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrHoldLost):
		_ = h.lose(err, false)
		return false, nil
	default:
		return false, &StoreError{Err: err}
	}
}

// Describe gives the session a note that its store keeps, for [Notes]. Without
// a store it does nothing.
func (s *Session) Describe(note []byte) error {
	defer s.enter()()
	return s.told(s.core.Describe(note))
}

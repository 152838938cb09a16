package session

import (
	"errors"

	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// restore makes the core the session that an image is of: its window, its
// streams with their floors and heads, its numbers (R2). It has no views.
//
// What views were handed is not in the image, so all of the standalone stream
// counts as handed: a view without a cursor repeats nothing (R7). now is the
// stamp of the time unix.
func (c *Core) restore(id SessionID, meta any, m *Image, now, unix int64) {
	c.id, c.meta, c.state = id, meta, spec.Live
	limit := c.cfg.Window.MaxPayload()
	for i := len(m.Events) - 1; i >= 0; i-- { // the bounds may be tighter than they were
		if len(m.Events[i].Payload) > limit {
			m.evict(m.Evicted + uint64(i) + 1)
			break
		}
	}
	c.window = window.Resume(&c.cfg.Window, m.Evicted)
	b := c.embody()
	b.next, b.more = m.Next, make(map[uint64]*record)
	for i := range m.Streams {
		s := &m.Streams[i]
		rec := &record{number: s.Number, state: spec.Detached, newest: s.Attempt, since: now}
		if s.Number == 0 {
			b.zero = *rec
			b.zero.handed = s.Head
			rec = &b.zero
		} else {
			b.more[s.Number] = rec
		}
		c.window.OpenAt(s.Floor)
		if s.Finished {
			rec.state, rec.last = spec.FinishedDetached, s.Head.Seq
			b.finish(rec)
		} else if s.Number != 0 {
			b.inFlight++
			b.detached++
		}
	}
	var forgotten []uint64 // streams whose events keep their places
	for _, ev := range m.Events {
		if !c.window.Has(ev.Stream) {
			floor := window.Position{Stream: ev.Stream}
			if ev.Ordinal > 1 {
				floor.Seq, floor.Ordinal = ev.Ordinal-1, ev.Ordinal-1
			}
			if floor.Seq > m.Evicted {
				bug("event %d of stream %d, and only %d seqs are evicted", ev.Ordinal, ev.Stream, m.Evicted)
			}
			c.window.OpenAt(floor)
			forgotten = append(forgotten, ev.Stream)
		}
		if _, _, err := c.window.Append(ev.Stream, ev.Payload, now-max(0, unix-ev.At)); err != nil {
			bug("an event of the store's does not fit after all: %v", err)
		}
	}
	for _, n := range forgotten {
		c.window.Forget(n)
	}
	c.window.EvictDue(now)
	c.retire()
}

// restoring is a look-up of a session in the store while it is under way.
type restoring struct {
	done chan struct{}
	s    *Session
	err  error
}

// restored looks a session up in the store, for its subject. Whoever asks for
// the same one meanwhile gets the same answer. t is what the request wants.
func (r *Registry) restored(subject string, id SessionID, t spec.Trigger) (*Session, error) {
	r.mu.Lock()
	if s := r.find(subject, id.key()); s != nil { // just now
		r.mu.Unlock()
		return s, nil
	}
	asked := askedFor{id, subject}
	mine := &restoring{done: make(chan struct{})}
	if other := r.restores[asked]; other != nil {
		r.mu.Unlock()
		<-other.done
		return other.s, other.err
	}
	reason := spec.Reason("")
	switch {
	case r.draining:
		reason = spec.ReasonDraining
	case r.full(subject):
		reason = spec.ReasonTooManySessions
	}
	if reason != "" {
		r.mu.Unlock()
		return nil, reason
	}
	if r.restores == nil {
		r.restores = make(map[askedFor]*restoring)
	}
	r.restores[asked] = mine
	r.mu.Unlock()
	mine.err = &StoreError{Err: errors.New("session: restoring it panicked")} // unless it comes to something else
	defer func() {
		r.mu.Lock()
		delete(r.restores, asked)
		r.mu.Unlock()
		close(mine.done)
	}()
	mine.s, mine.err = r.restore(subject, id, t)
	return mine.s, mine.err
}

type askedFor struct {
	id      SessionID
	subject string
}

func (r *Registry) restore(subject string, id SessionID, t spec.Trigger) (*Session, error) {
	h := &held{registry: r, subject: subject, key: KeyOf(id)}
	hold, m, err := r.options.Store.Take(h.key, subject)
	switch {
	case errors.Is(err, ErrNoSession):
		return nil, r.refuse(spec.Absent, t)
	case err != nil:
		return nil, &StoreError{Err: err}
	case m.Subject != subject:
		return nil, r.refuse(spec.Absent, t)
	case m.State != spec.Live:
		return nil, r.refuse(m.State, t)
	}
	if err := m.Check(); err != nil {
		r.log("a session in the store makes no sense", "error", err)
		return nil, &StoreError{Err: err}
	}
	h.hold = hold
	now := r.now()
	s := &Session{active: now, due: never}
	r.mu.Lock()
	s.owner = r.own(subject)
	r.mu.Unlock()
	found := false
	defer func() {
		if !found {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.disown(s.owner)
		}
	}()
	s.core.init(r.configOf(hold.Generation))
	s.core.restore(id, nil, &m, now, r.unix())
	s.core.body.held = h
	if err := s.recall(&m); err != nil {
		return nil, err
	}
	if notes := r.options.Notes; notes != nil {
		// From here on the application has it, and may emit.
		if err := notes.Restored(s.core.meta); err != nil {
			return nil, &StoreError{Err: err}
		}
	}
	r.mu.Lock()
	found = true
	r.index.add(s)
	draining := r.draining
	r.mu.Unlock()
	if draining {
		s.drain()
	}
	s.rest() // plans what is due
	r.log("session restored", "session", string(s.Tag()), "term", hold.Term, "events", len(m.Events))
	return s, nil
}

// recall gives the application back what is its own, and ends the calls whose
// handlers are gone with the process that ran them: their outcome is unknown,
// and nobody will ever answer them (R9b, R23).
func (s *Session) recall(m *Image) error {
	c, notes := &s.core, s.owner.registry.options.Notes
	if notes != nil {
		meta, err := notes.Restore(s, m.Note)
		if err != nil {
			return &StoreError{Err: err}
		}
		c.meta = meta
	}
	now := s.owner.registry.now()
	for i := range m.Streams {
		stream := &m.Streams[i]
		rec := c.body.more[stream.Number]
		if rec == nil { // the standalone stream, or one of which nothing is retained
			continue
		}
		if notes != nil {
			rec.meta = notes.RestoreCall(c.meta, stream.Note)
		}
		if !stream.Finished {
			if err := c.ElapseDetach(stream.Number, now); err != nil {
				return err
			}
		}
	}
	for 1+len(c.body.more) > c.cfg.Streams { // the cap may be lower than it was
		rec := c.oldestFinished()
		if rec == nil {
			break
		}
		if err := c.CapRecords(rec.number); err != nil {
			return err
		}
	}
	c.begin() // nobody waits for the notes of what ended
	return nil
}

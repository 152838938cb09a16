package session

import "sync"

// wheel knows which sessions are due when, in ticks. It is two circles of
// lists: one for the next 256 ticks, one for the next 256 turns of the first.
// What lies beyond waits in the farthest list and is looked at again when its
// turn comes. So planning and taking out cost the same whatever is open, and a
// sweep costs what is due, and one step a tick that has passed.
//
// A session is in the wheel at most once, at or before the time at which there
// is something to do for it: to be early only costs a look.
//
// Its lock is taken last: while a session's, or the registry's, is held.
type wheel struct {
	mu   sync.Mutex
	next int64 // the first tick that was not swept
	near [wheelSlots]*Session
	far  [wheelSlots]*Session
}

const wheelSlots = 256

// spoke is a session's place in the wheel, guarded by the wheel's lock.
type spoke struct {
	next *Session
	from **Session // what points to this session, nil: it is in no list
	tick int64     // at which it is due
}

// plan puts the session where it is due at that tick.
func (w *wheel) plan(s *Session, tick int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.spoke.leave()
	s.spoke.tick = max(tick, w.next)
	w.place(s)
}

// place puts a session that is in no list into the right one.
func (w *wheel) place(s *Session) {
	turns := s.spoke.tick/wheelSlots - w.next/wheelSlots
	list := &w.far[s.spoke.tick/wheelSlots%wheelSlots]
	switch {
	case s.spoke.tick-w.next < wheelSlots:
		list = &w.near[s.spoke.tick%wheelSlots]
	case turns >= wheelSlots:
		list = &w.far[(w.next/wheelSlots+wheelSlots-1)%wheelSlots]
	}
	s.spoke.next, s.spoke.from = *list, list
	if s.spoke.next != nil {
		s.spoke.next.spoke.from = &s.spoke.next
	}
	*list = s
}

// leave takes the session out of its list, if it is in one.
func (p *spoke) leave() {
	if p.from == nil {
		return
	}
	*p.from = p.next
	if p.next != nil {
		p.next.spoke.from = p.from
	}
	p.next, p.from = nil, nil
}

// drop takes the session out of the wheel.
func (w *wheel) drop(s *Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.spoke.leave()
}

// due takes out a session that is due by that tick, or returns nil.
func (w *wheel) due(tick int64) *Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.next <= tick {
		if s := w.near[w.next%wheelSlots]; s != nil {
			s.spoke.leave()
			return s
		}
		w.next++
		if w.next%wheelSlots == 0 {
			w.turn()
		}
	}
	return nil
}

// turn brings the sessions that are due within the next 256 ticks nearer.
func (w *wheel) turn() {
	list := &w.far[w.next/wheelSlots%wheelSlots]
	var all []*Session // their places may be in this very list again
	for s := *list; s != nil; s = s.spoke.next {
		all = append(all, s)
	}
	for _, s := range all {
		s.spoke.leave()
		w.place(s)
	}
}

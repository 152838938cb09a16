package session

import (
	"math"
	"time"
)

// never is a stamp at which nothing is due.
const never = math.MaxInt64

// now reads the clock. Stamps are milliseconds since the registry began; they
// never go back, whatever the clock does.
func (r *Registry) now() int64 {
	now := r.options.Now().Sub(r.start).Milliseconds()
	for {
		newest := r.clock.Load()
		if now <= newest {
			return newest
		}
		if r.clock.CompareAndSwap(newest, now) {
			return now
		}
	}
}

// tickOf returns the first tick at which a stamp has passed.
func (r *Registry) tickOf(stamp int64) int64 { return (stamp + r.tick - 1) / r.tick }

// run keeps the coarse clock and sweeps, until Close.
func (r *Registry) run() {
	defer close(r.stopped)
	ticker := time.NewTicker(time.Duration(r.tick) * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
			r.Sweep()
		}
	}
}

// Sweep does what is due now: it evicts events that are too old, cancels calls
// and expires sessions whose budget has elapsed, and forgets ends that are too
// old. The registry's goroutine does so every tick.
func (r *Registry) Sweep() {
	now := r.now()
	for {
		s := r.wheel.due(now / r.tick)
		if s == nil {
			break
		}
		s.sweep(now)
	}
	r.graves.sweep(now)
}

// sweep does what is due in a session that was taken out of the wheel, and puts
// it back at the time when there is something to do again.
func (s *Session) sweep(now int64) {
	s.mu.Lock()
	defer s.release(now)
	s.due = never
	if s.over() {
		return
	}
	busy := s.core.Busy()
	due, ok := s.core.Tick(now)
	if ok {
		s.plan(due)
	}
	switch {
	case s.core.Busy():
		return // what ends its business plans the rest
	case busy:
		s.active = now // the calls that were cancelled just now
	}
	budget := s.owner.registry.options.SessionBudget.Milliseconds()
	if now < s.active+budget {
		s.plan(s.active + budget)
		return
	}
	s.settle(now) // the notes of Tick, before Expire begins its own
	if err := s.core.Expire(false); err != nil {
		s.active = now // the table at work refuses: ask again after another budget
	}
}

// plan makes sure that the session is swept at or soon after due. The session
// is locked.
func (s *Session) plan(due int64) {
	if due >= s.due || s.over() {
		return
	}
	s.due = due
	r := s.owner.registry
	r.wheel.plan(s, r.tickOf(due))
}

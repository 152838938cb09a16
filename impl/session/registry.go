package session

import (
	"sync"
	"sync/atomic"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

// A Registry holds the sessions of a server. It is safe for concurrent use, and
// all its sessions share one goroutine, which ends with Close.
//
// Locks are taken in this order, and never in another: a session's; the
// registry's; a shard's of the index, the wheel's or the graveyard's.
type Registry struct {
	options Options
	cfg     *Config
	start   time.Time    // what stamps are counted from
	clock   atomic.Int64 // the newest stamp, at most a tick old
	tick    int64        // in stamps
	index   *index
	wheel   wheel
	graves  graveyard

	mu       sync.Mutex
	owners   map[string]*owner
	sessions int
	draining bool
	closed   bool
	stored   *Config                 // of the sessions of the store's newest generation
	restores map[askedFor]*restoring // look-ups in the store that are under way

	stop, stopped chan struct{}
}

// NewRegistry returns an empty registry, or an error that names the setting
// that is out of its range or at odds with another.
func NewRegistry(o Options) (*Registry, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Registry{
		options: o,
		cfg:     o.config(),
		start:   o.Now(),
		tick:    o.tick().Milliseconds(),
		graves:  graveyard{count: o.RememberedEnds, age: o.RememberedEndAge.Milliseconds()},
		index:   newIndex(),
		owners:  make(map[string]*owner),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	go r.run()
	return r, nil
}

// Open fires ClientInitializes for a session that does not exist yet: it begins
// for this subject, whose stable name decides who may find it (R13). meta is
// the application's. The error is spec.ReasonTooManySessions or
// spec.ReasonDraining, or a [*StoreError].
func (r *Registry) Open(subject string, meta any) (*Session, error) {
	id, held, err := r.begin(subject)
	if err != nil {
		return nil, err
	}
	now := r.now()
	s := &Session{active: now}
	s.core.init(r.cfg)
	if held != nil {
		s.core.init(r.configOf(held.hold.Generation))
	}
	r.mu.Lock()
	err = s.core.Initialize(id, meta, r.full(subject), r.draining)
	if err != nil {
		r.mu.Unlock()
		held.discard()
		r.log("session refused", "reason", string(reasonOf(err)))
		return nil, err
	}
	s.owner = r.own(subject)
	if held != nil {
		s.core.embody().held = held
	}
	s.due = now + r.options.SessionBudget.Milliseconds()
	r.wheel.plan(s, r.tickOf(s.due))
	r.index.add(s) // from here on others may lock it
	r.mu.Unlock()
	if r.options.Logger != nil {
		r.log("session opened", "session", string(s.Tag()))
	}
	return s, nil
}

// newID draws an id that no session has, or had as far as is remembered.
func (r *Registry) newID() SessionID {
	for {
		if id := newSessionID(); r.index.find(id.key()) == nil && !r.graves.knows(id) {
			return id
		}
	}
}

// Find returns the subject's session of that id. It asks nobody for anything
// and is no sign of life: for the application's own use.
func (r *Registry) Find(subject, id string) (*Session, bool) {
	key, ok := parseSessionID(id)
	if !ok {
		return nil, false
	}
	s := r.find(subject, key)
	return s, s != nil
}

func (r *Registry) find(subject string, id idKey) *Session {
	s := r.index.find(id)
	if s == nil || s.owner.subject != subject {
		return nil
	}
	return s
}

// Lookup is the gate for every request that names a session; t is what the
// request wants. A session that is found must still be asked for it: Call,
// Notify, Resume, Terminate, Initialize. If there is none the row of the state
// Absent, Expired or Terminated refuses (R6), and another subject's session is
// none (R13): the same look-ups, the same rows, the same answer.
//
// With a store, a session that is here is confirmed there, and one that is not
// is looked up there and comes back with all that it retained (R14). Where the
// store cannot tell, the error is a [*StoreError].
func (r *Registry) Lookup(subject, id string, t spec.Trigger) (*Session, error) {
	state := spec.Absent
	if key, ok := parseSessionID(id); ok {
		if s := r.find(subject, key); s != nil {
			if s.core.cfg.Persist == nil {
				return s, nil
			}
			if current, err := s.confirm(); current || err != nil {
				return s, err
			}
		}
		state = r.graves.stateOf(key.id(), subject)
		if state == spec.Absent && r.options.Store != nil {
			return r.restored(subject, key.id(), t)
		}
	}
	return nil, r.refuse(state, t)
}

// refuse returns the refusal of a trigger of a session that is not there.
func (r *Registry) refuse(state spec.State, t spec.Trigger) error {
	m := r.cfg.Machines.Session
	unknown := &fsm.RefusedError{Machine: m.Table().Machine, State: state, Trigger: t, Reason: spec.ReasonSessionUnknown}
	if state == spec.Absent && t == spec.ClientInitializes {
		return unknown // an initialize that names a session opens none, whatever it names (R6)
	}
	step, err := m.Fire(state, t, 0)
	if r.cfg.Observe != nil {
		refused, _ := err.(*fsm.RefusedError)
		r.cfg.Observe(Observation{Machine: m.Table().Machine, Step: step, Refused: refused})
	}
	if err == nil {
		return unknown // the table at work has no objection, but there is no session
	}
	return err
}

// Drain begins the shutdown (R12): new sessions, calls and resumptions are
// refused, the standalone streams' views end cleanly, running calls and the
// views that wait for their answers go on. It is not undone. What comes next is
// EndViews, when the time is up, and Close.
func (r *Registry) Drain() {
	r.mu.Lock()
	r.draining = true
	r.mu.Unlock()
	r.log("draining")
	// Whoever opens a session from now on is refused; who did before is in the index.
	r.each(func(s *Session) { s.drain() })
}

// EndViews ends every view cleanly, between two events; clients may resume.
func (r *Registry) EndViews() { r.each((*Session).endViews) }

// Close drains, ends every session as its client would, and stops the
// registry's goroutine. What a session is asked for afterwards is refused. What
// a store holds is let go of and does not end (R12).
func (r *Registry) Close() {
	r.Drain()
	r.each(func(s *Session) { _ = s.close() }) // one that has ended meanwhile refuses, and that is all right
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	r.mu.Unlock()
	if first {
		close(r.stop)
	}
	<-r.stopped
}

// each calls f with every session that is there now, while no lock is held.
func (r *Registry) each(f func(*Session)) {
	for i := range r.index.shards {
		for _, s := range r.index.shards[i].all() {
			f(s)
		}
	}
}

// bury takes out a session that has ended. The session is locked.
func (r *Registry) bury(s *Session) {
	id := s.core.id
	r.wheel.drop(s)
	if !s.core.lost() || s.core.body.held.broken { // else it has not ended, it is only not here
		r.graves.bury(id, tombstone{subject: s.owner.subject, state: s.core.state, at: r.now()})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disown(s.owner)
	r.index.remove(id.key())
}

// Responses returns how many responses one session may need at a time: a view
// each for its calls, and those of resumptions.
func (r *Registry) Responses() int { return r.options.Views + r.options.Requests }

// Stats counts what a registry holds.
type Stats struct {
	Sessions   int // that have not ended
	Subjects   int // that have one
	Remembered int // ended sessions whose end is remembered
	Draining   bool
}

// Stats returns the counts of this moment.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Stats{Sessions: r.sessions, Subjects: len(r.owners), Remembered: r.graves.size(), Draining: r.draining}
}

func (r *Registry) log(message string, args ...any) {
	if r.options.Logger != nil {
		r.options.Logger.Info("reattach: "+message, args...)
	}
}

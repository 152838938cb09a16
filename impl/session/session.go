package session

import (
	"errors"
	"sync"

	"example.com/reattach/spec"
)

// A Session is one session of a [Registry], and safe for concurrent use.
//
// While nothing happens in it, it holds no goroutine, no timer and no machine,
// and takes less than 200 bytes with its place in the registry.
type Session struct {
	mu     sync.Mutex
	core   Core
	owner  *owner
	active int64 // stamp of the last sign of life (R9b)
	due    int64 // stamp at or before which it is swept; never: nothing is due
	spoke  spoke // the wheel's
}

// ID returns the session's id as its client knows it: a bearer secret.
func (s *Session) ID() string { return s.core.id.Text() }

// Tag returns what stands for the session in event ids, logs and metrics.
func (s *Session) Tag() spec.Tag {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.Tag()
}

// String names the session by its tag, so that printing it gives no secret away.
func (s *Session) String() string { return "session " + string(s.Tag()) }

// Subject returns the name of the subject that opened the session (R13).
func (s *Session) Subject() string { return s.owner.subject }

// Meta returns what the application keeps with the session.
func (s *Session) Meta() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.meta
}

// SetMeta replaces what the application keeps with the session.
func (s *Session) SetMeta(meta any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.meta = meta
}

// State returns the session's state.
func (s *Session) State() spec.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.state
}

// StandalonePosition returns position 0 of the standalone stream, which the
// answer to initialize issues (R7).
func (s *Session) StandalonePosition() spec.EventID { return spec.PositionZero(s.Tag(), 0) }

// Done returns a channel that is closed when the session has ended.
func (s *Session) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over() {
		return closedChannel
	}
	b := s.core.embody()
	if b.done == nil {
		b.done = make(chan struct{})
	}
	return b.done
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Enter says that a request of the session is open: while one is, the session
// does not expire (R9b). Leave must follow.
func (s *Session) Enter() {
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.requests++
	s.active = now
}

// Leave says that the request is over.
func (s *Session) Leave() {
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.release(now)
	if s.core.requests == 0 {
		bug("more requests left session %s than entered it", s.core.Tag())
	}
	s.core.requests--
	s.active = now
}

// Initialize fires ClientInitializes: an initialize request that names this
// session. It is refused (R6).
func (s *Session) Initialize() error {
	defer s.enter()()
	return s.core.Initialize(s.core.id, s.core.meta, false, false)
}

// Call fires ClientCalls: a stream opens for a call, with the view that will
// carry it, before anything can be emitted on it (R7). meta is kept with the
// stream. The error is spec.ReasonTooManyRequests, ReasonTooManyStreams,
// ReasonDraining, or how the session ended.
func (s *Session) Call(meta any) (*Stream, *View, error) {
	defer s.enter()()
	v, err := s.core.Call(meta)
	if err != nil {
		return nil, nil, s.told(err)
	}
	view := &View{session: s, state: v}
	view.stream = s.handle(v.rec)
	return view.stream, view, nil
}

// Notify fires ClientNotifies: a message that wants no stream of its own.
func (s *Session) Notify() error {
	defer s.enter()()
	return s.told(s.core.Notify())
}

// Resume fires ClientResumes. There is a view exactly if the verdict is attach
// or reattach; with complete neither view nor error. A refusal is the decision
// and an error at once: a [*RefusalError] if the cursor was refused, else a
// [*fsm.RefusedError]; the decision's Reason is what errors.Is finds in it.
func (s *Session) Resume(r Request) (*View, Decision, error) {
	v, d, err := s.resume(r)
	reg := s.owner.registry
	switch {
	case reg.options.Logger == nil:
	case err != nil:
		reg.log("resumption refused", "session", string(s.Tag()), "reason", string(d.Reason), "cursor", d.Cursor.String())
	case d.Skipped > 0:
		reg.log("events skipped", "session", string(s.Tag()), "stream", d.Position.Stream, "skipped", d.Skipped)
	}
	return v, d, err
}

func (s *Session) resume(r Request) (*View, Decision, error) {
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.release(now)
	s.active = now
	d, v, err := s.core.Resume(r, now)
	if v == nil {
		if err = s.told(err); err != nil {
			d.Reason = reasonOf(err)
		}
		return nil, d, err
	}
	return &View{session: s, stream: s.handle(v.rec), state: v}, d, nil
}

// Terminate fires ClientTerminates.
func (s *Session) Terminate() error {
	defer s.enter()()
	return s.told(s.core.Terminate())
}

// close is Terminate, and with a store it is letting go.
func (s *Session) close() error {
	defer s.enter()()
	if b := s.core.body; b != nil && b.held != nil && !s.over() {
		_ = b.held.lose(errClosed, false)
		return nil
	}
	return s.core.Terminate()
}

var errClosed = errors.New("session: the registry is closed")

// drain fires ServerDrains. A session that has ended meanwhile refuses, and
// that is all right.
func (s *Session) drain() {
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.release(now)
	s.active = now // the views that end were in use
	_ = s.core.Drain(now)
}

// endViews ends the session's views, as far as the table at work lets it.
func (s *Session) endViews() {
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.release(now)
	if s.core.Busy() {
		s.active = now
	}
	_ = s.core.EndViews(now)
}

// enter locks the session for a sign of life, and returns what unlocks it.
func (s *Session) enter() (leave func()) {
	now := s.owner.registry.now()
	s.mu.Lock()
	s.active = now
	return func() { s.release(now) }
}

// release settles what the core's last method left, and unlocks the session.
func (s *Session) release(now int64) {
	notes := s.settle(now)
	s.mu.Unlock()
	s.logNotes(notes)
}

// settle is settleNotes, and lets go of a session that the store says is lost.
func (s *Session) settle(now int64) (logged []Note) {
	if s.core.lost() {
		return s.letGo(now)
	}
	return s.settleNotes(now)
}

// settleNotes does what the core's notes ask for, and plans what the session's new
// state makes due. It returns a copy of the notes for the log, if there is one.
func (s *Session) settleNotes(now int64) (logged []Note) {
	r := s.owner.registry
	notes := s.core.Notes()
	for _, n := range notes {
		switch n.Effect {
		case spec.CancelWork:
			n.rec.handle.cancel()
		case spec.Bury:
			if d := s.core.body.done; d != nil {
				close(d)
			}
			r.bury(s)
		default: // a view has ended
			n.View.wait.wake()
		}
	}
	if r.options.Logger != nil {
		logged = append(logged, notes...)
	}
	s.core.begin() // they are done
	if s.core.body != nil && s.core.body.detached > 0 {
		s.plan(now + s.core.cfg.DetachBudget)
	}
	if !s.core.Busy() {
		s.plan(s.active + r.options.SessionBudget.Milliseconds())
	}
	return logged
}

func (s *Session) logNotes(notes []Note) {
	r := s.owner.registry
	for _, n := range notes {
		switch n.Effect {
		case spec.CancelWork:
			r.log("work cancelled", "session", string(s.Tag()), "stream", n.Stream)
		case spec.Bury:
			r.log("session ended", "session", string(s.Tag()), "state", s.State().String())
		default:
			r.log("view ended", "session", string(s.Tag()), "stream", n.Stream, "end", n.View.End.String())
		}
	}
}

// over reports whether the session has ended.
func (s *Session) over() bool { return s.core.zeroState() != spec.Detached }

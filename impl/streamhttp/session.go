package streamhttp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"sync"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A Session is the application's side of one session. It is safe for
// concurrent use.
type Session struct {
	core *session.Session
	id   string // the secret

	attaching sync.Mutex // before mu

	mu      sync.Mutex
	version string                   // negotiated; "" until initialize is answered
	value   any                      // the application's
	calls   map[string]*call         // in flight, by the text of their id
	asked   map[string]chan envelope // requests of the server without an answer, by the text of their id
	asks    uint64                   // requests of the server so far
	views   map[uint64]*view         // open, by the number of their stream
}

// A call is a request of the client while it runs.
type call struct {
	id     json.RawMessage
	cancel context.CancelCauseFunc // nil until its work has begun, and when it is over; guarded by Session.mu
	stream *Stream                 // the same
}

// ErrCancelled is the cause of the context's end when the client cancelled the
// call.
var ErrCancelled = errors.New("reattach: the client cancelled the call")

// ErrWorkOver is the cause of the context's end when nobody will read the
// answer: the stream had no view for the detach budget, or the session ended.
var ErrWorkOver = errors.New("reattach: nobody will read the answer: the stream or its session is over")

// ErrOutcomeUnknown is what [Stream.Request] returns when the session, or the
// context, ended before the client answered: neither done nor not done (R16).
var ErrOutcomeUnknown = errors.New("reattach: the client has not answered: outcome unknown")

// Tag stands for the session in logs: unlike its id it is not a secret.
func (s *Session) Tag() spec.Tag { return s.core.Tag() }

// String names the session by its tag, so that printing it gives no secret away.
func (s *Session) String() string { return "session " + string(s.Tag()) }

// ID is the session's id: a bearer secret, which is not for logs.
func (s *Session) ID() string { return s.id }

// Subject is who opened the session, as Options.Subject said.
func (s *Session) Subject() string { return s.core.Subject() }

// Version is the negotiated protocol revision; "" before initialize was
// answered.
func (s *Session) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// Standalone is the stream of everything that belongs to no call. Events on it
// reach the client when it reads there, and wait for it in the window until
// then.
func (s *Session) Standalone() *Stream { return &Stream{session: s, core: s.core.Standalone()} }

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.core.Done() }

// Stream returns the stream of the call with that JSON-RPC id while its work
// runs and is not answered. It reports false for every other id.
func (s *Session) Stream(id json.RawMessage) (*Stream, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[string(id)]; c != nil && c.stream != nil {
		return c.stream, true
	}
	return nil, false
}

// SetValue keeps something of the application's with the session.
func (s *Session) SetValue(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = v
}

// Value returns what SetValue kept.
func (s *Session) Value() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// begin notes a call as running; it reports false if one with that id runs.
// The number of calls is bounded by the session's own cap.
func (s *Session) begin(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.calls[string(c.id)]; ok {
		return false
	}
	if s.calls == nil {
		s.calls = make(map[string]*call)
	}
	s.calls[string(c.id)] = c
	return true
}

func (s *Session) started(c *call, stream *Stream, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.stream, c.cancel = stream, cancel
}

func (s *Session) end(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[string(c.id)] == c {
		delete(s.calls, string(c.id))
	}
}

// cancel ends the context of the call that a notifications/cancelled names.
func (s *Session) cancel(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	s.mu.Lock()
	c := s.calls[string(p.ID)]
	s.mu.Unlock()
	if c != nil {
		s.stop(c, ErrCancelled)
	}
}

// stop ends the context of a call's work. One that has not begun goes on: its
// client will take the answer.
func (s *Session) stop(c *call, cause error) {
	s.mu.Lock()
	cancel := c.cancel
	s.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// ask returns the id of a new request of the server and where its answer will
// come; it reports false when too many wait already.
func (s *Session) ask() (id string, answer chan envelope, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) >= maxAsked {
		return "", nil, false
	}
	if s.asked == nil {
		s.asked = make(map[string]chan envelope)
	}
	s.asks++
	id = "s" + strconv.FormatUint(s.asks, 10)
	answer = make(chan envelope, 1)
	s.asked[strconv.Quote(id)] = answer
	return id, answer, true
}

func (s *Session) unask(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, strconv.Quote(id))
}

// answered hands a response of the client to the request that waits for it; it
// reports false if none does.
func (s *Session) answered(e envelope) bool {
	s.mu.Lock()
	answer, ok := s.asked[string(e.id)]
	delete(s.asked, string(e.id))
	s.mu.Unlock()
	if ok {
		answer <- e // room for the only one
	}
	return ok
}

// maxAsked bounds the requests of the server that wait for an answer in one
// session.
const maxAsked = spec.DefaultRequests

// attach lets the core answer a request for a view, and seats the view's
// writer on the stream's number. Both in one step, so that writers supersede
// each other in the order of their views. It returns the writer, or nil if
// there is no view, and the older one of the stream: the caller supersedes that
// unless the request was refused, which touches nothing.
func (s *Session) attach(ask func() (*view, uint64)) (v, older *view) {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	v, stream := ask()
	s.mu.Lock()
	defer s.mu.Unlock()
	older = s.views[stream]
	if v == nil {
		return nil, older
	}
	if s.views == nil {
		s.views = make(map[uint64]*view)
	}
	s.views[stream] = v
	v.before.Store(older)
	return v, older
}

// newStream stands for a stream that has no number yet: it is never assigned.
const newStream = math.MaxUint64

// crowded reports whether a view of the stream would be one response too many:
// as many are being written as the session may have views and calls, and this
// would take over none of them (R10). The core cannot tell: for it a view that
// took the last event is over, while its writer may need long to bring that to
// a slow reader (R3).
func (s *Session) crowded(most int, stream uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.views) >= most && s.views[stream] == nil
}

func (s *Session) unseat(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.views[v.core.Stream().Number()] == v {
		delete(s.views, v.core.Stream().Number())
	}
}

func (s *Session) viewOf(stream uint64) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.views[stream]
}

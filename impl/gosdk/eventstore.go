package gosdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// An EventStore is an [mcp.EventStore] on the window of this module, for who
// keeps the SDK's handler: bounded for each session by count, age and bytes, so
// that no session's traffic evicts another's events (R3), and strict about
// positions that it did not issue (R5). Put a [Guard] in front of the handler;
// [Handler] needs neither.
//
// What an event store cannot keep, because it is not asked:
//
//   - R1, R2: event ids are the SDK's, a stream's random name and an index. They
//     name no session, and give no order across streams.
//   - R4: an event that the store refuses because it is too large goes to the
//     reader all the same, with an id. The store counts it, and refuses every
//     cursor before it.
//   - R5: what the store refuses is answered with 400 and no reason. (Guard: 409
//     with the reason.)
//   - R7: without a cursor the standalone stream begins with what is retained of
//     it, sent before or not; once something of it is evicted it cannot be read
//     without a cursor at all.
//   - R8: no position is announced on a view that resumes.
//   - R9, R9b: a handler waits for its slow reader, streams have no budgets, and
//     nobody hears of readers that lag. What drops out is the store's session,
//     after SessionBudget without an event.
//   - R10: a view that is half-open locks its client out, with 409. (Guard: the
//     newer one takes over.)
//   - R12, R16: there is no drain, and the server's own calls end untyped.
//   - R13: another user's session is 403, and so told from one that is unknown.
//     (Guard: 404.)
//
// It is safe for concurrent use.
type EventStore struct {
	limits   window.Limits
	sessions int
	streams  int
	budget   time.Duration
	now      func() time.Time
	start    time.Time

	mu    sync.Mutex
	live  map[string]*storedSession
	ended map[string]struct{}
	order []string // of ended, oldest first
	swept time.Time
}

// EventStoreOptions are the bounds of an EventStore. The zero value of a field
// stands for its default in package spec.
type EventStoreOptions struct {
	WindowEvents  int           // events retained for a session
	WindowAge     time.Duration // of a retained event
	WindowBytes   int           // payload bytes retained for a session
	EventBytes    int           // payload bytes of one event, less than WindowBytes
	Sessions      int           // that have events at a time
	Streams       int           // of one session that can be resumed
	SessionBudget time.Duration // after which a session without an event is forgotten
	Now           func() time.Time
}

// A storedSession is what is kept of one session.
type storedSession struct {
	window  window.Window
	streams map[string]*storedStream
	names   []string // in the order of their opening
	last    uint64   // number of the newest stream
	touched time.Time
	owner   string // who opened it, as a Guard says
	owned   bool
}

type storedStream struct {
	number uint64
	hole   uint64 // highest ordinal whose event was not recorded; 0 = none
}

// NewEventStore returns an empty store, or an error that says which option is
// out of its range.
func NewEventStore(o EventStoreOptions) (*EventStore, error) {
	s := &EventStore{
		limits: window.Limits{
			Events:   cmp.Or(o.WindowEvents, spec.DefaultWindowEvents),
			Age:      cmp.Or(o.WindowAge, spec.DefaultWindowAge).Milliseconds(),
			Bytes:    cmp.Or(o.WindowBytes, spec.DefaultWindowBytes),
			MaxEvent: cmp.Or(o.EventBytes, spec.DefaultEventBytes),
		},
		sessions: cmp.Or(o.Sessions, spec.DefaultSessions),
		streams:  cmp.Or(o.Streams, spec.DefaultStreams),
		budget:   cmp.Or(o.SessionBudget, spec.DefaultSessionBudget),
		now:      o.Now,
		live:     make(map[string]*storedSession),
		ended:    make(map[string]struct{}),
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.start = s.now()
	if err := s.limits.Validate(); err != nil {
		return nil, err
	}
	if s.sessions < 1 || s.streams < 2 || s.budget <= 0 {
		return nil, errors.New("reattach: EventStoreOptions: Sessions, Streams and SessionBudget must be positive, and Streams at least 2")
	}
	return s, nil
}

var _ mcp.EventStore = (*EventStore)(nil)

func (s *EventStore) stamp() int64 { return s.now().Sub(s.start).Milliseconds() }

// Open begins a stream. A session that has ended stays ended (R6), and a full
// store refuses new sessions instead of forgetting old ones (R3).
func (s *EventStore) Open(_ context.Context, sessionID, streamID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.live[sessionID]
	if stored == nil {
		if _, ok := s.ended[sessionID]; ok {
			return spec.ReasonSessionTerminated
		}
		if s.sweep(); len(s.live) >= s.sessions {
			return spec.ReasonTooManySessions
		}
		stored = &storedSession{window: window.New(&s.limits), streams: make(map[string]*storedStream)}
		s.live[sessionID] = stored
	}
	stored.touched = s.now()
	if stored.streams[streamID] != nil {
		return nil
	}
	if len(stored.streams) >= s.streams {
		stored.forget()
	}
	stored.last++
	stored.streams[streamID] = &storedStream{number: stored.last}
	stored.names = append(stored.names, streamID)
	stored.window.Open(stored.last)
	return nil
}

// forget makes room for a stream: the store is not told which are finished, so
// the oldest one goes, but for the standalone stream. Its cursors are refused.
func (d *storedSession) forget() {
	for i, name := range d.names {
		if name != "" {
			d.window.Forget(d.streams[name].number)
			delete(d.streams, name)
			d.names = append(d.names[:i], d.names[i+1:]...)
			return
		}
	}
}

// sweep forgets the sessions that are over their budget. It looks at all of
// them, so not at every call.
func (s *EventStore) sweep() {
	now := s.now()
	if now.Sub(s.swept) < s.budget/16 {
		return
	}
	s.swept = now
	for id, stored := range s.live {
		if now.Sub(stored.touched) > s.budget {
			s.end(id)
		}
	}
}

// Append records an event of a stream.
func (s *EventStore) Append(_ context.Context, sessionID, streamID string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, stream, err := s.find(sessionID, streamID)
	if err != nil {
		return err
	}
	stored.touched = s.now()
	_, _, err = stored.window.Append(stream.number, data, s.stamp())
	if errors.Is(err, window.ErrTooLarge) {
		// The SDK sends it nevertheless, and counts it: so does the store.
		p, _, fault := stored.window.Append(stream.number, nil, s.stamp())
		if fault == nil {
			stream.hole = p.Ordinal
		}
		return fmt.Errorf("%w: %w", spec.ReasonEventTooLarge, err)
	}
	return err
}

func (s *EventStore) find(sessionID, streamID string) (*storedSession, *storedStream, error) {
	stored := s.live[sessionID]
	if stored == nil {
		return nil, nil, spec.ReasonSessionUnknown
	}
	stream := stored.streams[streamID]
	if stream == nil {
		return nil, nil, spec.ReasonCursorUnissued
	}
	return stored, stream, nil
}

// After returns the events behind an index. The first error is the last thing
// it yields: [mcp.ErrEventsPurged] where something behind the index is gone,
// spec.ReasonCursorAhead where it was not issued yet, ReasonCursorUnissued for a
// stream that was never opened or is forgotten.
func (s *EventStore) After(_ context.Context, sessionID, streamID string, index int) iter.Seq2[[]byte, error] {
	events, err := s.behind(sessionID, streamID, index)
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		for _, data := range events {
			if !yield(data, nil) {
				return
			}
		}
	}
}

func (s *EventStore) behind(sessionID, streamID string, index int) (events [][]byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, stream, err := s.find(sessionID, streamID)
	if err != nil {
		return nil, err
	}
	position, err := s.judge(stored, stream, index)
	if err != nil {
		return nil, err
	}
	for e := range stored.window.After(position) {
		events = append(events, e.AppendTo(nil))
	}
	return events, nil
}

// judge returns the position of an index, if everything behind it is there.
func (s *EventStore) judge(stored *storedSession, stream *storedStream, index int) (p window.Position, err error) {
	stored.window.EvictDue(s.stamp())
	ordinal := uint64(max(index, -1) + 1) // the SDK counts from 0, and means by -1 the beginning
	head, _ := stored.window.Head(stream.number)
	if ordinal > head.Ordinal {
		return p, spec.ReasonCursorAhead
	}
	seq, ok := stored.window.Lookup(stream.number, ordinal)
	if !ok || ordinal < stream.hole {
		return p, fmt.Errorf("%w: %w", mcp.ErrEventsPurged, spec.ReasonCursorEvicted)
	}
	return window.Position{Seq: seq, Stream: stream.number, Ordinal: ordinal}, nil
}

// SessionClosed forgets a session. It never lives again.
func (s *EventStore) SessionClosed(_ context.Context, sessionID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(sessionID)
	return nil
}

func (s *EventStore) end(sessionID string) {
	if s.live[sessionID] == nil {
		return
	}
	delete(s.live, sessionID)
	s.ended[sessionID] = struct{}{}
	if s.order = append(s.order, sessionID); len(s.order) > spec.DefaultRememberedEnds {
		delete(s.ended, s.order[0])
		s.order = s.order[1:]
	}
}

// cursor takes an event id of the SDK apart; it accepts exactly what the SDK
// writes.
func cursor(id string) (streamID string, index int, ok bool) {
	streamID, text, ok := strings.Cut(id, "_")
	index, err := strconv.Atoi(text)
	if !ok || err != nil || index < 0 || strconv.Itoa(index) != text {
		return "", 0, false
	}
	return streamID, index, true
}

// knows reports whether a session has events here.
func (s *EventStore) knows(sessionID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[sessionID] != nil
}

// judgeID returns why a cursor of a session that is known is refused, or "".
func (s *EventStore) judgeID(sessionID, id string) (reason spec.Reason) {
	streamID, index, ok := cursor(id)
	if !ok {
		return spec.ReasonCursorMalformed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, stream, err := s.find(sessionID, streamID)
	if err == nil {
		_, err = s.judge(stored, stream, index)
	}
	errors.As(err, &reason)
	return reason
}

// own notes who opened a session.
func (s *EventStore) own(sessionID, owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored := s.live[sessionID]; stored != nil && !stored.owned {
		stored.owner, stored.owned = owner, true
	}
}

// isForeign reports whether somebody else opened the session.
func (s *EventStore) isForeign(sessionID, owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := s.live[sessionID]
	return stored != nil && stored.owned && stored.owner != owner
}

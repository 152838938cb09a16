package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"example.com/reattach/spec"
)

// A server is a scripted transport: a server of ours in memory, whose views
// end as a test says, and which a test can make answer anything instead.
type server struct {
	// handle returns what a call brings, the answer last.
	handle func(PostRequest) []string
	// cut decides how a view ends: after how many of the events to come, and
	// with which error; io.EOF is a clean end. nil: all of them, then io.EOF.
	cut func(view int, events []Event) (int, error)
	// before answers a request instead, if it returns true.
	before func(ctx context.Context, cursor string, post bool) (Response, error, bool)

	silent bool // announces nothing

	mu       sync.Mutex
	opened   int
	session  string
	streams  [][]Event // by number; 0 is the standalone stream
	seq      uint64
	views    int
	posts    []PostRequest
	gets     []GetRequest
	deleted  []string
	alive    time.Duration // of a live standalone view: how often a comment comes
	messages []string
}

var errCut = errors.New("connection reset")

func (s *server) Open(context.Context, OpenRequest) (Opened, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	s.session = fmt.Sprintf("session-%d", s.opened)
	s.streams = [][]Event{nil}
	if s.silent {
		return Opened{SessionID: s.session}, nil
	}
	return Opened{SessionID: s.session, Standalone: s.id(0, 0)}, nil
}

func (s *server) id(stream, ordinal uint64) string {
	id := spec.EventID{Tag: spec.TagOf(s.session, ""), Stream: stream, Ordinal: ordinal}
	if ordinal > 0 {
		s.seq++
		id.Seq = s.seq
	}
	return id.String()
}

// emit adds an event to a stream. s.mu is held.
func (s *server) emit(stream uint64, payload string, answer bool) {
	ordinal := uint64(len(s.streams[stream]) + 1)
	s.streams[stream] = append(s.streams[stream],
		Event{ID: s.id(stream, ordinal), HasID: true, Payload: []byte(payload), Answer: answer})
}

func (s *server) Post(ctx context.Context, r PostRequest) (Response, error) {
	s.mu.Lock()
	s.posts = append(s.posts, r)
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if resp, err, ok := before(ctx, "", true); ok {
			return resp, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Session.ID != s.session {
		return Response{Status: 404, Reason: spec.ReasonSessionUnknown}, nil
	}
	if r.Request == 0 {
		s.messages = append(s.messages, string(r.Payload))
		return Response{Kind: ResponseTaken, Status: 202}, nil
	}
	stream := uint64(len(s.streams))
	s.streams = append(s.streams, nil)
	said := s.handle(r)
	for i, text := range said {
		s.emit(stream, text, i == len(said)-1)
	}
	return s.view(ctx, stream, 0), nil
}

func (s *server) Get(ctx context.Context, r GetRequest) (Response, error) {
	s.mu.Lock()
	s.gets = append(s.gets, r)
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if resp, err, ok := before(ctx, r.Cursor, false); ok {
			return resp, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := spec.ParseEventID(r.Cursor)
	switch {
	case r.Session.ID != s.session:
		return Response{Status: 404, Reason: spec.ReasonSessionUnknown}, nil
	case r.Cursor == "":
		return s.view(ctx, 0, 0), nil
	case err != nil || id.Tag != spec.TagOf(s.session, "") || id.Stream >= uint64(len(s.streams)) || id.Ordinal > uint64(len(s.streams[id.Stream])):
		return Response{Status: 409, Reason: spec.ReasonCursorUnissued}, nil
	}
	return s.view(ctx, id.Stream, id.Ordinal), nil
}

// view is a view of a stream after an ordinal. s.mu is held.
func (s *server) view(ctx context.Context, stream, after uint64) Response {
	events := s.streams[stream][after:]
	end := io.EOF
	if stream != 0 {
		s.views++
		if s.cut != nil {
			n := 0
			n, end = s.cut(s.views, events)
			events = events[:n]
		}
	}
	position := spec.PositionZero(spec.TagOf(s.session, ""), stream).String()
	if after > 0 {
		position = s.streams[stream][after-1].ID
	}
	resp := Response{Kind: ResponseStream, Status: 200, SessionID: s.session, Position: position}
	if s.silent {
		resp.Position = ""
	}
	resp.Events = &reader{ctx: ctx, events: events, end: end, live: stream == 0, alive: s.alive}
	return resp
}

func (s *server) Delete(_ context.Context, of Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted = append(s.deleted, of.ID)
	return nil
}

// A sight is what a server saw so far.
type sight struct {
	opened            int
	posts             []PostRequest
	gets              []GetRequest
	deleted, messages []string
}

func (s *server) look() sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sight{s.opened, slices.Clone(s.posts), slices.Clone(s.gets), slices.Clone(s.deleted), slices.Clone(s.messages)}
}

// end loses the session, as a server does that restarts without a store.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = ""
}

func (s *server) cursors() (cursors []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.gets {
		if id, err := spec.ParseEventID(r.Cursor); err == nil && id.Stream != 0 {
			cursors = append(cursors, r.Cursor)
		}
	}
	return cursors
}

// A reader gives the events of one view, then its end; a live one stays open.
type reader struct {
	ctx    context.Context
	events []Event
	end    error
	live   bool
	alive  time.Duration
	every  time.Duration // between two events
}

func (r *reader) Next() (Event, error) {
	if err := r.ctx.Err(); err != nil {
		return Event{}, err
	}
	if len(r.events) > 0 {
		if !sleep(r.ctx, r.every) {
			return Event{}, r.ctx.Err()
		}
		ev := r.events[0]
		r.events = r.events[1:]
		return ev, nil
	}
	if !r.live {
		return Event{}, r.end
	}
	if r.alive > 0 {
		if sleep(r.ctx, r.alive) {
			return Event{}, nil // a comment
		}
		return Event{}, r.ctx.Err()
	}
	<-r.ctx.Done()
	return Event{}, r.ctx.Err()
}

func (r *reader) Close() error { return nil }

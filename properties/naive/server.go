package naive

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Header names of the transport.
const (
	sessionHeader = "Mcp-Session-Id"
	cursorHeader  = "Last-Event-ID"
)

// A Server serves one tool over streams that can be resumed, more or less.
//
// A session has one log. The response to a call shows what is appended to it
// until the call's answer; a GET with a cursor shows what the server takes to
// be the rest. A call runs on when its connection is gone.
type Server struct {
	o    ServerOptions
	life context.Context // ends with Close: calls stop
	end  context.CancelFunc

	mu       sync.Mutex
	sessions map[string]*session
	drained  chan struct{} // closed by Drain: every view ends cleanly
}

// ServerOptions say what a server does and what it does wrong.
type ServerOptions struct {
	Faults ServerFault
	Name   string // first part of every session id: tells instances behind one address apart

	// Window is the number of newest events for which a cursor is good; the
	// others are also dropped, except with KeepEverything. 0 means 256.
	Window int

	// Forget is how long a session lives without a request or a call; with
	// KeepEverything that is for ever. 0 means five minutes.
	Forget time.Duration

	// Tool runs a call and returns its result.
	Tool func(ctx context.Context, c Call) json.RawMessage

	// Greet, if set, may emit the first events of every new session.
	Greet func(session string, emit func(json.RawMessage))
}

// A Call is one execution of the tool.
type Call struct {
	Session string
	Args    json.RawMessage
	Emit    func(message json.RawMessage) // appends a message to the session's log
}

// NewServer returns a server. Close ends its calls.
func NewServer(o ServerOptions) *Server {
	if o.Window == 0 {
		o.Window = 256
	}
	if o.Forget == 0 {
		o.Forget = 5 * time.Minute
	}
	s := &Server{o: o, sessions: map[string]*session{}, drained: make(chan struct{})}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends all views and cancels all calls.
func (s *Server) Close() {
	s.Drain()
	s.end()
}

// Drain ends every view cleanly, as an instance does that is about to be
// replaced: the client sees the end of a stream, not an error.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.drained:
	default:
		close(s.drained)
	}
}

// Sessions returns the number of sessions that the server remembers.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// ServeHTTP is the whole protocol: POST carries a message, GET resumes a
// stream, DELETE ends a session.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		s.post(w, r)
	case http.MethodGet:
		s.resume(w, r)
	case http.MethodDelete:
		s.forget(r.Header.Get(sessionHeader))
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "POST, GET or DELETE", http.StatusMethodNotAllowed)
	}
}

// message is what the server reads of a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "not a JSON-RPC message", http.StatusBadRequest)
		return
	}
	if m.Method == "initialize" {
		ss := s.mint()
		w.Header().Set(sessionHeader, ss.id)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25",`+
			`"capabilities":{"tools":{}},"serverInfo":{"name":"naive","version":"0"}}}`, m.ID)
		return
	}
	ss := s.lookup(r.Header.Get(sessionHeader))
	if ss == nil {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	if m.ID == nil {
		ss.touch(s)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	from := ss.begin() // before the call may append, so that its view misses nothing
	go s.run(ss, m)
	s.view(w, r, ss, from)
}

// run executes a call. It is not bound to the request: a connection that drops
// does not cancel the work.
func (s *Server) run(ss *session, m message) {
	result := s.o.Tool(s.life, Call{
		Session: ss.id,
		Args:    m.Params,
		Emit:    func(msg json.RawMessage) { s.append(ss, msg, false) },
	})
	s.append(ss, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result), true)
	ss.touch(s)
}

// resume is where the wrong decisions are.
func (s *Server) resume(w http.ResponseWriter, r *http.Request) {
	cursor := r.Header.Get(cursorHeader)
	ss := s.lookup(r.Header.Get(sessionHeader))
	if ss == nil {
		if !s.o.Faults.Has(MintOnResume) {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		// The client asked to go on; it gets a beginning, and nothing in the
		// status tells it so.
		s.view(w, r, s.mint(), 0)
		return
	}
	if cursor == "" {
		s.view(w, r, ss, ss.length())
		return
	}
	from, ok := s.place(ss, cursor)
	if !ok {
		http.Error(w, "cursor not in the window", http.StatusConflict)
		return
	}
	s.view(w, r, ss, from)
}

// place returns the number of events that the owner of cursor is taken to
// have, or false if the cursor is refused.
func (s *Server) place(ss *session, cursor string) (int, bool) {
	n, good := s.parse(ss, cursor)
	head := ss.length()
	if good && s.o.Faults.Has(AcceptAnyCursor) {
		n = min(n, head)
	}
	good = good && n >= 1 && n <= head && n >= head-s.o.Window
	switch {
	case good && s.o.Faults.Has(ReplayInclusive):
		return n - 1, true
	case good:
		return n, true
	case s.o.Faults.Has(ReplayFromStart):
		return 0, true
	}
	return 0, false
}

// parse reads the number in a cursor. Only a server that checks who issued it
// looks at the session in front.
func (s *Server) parse(ss *session, cursor string) (int, bool) {
	owner, n, ok := splitID(cursor)
	if !ok || owner != ss.id && !s.o.Faults.Has(AcceptAnyCursor) {
		return 0, false
	}
	return n, true
}

// view shows the session's log from number from+1 on, until no call runs or
// the connection ends.
func (s *Server) view(w http.ResponseWriter, r *http.Request, ss *session, from int) {
	ss.attach()
	defer ss.detach(s)
	w.Header().Set(sessionHeader, ss.id)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	out.Flush()
	for sent := 0; ; {
		news, next, over, changed := ss.after(from)
		for _, ev := range news {
			n := ev.n
			sent++
			if s.o.Faults.Has(RestartIDs) {
				n = sent
			}
			if err := writeEvent(w, formatID(ss.id, n), ev.message); err != nil {
				return
			}
		}
		from = next
		if err := out.Flush(); err != nil || over {
			return
		}
		select {
		case <-changed:
		case <-s.drained:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (s *Server) append(ss *session, msg json.RawMessage, answer bool) {
	keep := s.o.Window
	if s.o.Faults.Has(KeepEverything) {
		keep = 0
	}
	ss.append(msg, answer, keep)
}

// mint creates a session.
func (s *Server) mint() *session {
	ss := newSession(s.o.Name + "-" + rand.Text())
	s.mu.Lock()
	s.sessions[ss.id] = ss
	s.mu.Unlock()
	if s.o.Greet != nil {
		s.o.Greet(ss.id, func(msg json.RawMessage) { s.append(ss, msg, false) })
	}
	ss.touch(s)
	return ss
}

func (s *Server) lookup(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

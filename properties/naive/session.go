package naive

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// A session is a log of events and what is going on around it.
type session struct {
	id string

	mu      sync.Mutex
	log     []event       // retained events, oldest first
	head    int           // number of the newest event ever appended
	running int           // calls without their answer
	views   int           // connections that show the log
	shown   bool          // there has been one
	changed chan struct{} // closed and replaced when something happens
	idle    *time.Timer   // forgets the session
}

// An event is one message in a session's log, with its number in the session.
type event struct {
	n       int
	message []byte
}

func newSession(id string) *session {
	return &session{id: id, changed: make(chan struct{})}
}

// append adds a message and keeps the newest keep of them, or all if 0.
func (ss *session) append(msg []byte, answer bool, keep int) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.head++
	ss.log = append(ss.log, event{ss.head, msg})
	if keep > 0 && len(ss.log) > keep {
		ss.log = append(ss.log[:0], ss.log[len(ss.log)-keep:]...)
	}
	if answer {
		ss.running--
	}
	ss.wake()
}

// after returns the retained events with numbers above n, the number to go on
// from, and whether nothing more will come because no call runs.
func (ss *session) after(n int) (news []event, next int, over bool, changed <-chan struct{}) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	skip := len(ss.log)
	if len(ss.log) > 0 {
		skip = min(max(n+1-ss.log[0].n, 0), len(ss.log))
	}
	return append(news, ss.log[skip:]...), ss.head, ss.running == 0, ss.changed
}

// begin counts a call as running and returns the place where its view begins:
// at what happens from now on, and the first view at what has happened so far.
func (ss *session) begin() int {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.running++
	if !ss.shown {
		return 0
	}
	return ss.head
}

func (ss *session) length() int {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.head
}

func (ss *session) attach() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.views++
	ss.shown = true
}

func (ss *session) detach(s *Server) {
	ss.mu.Lock()
	ss.views--
	ss.mu.Unlock()
	ss.touch(s)
}

// touch puts off the time at which the session is forgotten. A server that
// keeps everything never sets one.
func (ss *session) touch(s *Server) {
	if s.o.Faults.Has(KeepEverything) {
		return
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.idle != nil {
		ss.idle.Stop()
	}
	ss.idle = time.AfterFunc(s.o.Forget, func() {
		ss.mu.Lock()
		busy := ss.views > 0 || ss.running > 0
		ss.mu.Unlock()
		if !busy {
			s.forget(ss.id)
		}
	})
}

// wake tells every view to look again; ss.mu is held.
func (ss *session) wake() {
	close(ss.changed)
	ss.changed = make(chan struct{})
}

// formatID makes an event id of a session and a number.
func formatID(session string, n int) string { return session + ":" + strconv.Itoa(n) }

// splitID takes an event id apart.
func splitID(id string) (session string, n int, ok bool) {
	i := strings.LastIndexByte(id, ':')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(id[i+1:])
	return id[:i], n, err == nil
}

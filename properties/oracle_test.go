package properties

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Two published sketches of this contract, one of a server's re-attach and one
// of a client's check of a resumption, serve as oracles: every branch of both
// is taken through the real server and the real client. Where ours does
// something else on purpose, the row of docs/contract.md that says so is named
// ("Where sources pull apart"), and it must really be something else.

// A serverSketch is the published server: a ring of events of one stream.
type serverSketch struct {
	session string
	window  int
	seq     int
	events  []int // retained seqs
	closed  bool
	idle    time.Duration
}

func (s *serverSketch) emit() {
	s.seq++
	if s.events = append(s.events, s.seq); len(s.events) > s.window {
		s.events = s.events[1:]
	}
}

// resume returns what the sketch delivers, or false where it refuses.
func (s *serverSketch) resume(cursor string) (delivered []int, ok bool) {
	if s.closed || s.idle > 30*time.Second {
		return nil, false
	}
	if cursor == "" {
		return nil, true
	}
	at := strings.LastIndex(cursor, ":")
	if at < 0 {
		return nil, false
	}
	seq, err := strconv.Atoi(cursor[at+1:])
	if err != nil || cursor[:at] != s.session || len(s.events) == 0 {
		return nil, false
	}
	if seq < s.events[0]-1 || seq > s.events[len(s.events)-1] {
		return nil, false
	}
	for _, e := range s.events {
		if e > seq {
			delivered = append(delivered, e)
		}
	}
	return delivered, true
}

// Given the same history at the sketch and at a server of ours, when the same
// cursor is presented to both, then both refuse or both deliver the same.
func TestServerSketch(t *testing.T) {
	const window = 4
	for _, c := range []struct {
		branch  string
		emitted int
		handed  int           // events that a view took before, on the standalone stream
		quiet   time.Duration // since the last event
		cursor  string        // "" none, "s:N" ours at N, "x:N" another session's, else as it stands
		closed  bool
		differs string // the row of the contract
	}{
		{branch: "fresh attach, everything was sent", emitted: 3, handed: 3},
		{branch: "fresh attach, something was never sent", emitted: 3, differs: "no cursor"},
		{branch: "malformed", emitted: 3, cursor: "nonsense"},
		{branch: "malformed number", emitted: 3, cursor: "s:3x"},
		{branch: "foreign", emitted: 3, cursor: "x:2"},
		{branch: "empty window, nothing missed", emitted: 3, quiet: 6 * time.Minute, cursor: "s:3", differs: "an empty window"},
		{branch: "empty window, something missed", emitted: 3, quiet: 6 * time.Minute, cursor: "s:2"},
		{branch: "evicted", emitted: 9, cursor: "s:4"},
		{branch: "at the floor", emitted: 9, cursor: "s:5"},
		{branch: "in the window", emitted: 9, cursor: "s:7"},
		{branch: "at the head", emitted: 9, cursor: "s:9"},
		{branch: "ahead", emitted: 3, cursor: "s:4"},
		{branch: "closed", emitted: 3, cursor: "s:2", closed: true},
		{branch: "idle for a minute", emitted: 3, quiet: time.Minute, cursor: "s:2", differs: "idle budget of 30 s"},
	} {
		t.Run(c.branch, func(t *testing.T) {
			var now atomic.Int64
			now.Store(time.Now().UnixNano())
			s := newStage(t, streamhttp.Options{Session: session.Options{WindowEvents: window,
				Now: func() time.Time { return time.Unix(0, now.Load()) }}})
			p := s.open()
			sketch := &serverSketch{session: "s", window: window}
			stream := p.server.Standalone()
			for i := 1; i <= c.emitted; i++ {
				emit(t, stream, "", i, i)
				sketch.emit()
			}
			if c.handed > 0 {
				r := p.attach()
				r.read(c.handed)
				r.drop()
				s.await(spec.ViewBreaks)
			}
			now.Add(int64(c.quiet))
			if c.quiet > spec.DefaultWindowAge {
				sketch.events = nil
			} else {
				sketch.idle = c.quiet
			}
			if sketch.closed = c.closed; c.closed {
				p.send("DELETE", "")
			}

			delivered, ok := sketch.resume(strings.Replace(c.cursor, "x:", "another:", 1))
			want := fmt.Sprint(ok, " ", delivered)
			got := ours(t, p, stream, c.cursor, len(delivered))
			if c.differs == "" && got != want {
				t.Errorf("ours: %s, the sketch: %s, and no row of the contract says why", got, want)
			}
			if c.differs != "" && got == want {
				t.Errorf("ours does as the sketch (%s), but row %q says otherwise", got, c.differs)
			}
		})
	}
}

// ours presents the cursor to the server of ours. What comes before the next
// event, which is emitted here, is what was delivered; it is emitted when as
// many have come as are due, for it pushes the oldest one out of a full window.
func ours(t *testing.T, p *peer, stream *streamhttp.Stream, cursor string, due int) string {
	t.Helper()
	var cursors []string
	tag := p.server.Tag()
	switch name, number, _ := strings.Cut(cursor, ":"); {
	case cursor == "":
	case name == "x":
		tag = spec.TagOf("another", "")
		fallthrough
	case name == "s":
		cursors = []string{string(tag) + ":" + number + ":0:" + number}
	default:
		cursors = []string{cursor}
	}
	r := p.attach(cursors...)
	if r.status != http.StatusOK {
		return fmt.Sprint(false, " ", []string(nil))
	}
	var delivered []string
	if due > 0 {
		delivered = r.read(due)
	}
	emit(t, stream, "mark", 0, 0)
	for {
		_, text, err := r.delivery()
		if err != nil {
			t.Fatal(err)
		}
		if text == "mark0" {
			return fmt.Sprint(true, " ", delivered)
		}
		delivered = append(delivered, text)
	}
}

// clientSketch is the published client's check of a resumption: it says
// whether the client may go on.
func clientSketch(status int, persistedSession, session, persistedID, firstID string) bool {
	return status == http.StatusOK && session == persistedSession && firstID != "" && firstID != persistedID
}

// Given a client whose stream ended after its second event, when its
// resumption is answered in each way that the sketch tells apart, then it goes
// on or gives up as the sketch does.
func TestClientSketch(t *testing.T) {
	for _, c := range []struct {
		branch  string
		status  int
		session string // "same", "" or another
		first   func(s *scripted) string
		payload bool // the first event carries one
		differs string
	}{
		{branch: "404", status: 404, session: "same"},
		{branch: "another final status", status: 403, session: "same"},
		{branch: "a status that may pass", status: 503, session: "same", differs: "any status but 200 and 404"},
		{branch: "no session id", status: 200, first: nextID, payload: true},
		{branch: "another session id", status: 200, session: "minted", first: nextID, payload: true},
		{branch: "no first event id", status: 200, session: "same", first: noID, payload: true},
		{branch: "no first event at all", status: 200, session: "same", differs: "a resumed stream that delivers nothing"},
		{branch: "repeated first event id", status: 200, session: "same", first: sameID, payload: true},
		{branch: "repeated id of a position", status: 200, session: "same", first: sameID, differs: "first event has the persisted id"},
		{branch: "success", status: 200, session: "same", first: nextID, payload: true},
	} {
		t.Run(c.branch, func(t *testing.T) {
			s := newScripted(t)
			s.begins(2)
			var request json.RawMessage
			begin := s.onPost
			s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) { request = id; begin(w, n, id) }
			first := ""
			s.onResume = func(w http.ResponseWriter, n int, cursor string) {
				id := c.session
				if id == "same" {
					id = s.session
				}
				if n > 1 { // the branch was taken: an honest end for who still asks
					view(w, s.session, cursor)
					said(w, s.id(3), "e3")
					answered(w, s.id(4), request, "done")
					return
				}
				if c.status != http.StatusOK {
					w.Header().Set("Mcp-Session-Id", id)
					w.WriteHeader(c.status)
					return
				}
				view(w, id, cursor)
				if c.first == nil {
					return
				}
				first = c.first(s)
				if !c.payload {
					fmt.Fprintf(w, "id: %s\ndata: \n\n", first)
					return
				}
				said(w, first, "e3")
				answered(w, s.id(4), request, "done")
			}
			cl, log := dial(t, s.URL, streamhttp.DialOptions{})
			text, err := work(cl)

			s.mu.Lock() // its handler may still be at it
			defer s.mu.Unlock()
			answerer := c.session
			if answerer == "same" {
				answerer = s.session
			}
			sketch := clientSketch(c.status, s.session, answerer, s.id(2), first)
			goesOn := err == nil && text == "done"
			if unknown := (*client.UnknownError)(nil); !goesOn && !errors.As(err, &unknown) {
				t.Fatalf("the call came to %q, %v: neither answered nor an unknown outcome", text, err)
			}
			if goesOn {
				same(t, "applied", log.all(), []string{"e1", "e2", "e3", "done"})
			} else {
				same(t, "applied", log.all(), []string{"e1", "e2"})
			}
			if c.differs == "" && goesOn != sketch {
				t.Errorf("ours goes on: %v (%v), the sketch: %v, and no row of the contract says why", goesOn, err, sketch)
			}
			if c.differs != "" && goesOn == sketch {
				t.Errorf("ours does as the sketch, but row %q says otherwise", c.differs)
			}
		})
	}
}

func nextID(s *scripted) string { return s.id(3) }
func sameID(s *scripted) string { return s.id(2) }
func noID(s *scripted) string   { return "" }

package properties

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Stories of sessions: what keeps one alive, what opens one, who may have it.

// A jumping clock: what takes minutes takes a moment. It starts at a whole
// millisecond, and only the test moves it.
type jumpingClock struct{ since atomic.Int64 }

func (c *jumpingClock) now() time.Time       { return time.Unix(1_000_000, c.since.Load()) }
func (c *jumpingClock) jump(d time.Duration) { c.since.Add(int64(d)) }

// newWatchedStage is a stage that tells why the work of a call ended.
func newWatchedStage(t *testing.T, o streamhttp.Options) (s *stage, ended chan error) {
	t.Helper()
	s = &stage{t: t, calls: make(chan *streamhttp.Message, 64), opened: make(chan *streamhttp.Session, 64), fired: map[spec.Trigger]int{}}
	ended = make(chan error, 8)
	var err error
	s.handler, err = streamhttp.NewHandler(func(ctx context.Context, m *streamhttp.Message) {
		s.app(ctx, m)
		if m.Method == "work" {
			ended <- context.Cause(ctx)
		}
	}, s.observing(o))
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(s.handler)
	t.Cleanup(func() {
		s.handler.Close()
		s.server.CloseClientConnections()
		s.server.Close()
	})
	return s, ended
}

// observing are options that let await see what happens.
func (s *stage) observing(o streamhttp.Options) streamhttp.Options {
	o.Session.Observe = wired.server(func(o session.Observation) {
		if o.Step.Row != nil {
			s.mu.Lock()
			s.fired[o.Step.Row.Trigger]++
			s.mu.Unlock()
		}
	})
	return o
}

// awaitTimes waits until the server has noticed something so many times.
func (s *stage) awaitTimes(what spec.Trigger, times int) {
	s.t.Helper()
	for range 2000 {
		s.mu.Lock()
		n := s.fired[what]
		s.mu.Unlock()
		if n >= times {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Fatalf("the server did not notice %v %d times", what, times)
}

// A dropped connection does not end the work of a call; that nobody comes back
// for its detach budget does, and who comes later is told that the outcome is
// unknown (R9b).
func TestStoryDropIsNotCancel(t *testing.T) {
	clock := &jumpingClock{}
	s, ended := newWatchedStage(t, streamhttp.Options{Session: session.Options{Now: clock.now, WindowAge: time.Hour, SessionBudget: time.Hour}})
	p := s.open()
	r, m := s.call(p)
	position := spec.PositionZero(p.server.Tag(), 1).String()
	r.drop()
	s.await(spec.ViewBreaks)
	select {
	case err := <-ended:
		t.Fatalf("the work ended with the connection: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	emit(t, m.Stream, "e", 1, 1)
	clock.jump(4 * time.Minute)
	back := p.attach(position)
	same(t, "back in time", back.read(1), []string{"e1"})
	back.drop()
	s.awaitTimes(spec.ViewBreaks, 2)
	clock.jump(4 * time.Minute) // eight since the first drop, four since the last
	time.Sleep(600 * time.Millisecond)
	select {
	case err := <-ended:
		t.Fatalf("the work ended within its budget: %v", err)
	default:
	}
	clock.jump(2 * time.Minute)
	select {
	case err := <-ended:
		if !errors.Is(err, streamhttp.ErrWorkOver) {
			t.Errorf("the work ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the work goes on though nobody came back")
	}
	if text := p.attach(position).all(); !strings.Contains(text, "outcome_unknown") {
		t.Errorf("too late: %q", text)
	}
}

// What keeps a session alive: an open request, a view, a running call. Emitting
// does not, and a session that nothing keeps alive expires (R9b).
func TestStoryLifeOfASession(t *testing.T) {
	clock := &jumpingClock{}
	s := newStage(t, streamhttp.Options{Session: session.Options{Now: clock.now, WindowAge: time.Hour, DetachBudget: 3 * time.Hour}})
	view, call, emitting := s.open(), s.open(), s.open()
	v := view.attach()
	r, _ := s.call(call)
	r.drop()
	s.await(spec.ViewBreaks)
	for range 3 {
		clock.jump(20 * time.Minute)
		_, _ = emitting.server.Standalone().Emit("notifications/said", nil) // refused once it has expired
		time.Sleep(300 * time.Millisecond)                                  // a sweep
	}
	s.await(spec.SessionBudgetElapses)
	emitting.attach().refused(spec.ReasonSessionExpired)
	if r := call.send("POST", `{"jsonrpc":"2.0","method":"notifications/x"}`); r.status != http.StatusAccepted {
		t.Errorf("a call runs, and its session answers %d", r.status)
	}
	if r := view.send("POST", `{"jsonrpc":"2.0","method":"notifications/x"}`); r.status != http.StatusAccepted {
		t.Errorf("a view is open, and its session answers %d", r.status)
	}
	v.drop()
}

// What would open a session by the way does not: a cursor with initialize, a
// session id that nobody has (R6). A message with a cursor is not carried out.
func TestStoryNothingOpensByTheWay(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	_, m := s.call(p)
	id := emit(t, m.Stream, "e", 1, 1)[0]
	const initialize = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	nobody := &peer{t: t, url: p.url}
	nobody.send("POST", initialize, "Last-Event-ID", id).refused(spec.ReasonCursorWithMessage)
	nobody.send("POST", initialize, "Mcp-Session-Id", "of-nobody").refused(spec.ReasonSessionUnknown)
	nobody.send("GET", "", "Mcp-Session-Id", "of-nobody", "Last-Event-ID", id).refused(spec.ReasonSessionUnknown)
	p.send("POST", `{"jsonrpc":"2.0","id":8,"method":"work"}`, "Last-Event-ID", id).refused(spec.ReasonCursorWithMessage)
	if n := s.handler.Stats().Sessions; n != 1 || len(s.calls) != 0 {
		t.Errorf("%d sessions, %d calls carried out", n, len(s.calls))
	}
}

// A client that is gone before its session opens leaves none behind.
func TestStoryClientGoneWhileOpening(t *testing.T) {
	opening, go_on := make(chan struct{}), make(chan struct{})
	h, err := streamhttp.NewHandler(func(ctx context.Context, m *streamhttp.Message) {
		close(opening)
		<-go_on
		m.Stream.Answer(map[string]any{"protocolVersion": "2025-11-25"})
	}, streamhttp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, "POST", server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`))
		r.Header.Set("Content-Type", "application/json")
		http.DefaultClient.Do(r)
	}()
	<-opening
	cancel()
	<-gone
	time.Sleep(100 * time.Millisecond) // the server notices
	close(go_on)
	for range 2000 {
		if h.Stats().Sessions == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("%d sessions that nobody knows", h.Stats().Sessions)
}

// A refusal says what is known, and one that may pass says when to come back.
func TestStoryRefusalsSayEnough(t *testing.T) {
	o := windowOf(2)
	o.Session.Sessions = 1
	o.RetryAfter = 7 * time.Second
	s := newStage(t, o)
	p := s.open()
	_, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 4)
	var body struct {
		Error struct {
			Data struct{ Cursor, Floor, Head string }
		}
	}
	if err := json.Unmarshal([]byte(p.attach(ids[0]).all()), &body); err != nil {
		t.Fatal(err)
	}
	if d := body.Error.Data; d.Cursor != ids[0] || d.Floor != ids[1] || d.Head != ids[3] {
		t.Errorf("cursor, floor and head: %+v, want %v", d, ids)
	}
	other := &peer{t: t, url: p.url}
	r := other.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	if r.header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After: %q", r.header.Get("Retry-After"))
	}
	r.refused(spec.ReasonTooManySessions)
	if r := other.send("POST", "{}", "Origin", "https://elsewhere.example"); r.status != http.StatusForbidden {
		t.Errorf("a foreign page gets %d", r.status)
	}

	// The session comes first: who is to come later is told so whatever else
	// is wrong.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.handler.Drain(ctx)
	p.attach(ids[3], ids[2]).refused(spec.ReasonDraining)
	p.attach("rubbish").refused(spec.ReasonDraining)
	p.send("POST", `{"jsonrpc":"2.0","id":9,"method":"work"}`).refused(spec.ReasonDraining)
	other.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`).refused(spec.ReasonDraining)
}

// The caps hold to the one: for the server, and for one subject (R3).
func TestStoryCapsOnSessions(t *testing.T) {
	s := newStage(t, streamhttp.Options{
		Session: session.Options{Sessions: 2, SubjectSessions: 1},
		Subject: func(r *http.Request) (string, error) { return r.Header.Get("Authorization"), nil },
	})
	const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	for _, try := range []struct {
		subject string
		fits    bool
	}{{"one", true}, {"one", false}, {"two", true}, {"three", false}} {
		p := &peer{t: t, url: s.server.URL}
		r := p.send("POST", initialize, "Authorization", try.subject)
		switch {
		case !try.fits:
			r.refused(spec.ReasonTooManySessions)
		case r.status != http.StatusOK:
			t.Errorf("a session of %s: %d %s", try.subject, r.status, r.all())
		}
	}
	if n := s.handler.Stats().Sessions; n != 2 {
		t.Errorf("%d sessions", n)
	}
}

// Session ids differ everywhere, not only at their end: they are secrets of at
// least 128 bits.
func TestStorySessionIDsHaveEnoughBits(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	var seen []map[byte]bool
	for range 24 {
		for i, c := range []byte(s.open().session) {
			if i == len(seen) {
				seen = append(seen, map[byte]bool{})
			}
			seen[i][c] = true
		}
	}
	varying := 0
	for _, digits := range seen {
		if len(digits) > 8 { // of 24 draws from 64 digits; fewer happen once in 10^9
			varying++
		}
	}
	if varying*6 < 126 {
		t.Errorf("%d digits of %d vary: that is less than 128 bits", varying, len(seen))
	}
}

// The decision asks for the session first, also where the table would refuse
// anyway: whatever else is wrong with a cursor is nobody's business after its
// end (R6).
func TestStorySessionIsAskedForFirst(t *testing.T) {
	c := session.NewCore(session.DefaultConfig())
	for _, cursors := range [][]string{nil, {""}, {"rubbish"}, {"one", "two"}} {
		if d := session.Decide(session.Request{Cursors: cursors}, c); d.Reason != spec.ReasonSessionUnknown {
			t.Errorf("%q of a session that never was: %v", cursors, d.Reason)
		}
	}
	if err := c.Initialize(session.SessionID{1}, nil, false, false); err != nil {
		t.Fatal(err)
	}
	if d := session.Decide(session.Request{Cursors: []string{"one", "two"}}, c); d.Reason != spec.ReasonCursorMalformed {
		t.Errorf("two cursors of a live session: %v", d.Reason)
	}
	if err := c.Terminate(); err != nil {
		t.Fatal(err)
	}
	if d := session.Decide(session.Request{Cursors: []string{"one", "two"}}, c); d.Reason != spec.ReasonSessionTerminated {
		t.Errorf("two cursors of a session that is over: %v", d.Reason)
	}
}

// Another subject sees what everybody sees of a session that never was, also
// after its end (R13).
func TestStoryAnotherSubject(t *testing.T) {
	s := newStage(t, streamhttp.Options{Subject: func(r *http.Request) (string, error) { return r.Header.Get("Authorization"), nil }})
	p := s.open()
	_, m := s.call(p)
	id := emit(t, m.Stream, "e", 1, 1)[0]
	intrude := func() {
		t.Helper()
		for _, cursor := range []string{id, p.standalone, "rubbish"} {
			p.send("GET", "", "Authorization", "other", "Last-Event-ID", cursor).refused(spec.ReasonSessionUnknown)
		}
		p.send("DELETE", "", "Authorization", "other").refused(spec.ReasonSessionUnknown)
		p.send("POST", `{"jsonrpc":"2.0","id":9,"method":"work"}`, "Authorization", "other").refused(spec.ReasonSessionUnknown)
	}
	intrude()
	if r := p.send("DELETE", ""); r.status != http.StatusNoContent {
		t.Fatalf("its own client's DELETE: %d", r.status)
	}
	intrude()
	p.attach(id).refused(spec.ReasonSessionTerminated)
}

package properties

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// What the wire must show, seen from outside: stories that mutants of the code
// would tell otherwise. Each goes over real sockets, between a peer that is not
// ours and a server of ours, or a client of ours and a server that is not.

// An accepted view says first whose it is and where it begins: in its headers,
// in a comment and, where the client knows what to make of it and the stream
// goes on, in an event without payload (R8).
func TestStoryHeadOfAView(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	r, m := s.call(p)
	id := emit(t, m.Stream, "e", 1, 2)[0]
	r.drop()

	head := func(r *reply, mode, position string, primed bool) {
		t.Helper()
		for name, want := range map[string]string{"Mcp-Session-Id": p.session, "Reattach-Position": position, "Reattach-Mode": mode} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		text := r.all()
		if comment := ": reattach position=" + position + "\n"; !strings.HasPrefix(text, comment) {
			t.Errorf("begins with %.120q, want %q", text, comment)
		}
		if prime := "id: " + position + "\ndata: \n\n"; strings.Contains(text, prime) != primed {
			t.Errorf("with the position as an event: %v, want %v: %.300q", !primed, primed, text)
		}
		if strings.Contains(text, "notifications/reattach") {
			t.Errorf("nobody asked for notifications: %q", text)
		}
	}
	v := p.attach(id)
	go func() {
		s.await(spec.ClientReattaches)
		answer(t, m.Stream, "done")
	}()
	head(v, "reattach", id, true)
	head(p.attach(id), "reattach", id, false) // finished
	v = p.send("GET", "", "Last-Event-ID", id, "Reattach-Notify", "1")
	text := v.all()
	resumed := fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/reattach/resumed","params":{"position":%q,"mode":"reattach"}}`, id)
	if before, _, ok := strings.Cut(text, resumed); !ok || strings.Contains(before, "id:") {
		t.Errorf("asked for notifications, without an id of their own: %q", text)
	}

	old := s.open() // a client of an older revision
	r, m = s.call(old)
	r.drop()
	v = old.send("GET", "", "Last-Event-ID", spec.PositionZero(old.server.Tag(), 1).String())
	answer(t, m.Stream, "done")
	if got := v.rest(); fmt.Sprint(got) != "[done]" {
		t.Errorf("at position 0: %v", got)
	}
}

// Clients of revisions before 2025-11-25 would take an event without payload
// for a broken message (R8).
func TestStoryOlderRevisionIsNotPrimed(t *testing.T) {
	server := serveApp(t, func(ctx context.Context, m *streamhttp.Message) {
		if m.Method == "initialize" {
			m.Stream.Answer(map[string]any{"protocolVersion": "2025-06-18"})
			return
		}
		m.Stream.Answer(map[string]string{"text": "done"})
	})
	p := &peer{t: t, url: server.URL}
	p.session = p.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`).header.Get("Mcp-Session-Id")
	text := p.send("POST", `{"jsonrpc":"2.0","id":1,"method":"work"}`).all()
	if strings.Contains(text, "data: \n") || !strings.Contains(text, `"done"`) {
		t.Errorf("%q", text)
	}
}

// Who has everything of a finished stream is told so, by whom and where.
func TestStoryCompleteSaysWhose(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	r, m := s.call(p)
	e, err := m.Stream.Answer(map[string]string{"text": "done"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the call", r.rest(), []string{"done"})
	c := p.attach(e.ID.String())
	if c.status != http.StatusNoContent || c.header.Get("Mcp-Session-Id") != p.session || c.header.Get("Reattach-Position") != e.ID.String() {
		t.Errorf("%d %v", c.status, c.header)
	}
	// POST with both headers and no body means the same.
	if c := p.send("POST", "", "Last-Event-ID", e.ID.String()); c.status != http.StatusNoContent {
		t.Errorf("by POST: %d %s", c.status, c.all())
	}
}

// A view that the server ends between two events ends cleanly and says when to
// come back; one that is superseded is cut, so that it cannot be taken for an
// end (R9, R10, R24).
func TestStoryEndsOfViews(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	r, m := s.call(p)
	emit(t, m.Stream, "e", 1, 1)
	r.read(1)
	if err := m.Stream.EndView(1500 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if text := r.all(); !strings.HasSuffix(text, "retry: 1500\n\n") {
		t.Errorf("ended on purpose: %q", text)
	}

	older := p.attach(spec.PositionZero(p.server.Tag(), 1).String())
	same(t, "the older view", older.read(1), []string{"e1"})
	newer := p.attach(spec.PositionZero(p.server.Tag(), 1).String())
	if _, _, err := older.delivery(); err == nil || err == io.EOF {
		t.Errorf("the superseded view ended with %v", err)
	}
	answer(t, m.Stream, "done")
	same(t, "the newer view", newer.rest(), []string{"e1", "done"})
}

// A reader that falls out of the window is cut between two events, is told why,
// and gets a refusal when it comes back (R9, R5).
func TestStoryOvertakenReader(t *testing.T) {
	s := newStage(t, windowOf(2))
	p := s.open()
	r, m := s.call(p)
	first := emit(t, m.Stream, "e", 1, 1)[0]
	same(t, "at first", r.read(1), []string{"e1"})
	large := strings.Repeat("x", 1<<20)
	for range 40 { // more than the connection's buffers hold
		if _, err := m.Stream.Emit("notifications/said", map[string]string{"text": large}); err != nil {
			t.Fatal(err)
		}
	}
	text := r.all()
	if !strings.Contains(text, ": reattach resumption-required\n") || !strings.Contains(text, "retry: ") || strings.Count(text, large) >= 40 {
		t.Errorf("%d bytes, %d whole events, ending %q", len(text), strings.Count(text, large), text[max(0, len(text)-80):])
	}
	p.attach(first).refused(spec.ReasonCursorEvicted)
}

// A quiet view is not a silent one (R15).
func TestStoryQuietViewSpeaks(t *testing.T) {
	s := newStage(t, streamhttp.Options{KeepAlive: 20 * time.Millisecond})
	p := s.open()
	r, m := s.call(p)
	go func() {
		time.Sleep(200 * time.Millisecond)
		answer(t, m.Stream, "done")
	}()
	if text := r.all(); strings.Count(text, ": reattach keep-alive\n") < 2 || r.header.Get("Reattach-Keepalive") != "1" {
		t.Errorf("announced %q, said %q", r.header.Get("Reattach-Keepalive"), text)
	}
}

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
	o.Session.Observe = func(o session.Observation) {
		if o.Step.Row != nil {
			s.mu.Lock()
			s.fired[o.Step.Row.Trigger]++
			s.mu.Unlock()
		}
	}
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

// A bare writer is all that a middleware lets through: no deadlines.
type bareWriter struct{ w http.ResponseWriter }

func (b bareWriter) Header() http.Header         { return b.w.Header() }
func (b bareWriter) Write(p []byte) (int, error) { return b.w.Write(p) }
func (b bareWriter) WriteHeader(status int)      { b.w.WriteHeader(status) }
func (b bareWriter) Flush()                      { b.w.(http.Flusher).Flush() }

// A superseded view is cut also where no deadline can be set: its response
// must not look as if it had come to its end (R10, R24).
func TestStorySupersededBehindMiddleware(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.handler.ServeHTTP(bareWriter{w}, r)
	}))
	defer behind.Close()
	defer behind.CloseClientConnections()
	defer s.handler.Close()
	p := s.open()
	p.url = behind.URL
	older, m := s.call(p)
	emit(t, m.Stream, "e", 1, 1)
	older.read(1)
	newer := p.attach(spec.PositionZero(p.server.Tag(), 1).String())
	if _, _, err := older.delivery(); err == nil || err == io.EOF {
		t.Errorf("the superseded view ended with %v", err)
	}
	answer(t, m.Stream, "done")
	same(t, "the newer view", newer.rest(), []string{"e1", "done"})
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

// The client never carries session and cursor to where it is sent: it knows
// one origin (R25).
func TestStoryRedirectIsARefusal(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	s := newScripted(t)
	s.begins(2)
	s.onResume = func(w http.ResponseWriter, n int, cursor string) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	c, log := dial(t, s.URL, streamhttp.DialOptions{})
	if _, err := work(c); !errors.Is(err, spec.ReasonRedirected) {
		t.Errorf("the call came to %v, want redirected", err)
	}
	same(t, "applied", log.all(), span("e", 1, 2))
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// What a final refusal of a resumption means: the epoch is over, and it is not
// asked again. What may pass is asked again, at the same cursor (R22, R26).
func TestStoryRefusedResumption(t *testing.T) {
	for status, final := range map[int]bool{400: true, 403: true, 404: true, 409: true, 410: true, 408: false, 425: false, 429: false, 500: false, 503: false} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := newScripted(t)
			s.begins(2)
			s.onResume = func(w http.ResponseWriter, n int, cursor string) {
				if n < 3 {
					w.WriteHeader(status)
					return
				}
				view(w, s.session, cursor)
				answered(w, s.id(3), json.RawMessage("1"), "done")
			}
			c, log := dial(t, s.URL, streamhttp.DialOptions{})
			text, err := work(c)
			same(t, "applied", log.all()[:2], span("e", 1, 2))
			s.mu.Lock()
			asked := slices.Compact(slices.Clone(s.cursors))
			n := len(s.cursors)
			s.mu.Unlock()
			same(t, "asked at", asked, []string{"session-1 " + idIn("session-1", 2)})
			var unknown *client.UnknownError
			switch {
			case final && (!errors.As(err, &unknown) || n != 1 || log.whyAbandoned() == ""):
				t.Errorf("%v after %d attempts, abandoned for %q", err, n, log.whyAbandoned())
			case !final && (err != nil || text != "done" || n != 3):
				t.Errorf("%q, %v after %d attempts", text, err, n)
			}
		})
	}
}

// whyAbandoned waits for the application to be told why the epoch was abandoned.
func (l *appliedLog) whyAbandoned() spec.Reason {
	for range 400 {
		if why := l.abandoned(); why != "" {
			return why
		}
		time.Sleep(5 * time.Millisecond)
	}
	return ""
}

// Two session ids are none, and none is not the same one (R21).
func TestStoryWhoseAnswer(t *testing.T) {
	for name, header := range map[string]func(http.Header, string){
		"none":    func(h http.Header, id string) { h.Del("Mcp-Session-Id") },
		"two":     func(h http.Header, id string) { h.Add("Mcp-Session-Id", "another") },
		"another": func(h http.Header, id string) { h.Set("Mcp-Session-Id", "another") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t)
			s.begins(2)
			s.onResume = func(w http.ResponseWriter, n int, cursor string) {
				w.Header().Set("Mcp-Session-Id", s.session)
				header(w.Header(), s.session)
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Reattach-Position", cursor)
				w.WriteHeader(http.StatusOK)
				answered(w, s.id(3), json.RawMessage("1"), "done")
			}
			c, log := dial(t, s.URL, streamhttp.DialOptions{})
			if _, err := work(c); err == nil || log.whyAbandoned() == "" {
				t.Errorf("the call came to %v, abandoned for %q", err, log.whyAbandoned())
			}
			same(t, "applied", log.all(), span("e", 1, 2))
		})
	}
}

// A response to somebody else's request does not answer a call; control
// messages, comments and positions are no deliveries (R29, R8).
func TestStoryWhatIsNoAnswer(t *testing.T) {
	s := newScripted(t)
	s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) {
		view(w, s.session, s.id(0))
		answered(w, s.id(1), json.RawMessage("77"), "for somebody else")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/reattach/resumed\"}\n\n: a comment\n")
		answered(w, s.id(2), id, "done")
	}
	c, log := dial(t, s.URL, streamhttp.DialOptions{})
	if text, err := work(c); err != nil || text != "done" {
		t.Errorf("%q, %v", text, err)
	}
	same(t, "applied", log.all(), []string{"for somebody else", "done"})
	if c.Dropped() != 1 {
		t.Errorf("%d responses counted as nobody's", c.Dropped())
	}
}

// A call whose POST broke is an unknown outcome: it is neither sent again nor
// forgotten, and the next epoch waits for a decision, after a restart too (R23).
func TestStoryUnknownOutcome(t *testing.T) {
	s := newScripted(t)
	s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) { panic(http.ErrAbortHandler) }
	store := client.NewMemoryStore(client.Record{})
	c, _ := dial(t, s.URL, streamhttp.DialOptions{Store: store})
	_, err := work(c)
	var unknown *client.UnknownError
	if !errors.As(err, &unknown) {
		t.Fatalf("the call came to %v, want an unknown outcome", err)
	}
	if n := s.count(&s.posts); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
	if err := c.Driver().Abandon(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if c.Driver().State() != spec.Quarantined {
			t.Errorf("the next epoch is %v", c.Driver().State())
		}
		if _, err := work(c); !errors.Is(err, spec.ReasonQuarantined) {
			t.Errorf("a call in quarantine: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c, _ = dial(t, s.URL, streamhttp.DialOptions{Store: store}) // a restart
	}
	if err := c.Driver().Resolve(t.Context(), unknown.Stream, client.GaveUp); err != nil {
		t.Fatal(err)
	}
	var ids []string
	s.mu.Lock()
	s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) {
		ids = append(ids, string(id))
		view(w, s.session, s.id(0))
		answered(w, s.id(1), id, "done")
	}
	s.mu.Unlock()
	if text, err := work(c); err != nil || text != "done" {
		t.Errorf("after the decision: %q, %v", text, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deletes != 1 || len(ids) != 1 || ids[0] == "1" { // 1 was the unknown one's (R29)
		t.Errorf("%d DELETEs, request ids %v", s.deletes, ids)
	}
}

// count reads one of the server's counters.
func (s *scripted) count(counter *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *counter
}

// The session ends at the server after the fence is durable, and not before
// (R22). The store shows the order.
type orderedStore struct {
	client.Store
	server *scripted
	early  atomic.Int32
}

func (o *orderedStore) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	if ch.Kind == client.FenceEpoch {
		time.Sleep(50 * time.Millisecond)
		o.server.mu.Lock()
		o.early.Add(int32(o.server.deletes))
		o.server.mu.Unlock()
	}
	return o.Store.Commit(ctx, ch, events)
}

func TestStoryDeleteComesAfterTheFence(t *testing.T) {
	s := newScripted(t)
	s.begins(1)
	s.onResume = func(w http.ResponseWriter, n int, cursor string) { w.WriteHeader(http.StatusConflict) }
	store := &orderedStore{Store: client.NewMemoryStore(client.Record{}), server: s}
	c, _ := dial(t, s.URL, streamhttp.DialOptions{Store: store})
	if _, err := work(c); err == nil {
		t.Error("the call was answered")
	}
	for range 2000 {
		if s.count(&s.deletes) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n := s.count(&s.deletes); n != 1 || store.early.Load() != 0 {
		t.Errorf("%d DELETEs, %d of them before the fence was durable", n, store.early.Load())
	}
}

package properties

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Stories of what the wire must show, seen from outside, which mutants of the
// code would tell otherwise. Each goes over real sockets, between a peer that is
// not ours and a server of ours, or a client of ours and a server that is not.
// These are the views.

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

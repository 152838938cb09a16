package properties

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Cases from practice about who may use a session, how long it lives, and how
// it ends.

// Alive is alive: with budgets of one second an open view, a running call, and
// a stream that is resumed in time all outlive them (R9b).
func TestCase18AliveIsAlive(t *testing.T) {
	o := streamhttp.Options{Session: session.Options{Now: time.Now, SessionBudget: time.Second, DetachBudget: time.Second}}
	emits := func(m *streamhttp.Message, text string) {
		if _, err := m.Stream.Emit("notifications/said", map[string]string{"text": text}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	synctest.Test(t, func(t *testing.T) { // a view is held
		b := newBubble(t, worker(func(context.Context, *streamhttp.Message) {}), o, plainLine)
		c, _ := b.dial(streamhttp.DialOptions{})
		time.Sleep(5 * time.Second)
		if n := b.handler.Stats().Sessions; n != 1 {
			t.Errorf("with its view open: %d sessions", n)
		}
		c.Close()
		time.Sleep(3 * time.Second)
		if n := b.handler.Stats().Sessions; n != 0 {
			t.Errorf("without anything open: %d sessions", n)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a call runs
		b := newBubble(t, worker(func(ctx context.Context, m *streamhttp.Message) {
			time.Sleep(5 * time.Second)
			m.Stream.Answer(map[string]string{"text": "done"})
		}), o, plainLine)
		c, _ := b.dial(streamhttp.DialOptions{Driver: client.Options{NoStandalone: true}})
		if text, err := workWithin(c, time.Minute); err != nil || text != "done" {
			t.Errorf("%q, %v", text, err)
		}
	})
	for away, survives := range map[time.Duration]bool{900 * time.Millisecond: true, 1500 * time.Millisecond: false} {
		synctest.Test(t, func(t *testing.T) { // nobody reads for a while
			goOn := make(chan struct{})
			cancelled := false
			b := newBubble(t, worker(func(ctx context.Context, m *streamhttp.Message) {
				emits(m, "begun")
				select {
				case <-goOn:
					m.Stream.Answer(map[string]string{"text": "done"})
				case <-ctx.Done():
					cancelled = true
				}
			}), o, plainLine)
			r := b.request(t, http.MethodPost, "", initializeText)
			id := r.Header.Get("Mcp-Session-Id")
			io.Copy(io.Discard, r.Body)
			view := b.request(t, http.MethodPost, id, `{"jsonrpc":"2.0","id":1,"method":"work"}`)
			cursor := lastID(t, view.Body, "begun")
			view.Body.Close()
			synctest.Wait()
			time.Sleep(away)
			synctest.Wait()
			close(goOn)
			synctest.Wait()
			again := b.request(t, http.MethodGet, id, "", "Last-Event-ID", cursor)
			body, _ := io.ReadAll(again.Body)
			if got := strings.Contains(string(body), `"done"`); got != survives || cancelled == survives {
				t.Errorf("away for %v: %d %.200q, cancelled %v", away, again.StatusCode, body, cancelled)
			}
		})
	}
}

// request sends what a client sends that nobody knows, in revision 2025-11-25
// unless the headers, which are pairs, say another one.
func (b *bubble) request(t *testing.T, method, session, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://bubble/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", streamhttp.Version20251125)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := b.transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// lastID reads up to an event with a mark, and returns its id.
func lastID(t *testing.T, body io.Reader, mark string) (id string) {
	t.Helper()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = text
		}
		if strings.Contains(lines.Text(), mark) {
			lines.Scan() // the end of the event
			return id
		}
	}
	t.Fatalf("no event with %q: %v", mark, lines.Err())
	return ""
}

// Thinking agent: POSTs only, and ten minutes of silence between two calls,
// with no view open. The second call works (R9b).
func TestCase41ThinkingAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, worker(func(_ context.Context, m *streamhttp.Message) {
			m.Stream.Answer(map[string]string{"text": "done"})
		}), streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
		c, _ := b.dial(streamhttp.DialOptions{Driver: client.Options{NoStandalone: true}})
		id := c.Driver().Session().ID
		for range 3 {
			if text, err := workWithin(c, time.Minute); err != nil || text != "done" {
				t.Errorf("%q, %v", text, err)
			}
			time.Sleep(10 * time.Minute)
		}
		if c.Driver().Session().ID != id {
			t.Error("it is another session")
		}
		time.Sleep(25 * time.Minute) // and beyond its budget it is gone
		var notRun *client.NotRunError
		var unknown *client.UnknownError
		if _, err := workWithin(c, time.Minute); !errors.As(err, &notRun) && !errors.As(err, &unknown) {
			t.Errorf("after its budget: %v", err)
		}
	})
}

// Immortal: the client is gone, and its proxy keeps the connection open and
// reads. The view is ended after its time, and the session expires after its
// budget (R9b).
func TestCase57Immortal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, worker(func(context.Context, *streamhttp.Message) {}), streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
		r := b.request(t, http.MethodPost, "", initializeText)
		io.Copy(io.Discard, r.Body)
		began := time.Now()
		view := b.request(t, http.MethodGet, r.Header.Get("Mcp-Session-Id"), "")
		body, err := io.ReadAll(view.Body) // whatever comes, for ever
		if took := time.Since(began); err != nil || took != 10*time.Minute || !strings.Contains(string(body), "retry:") || strings.Contains(string(body), "data: {") {
			t.Errorf("the view ended after %v, %v: %.200q", took, err, body)
		}
		time.Sleep(29 * time.Minute)
		if n := b.handler.Stats().Sessions; n != 1 {
			t.Errorf("within its budget: %d sessions", n)
		}
		time.Sleep(2 * time.Minute)
		if n := b.handler.Stats().Sessions; n != 0 {
			t.Errorf("after its budget: %d sessions", n)
		}
	})
}

// Drain: a shutdown with a GET open, a call running and an initialize racing.
// No new session; streams end cleanly with retry; it is over within the grace
// period (R12).
func TestCase33Drain(t *testing.T) {
	for name, ends := range map[string]bool{"the call ends": true, "the call runs for ever": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				running := make(chan struct{})
				b := newBubble(t, worker(func(ctx context.Context, m *streamhttp.Message) {
					close(running)
					if ends {
						time.Sleep(5 * time.Second)
						m.Stream.Answer(map[string]string{"text": "done"})
						return
					}
					<-ctx.Done()
				}), streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
				r := b.request(t, http.MethodPost, "", initializeText)
				io.Copy(io.Discard, r.Body)
				id := r.Header.Get("Mcp-Session-Id")
				standalone := b.request(t, http.MethodGet, id, "")
				call := b.request(t, http.MethodPost, id, `{"jsonrpc":"2.0","id":1,"method":"work"}`)
				<-running
				began := time.Now()
				over := make(chan error, 1)
				go func() { over <- b.handler.Shutdown(context.Background()) }()
				synctest.Wait()
				racing := b.request(t, http.MethodPost, "", initializeText)
				if racing.StatusCode != http.StatusServiceUnavailable || racing.Header.Get("Retry-After") == "" || racing.Header.Get("Mcp-Session-Id") != "" {
					t.Errorf("initialize while draining: %s %v", racing.Status, racing.Header)
				}
				for what, r := range map[string]*http.Response{"the standalone stream": standalone, "the call": call} {
					body, err := io.ReadAll(r.Body)
					text := string(body)
					if err != nil || !strings.Contains(text, "retry:") == (what == "the standalone stream" || !ends) {
						t.Errorf("%s ended with %v: %.300q", what, err, text)
					}
					if what == "the call" && strings.Contains(text, `"done"`) != ends {
						t.Errorf("the call's stream: %.300q", text)
					}
				}
				err := <-over
				took, grace := time.Since(began), 30*time.Second
				if ends && (err != nil || took > 6*time.Second) || !ends && (!errors.Is(err, streamhttp.ErrStillRunning) || took > grace) {
					t.Errorf("over after %v: %v", took, err)
				}
			})
		})
	}
}

// Status table: every kind of session that is none, on every method (R6, R13).
func TestCase29StatusTable(t *testing.T) {
	s := newStage(t, streamhttp.Options{Subject: func(r *http.Request) (string, error) { return r.Header.Get("Authorization"), nil }})
	mine, ended := s.open(), s.open()
	if r := ended.send("DELETE", ""); r.status != http.StatusNoContent {
		t.Fatalf("DELETE: %d", r.status)
	}
	for name, c := range map[string]struct {
		session, subject string
		want             spec.Reason
	}{
		"missing":            {"", "", spec.ReasonSessionRequired},
		"malformed":          {"no such id", "", spec.ReasonSessionUnknown},
		"unknown":            {strings.Repeat("A", 22), "", spec.ReasonSessionUnknown},
		"ended":              {ended.session, "", spec.ReasonSessionTerminated},
		"another subject's":  {mine.session, "mallory", spec.ReasonSessionUnknown},
		"ended, another's":   {ended.session, "mallory", spec.ReasonSessionUnknown},
		"unknown, another's": {strings.Repeat("A", 22), "mallory", spec.ReasonSessionUnknown},
	} {
		for method, body := range map[string]string{"POST": `{"jsonrpc":"2.0","id":9,"method":"work"}`, "GET": "", "DELETE": ""} {
			t.Run(name+" "+method, func(t *testing.T) {
				p := &peer{t: t, url: s.server.URL, session: c.session}
				if p.session == "" {
					p.send(method, body, "Mcp-Protocol-Version", "2025-11-25").refused(c.want)
				} else {
					p.send(method, body, "Authorization", c.subject).refused(c.want)
				}
			})
		}
	}
	if s.handler.Stats().Sessions != 1 {
		t.Errorf("%d sessions, want the one that lives", s.handler.Stats().Sessions)
	}
	r, m := s.call(mine)
	answer(t, m.Stream, "still there")
	same(t, "its own", r.rest(), []string{"still there"})
}

// Takeover of a session: another subject presents its id, with and without
// cursors, on all methods, and sees what an unknown session shows; then its
// owner comes with new credentials and goes on (R13).
func TestCase30Takeover(t *testing.T) {
	s := newStage(t, streamhttp.Options{Subject: func(r *http.Request) (string, error) {
		who, _, _ := strings.Cut(r.Header.Get("Authorization"), " ") // of "alice token-1" only alice is stable
		return who, nil
	}})
	owner := s.openAs("alice token-1")
	view := owner.send("POST", `{"jsonrpc":"2.0","id":1,"method":"work"}`, "Authorization", "alice token-1")
	m := <-s.calls
	ids := emit(t, m.Stream, "e", 1, 3)
	same(t, "before", view.read(3), span("e", 1, 3))
	unknown := &peer{t: t, url: s.server.URL, session: strings.Repeat("A", 22)}
	for _, cursor := range []string{"", ids[0], ids[2], owner.standalone, "rubbish"} {
		var headers []string
		if cursor != "" {
			headers = []string{"Last-Event-ID", cursor}
		}
		for method, body := range map[string]string{"GET": "", "DELETE": "", "POST": `{"jsonrpc":"2.0","id":2,"method":"work"}`} {
			if method == "POST" && cursor != "" {
				body = ""
			}
			theirs := owner.send(method, body, append(headers, "Authorization", "mallory x")...)
			nobodys := unknown.send(method, body, append(headers, "Authorization", "mallory x")...)
			if a, b := fmt.Sprint(theirs.status, scrub(theirs.header), theirs.all()), fmt.Sprint(nobodys.status, scrub(nobodys.header), nobodys.all()); a != b {
				t.Errorf("%s at %q: another's session answers\n%s, one that is none\n%s", method, cursor, a, b)
			}
		}
	}
	view.drop()
	again := owner.send("GET", "", "Authorization", "alice token-2", "Last-Event-ID", ids[1])
	emit(t, m.Stream, "e", 4, 4)
	answer(t, m.Stream, "done")
	same(t, "with new credentials", again.rest(), []string{"e3", "e4", "done"})
}

func scrub(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Date")
	return h
}

// openAs opens a session with credentials.
func (s *stage) openAs(credentials string) *peer {
	s.t.Helper()
	p := &peer{t: s.t, url: s.server.URL}
	r := p.send("POST", initializeText, "Authorization", credentials)
	if r.status != 200 {
		s.t.Fatalf("initialize: %d %s", r.status, r.all())
	}
	r.all()
	p.session, p.standalone = r.header.Get("Mcp-Session-Id"), r.header.Get("Reattach-Standalone")
	p.server = <-s.opened
	return p
}

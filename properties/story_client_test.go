package properties

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Stories of the client, against servers of any kind.

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

// A client that does not trust truncated streams gives up where the others
// resume, and only there: a clean end is an end (R24).
func TestStoryStrictClient(t *testing.T) {
	for name, cut := range map[string]string{"truncated": "id: x", "clean": ""} {
		for _, strict := range []bool{true, false} {
			s := newScripted(t)
			s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) {
				view(w, s.session, s.id(0))
				said(w, s.id(1), "e1")
				fmt.Fprint(w, cut)
			}
			s.onResume = func(w http.ResponseWriter, n int, cursor string) {
				view(w, s.session, cursor)
				answered(w, s.id(2), json.RawMessage("1"), "done")
			}
			o := streamhttp.DialOptions{}
			o.Driver.Core.Strict = strict
			c, log := dial(t, s.URL, o)
			text, err := work(c)
			if given := strict && cut != ""; given != errors.Is(err, spec.ReasonStreamTruncated) || !given && (err != nil || text != "done") {
				t.Errorf("%s, strict %v: %q, %v", name, strict, text, err)
			}
			same(t, "applied at first", log.all()[:1], []string{"e1"})
		}
	}
}

// New credentials after a 401 keep the token, and what a server asks for
// between two connections is waited for (R26).
func TestStoryCredentialsAndRetry(t *testing.T) {
	s := newScripted(t)
	const asked = 300 * time.Millisecond
	var ended, came time.Time
	s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) {
		view(w, s.session, s.id(0))
		said(w, s.id(1), "e1")
		fmt.Fprintf(w, "retry: %d\n\n", asked.Milliseconds())
		ended = time.Now()
	}
	s.onResume = func(w http.ResponseWriter, n int, cursor string) {
		if n == 1 {
			came = time.Now()
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		view(w, s.session, cursor)
		answered(w, s.id(2), json.RawMessage("1"), "done")
	}
	var refreshed atomic.Int32
	o := streamhttp.DialOptions{}
	o.Driver.Refresh = func(context.Context) error { refreshed.Add(1); return nil }
	c, log := dial(t, s.URL, o)
	if text, err := work(c); err != nil || text != "done" {
		t.Fatalf("%q, %v", text, err)
	}
	same(t, "applied", log.all(), []string{"e1", "done"})
	s.mu.Lock()
	defer s.mu.Unlock()
	same(t, "asked at", slices.Compact(s.cursors), []string{"session-1 " + idIn("session-1", 1)})
	if refreshed.Load() != 1 || came.Sub(ended) < asked {
		t.Errorf("%d times new credentials; resumed after %v, asked for %v", refreshed.Load(), came.Sub(ended), asked)
	}
}

// A message that meets no session ends the epoch, as a call would (R22).
func TestStoryMessageToAGoneSession(t *testing.T) {
	s := newScripted(t)
	var gone atomic.Bool
	honest := s.Config.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		honest.ServeHTTP(w, r)
	}))
	defer front.Close()
	c, log := dial(t, front.URL, streamhttp.DialOptions{})
	gone.Store(true)
	var refused *client.RefusalError
	if err := c.Notify(t.Context(), "notifications/x", nil); !errors.As(err, &refused) || !errors.Is(err, spec.ReasonSessionUnknown) {
		t.Errorf("the message came to %v", err)
	}
	if why := log.whyAbandoned(); why != spec.ReasonSessionUnknown {
		t.Errorf("abandoned for %q", why)
	}
}

package streamhttp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// Who asks for which session, and how: the contract's table of statuses. A
// session of another subject looks unknown on every method (R13).
func TestStatusOfSessions(t *testing.T) {
	r := newRig(t, bench{}.app, Options{Subject: bySubject})
	r.subject = "alice"
	r.open()
	ended := r.as("alice")
	ended.open()
	if resp := ended.request(t.Context(), http.MethodDelete, ""); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: %s", resp.Status)
	}
	note := `{"jsonrpc":"2.0","method":"note"}`
	ways := map[string]func(headers ...string) *http.Response{
		"call":         func(h ...string) *http.Response { return r.post(request(1, "count", `{}`), h...) },
		"notification": func(h ...string) *http.Response { return r.post(note, h...) },
		"response":     func(h ...string) *http.Response { return r.post(`{"jsonrpc":"2.0","id":"s1","result":{}}`, h...) },
		"not a message": func(h ...string) *http.Response {
			return r.post(`{`, h...)
		},
		"GET": func(h ...string) *http.Response { return r.request(t.Context(), http.MethodGet, "", h...) },
		"GET with cursor": func(h ...string) *http.Response {
			return r.request(t.Context(), http.MethodGet, "", append(h, HeaderLastEventID, "x")...)
		},
		"POST with cursor": func(h ...string) *http.Response { return r.post("", append(h, HeaderLastEventID, "x")...) },
		"message and cursor": func(h ...string) *http.Response {
			return r.post(note, append(h, HeaderLastEventID, "x")...)
		},
		"DELETE":          func(h ...string) *http.Response { return r.request(t.Context(), http.MethodDelete, "", h...) },
		"initialize anew": func(h ...string) *http.Response { return r.post(initializeOf(Version20251125), h...) },
		"initialize, later": func(h ...string) *http.Response {
			return r.post(initializeOf(Version20251125), append(h, HeaderLastEventID, "x")...)
		},
	}
	for _, c := range []struct {
		name, session, subject string
		status                 int
		reason                 spec.Reason
	}{
		{"missing", "-", "alice", http.StatusBadRequest, spec.ReasonSessionRequired},
		{"empty", "", "alice", http.StatusBadRequest, spec.ReasonSessionRequired},
		{"two", r.session + "\x00" + r.session, "alice", http.StatusBadRequest, spec.ReasonSessionRequired},
		{"malformed", "no such form!", "alice", http.StatusNotFound, spec.ReasonSessionUnknown},
		{"unknown", "AAAAAAAAAAAAAAAAAAAAAA", "alice", http.StatusNotFound, spec.ReasonSessionUnknown},
		{"terminated", ended.session, "alice", http.StatusNotFound, spec.ReasonSessionTerminated},
		{"terminated, another subject's", ended.session, "bob", http.StatusNotFound, spec.ReasonSessionUnknown},
		{"another subject's", r.session, "bob", http.StatusNotFound, spec.ReasonSessionUnknown},
	} {
		for way, ask := range ways {
			if c.name == "missing" && way == "initialize anew" {
				continue // that is how a session begins
			}
			want, reason := c.status, c.reason
			switch {
			case c.name == "missing" && way == "initialize, later":
				reason = spec.ReasonCursorWithMessage // R6: a cursor never begins a session
			case c.status == http.StatusBadRequest && way == "not a message":
				reason = ""
			}
			resp := ask(HeaderSessionID, c.session, "Subject", c.subject)
			got := refusalOf(t, resp)
			if got.Status != want || got.Reason != reason {
				t.Errorf("%s session, %s: got %d %q, want %d %q", c.name, way, got.Status, got.Reason, want, reason)
			}
			if resp.Header.Get(HeaderSessionID) != "" {
				t.Errorf("%s session, %s: the refusal names a session", c.name, way)
			}
		}
	}
	// And all of that left the session as it was.
	if got := ids(r.call(9, "count", `{"n":1}`).all()); got != "1:1:1 2:1:2" {
		t.Errorf("afterwards: %s", got)
	}
	if resp := r.post(initializeOf(Version20251125)); refusalOf(t, resp).Reason != spec.ReasonAlreadyInitialized {
		t.Errorf("initialize of a live session: %s", resp.Status)
	}
}

// What a peer can get wrong before any session is asked.
func TestStatusOfRequests(t *testing.T) {
	r := newRig(t, bench{}.app, Options{Subject: bySubject, MessageBytes: 1000, Origins: []string{"https://app.example"}})
	r.open()
	call := request(1, "count", `{}`)
	for _, c := range []struct {
		name, method, body string
		headers            []string
		status             int
	}{
		{"PUT", http.MethodPut, "", nil, http.StatusMethodNotAllowed},
		{"HEAD", http.MethodHead, "", nil, http.StatusMethodNotAllowed},
		{"OPTIONS", http.MethodOptions, "", nil, http.StatusMethodNotAllowed},
		{"not authenticated", http.MethodPost, call, []string{"Subject", "nobody"}, http.StatusUnauthorized},
		{"foreign origin", http.MethodPost, call, []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"listed origin", http.MethodPost, call, []string{"Origin", "https://app.example"}, http.StatusOK},
		{"not JSON by type", http.MethodPost, call, []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType},
		{"no type", http.MethodPost, call, []string{"Content-Type", "-"}, http.StatusUnsupportedMediaType},
		{"JSON with charset", http.MethodPost, call, []string{"Content-Type", "application/json; charset=utf-8"}, http.StatusOK},
		{"call, stream not accepted", http.MethodPost, call, []string{"Accept", "application/json"}, http.StatusNotAcceptable},
		{"call, anything accepted", http.MethodPost, call, []string{"Accept", "*/*"}, http.StatusOK},
		{"call, nothing said", http.MethodPost, call, []string{"Accept", "-"}, http.StatusOK},
		{"note, JSON accepted", http.MethodPost, `{"jsonrpc":"2.0","method":"note"}`, []string{"Accept", "application/json"}, http.StatusAccepted},
		{"GET, stream not accepted", http.MethodGet, "", []string{"Accept", "application/json"}, http.StatusNotAcceptable},
		{"too large", http.MethodPost, strings.Repeat(" ", 1001), nil, http.StatusRequestEntityTooLarge},
		{"as large as may be", http.MethodPost, call + strings.Repeat(" ", 1000-len(call)), nil, http.StatusOK},
		{"empty", http.MethodPost, "", []string{"Content-Type", "application/json"}, http.StatusBadRequest},
		{"not JSON", http.MethodPost, "{", nil, http.StatusBadRequest},
		{"batch", http.MethodPost, "[" + call + "]", nil, http.StatusBadRequest},
		{"later revision", http.MethodPost, call, []string{HeaderProtocolVersion, "2026-07-28"}, http.StatusBadRequest},
		{"later revision, GET", http.MethodGet, "", []string{HeaderProtocolVersion, "2026-07-28"}, http.StatusBadRequest},
		{"later revision, DELETE", http.MethodDelete, "", []string{HeaderProtocolVersion, "2026-07-28"}, http.StatusBadRequest},
		{"discovery of a later revision", http.MethodPost, request(1, "server/discover", "{}"), []string{HeaderProtocolVersion, "2026-07-28", HeaderSessionID, "-"}, http.StatusBadRequest},
		{"no version said", http.MethodPost, call, []string{HeaderProtocolVersion, "-"}, http.StatusOK},
		{"headers nobody knows", http.MethodPost, call, []string{"Reattach-Attempt", "1.2", "Reattach-Nonsense", "?", "Idempotency-Key", "k", "Reattach-Dedup", "1"}, http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp := r.request(t.Context(), c.method, c.body, c.headers...)
			if resp.StatusCode != c.status {
				t.Fatalf("got %s, want %d: %s", resp.Status, c.status, readBody(t, resp))
			}
			if c.status == http.StatusOK {
				readBody(t, resp) // the answer, so that the id is free again
			}
			if c.status == http.StatusMethodNotAllowed && resp.Header.Get("Allow") != "GET, POST, DELETE" {
				t.Errorf("Allow: %q", resp.Header.Get("Allow"))
			}
			if c.status >= 400 && c.method != http.MethodHead {
				got := refusalOf(t, resp)
				if got.Code == 0 || got.Message == "" {
					t.Errorf("a refusal that says nothing: %+v", got)
				}
				if strings.Contains(c.name, "later revision") && fmt.Sprint(got.Supported) != "[2025-03-26 2025-06-18 2025-11-25]" {
					t.Errorf("supported: %v", got.Supported)
				}
			}
		})
	}
}

// TestCase11CursorMatrix: every wrong cursor gets its reason before any byte
// of an event, and the session then still serves a good one (R5).
func TestCase11CursorMatrix(t *testing.T) {
	hold := make(chan struct{})
	r := newRig(t, bench{"hold": func(context.Context, *Message) { <-hold }}.app, Options{Session: session.Options{WindowEvents: 4}})
	t.Cleanup(func() { close(hold) })
	earlier := r.open().Tag
	tag := r.open().Tag
	r.call(1, "count", `{"n":5}`).all() // seq 1…6 on stream 1; 1 and 2 are evicted
	open := r.call(2, "hold", `{}`)     // stream 2: no event

	good := fmt.Sprintf("%s:4:1:4", tag)
	for _, c := range []struct {
		name    string
		cursors []string
		status  int
		reason  spec.Reason
	}{
		{"malformed", []string{"e140"}, 400, spec.ReasonCursorMalformed},
		{"empty", []string{""}, 400, spec.ReasonCursorMalformed},
		{"two", []string{good, good}, 400, spec.ReasonCursorMalformed},
		{"a thousand", strings.Split(strings.Repeat(good+" ", 1000), " "), 400, spec.ReasonCursorMalformed},
		{"long", []string{strings.Repeat("9", 60000)}, 400, spec.ReasonCursorMalformed},
		{"leading zero", []string{fmt.Sprintf("%s:04:1:4", tag)}, 400, spec.ReasonCursorMalformed},
		{"above 64 bits", []string{fmt.Sprintf("%s:18446744073709551616:1:4", tag)}, 400, spec.ReasonCursorMalformed},
		{"another session's", []string{fmt.Sprintf("%s:4:1:4", earlier)}, 409, spec.ReasonCursorForeign},
		{"a stream never opened", []string{fmt.Sprintf("%s:0:9:0", tag)}, 409, spec.ReasonCursorUnissued},
		{"evicted", []string{fmt.Sprintf("%s:1:1:1", tag)}, 409, spec.ReasonCursorEvicted},
		{"position 0 behind the floor", []string{fmt.Sprintf("%s:0:1:0", tag)}, 409, spec.ReasonCursorEvicted},
		{"ahead by 1", []string{fmt.Sprintf("%s:7:1:7", tag)}, 409, spec.ReasonCursorAhead},
		{"ahead by 1000", []string{fmt.Sprintf("%s:1006:1:1006", tag)}, 409, spec.ReasonCursorAhead},
		{"ahead by all", []string{fmt.Sprintf("%s:18446744073709551615:1:18446744073709551615", tag)}, 409, spec.ReasonCursorAhead},
		{"another seq", []string{fmt.Sprintf("%s:5:1:4", tag)}, 409, spec.ReasonCursorUnissued},
		{"another ordinal", []string{fmt.Sprintf("%s:4:1:5", tag)}, 409, spec.ReasonCursorUnissued},
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			resp := r.request(t.Context(), method, "", HeaderLastEventID, strings.Join(c.cursors, "\x00"))
			if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
				t.Errorf("%s, %s: content type %q", c.name, method, ct)
			}
			body := readBody(t, resp)
			got := parseRefusal(resp.StatusCode, resp.Header, strings.NewReader(body))
			if got.Status != c.status || got.Reason != c.reason {
				t.Errorf("%s, %s: got %d %q, want %d %q", c.name, method, got.Status, got.Reason, c.status, c.reason)
			}
			if len(body) > 1000 {
				t.Errorf("%s: the refusal has %d bytes: it repeats what was sent", c.name, len(body))
			}
			if c.reason == spec.ReasonCursorEvicted && (got.Cursor != c.cursors[0] || got.Floor != fmt.Sprintf("%s:2:1:2", tag) || got.Head != fmt.Sprintf("%s:6:1:6", tag)) {
				t.Errorf("%s: cursor %q, floor %q, head %q", c.name, got.Cursor, got.Floor, got.Head)
			}
			if c.reason == spec.ReasonCursorMalformed && got.Cursor != "" {
				t.Errorf("%s: the refusal repeats the cursor", c.name)
			}
		}
	}
	if got := ids(r.resume(good).all()); got != "5:1:5 6:1:6" {
		t.Errorf("a good cursor afterwards: %s", got)
	}
	if got := r.resume(open.position()).position(); got != open.position() {
		t.Errorf("the other stream afterwards: at %s", got)
	}
}

// A POST without a body and with a cursor is a GET in other words.
func TestResumeByPOST(t *testing.T) {
	r := newRig(t, bench{}.app, Options{})
	r.open()
	events := r.call(1, "count", `{"n":3}`).all()
	w := r.wire(http.MethodPost, "", HeaderLastEventID, string(events[1].ID))
	if got := ids(w.all()); got != "3:1:3 4:1:4" {
		t.Errorf("got %s", got)
	}
	if resp := r.post("", HeaderLastEventID, string(events[3].ID)); resp.StatusCode != http.StatusNoContent {
		t.Errorf("at the head: %s", resp.Status)
	}
	resp := r.post(request(2, "count", `{}`), HeaderLastEventID, string(events[1].ID))
	if got := refusalOf(t, resp); got.Status != http.StatusBadRequest || got.Reason != spec.ReasonCursorWithMessage {
		t.Errorf("message and cursor: %v", got)
	}
}

// Refusals that may pass say when to come back (R3, R12).
func TestRefusalsThatMayPass(t *testing.T) {
	hold := make(chan struct{})
	r := newRig(t, bench{"hold": func(context.Context, *Message) { <-hold }}.app, Options{
		Subject: bySubject,
		Session: session.Options{Sessions: 3, SubjectSessions: 2, Requests: 1, Views: 1},
	})
	t.Cleanup(func() { close(hold) })
	check := func(what string, resp *http.Response, status int, reason spec.Reason) {
		t.Helper()
		got := refusalOf(t, resp)
		if got.Status != status || got.Reason != reason || got.RetryAfter.Seconds() != 5 {
			t.Errorf("%s: got %d %q, retry after %v", what, got.Status, got.Reason, got.RetryAfter)
		}
	}
	r.subject = "alice"
	r.open()
	r.open()
	check("the subject's third session", r.post(initializeOf(Version20251125), HeaderSessionID, "-"), 503, spec.ReasonTooManySessions)
	bob := r.as("bob")
	bob.open()
	check("the server's fourth session", r.as("carol").post(initializeOf(Version20251125)), 503, spec.ReasonTooManySessions)

	bob.call(1, "hold", `{}`)
	check("a second call", bob.post(request(2, "hold", `{}`)), 429, spec.ReasonTooManyRequests)
	check("a second view", bob.request(t.Context(), http.MethodGet, ""), 429, spec.ReasonTooManyViews)
}

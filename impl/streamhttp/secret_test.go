package streamhttp

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/reattach/impl/session"
)

// What a stranger gets for somebody's session is byte for byte what anybody
// gets for one that never was, whatever the owner's session is up to (R13).
func TestStrangerSeesTheUnknown(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	r := newRig(t, bench{"gated": gated(gate)}.app, Options{Subject: bySubject, Session: session.Options{Requests: 1, Views: 1}})
	alice := r.as("alice")
	alice.open()
	events := alice.call(1, "count", `{"n":3}`).all()
	ended := r.as("alice")
	ended.open()
	ended.request(t.Context(), http.MethodDelete, "")
	cursors := []string{string(events[0].ID), string(events[3].ID), "nonsense", ""}
	bodies := []string{"", "{", request(1, "count", `{}`), request(0, "initialize", `{}`), `{"jsonrpc":"2.0","method":"note"}`, `{"jsonrpc":"2.0","id":"s1","result":1}`}
	compare := func(when string) {
		t.Helper()
		for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPost} {
			for i, body := range bodies {
				for j := range len(cursors) + 1 {
					headers := []string{"Subject", "bob", "Content-Type", "application/json"}
					if j < len(cursors) {
						headers = append(headers, HeaderLastEventID, cursors[j])
					}
					see := func(id string) string {
						resp := alice.request(t.Context(), method, body, append(headers, HeaderSessionID, id)...)
						text := readBody(t, resp)
						resp.Header.Del("Date")
						return fmt.Sprint(resp.Status, resp.Header, text)
					}
					want := see("AAAAAAAAAAAAAAAAAAAAAA")
					if !strings.HasPrefix(want, "404 ") && body != "" && method == http.MethodPost {
						t.Fatalf("%s: %s of body %d, cursor %d: an unknown session shows %s", when, method, i, j, want)
					}
					for name, id := range map[string]string{"live": alice.session, "ended": ended.session} {
						if got := see(id); got != want {
							t.Errorf("%s: %s of body %d, cursor %d: a %s session of another's shows\n%s\nan unknown one\n%s", when, method, i, j, name, got, want)
						}
					}
				}
			}
		}
	}
	compare("idle")
	alice.call(2, "gated", `{"n":1}`) // the owner's next request for anything is 429
	compare("full")
	r.handler.registry.Drain() // and now 503
	compare("draining")
	if resp := alice.request(t.Context(), http.MethodGet, ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the owner got %s", resp.Status)
	}
}

// A session id is in the answers to its own client and nowhere else: not in
// logs, not where a session is printed.
func TestSessionIDsStaySecret(t *testing.T) {
	var log lockedBuffer
	r := newRig(t, bench{
		"panics": func(_ context.Context, m *Message) { panic(m.Session) },
		"prints": func(_ context.Context, m *Message) {
			_, _ = m.Stream.Answer(fmt.Sprintf("%v %+v %s", m.Session, m.Session, m.Session))
		},
		"late": func(_ context.Context, m *Message) { _ = m.Session.core.Terminate() },
	}.app, Options{Subject: bySubject, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	r.subject = "alice"
	r.open()
	failed := r.call(1, "panics", `{}`)
	failed.all() // it is answered after it was logged
	tag := failed.position()[:32]
	printed := r.call(2, "prints", `{}`).all()
	r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, tag+":1:1:9")
	r.request(t.Context(), http.MethodDelete, "", "Subject", "bob")
	w := r.resume("")
	_, _ = r.call(3, "late", `{}`).rest()
	_, _ = w.rest()
	r.request(t.Context(), http.MethodGet, "")
	if text := string(printed[0].Data); strings.Contains(text, r.session) || strings.Count(text, tag) != 3 {
		t.Errorf("printed: %s", text)
	}
	if text := log.String(); strings.Contains(text, "could not be answered") {
		t.Errorf("that a session has ended is called a fault: %s", text)
	}
	if text := log.String(); strings.Contains(text, r.session) || !strings.Contains(text, "panicked") || !strings.Contains(text, tag) {
		t.Errorf("logged: %s", text)
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

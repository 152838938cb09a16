package streamhttp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/reattach/spec"
)

// Given middleware that establishes who asks, when a message arrives, then the
// application finds the values of that very request, and its header, also after
// its connection is gone (R9b): what a binding to an SDK needs.
func TestMessageKnowsItsRequest(t *testing.T) {
	type who struct{}
	seen := make(chan string, 4)
	gate := make(chan struct{})
	app := bench{"tell": func(ctx context.Context, m *Message) {
		<-gate
		seen <- ctx.Value(who{}).(string) + " " + m.Header.Get("X-Trace")
		if ctx.Err() != nil {
			seen <- "cancelled"
		}
	}, "note": func(ctx context.Context, m *Message) {
		seen <- ctx.Value(who{}).(string) + " " + m.Header.Get("X-Trace")
	}}.app
	r := newRig(t, app, Options{})
	inner := r.server.Config.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		inner.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), who{}, "token of "+req.Header.Get("Authorization"))))
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	r.url = server.URL
	r.open()
	w := r.call(1, "tell", `{}`, "Authorization", "a", "X-Trace", "one")
	w.drop()
	close(gate)
	if got := within(t, seen, "the call"); got != "token of a one" {
		t.Errorf("the call saw %q", got)
	}
	r.post(`{"jsonrpc":"2.0","method":"note"}`, "Authorization", "b", "X-Trace", "two")
	if got := within(t, seen, "the notification"); got != "token of b two" {
		t.Errorf("the notification saw %q", got)
	}
}

// Given a call that runs, when its stream is looked up by its id, then it is
// the call's; before, afterwards and for other ids there is none.
func TestStreamOfCall(t *testing.T) {
	gate := make(chan struct{})
	at := make(chan *Message, 1)
	r := newRig(t, bench{"wait": func(_ context.Context, m *Message) { at <- m; <-gate }}.app, Options{})
	r.open()
	w := r.call(7, "wait", `{}`)
	m := within(t, at, "the call")
	if s, ok := m.Session.Stream(json.RawMessage("7")); !ok || s != m.Stream {
		t.Errorf("the running call's stream: %v, %v", s, ok)
	}
	if _, ok := m.Session.Stream(json.RawMessage(`"7"`)); ok {
		t.Error("the text 7 found the call with the number 7")
	}
	close(gate)
	w.all()
	if _, ok := m.Session.Stream(json.RawMessage("7")); ok {
		t.Error("an answered call is still found")
	}
}

// Given a session with a view, when the application ends it, then the view ends
// cleanly, the id is gone for good (R6), and ending it again is refused.
func TestApplicationEndsSession(t *testing.T) {
	at := make(chan *Message, 1)
	r := newRig(t, bench{"wait": func(ctx context.Context, m *Message) { at <- m; <-ctx.Done() }}.app, Options{})
	r.open()
	w := r.call(1, "wait", `{}`)
	m := within(t, at, "the call")
	if err := m.Session.End(); err != nil {
		t.Fatal(err)
	}
	w.all()
	within(t, m.Session.Done(), "the end")
	if got := refusalOf(t, r.post(request(2, "count", `{}`))); got.Reason != spec.ReasonSessionTerminated {
		t.Errorf("afterwards: %v", got)
	}
	if err := m.Session.End(); !errors.Is(err, spec.ReasonSessionTerminated) {
		t.Errorf("ending it again: %v", err)
	}
}

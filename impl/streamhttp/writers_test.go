package streamhttp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A response counts until its last byte is written, though the session's view
// has carried the answer long before. So a client that calls and does not read
// is told to come back later, and makes the server hold no more than the
// session's caps allow (R3); a takeover needs no room (R10).
func TestUnreadResponsesAreCapped(t *testing.T) {
	const views, requests = 2, 3
	big := func(_ context.Context, m *Message) { _, _ = m.Stream.Answer(strings.Repeat("x", 1<<18)) }
	synctest.Test(t, func(t *testing.T) {
		r := newPipeRig(t, bench{"big": big}.app, Options{Session: session.Options{Views: views, Requests: requests}})
		r.open()
		var stuck []*wire
		var refused *http.Response
		for i := 1; i <= 20 && refused == nil; i++ {
			resp := r.post(request(i, "big", `{}`))
			synctest.Wait() // the answer is recorded and its writer stuck
			if resp.StatusCode != http.StatusOK {
				refused = resp
			} else {
				stuck = append(stuck, &wire{t: t, resp: resp})
			}
		}
		if len(stuck) != views+requests || refused == nil {
			t.Fatalf("%d responses that nobody reads, then %v; want %d and a refusal", len(stuck), refused, views+requests)
		}
		if got := refusalOf(t, refused); got.Reason != spec.ReasonTooManyRequests || got.Status != http.StatusTooManyRequests || got.RetryAfter == 0 {
			t.Errorf("the call too many: %v, again after %v", got, got.RetryAfter)
		}
		resp := r.request(t.Context(), http.MethodGet, "")
		if got := refusalOf(t, resp); got.Reason != spec.ReasonTooManyViews {
			t.Errorf("a view too many: %v", got)
		}
		resp = r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, "nonsense")
		if got := refusalOf(t, resp); got.Reason != spec.ReasonCursorMalformed {
			t.Errorf("room is asked for last, and got: %v", got)
		}
		if got := r.resume(stuck[0].position()).all(); len(got) != 1 {
			t.Errorf("the takeover of a stuck response carried %d events", len(got))
		}
		if got := r.resume("", "Connection", "close"); got.position() == "" {
			t.Error("there is room, and no view")
		}
	})
}

// Two takeovers at once: the first writer is silent before the last one begins,
// also where the one between them has not got round to silencing it (R10).
func TestTakeoverOfATakeover(t *testing.T) {
	h, err := NewHandler(bench{}.app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s, ok := h.registry.Find("", openDirectly(t, h))
	if !ok {
		t.Fatal("no session")
	}
	mine := s.Meta().(*Session)
	seat := func() (v, older *view) {
		t.Helper()
		return mine.attach(func() (*view, uint64) {
			core, _, err := s.Resume(session.Request{})
			if err != nil {
				t.Fatal(err)
			}
			return h.newView(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), mine, core), 0
		})
	}
	first, _ := seat()
	first.comment("before")
	if !first.flush() {
		t.Fatal("the only writer is silent")
	}
	second, _ := seat()
	_, older := seat()
	older.supersede()
	for name, v := range map[string]*view{"first": first, "second": second} {
		v.comment("after")
		if v.flush() || strings.Contains(v.w.(*httptest.ResponseRecorder).Body.String(), "after") {
			t.Errorf("the %s writer goes on beside the third", name)
		}
	}
}

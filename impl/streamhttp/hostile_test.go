package streamhttp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
)

// FuzzHandler gives a whole handler whatever a request can hold. It answers
// each with a status that is meant, in a form that is meant, keeps within its
// caps, and still serves its good session.
func FuzzHandler(f *testing.F) {
	call := request(1, "count", `{"n":1}`)
	for _, seed := range [][7]string{
		{"POST", "good", "", Version20251125, "*/*", "application/json", call},
		{"POST", "", "", "", "application/json", "application/json", initializeOf(Version20251125)},
		{"POST", "bad", "", "x", "", "text/plain", "{"},
		{"POST", "good", "zero", Version20250618, "text/event-stream", "", ""},
		{"POST", "good", "zero", Version20250618, "text/event-stream", "application/json", call},
		{"GET", "good", "zero", Version20251125, "text/event-stream", "", ""},
		{"GET", "good", "", Version20251125, "text/event-stream;q=0", "", ""},
		{"GET", "good", "a:b:c:d", Version20250326, "", "", ""},
		{"DELETE", "other", "", "", "", "", ""},
		{"PATCH", "good", "", "", "", "", "x"},
		{"POST", "good", "", "", "*/*", "application/json", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
		{"POST", "good", "", "", "*/*", "application/json", `{"jsonrpc":"2.0","id":"s1","error":{"code":1,"message":""}}`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], seed[5], seed[6])
	}
	h, err := NewHandler(bench{}.app, Options{MessageBytes: 10_000, Session: session.Options{Sessions: 20}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(h.Close)
	good, other := openDirectly(f, h), openDirectly(f, h)

	f.Fuzz(func(t *testing.T, method, sessionID, cursor, version, accept, contentType, body string) {
		r, err := http.NewRequest(strings.ToUpper(method), "http://localhost/mcp", strings.NewReader(body))
		if err != nil {
			return // net/http lets no such request through
		}
		r.Host = "localhost"
		switch sessionID {
		case "good":
			sessionID = good
			if r.Method == http.MethodDelete {
				return // it is needed
			}
		case "other":
			sessionID = other
		}
		if cursor == "zero" {
			cursor = h.positionZero(t, good)
		}
		for name, value := range map[string]string{
			HeaderSessionID: sessionID, HeaderLastEventID: cursor, HeaderProtocolVersion: version, "Accept": accept, "Content-Type": contentType,
		} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := directly(h, r)
		switch status := w.Code; {
		case status == http.StatusOK, status == http.StatusAccepted, status == http.StatusNoContent:
		case status >= 400 && status < 500, status == http.StatusServiceUnavailable:
			var refused errorBody
			if err := json.Unmarshal(w.Body.Bytes(), &refused); err != nil || refused.Error.Code == 0 {
				t.Fatalf("%d with %q", status, w.Body)
			}
		default:
			t.Fatalf("status %d", status)
		}
		if n := h.Stats().Sessions; n > 20 {
			t.Fatalf("%d sessions", n)
		}
		note, _ := http.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","method":"note"}`))
		note.Header.Set(HeaderSessionID, good)
		note.Header.Set("Content-Type", mediaJSON)
		if w := directly(h, note); w.Code != http.StatusAccepted {
			t.Fatalf("the good session afterwards: %d", w.Code)
		}
	})
}

// directly serves a request without a network. The client is gone from the
// start, so that a view ends when it would first wait.
func directly(h *Handler, r *http.Request) (w *httptest.ResponseRecorder) {
	ctx, gone := context.WithCancel(r.Context())
	gone()
	w = httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	h.ServeHTTP(w, r.WithContext(ctx))
	return
}

func openDirectly(t testing.TB, h *Handler) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(initializeOf(Version20251125)))
	r.Header.Set("Content-Type", mediaJSON)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	return w.Header().Get(HeaderSessionID)
}

func (h *Handler) positionZero(t testing.TB, id string) string {
	s, ok := h.registry.Find("", id)
	if !ok {
		t.Fatal("the good session is gone")
	}
	return s.StandalonePosition().String()
}

// A session that nobody will ever name is not kept: the client was gone before
// initialize was answered.
func TestInitializeOfAClientThatIsGone(t *testing.T) {
	h, err := NewHandler(bench{}.app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(initializeOf(Version20251125)))
	r.Header.Set("Content-Type", mediaJSON)
	if w := directly(h, r); w.Header().Get(HeaderSessionID) != "" || h.Stats().Sessions != 0 {
		t.Errorf("%d sessions", h.Stats().Sessions)
	}
}

// What is kept of a finished call is its events and its id, not the body of
// its POST.
func TestFinishedCallsKeepNoBodies(t *testing.T) {
	h, err := NewHandler(bench{}.app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	id := openDirectly(t, h)
	call := func(i int) {
		body := request(i, "count", `{"n":0,"ballast":"`+strings.Repeat("x", 1<<20)+`"}`)
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", mediaJSON)
		r.Header.Set(HeaderSessionID, id)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), "result") {
			t.Fatalf("call %d: %d %s", i, w.Code, w.Body)
		}
	}
	call(0)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 40 {
		call(i + 1)
	}
	if grown := int64(heap()) - int64(before); grown > 10<<20 {
		t.Errorf("40 finished calls of 1 MiB keep %d KiB", grown>>10)
	}
}

// A closed handler opens nothing.
func TestClosedHandler(t *testing.T) {
	r := newRig(t, bench{}.app, Options{})
	r.open()
	r.handler.Close()
	for name, resp := range map[string]*http.Response{
		"initialize": r.post(initializeOf(Version20251125), HeaderSessionID, "-"),
		"call":       r.post(request(1, "count", `{}`)),
		"GET":        r.request(t.Context(), http.MethodGet, ""),
		"DELETE":     r.request(t.Context(), http.MethodDelete, ""),
	} {
		if resp.StatusCode != http.StatusNotFound && resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	r := newRig(b, bench{}.app, Options{})
	r.open()
	body := fmt.Sprintf(`{"n":%d}`, 1)
	for i := 0; b.Loop(); i++ {
		resp := r.post(request(i, "count", body))
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

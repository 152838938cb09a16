package gosdk_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

// A kept is the SDK's own handler with our store, with or without a guard, and a
// tool that emits, waits, and answers.
type kept struct {
	*httptest.Server
	server *mcp.Server
	goOn   chan struct{}
}

func keep(t *testing.T, guarded bool, o gosdk.EventStoreOptions) kept {
	t.Helper()
	k := kept{goOn: make(chan struct{})}
	k.server = newServer(nil, map[string]toolFunc{"wait": func(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error) {
		for _, message := range []string{"first", "second"} {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: message}); err != nil {
				return "", err
			}
		}
		select {
		case <-k.goOn:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}})
	store := newStore(t, o)
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return k.server }, &mcp.StreamableHTTPOptions{EventStore: store})
	if guarded {
		h = gosdk.Guard(store, h)
	}
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	protected := auth.RequireBearerToken(verify, nil)(h)
	k.Server = serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer alice")
		}
		protected.ServeHTTP(w, r)
	}), func() {
		for ss := range k.server.Sessions() {
			go ss.Close()
		}
	})
	return k
}

const callWait = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"text":""}}}`

// both runs a story without the guard and with it.
func both(t *testing.T, o gosdk.EventStoreOptions, story func(t *testing.T, ctx context.Context, k kept, c *rawClient, guarded bool)) {
	for name, guarded := range map[string]bool{"without the guard": false, "with the guard": true} {
		t.Run(name, func(t *testing.T) {
			k := keep(t, guarded, o)
			story(t, testContext(t), k, raw(t, k.URL), guarded)
		})
	}
}

// Given a response that its client does not read any more and has not closed,
// when it comes back, then the SDK's handler locks it out, and behind a guard it
// goes on where it was: the older response ends (R10). So on a call's stream, on
// a resumed one, and on the standalone stream.
func TestGuardTakesOver(t *testing.T) {
	both(t, gosdk.EventStoreOptions{}, func(t *testing.T, ctx context.Context, k kept, c *rawClient, guarded bool) {
		old := c.post(ctx, callWait)
		cursor := lastID(old.until("first"))
		resumed := c.get(ctx, cursor)
		standalone := c.get(ctx, "")
		standalone.until(": ok")
		second := c.get(ctx, "")
		if !guarded {
			for what, a := range map[string]*rawAnswer{"the call's stream": resumed, "the standalone stream": second} {
				if a.StatusCode != http.StatusConflict {
					t.Errorf("%s: %s; if the SDK takes over now, the guard need not", what, a.Status)
				}
			}
			return
		}
		resumed.until("second")
		again := c.get(ctx, cursor) // once more, against a resumed one
		close(k.goOn)
		if text := again.rest(); again.StatusCode != http.StatusOK || strings.Count(text, "second") != 1 || !strings.Contains(text, `"done"`) {
			t.Errorf("resumed: %s %q", again.Status, text)
		}
		if second.StatusCode != http.StatusOK {
			t.Errorf("the standalone stream: %s", second.Status)
		}
		if text := readAll(old) + readAll(resumed) + readAll(standalone); strings.Contains(text, `"done"`) {
			t.Errorf("the answer is on an older response: %q", text)
		}
	})
}

// The same with a client that stopped reading, so that the SDK is stuck in a
// write and holds the stream's lock: the guard breaks that connection.
func TestGuardTakesOverFromAStuckWriter(t *testing.T) {
	ctx := testContext(t)
	var count atomic.Int64
	store := newStore(t, gosdk.EventStoreOptions{WindowEvents: 1 << 14, WindowBytes: 1 << 28})
	s := newServer(nil, map[string]toolFunc{"bursts": burstsCounted(make(chan struct{}), &count)})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{EventStore: store})
	server := serveHTTP(t, gosdk.Guard(store, h), func() {})
	c := raw(t, server.URL)
	cursor := lastID(c.post(ctx, callBursts).until(`"progress":0}`))
	if n := standstill(&count); n >= burstEvents-1 {
		t.Fatal("the writer is not stuck: the test shows nothing")
	}
	resumed := c.get(ctx, cursor)
	if resumed.StatusCode != http.StatusOK {
		t.Fatalf("resuming: %s", resumed.Status)
	}
	text := resumed.rest()
	if n := strings.Count(text, `"progress":`); n != burstEvents-1 || !strings.Contains(text, `"emitted"`) {
		t.Errorf("%d events after the first, want %d and the answer", n, burstEvents-1)
	}
}

// readAll returns what came until the end, clean or not.
func readAll(a *rawAnswer) string {
	var text strings.Builder
	_, _ = a.lines.WriteTo(&text)
	return text.String()
}

// Bad cursors are refused by both; with the guard by the status and the reason
// of the contract (R5).
func TestGuardRefusesBadCursors(t *testing.T) {
	both(t, gosdk.EventStoreOptions{WindowEvents: 4}, func(t *testing.T, ctx context.Context, k kept, c *rawClient, guarded bool) {
		first := c.post(ctx, callWait)
		text := first.until("second")
		stream, _, _ := strings.Cut(lastID(text), "_")
		for range 4 {
			c.post(ctx, strings.Replace(callWait, `"id":1`, `"id":"next"`, 1)).until("second")
			c.post(ctx, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"next"}}`)
			for range 100 { // until the id is free again
				if a := c.post(ctx, `{"jsonrpc":"2.0","id":"next","method":"ping"}`); a.StatusCode == http.StatusOK {
					a.rest()
					break
				}
				time.Sleep(time.Millisecond)
			}
		}
		for _, test := range []struct {
			cursors []string
			status  int
			reason  string
		}{
			{[]string{stream + "_0"}, 409, "cursor_evicted"},
			{[]string{stream + "_99"}, 409, "cursor_ahead"},
			{[]string{"nobody_0"}, 409, "cursor_unissued"},
			{[]string{"_0"}, 409, "cursor_ahead"}, // the standalone stream has had nothing
			{[]string{"0"}, 400, "cursor_malformed"},
			{[]string{stream + "_00"}, 400, "cursor_malformed"},
			{[]string{stream + "_+1"}, 400, "cursor_malformed"},
			{[]string{""}, 400, "cursor_malformed"},
			{[]string{stream + "_2", stream + "_2"}, 400, "cursor_malformed"},
		} {
			a := c.do(ctx, http.MethodGet, "", http.Header{"Last-Event-Id": test.cursors})
			if !guarded {
				if a.StatusCode != http.StatusOK && strings.Contains(a.rest(), test.reason) {
					t.Errorf("%q: the SDK gives reasons now", test.cursors)
				}
				a.Body.Close()
				continue
			}
			if text := a.rest(); a.StatusCode != test.status || !strings.Contains(text, test.reason) {
				t.Errorf("%q: %s %s; want %d %s", test.cursors, a.Status, text, test.status, test.reason)
			}
		}
		if a := c.do(ctx, http.MethodPost, callWait, http.Header{"Last-Event-Id": {stream + "_2"}}); a.StatusCode != 400 || guarded && !strings.Contains(a.rest(), "cursor_with_message") {
			t.Errorf("a message with a cursor: %s", a.Status)
		}
		if !guarded {
			return
		}
		close(k.goOn)
		resumed := c.get(ctx, stream+"_2") // the session goes on
		if !strings.Contains(resumed.rest(), `"done"`) {
			t.Error("a good cursor was not served after the bad ones")
		}
	})
}

// Another user's session is told apart from an unknown one by the SDK, and not
// behind a guard (R13): same status, same body, with cursors of any kind.
func TestGuardHidesSessionsOfOthers(t *testing.T) {
	both(t, gosdk.EventStoreOptions{}, func(t *testing.T, ctx context.Context, k kept, c *rawClient, guarded bool) {
		told := false
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			for _, cursor := range []string{"", "0", "x_0"} {
				if method == http.MethodPost && cursor != "" {
					continue // the SDK looks at the session first, too
				}
				h := http.Header{"Authorization": {"Bearer bob"}}
				if cursor != "" {
					h.Set("Last-Event-ID", cursor)
				}
				ask := func(session string) string {
					asking := *c
					asking.session = session
					a := asking.do(ctx, method, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, h.Clone())
					return a.Status + " " + a.rest()
				}
				foreign, unknown := ask(c.session), ask("unknown")
				if told = told || foreign != unknown; guarded && (foreign != unknown || !strings.HasPrefix(foreign, "404")) {
					t.Errorf("%s %q: %q for another's session, %q for none", method, cursor, foreign, unknown)
				}
			}
		}
		if !guarded && !told {
			t.Error("the SDK does not tell them apart any more")
		}
		if a := c.post(ctx, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); a.StatusCode != http.StatusOK {
			t.Errorf("the owner: %s", a.Status)
		}
	})
}

// What stays broken with store and guard, as the documentation of both says.
func TestWhatTheStoreCannotKeep(t *testing.T) {
	t.Run("R7: a fresh attach repeats history", func(t *testing.T) {
		both(t, gosdk.EventStoreOptions{}, func(t *testing.T, ctx context.Context, k kept, c *rawClient, _ bool) {
			tell := func(message string) {
				for ss := range k.server.Sessions() {
					if err := ss.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Message: message}); err != nil {
						t.Fatal(err)
					}
				}
			}
			here, leave := context.WithCancel(ctx)
			first := c.get(here, "")
			first.until(": ok")
			tell("delivered")
			first.until("delivered")
			leave()
			second := c.get(ctx, "")
			for second.StatusCode == http.StatusConflict { // until the SDK has noticed
				time.Sleep(time.Millisecond)
				second = c.get(ctx, "")
			}
			second.until("delivered") // fails if the SDK keeps R7 now
		})
	})
	t.Run("R4: a too large event is sent and not kept", func(t *testing.T) {
		both(t, gosdk.EventStoreOptions{EventBytes: 96}, func(t *testing.T, ctx context.Context, k kept, c *rawClient, guarded bool) {
			text := c.post(ctx, callWait).until("second") // of more than 96 bytes each
			cursor := lastID(strings.SplitAfter(text, "first")[0])
			want := http.StatusBadRequest
			if guarded {
				want = http.StatusConflict
			}
			if a := c.get(ctx, cursor); a.StatusCode != want && a.StatusCode != http.StatusConflict {
				t.Errorf("resuming before it: %s, want a refusal", a.Status)
			}
		})
	})
	t.Run("R8: no position is announced", func(t *testing.T) {
		both(t, gosdk.EventStoreOptions{}, func(t *testing.T, ctx context.Context, k kept, c *rawClient, guarded bool) {
			here, leave := context.WithCancel(ctx)
			cursor := lastID(c.post(here, callWait).until("first"))
			leave()
			a := c.get(ctx, cursor)
			for a.StatusCode == http.StatusConflict && !guarded {
				time.Sleep(time.Millisecond)
				a = c.get(ctx, cursor)
			}
			if a.StatusCode != http.StatusOK || a.Header.Get("Reattach-Position") != "" {
				t.Errorf("resuming: %s, %v", a.Status, a.Header)
			}
		})
	})
}

// The SDK's client works behind a guard as it does without: also in the era
// without sessions.
func TestGuardIsTransparent(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2025-06-18"} {
		ctx := testContext(t)
		k := keep(t, true, gosdk.EventStoreOptions{})
		close(k.goOn)
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: k.URL}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		mustCall(t, ctx, cs, "wait", "", "done")
		if err := cs.Close(); err != nil {
			t.Error(err)
		}
	}
	k := keep(t, true, gosdk.EventStoreOptions{})
	if a := modern(t, k.URL).post(testContext(t), discover); a.StatusCode != http.StatusOK {
		t.Errorf("discover: %s", a.Status)
	}
}

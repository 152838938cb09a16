package gosdk

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Guard stands in front of the SDK's handler whose EventStore is store, behind
// whatever authenticates, and does what the handler does not:
//
//   - a cursor that is malformed, evicted, ahead or was never issued is refused
//     with the status and the reason of the contract, before the SDK sees it (R5)
//   - a newer request for a stream ends the older response, which may be half
//     open, and takes over (R10)
//   - a session of another user is 404, as one that nobody knows (R13)
//
// What it cannot do is listed at [EventStore]; beside that, it ends a response
// of a client that asks with an older attempt later (R10 has numbers for them,
// the SDK's clients have not), and a client of a revision before 2025-11-25 that
// is cut before its call's first event has no cursor to come back with.
func Guard(store *EventStore, handler http.Handler) http.Handler {
	return &guard{store: store, next: handler, open: make(map[streamKey]*guarded)}
}

type guard struct {
	store *EventStore
	next  http.Handler

	mu   sync.Mutex
	open map[streamKey]*guarded // responses, by the stream that they carry
}

type streamKey struct{ session, stream string }

// patience bounds how long a newer response waits for the end of the older one,
// whose writer may be stuck in a write.
const patience = 5 * time.Second

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isLater(r.Header) {
		g.next.ServeHTTP(w, r)
		return
	}
	sessionID := r.Header.Get(streamhttp.HeaderSessionID)
	cursors := r.Header.Values(streamhttp.HeaderLastEventID)
	owner := ""
	if info := auth.TokenInfoFromContext(r.Context()); info != nil {
		owner = info.UserID
	}
	if sessionID != "" && g.store.isForeign(sessionID, owner) {
		sessionID = "nobody's-" + rand.Text() // what the SDK says to that is what this user shall hear
		r = r.Clone(r.Context())
		r.Header.Set(streamhttp.HeaderSessionID, sessionID)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	v := &guarded{ResponseWriter: w, guard: g, cancel: cancel, over: make(chan struct{}), session: sessionID, owner: owner, opens: sessionID == ""}
	defer v.end()
	switch {
	case !g.store.knows(sessionID): // the SDK says what it says to that
	case r.Method == http.MethodGet && len(cursors) > 1, r.Method == http.MethodGet && len(cursors) == 1 && cursors[0] == "":
		refuseCursor(w, spec.ReasonCursorMalformed)
		return
	case r.Method == http.MethodGet:
		stream := ""
		if len(cursors) == 1 {
			if reason := g.store.judgeID(sessionID, cursors[0]); reason != "" {
				refuseCursor(w, reason)
				return
			}
			stream, _, _ = cursor(cursors[0])
		}
		g.takeOver(v, stream)
	case len(cursors) > 0 && r.Method == http.MethodPost:
		refuseCursor(w, spec.ReasonCursorWithMessage)
		return
	}
	g.next.ServeHTTP(v, r.WithContext(ctx))
}

// takeOver makes v the response of the stream, and returns when the older one
// has ended.
func (g *guard) takeOver(v *guarded, stream string) {
	key := streamKey{v.session, stream}
	g.mu.Lock()
	older := g.open[key]
	g.open[key] = v
	v.key = key
	g.mu.Unlock()
	if older == nil || older == v {
		return
	}
	older.stop()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-older.over:
	case <-timer.C:
	}
}

// A guarded is one response that may carry a stream.
type guarded struct {
	http.ResponseWriter
	guard   *guard
	cancel  context.CancelFunc
	over    chan struct{} // closed when its handler has returned
	session string
	owner   string
	opens   bool // it may open a session

	key     streamKey // guarded by guard.mu
	sniffed bool
}

// Unwrap is for http.ResponseController, with which the SDK flushes.
func (v *guarded) Unwrap() http.ResponseWriter { return v.ResponseWriter }

// WriteHeader notes whose session an answer opens.
func (v *guarded) WriteHeader(status int) {
	v.note()
	v.ResponseWriter.WriteHeader(status)
}

// Write notes which stream the response of a POST carries: its first event says
// so, and nothing before.
func (v *guarded) Write(data []byte) (int, error) {
	v.note()
	if !v.sniffed && v.session != "" {
		if id, ok := firstID(data); ok {
			v.sniffed = true
			if stream, _, ok := cursor(id); ok {
				v.guard.carries(v, stream)
			}
		}
	}
	return v.ResponseWriter.Write(data)
}

func (v *guarded) note() {
	if !v.opens {
		return
	}
	if id := v.Header().Get(streamhttp.HeaderSessionID); id != "" {
		v.opens, v.session = false, id
		v.guard.store.own(id, v.owner)
	}
}

// carries notes the stream of a response that began without a cursor.
func (g *guard) carries(v *guarded, stream string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if v.key == (streamKey{}) {
		v.key = streamKey{v.session, stream}
		g.open[v.key] = v
	}
}

// stop ends the response, also one whose writer is stuck.
func (v *guarded) stop() {
	_ = http.NewResponseController(v.ResponseWriter).SetWriteDeadline(time.Unix(1, 0)) // where it is not supported, patience has to do
	v.cancel()
}

func (v *guarded) end() {
	v.guard.mu.Lock()
	defer v.guard.mu.Unlock()
	if v.guard.open[v.key] == v {
		delete(v.guard.open, v.key)
	}
	close(v.over)
}

// firstID returns the id of the first event in what the SDK writes at once.
func firstID(data []byte) (id string, ok bool) {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if value, found := bytes.CutPrefix(line, []byte("id: ")); found {
			return string(value), true
		}
		if bytes.HasPrefix(line, []byte("data: ")) {
			return "", false
		}
		data = rest
	}
	return "", false
}

// refuseCursor answers with the status and the reason of the contract.
func refuseCursor(w http.ResponseWriter, reason spec.Reason) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{
		"code": streamhttp.CodeRefused, "message": reason.Error(), "data": map[string]string{"reason": string(reason)},
	}})
	if err != nil {
		panic("reattach: BUG: a refusal that is not JSON: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(reason.Status())
	_, _ = w.Write(body) // its client is told, or gone
}

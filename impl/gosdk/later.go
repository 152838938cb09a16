package gosdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// firstLater is the first revision that has neither sessions nor resumption.
const firstLater = "2026-07-28"

// isLater reports whether a request is of such a revision. Session and cursor
// that it may name mean nothing then. A value that is no date is left to the
// era that refuses it.
func isLater(h http.Header) bool {
	version := h.Get(streamhttp.HeaderProtocolVersion)
	return len(version) == len(firstLater) && version[0] == '2' && version >= firstLater
}

// A later is what serves the revisions without sessions: the SDK's own handler,
// counted so that it can be drained.
type later struct {
	sdk     http.Handler
	offered bool // server/discover is answered as the SDK does

	mu       sync.Mutex
	running  int
	draining bool
	idle     chan struct{} // closed when draining and nothing runs

	listens context.Context // ends with the drain: subscriptions do not end by themselves
	all     context.Context // ends with Close
	endAll  context.CancelFunc
	endSubs context.CancelFunc
}

func newLater(getServer func(*http.Request) *mcp.Server, o Options) *later {
	options := o.Sessionless
	options.Stateless = true
	options.EventStore = nil
	options.DisableLocalhostProtection = true // Handler.ServeHTTP has asked already
	if options.MaxRequestBodyBytes == 0 {
		options.MaxRequestBodyBytes = o.HTTP.MessageBytes
	}
	if options.Logger == nil {
		options.Logger = o.HTTP.Logger
	}
	l := &later{sdk: mcp.NewStreamableHTTPHandler(getServer, &options), offered: o.OfferSessionless, idle: make(chan struct{})}
	l.all, l.endAll = context.WithCancel(context.Background())
	l.listens, l.endSubs = context.WithCancel(l.all)
	return l
}

const (
	headerMethod   = "Mcp-Method" // required by the later revisions
	methodDiscover = "server/discover"
	methodListen   = "subscriptions/listen"
)

func (l *later) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !l.begin() {
		w.Header().Set("Retry-After", strconv.Itoa(int(spec.DefaultRetryAfter.Seconds())))
		http.Error(w, string(spec.ReasonDraining), http.StatusServiceUnavailable)
		return
	}
	defer l.end()
	method := r.Header.Get(headerMethod)
	if method == methodDiscover && !l.offered && r.Method == http.MethodPost {
		sendBack(w, r)
		return
	}
	until := l.all
	if method == methodListen {
		until = l.listens
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(until, cancel)()
	l.sdk.ServeHTTP(w, r.WithContext(ctx))
}

// discoverBytes bounds the request of which nothing but its id is wanted.
const discoverBytes = 64 << 10

// sendBack tells a client that asks for what the server can do that it serves
// the revisions with sessions: one that speaks both eras initializes then.
func sendBack(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, discoverBytes))
	if err != nil {
		http.Error(w, "the request is too large, or did not arrive", http.StatusRequestEntityTooLarge)
		return
	}
	var request struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(body, &request)    // what cannot be read has no id
	id, err := jsonrpc.MakeID(request.ID) // nor has what is no id
	if _, fits := request.ID.(string); err != nil || !fits && !isWhole(request.ID) {
		id = jsonrpc.ID{}
	}
	versions := streamhttp.Versions()
	slices.Reverse(versions)
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: r.Header.Get(streamhttp.HeaderProtocolVersion)})
	answer, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
		Code:    mcp.CodeUnsupportedProtocolVersion,
		Message: "this server has sessions: initialize one",
		Data:    data,
	}})
	if err != nil {
		panic("reattach: BUG: an error response that is not JSON: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(answer) // its client is told, or gone
}

func (l *later) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining {
		return false
	}
	l.running++
	return true
}

func (l *later) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running--; l.draining && l.running == 0 {
		close(l.idle)
	}
}

func (l *later) drain() {
	l.mu.Lock()
	if !l.draining {
		l.draining = true
		if l.running == 0 {
			close(l.idle)
		}
	}
	l.mu.Unlock()
	l.endSubs()
}

func (l *later) wait(ctx context.Context) error {
	select {
	case <-l.idle:
		return nil
	default: // the context may have ended in what was waited for before
	}
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w, of %s: %w", streamhttp.ErrStillRunning, firstLater, context.Cause(ctx))
	}
}

func (l *later) close() { l.endAll() }

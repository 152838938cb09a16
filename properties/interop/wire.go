package interop

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// A Wire is an HTTP proxy that breaks event streams on their way to the client.
// Where each breaks is a function of its seed and of the order of the requests.
//
// It never breaks an answer before its first event has passed whole: what a
// client does that got nothing at all is another question, and no client of
// others can answer it.
type Wire struct {
	proxy *httputil.ReverseProxy

	mu    sync.Mutex
	rand  *rand.Rand // nil: nothing breaks by chance
	marks []mark
	ended bool // every resumption is answered with 204
	cuts  int
	log   []Exchange
	sent  map[string]int // by the method of the message
}

// A mark is a text behind, or in, which a stream breaks once.
type mark struct {
	text   []byte
	inside bool // in the middle of the event that has the text, not behind it
}

// An Exchange is one request and its answer's status, as the wire saw them.
type Exchange struct {
	Method  string
	Cursor  string // Last-Event-ID
	Session bool   // it named a session
	Status  int
}

// Resumed says that the request asked to go on behind a cursor.
func (e Exchange) Resumed() bool { return e.Method == http.MethodGet && e.Cursor != "" }

// Most bytes of a stream that pass between two breaks by chance.
const longestPiece = 2048

// NewWire returns a proxy in front of the server at target. With a seed other
// than 0 it breaks about three of four streams.
func NewWire(target string, seed uint64) (*Wire, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	w := &Wire{sent: map[string]int{}}
	if seed != 0 {
		w.rand = rand.New(rand.NewPCG(seed, seed))
	}
	w.proxy = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: u.Scheme, Host: u.Host}) },
		FlushInterval: -1,
		Transport:     &http.Transport{DisableCompression: true},
		ErrorLog:      log.New(io.Discard, "", 0), // broken streams are the point
		ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, err error) {
			rw.WriteHeader(http.StatusBadGateway)
		},
	}
	return w, nil
}

// CutBehind breaks the stream that carries this text, right behind the event
// in which it stands.
func (w *Wire) CutBehind(text string) { w.add(mark{text: []byte(text)}) }

// CutInside breaks the stream that carries this text in the middle of the event
// in which it stands.
func (w *Wire) CutInside(text string) { w.add(mark{text: []byte(text), inside: true}) }

func (w *Wire) add(m mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, m)
}

// Complete answers every resumption of a stream from now on with 204, as if all
// of it had been delivered.
func (w *Wire) Complete() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// Cuts is how many streams were broken.
func (w *Wire) Cuts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cuts
}

// Exchanges lists the requests that were answered, in the order of the answers.
func (w *Wire) Exchanges() []Exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Exchange(nil), w.log...)
}

// Resumptions counts the resumptions that were answered with the status.
func (w *Wire) Resumptions(status int) (n int) {
	for _, e := range w.Exchanges() {
		if e.Resumed() && e.Status == status {
			n++
		}
	}
	return n
}

// Sent counts the messages with this method that came by, answered or not.
func (w *Wire) Sent(method string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[method]
}

// ServeHTTP passes one request on.
func (w *Wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	e := Exchange{Method: r.Method, Cursor: r.Header.Get("Last-Event-ID"), Session: r.Header.Get("Mcp-Session-Id") != ""}
	if body, err := io.ReadAll(r.Body); err == nil {
		var message struct{ Method string }
		json.Unmarshal(body, &message) // what is no message has no method
		w.mu.Lock()
		w.sent[message.Method]++
		w.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if ended && e.Resumed() {
		e.Status = http.StatusNoContent
		w.answered(e)
		rw.Header().Set("Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"))
		rw.WriteHeader(e.Status)
		return
	}
	w.proxy.ServeHTTP(&breakable{ResponseWriter: rw, wire: w, exchange: e, limit: -1}, r)
}

// piece says after how many bytes behind its first event a stream breaks by
// chance, -1 for not at all.
func (w *Wire) piece() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rand == nil || w.rand.IntN(4) == 0 {
		return -1
	}
	return 1 + w.rand.IntN(longestPiece)
}

func (w *Wire) answered(e Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, e)
}

// A breakable is the client's side of one answer.
type breakable struct {
	http.ResponseWriter
	wire     *Wire
	exchange Exchange
	stream   bool
	first    bool   // the first event has passed whole
	limit    int    // bytes that may still pass, -1 for no limit
	event    []byte // the part of the present event that has passed
}

// Unwrap lets the proxy flush.
func (b *breakable) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *breakable) WriteHeader(status int) {
	b.exchange.Status = status
	b.wire.answered(b.exchange)
	// The answer to initialize breaks no stream that could go on.
	b.stream = bytes.HasPrefix([]byte(b.Header().Get("Content-Type")), []byte("text/event-stream")) && b.exchange.Session
	b.ResponseWriter.WriteHeader(status)
}

func (b *breakable) Write(p []byte) (int, error) {
	if !b.stream {
		return b.ResponseWriter.Write(p)
	}
	for i := range p {
		b.event = append(b.event, p[i])
		if b.limit >= 0 {
			b.limit--
		}
		ends := bytes.HasSuffix(b.event, []byte("\n\n")) || bytes.HasSuffix(b.event, []byte("\r\n\r\n"))
		at, found := b.marked(ends)
		switch {
		case found || b.limit == 0:
			b.cut(p[:max(0, i+1-at)])
		case ends:
			if !b.first && bytes.Contains(b.event, []byte("id:")) {
				b.first, b.limit = true, b.wire.piece()
			}
			b.event = b.event[:0]
		}
	}
	return b.ResponseWriter.Write(p)
}

// marked says that the present event is the one of a mark, which is then spent,
// and how many of the last bytes are not to pass.
func (b *breakable) marked(ends bool) (keepBack int, found bool) {
	w := b.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, m := range w.marks {
		if !bytes.Contains(b.event, m.text) || !m.inside && !ends {
			continue
		}
		w.marks = append(w.marks[:i:i], w.marks[i+1:]...)
		if m.inside {
			keepBack = 1
		}
		return keepBack, true
	}
	return 0, false
}

// cut lets the rest of this piece pass and closes the connection: what was
// written arrives, and the stream has no end, for the last chunk is missing.
func (b *breakable) cut(rest []byte) {
	b.wire.mu.Lock()
	b.wire.cuts++
	b.wire.mu.Unlock()
	b.ResponseWriter.Write(rest)
	http.NewResponseController(b.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

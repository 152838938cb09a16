package properties_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// The rig of the ledger's wired tests: one address, behind which server
// processes live and are killed, each with the ledger that the file holds; and
// a client that knows the wire and nothing else.

// A township is one address and what is true about it: how often the work of
// each key ran, and which starts had no outcome when their process was killed.
type township struct {
	t       testing.TB
	open    func() ledger.Store // the store as a new process finds it
	opts    ledger.Options
	http    streamhttp.Options
	server  *httptest.Server
	work    func(ctx context.Context, m *streamhttp.Message, run func() bool) // the tool
	network func(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc)

	mu       sync.Mutex
	process  *process
	runs     map[string]int  // key -> how often its work ran
	orphaned map[string]bool // started and not finished when their process was killed
	stats    ledger.Stats    // of dead processes, summed
	late     sync.WaitGroup  // copies that are under way
	over     chan struct{}   // closed at the test's end
}

// A process is one server from its start to its death.
type process struct {
	town    *township
	ledger  *ledger.Ledger
	handler *streamhttp.Handler
	store   ledger.Store
	dead    bool            // guarded by town.mu: nothing happens any more
	running map[string]bool // started, no outcome
}

var errKilled = errors.New("the process was killed")

// Open, Append and the rest make a store that dies with its process, at once.
func (p *process) Open() (ledger.Image, error) { return p.store.Open() }
func (p *process) Outdated() bool              { return p.store.Outdated() }
func (p *process) Close() error                { return nil }
func (p *process) Append(g uint64, b ledger.Batch) error {
	p.town.mu.Lock()
	defer p.town.mu.Unlock()
	if p.dead {
		return errKilled
	}
	err := p.store.Append(g, b)
	for _, e := range b.Entries {
		if e.State == ledger.Started {
			p.running[e.Key.String()] = true // on the disk, perhaps
		} else if err == nil {
			delete(p.running, e.Key.String())
		}
	}
	return err
}
func (p *process) Rewrite(i ledger.Image) error {
	p.town.mu.Lock()
	defer p.town.mu.Unlock()
	if p.dead {
		return errKilled
	}
	return p.store.Rewrite(i)
}

func newTownship(t testing.TB, open func() ledger.Store) *township {
	town := &township{t: t, open: open, runs: map[string]int{}, orphaned: map[string]bool{}, over: make(chan struct{})}
	town.work = func(_ context.Context, m *streamhttp.Message, run func() bool) {
		if run() {
			_, _ = m.Stream.Answer(map[string]string{"text": "done"})
		}
	}
	town.network = func(w http.ResponseWriter, r *http.Request, serve http.HandlerFunc) { serve(w, r) }
	town.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		town.network(w, r, town.serve)
	}))
	t.Cleanup(func() {
		close(town.over)
		town.kill()
		town.server.CloseClientConnections()
		town.server.Close()
	})
	return town
}

// start starts a process.
func (town *township) start() *process {
	town.t.Helper()
	p := &process{town: town, store: town.open(), running: map[string]bool{}}
	l, err := ledger.New(p, town.opts)
	if err != nil {
		town.t.Fatal(err)
	}
	p.ledger = l
	h, err := streamhttp.NewHandler(l.Wrap(p.app), town.http)
	if err != nil {
		town.t.Fatal(err)
	}
	p.handler = h
	town.mu.Lock()
	town.process = p
	town.mu.Unlock()
	return p
}

// kill ends the process between two of its steps: what it had not written it
// never writes, and what had not run never runs.
func (town *township) kill() {
	town.mu.Lock()
	p := town.process
	town.process = nil
	if p != nil {
		p.dead = true
		for k := range p.running {
			town.orphaned[k] = true
		}
		p.store.Close()
	}
	town.mu.Unlock()
	if p == nil {
		return
	}
	town.server.CloseClientConnections()
	p.handler.Close()
	s := p.ledger.Stats()
	town.stats.Started += s.Started
	town.stats.Joined += s.Joined
	town.stats.Repeated += s.Repeated
	town.stats.Sealed += s.Sealed
	town.stats.Refused += s.Refused
}

// app is the application. What is to run when its process is dead does not
// return: a dead process says nothing any more, not even that there was no
// answer.
func (p *process) app(ctx context.Context, m *streamhttp.Message) {
	switch {
	case m.Method == "initialize":
		_, _ = m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": map[string]any{"tools": struct{}{}}})
	case m.Kind == streamhttp.Request:
		text, _ := ledger.KeyOf(m.Params)
		p.town.work(ctx, m, func() bool {
			p.town.mu.Lock()
			defer p.town.mu.Unlock()
			if p.dead {
				p.town.mu.Unlock()
				<-p.town.over
				p.town.mu.Lock()
				return false
			}
			p.town.runs[text]++
			return true
		})
	}
}

// serve hands a request to the process that is there.
func (town *township) serve(w http.ResponseWriter, r *http.Request) {
	town.mu.Lock()
	p := town.process
	town.mu.Unlock()
	if p == nil {
		panic(http.ErrAbortHandler)
	}
	p.handler.ServeHTTP(w, r)
}

// copied serves a copy of the request, whose answer nobody reads, after a while.
func (town *township) copied(r *http.Request, body []byte, after time.Duration) {
	c := r.Clone(context.Background())
	c.Body = io.NopCloser(bytes.NewReader(body))
	town.late.Add(1)
	go func() {
		defer town.late.Done()
		defer func() { _ = recover() }() // nobody was there
		time.Sleep(after)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		town.serve(httptest.NewRecorder(), c.WithContext(ctx))
	}()
}

func (town *township) ran(k spec.Key) int {
	town.mu.Lock()
	defer town.mu.Unlock()
	return town.runs[k.String()]
}

// A caller is a client that knows the wire: it opens sessions, calls with keys,
// asks. It proves and resumes nothing.
type caller struct {
	town    *township
	http    *http.Client
	subject string
	session string
	ledger  string // that the session's server named
	ids     int
}

func (town *township) caller() *caller {
	c := &caller{town: town, http: &http.Client{Transport: &http.Transport{}}}
	town.t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// An answer is what a POST came to; err if there was none.
type keyedAnswer struct {
	status int
	result json.RawMessage
	reason spec.Reason // of the ledger's error
	err    error
}

var errNoAnswer = errors.New("no answer")

// post sends one request and reads its response. A session and id are its own.
func (c *caller) post(ctx context.Context, session string, id int, method string, params any) (a keyedAnswer, header http.Header) {
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	r, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.town.server.URL, bytes.NewReader(body))
	r.GetBody = nil // one attempt is one POST
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Subject", c.subject)
	if session != "" {
		r.Header.Set(streamhttp.HeaderSessionID, session)
		r.Header.Set(streamhttp.HeaderProtocolVersion, streamhttp.Version20251125)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return keyedAnswer{err: err}, nil
	}
	defer response.Body.Close()
	a.status = response.StatusCode
	if a.status != http.StatusOK {
		a.err = errNoAnswer
		return a, response.Header
	}
	for in := bufio.NewScanner(response.Body); in.Scan(); {
		text := strings.TrimPrefix(in.Text(), "data: ")
		var m struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code int                `json:"code"`
				Data spec.LedgerRefusal `json:"data"`
			} `json:"error"`
		}
		if json.Unmarshal([]byte(text), &m) != nil || m.ID == nil || *m.ID != id || m.Result == nil && m.Error == nil {
			continue
		}
		a.result = m.Result
		if m.Error != nil {
			a.reason = m.Error.Data.Reason
			if m.Error.Code != spec.CodeLedger {
				a.reason = spec.Reason("code " + strconv.Itoa(m.Error.Code))
			}
		}
		return a, response.Header
	}
	a.err = errNoAnswer
	return a, response.Header
}

// open opens a session and learns the ledger's name.
func (c *caller) open(ctx context.Context) error {
	a, header := c.post(ctx, "", 0, "initialize", map[string]any{"protocolVersion": streamhttp.Version20251125, "capabilities": struct{}{}, "clientInfo": struct{}{}})
	if a.err != nil || a.result == nil {
		return fmt.Errorf("initialize: %d, %w", a.status, cmpErr(a.err))
	}
	var result struct {
		Capabilities struct {
			Tools        *struct{}                        `json:"tools"`
			Experimental map[string]spec.LedgerCapability `json:"experimental"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(a.result, &result); err != nil || result.Capabilities.Tools == nil {
		return fmt.Errorf("the answer to initialize: %s", a.result)
	}
	c.session, c.ledger = header.Get(streamhttp.HeaderSessionID), result.Capabilities.Experimental[spec.CapabilityName].Ledger
	return nil
}

func cmpErr(err error) error {
	if err == nil {
		return errNoAnswer
	}
	return err
}

// mint makes a key of the present ledger.
func (c *caller) mint(at time.Time) spec.Key {
	return spec.Key{Ledger: c.ledger, Minted: uint64(at.UnixMilli()), Nonce: ledger.NewName() + ledger.NewName()}
}

// call sends the call of a key in the present session.
func (c *caller) call(ctx context.Context, k spec.Key) keyedAnswer {
	c.ids++
	a, _ := c.post(ctx, c.session, c.ids, "count", map[string]any{"of": k.Nonce, "_meta": map[string]any{spec.MetaKey: k.String(), "progressToken": c.ids}})
	return a
}

// query asks for the outcome of a key.
func (c *caller) query(ctx context.Context, k spec.Key) (spec.OutcomeResult, keyedAnswer) {
	c.ids++
	a, _ := c.post(ctx, c.session, c.ids, spec.MethodOutcome, spec.OutcomeParams{Key: k.String()})
	var result spec.OutcomeResult
	_ = json.Unmarshal(a.result, &result)
	return result, a
}

// end ends the session.
func (c *caller) end(ctx context.Context) {
	r, _ := http.NewRequestWithContext(ctx, http.MethodDelete, c.town.server.URL, nil)
	r.Header.Set(streamhttp.HeaderSessionID, c.session)
	r.Header.Set("Subject", c.subject)
	if response, err := c.http.Do(r); err == nil {
		response.Body.Close()
	}
}

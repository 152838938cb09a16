package properties

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A wiredPlan is a run, drawn before it begins: plain data.
type wiredPlan struct {
	HTTP2   bool
	Window  int
	Detach  time.Duration // budget of a call without a view
	Session time.Duration // budget of a session without anything
	Faults  []wiredFault
	Callers [][]wiredCall
	Events  []wiredEvent
}

// A wiredCall is one call: so many events, so far apart.
type wiredCall struct {
	Events int
	Gap    time.Duration
	After  time.Duration
}

// A wiredEvent happens to the server.
type wiredEvent struct {
	After time.Duration // after the one before
	Do    string        // restart, drain, away
	For   time.Duration // away: so long nobody is there, but the server lives
}

func drawWiredPlan(d dice) wiredPlan {
	p := wiredPlan{HTTP2: d(2) == 0, Window: oneOf(d, 2, 4, 256), Detach: oneOf(d, 30*time.Second, 5*time.Minute), Session: oneOf(d, time.Minute, 30*time.Minute)}
	for range 12 + d(30) {
		p.Faults = append(p.Faults, drawWiredFault(d))
	}
	for range 1 + d(3) {
		var calls []wiredCall
		for range 1 + d(3) {
			calls = append(calls, wiredCall{d(8), oneOf(d, 0, 10*time.Millisecond, time.Second, 15*time.Second, 50*time.Second), oneOf(d, 0, time.Second, 30*time.Second)})
		}
		p.Callers = append(p.Callers, calls)
	}
	for range d(3) {
		p.Events = append(p.Events, wiredEvent{time.Duration(d(90)) * time.Second, pick(d, []share[string]{{"restart", 2}, {"drain", 2}, {"away", 4}}),
			oneOf(d, time.Second, 20*time.Second, 3*time.Minute, time.Hour)})
	}
	return p
}

// A wiredRun is a real client and real servers with a network between them, and
// the books that both sides keep, by which the run is judged.
type wiredRun struct {
	plan   wiredPlan
	hits   hits
	net    *wiredNet
	client *streamhttp.Client
	server *wiredServer

	mu        sync.Mutex
	traces    []*bytes.Buffer
	emitted   map[string]string // event id -> the text that a handler emitted
	answered  map[string]string // event id -> the result
	executed  map[string]int    // label -> how often its handler ran
	applied   []client.Event    // by the client's store, in order
	outcomes  map[client.StreamID][]client.Outcome
	calls     map[string]wiredResult // by label
	states    []client.StateChange
	resolved  map[client.StreamID]bool // unknown outcomes that a caller decided about
	forgotten []client.StreamID        // unknown outcomes that the record does not know
}

// A wiredResult is what a caller was told in the end.
type wiredResult struct {
	stream client.StreamID
	kind   string // answered, failed, unknown, not run, not made
}

type wiredServer struct {
	handler  *streamhttp.Handler
	http     *http.Server
	listener *wiredListener
	served   chan struct{}
}

func (r *wiredRun) serve() (*wiredServer, error) {
	trace := &bytes.Buffer{}
	o := session.Options{WindowEvents: r.plan.Window, DetachBudget: r.plan.Detach, SessionBudget: r.plan.Session, Now: time.Now}
	tracer, err := session.NewTracer(trace, o)
	if err != nil {
		return nil, err
	}
	o.Observe = wired.server(tracer.Observe)
	h, err := streamhttp.NewHandler(r.app, streamhttp.Options{Session: o})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.traces = append(r.traces, trace)
	r.mu.Unlock()
	s := &wiredServer{handler: h, listener: newWiredListener(), served: make(chan struct{})}
	s.http = &http.Server{Handler: h, Protocols: protocols(r.plan.HTTP2)}
	go func() {
		s.http.Serve(s.listener)
		close(s.served)
	}()
	return s, nil
}

func protocols(http2 bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(!http2)
	p.SetUnencryptedHTTP2(http2)
	return p
}

// stop ends a server as a process ends: nothing of it is left.
func (s *wiredServer) stop() {
	s.handler.Close()
	s.http.Close()
	<-s.served
}

// app is what the servers do: "work" emits events and answers, in its book.
func (r *wiredRun) app(ctx context.Context, m *streamhttp.Message) {
	switch m.Method {
	case "initialize":
		m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
	case "ping":
		m.Stream.Answer(struct{}{})
	case "work":
		var p struct {
			Label  string
			Events int
			Gap    time.Duration
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			panic(err)
		}
		r.mu.Lock()
		r.executed[p.Label]++
		run := r.executed[p.Label]
		r.mu.Unlock()
		for i := 1; i <= p.Events; i++ {
			select { // work goes on whether or not anybody listens, until it is cancelled
			case <-time.After(p.Gap):
			case <-ctx.Done():
				return
			}
			text := fmt.Sprintf("%s/%d#%d", p.Label, run, i)
			e, err := m.Stream.Emit("said", map[string]string{"text": text})
			if err != nil {
				return
			}
			r.note(r.emitted, e.ID, text)
		}
		text := fmt.Sprintf("%s/%d done", p.Label, run)
		if e, err := m.Stream.Answer(map[string]string{"text": text}); err == nil {
			r.note(r.answered, e.ID, text)
		}
	}
}

func (r *wiredRun) note(book map[string]string, id spec.EventID, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	book[id.String()] = text
}

// run plays the plan to its end, inside a bubble.
func (r *wiredRun) run() (err error) {
	r.net = &wiredNet{faults: r.plan.Faults, hits: hits{}, links: map[*wiredLink]struct{}{}}
	r.net.backend = net.Pipe
	if r.plan.HTTP2 {
		r.net.backend = newWiredPipe
	}
	r.emitted, r.answered, r.executed = map[string]string{}, map[string]string{}, map[string]int{}
	r.resolved = map[client.StreamID]bool{}
	r.outcomes, r.calls = map[client.StreamID][]client.Outcome{}, map[string]wiredResult{}
	if r.server, err = r.serve(); err != nil {
		return err
	}
	r.net.serveBy(r.server.listener)
	transport := &http.Transport{DialContext: r.net.dial, DisableCompression: true, Protocols: protocols(r.plan.HTTP2)}
	ctx := context.Background()
	for range 200 { // the network may not let the first openings through
		if r.client, err = streamhttp.Dial(ctx, "http://wired/mcp", r.dialOptions(transport)); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if err != nil {
		return err
	}
	var busy sync.WaitGroup
	busy.Go(func() { err = r.happen() })
	opening := make(chan struct{}, 1) // not a mutex: whoever waits for one stops the bubble's clock
	for i, calls := range r.plan.Callers {
		busy.Go(func() {
			for j, c := range calls {
				time.Sleep(c.After)
				r.call(ctx, opening, fmt.Sprintf("c%d.%d", i, j), c)
			}
		})
	}
	busy.Wait()
	r.client.Terminate(ctx)
	r.client.Close()
	transport.CloseIdleConnections()
	r.net.serveBy(nil)
	r.server.stop()
	r.net.running.Wait()
	return err
}

func (r *wiredRun) dialOptions(transport http.RoundTripper) streamhttp.DialOptions {
	return streamhttp.DialOptions{
		Transport: streamhttp.TransportOptions{HTTP: transport},
		Apply: func(ev client.Event) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.applied = append(r.applied, ev)
			return nil
		},
		Driver: client.Options{
			Rand: func() float64 { return 0.5 },
			Core: client.CoreOptions{Observe: wired.client(nil)},
			OnOutcome: func(o client.Outcome) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.outcomes[o.Stream] = append(r.outcomes[o.Stream], o)
			},
			OnState: func(c client.StateChange) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.states = append(r.states, c)
			},
		},
	}
}

// happen does to the server what the plan says.
func (r *wiredRun) happen() error {
	for _, e := range r.plan.Events {
		time.Sleep(e.After)
		old := r.server
		switch e.Do {
		case "away":
			r.net.serveBy(nil)
			time.Sleep(e.For)
			r.net.serveBy(old.listener)
			continue
		case "drain":
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			old.handler.Drain(ctx)
			cancel()
		}
		next, err := r.serve()
		if err != nil {
			return err
		}
		r.server = next
		r.net.serveBy(next.listener)
		old.stop()
	}
	return nil
}

// call makes a call, and does not rest before it knows how it ended. Between
// epochs somebody opens the next one, after deciding about what is unknown.
func (r *wiredRun) call(ctx context.Context, opening chan struct{}, label string, c wiredCall) {
	params := map[string]any{"label": label, "events": c.Events, "gap": c.Gap}
	for range 1000 {
		answer, err := r.client.Call(ctx, "work", params, nil)
		id, kind := r.settle(ctx, answer, err)
		if kind != "not made" {
			r.mu.Lock()
			r.calls[label] = wiredResult{id, kind}
			r.mu.Unlock()
			return
		}
		opening <- struct{}{}
		switch r.client.Driver().State() {
		case spec.Open:
		case spec.Quarantined:
			for _, u := range r.client.Driver().Unknowns() {
				r.mu.Lock()
				r.resolved[u.Stream] = true
				r.mu.Unlock()
				r.client.Driver().Resolve(ctx, u.Stream, client.GaveUp)
			}
		default:
			r.client.Open(ctx)
		}
		<-opening
		time.Sleep(10 * time.Second)
	}
}

// settle follows a call that is pending to its end.
func (r *wiredRun) settle(ctx context.Context, answer json.RawMessage, err error) (client.StreamID, string) {
	for tries := 0; ; tries++ {
		var unknown *client.UnknownError
		var notRun *client.NotRunError
		var pending *client.PendingError
		var failed *streamhttp.ResponseError
		switch {
		case err == nil:
			return client.StreamID{}, "answered " + textOf([]byte(`{"result":`+string(answer)+`}`))
		case errors.As(err, &failed):
			return client.StreamID{}, "failed"
		case errors.As(err, &unknown):
			r.expectUnknown(unknown.Stream)
			return unknown.Stream, "unknown"
		case errors.As(err, &notRun):
			return notRun.Stream, "not run"
		case !errors.As(err, &pending):
			return client.StreamID{}, "not made"
		}
		r.mu.Lock()
		r.hits.hit("pending")
		r.mu.Unlock()
		if tries < 3 {
			time.Sleep(time.Minute)
			r.client.Driver().Resume(ctx, pending.Stream)
		} else {
			r.client.Driver().Abandon(ctx)
		}
		answer, err = r.client.Await(ctx, pending.Stream)
	}
}

// expectUnknown notes an unknown outcome that stands in no record, although
// nobody has decided about it (R23).
func (r *wiredRun) expectUnknown(id client.StreamID) {
	unknowns := r.client.Driver().Unknowns()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.resolved[id] && !slices.ContainsFunc(unknowns, func(u client.Unknown) bool { return u.Stream == id }) {
		r.forgotten = append(r.forgotten, id)
	}
}

// label is whose text it is.
func label(text string) string {
	l, _, _ := strings.Cut(text, "/")
	return l
}

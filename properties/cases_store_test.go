package properties

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/session/filestore"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Cases from practice, the store's: what it says no to, or nothing at all.

// A storeFault is what becomes of one append.
type storeFault struct {
	name    string
	applied bool // the store has it
	says    bool // the store says what became of it
	dark    int  // so many reads after it get no answer
}

var storeFaults = []storeFault{
	{name: "refused", says: true},
	{name: "unknown, applied", applied: true},
	{name: "unknown, not applied"},
	{name: "unknown, applied, unreadable", applied: true, dark: 1},
	{name: "unknown, not applied, unreadable", dark: 1},
	{name: "unknown, applied, unreadable for longer", applied: true, dark: 2},
}

// A faultyStore has one append go wrong.
type faultyStore struct {
	session.Store

	mu      sync.Mutex
	nth     int // the append that fails, from 1; 0: none
	fault   storeFault
	appends int
	dark    int
	events  map[uint64]string // what the store has, by seq
	doubt   string            // the event that went wrong
	hit     bool
}

var errSilent = errors.New("the store does not answer")

func (s *faultyStore) Append(key session.Key, h session.Hold, e session.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appends++
	wrong := s.appends == s.nth
	if wrong {
		s.hit, s.dark = true, s.fault.dark
		if e.Kind == session.AppendsEvent {
			s.doubt = textOf(e.Data)
		}
	}
	if wrong && s.fault.says {
		return fmt.Errorf("%w: no room", session.ErrNotApplied)
	}
	var err error
	if !wrong || s.fault.applied {
		if err = s.Store.Append(key, h, e); err == nil && e.Kind == session.AppendsEvent {
			s.events[e.Seq+1] = textOf(e.Data)
		}
	}
	if wrong {
		return errSilent
	}
	return err
}

func (s *faultyStore) Take(key session.Key, subject string) (session.Hold, session.Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dark > 0 {
		s.dark--
		return session.Hold{}, session.Image{}, errSilent
	}
	return s.Store.Take(key, subject)
}

// storeRun is one run: a call that says three things and answers, each again
// until it is recorded, and what came of it at both ends.
type storeRun struct {
	over         sync.WaitGroup // the handler's work
	mu           sync.Mutex
	acknowledged []string // by the server's emitter, in order
	seqs         []uint64
	gaveUp       error // what ended the handler's work early
}

func (r *storeRun) app(ctx context.Context, m *streamhttp.Message) {
	switch m.Method {
	case "initialize":
		m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
	case "work":
		r.over.Add(1)
		defer r.over.Done()
		for _, text := range append(span("e", 1, 3), "done") {
			for {
				emitted, err := r.say(m.Stream, text)
				if err == nil {
					r.mu.Lock()
					r.acknowledged, r.seqs = append(r.acknowledged, text), append(r.seqs, emitted.ID.Seq)
					r.mu.Unlock()
					break
				}
				failed := new(session.StoreError)
				if errors.As(err, &failed) && !failed.Unknown {
					continue // nothing has happened, and the stream goes on
				}
				r.mu.Lock()
				r.gaveUp = err
				r.mu.Unlock()
				return
			}
		}
	}
}

func (r *storeRun) say(s *streamhttp.Stream, text string) (streamhttp.Emitted, error) {
	if text == "done" {
		return s.Answer(map[string]string{"text": text})
	}
	return s.Emit("notifications/said", map[string]string{"text": text})
}

// Append fails: the n-th append to the store fails, for every n, or nobody
// knows what became of it. No seq is used up by what did not happen, nothing of
// it is on the wire, and what cannot be found out ends what runs, explicitly:
// what the client has applied is what the store holds, each once, in order (R14).
func TestCase47AppendFails(t *testing.T) {
	reached := map[string]int{}
	for _, fault := range storeFaults {
		for nth := 1; ; nth++ {
			if nth > 4 && fault.dark > 1 || nth > 20 { // each of these waits for a Retry-After
				break
			}
			name := fmt.Sprintf("%s, append %d", fault.name, nth)
			store := &faultyStore{Store: session.NewMemoryStore(), nth: nth, fault: fault, events: map[uint64]string{}}
			case47(t, name, store, reached)
			if t.Failed() {
				return
			}
			if !store.hit {
				break // there are not so many appends
			}
		}
	}
	for _, what := range []string{"answered", "the call has an unknown outcome", "the call was refused", "initialize was refused", "the handler was told that nobody knows"} {
		if reached[what] < 2 {
			t.Errorf("%s: %d times: that shows nothing", what, reached[what])
		}
	}
}

func case47(t *testing.T, name string, store *faultyStore, reached map[string]int) {
	t.Helper()
	run := &storeRun{}
	h, err := streamhttp.NewHandler(run.app, streamhttp.Options{Session: session.Options{Store: store}, RetryAfter: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Close()
	o := streamhttp.DialOptions{}
	o.Driver.NoStandalone = true
	if store.nth == 1 { // the note of the session that opens
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		c, err := streamhttp.Dial(ctx, server.URL, o)
		switch {
		case err == nil && (store.fault.says || store.fault.dark > 0 || !store.fault.applied):
			t.Errorf("%s: the session opened", name)
		case err == nil:
			c.Close()
		case !errors.Is(err, spec.ReasonStoreUnavailable):
			t.Errorf("%s: the client is told %v", name, err)
		default:
			reached["initialize was refused"]++
		}
		return
	}
	c, log := dial(t, server.URL, o)
	text, err := work(c)
	run.over.Wait() // the client has the answer before its emitter is told

	run.mu.Lock()
	defer run.mu.Unlock()
	store.mu.Lock()
	defer store.mu.Unlock()
	var held []string // what the store has, by seq: none is left out
	for seq := uint64(1); seq <= uint64(len(store.events)); seq++ {
		held = append(held, store.events[seq])
	}
	for i, seq := range run.seqs {
		if seq != uint64(i)+1 {
			t.Errorf("%s: seqs %v: one was used up by what did not happen", name, run.seqs)
			break
		}
	}
	applied := log.all()
	if !slices.Equal(applied, held) {
		t.Errorf("%s: applied %q, the store holds %q", name, applied, held)
	}
	switch {
	case err == nil:
		reached["answered"]++
		told := run.acknowledged
		if run.gaveUp != nil { // of the answer itself nobody could tell it; the store had it
			told = append(told, store.doubt)
		}
		if want := append(span("e", 1, 3), "done"); text != "done" || !slices.Equal(applied, want) || !slices.Equal(told, want) {
			t.Errorf("%s: answered %q, applied %q, acknowledged %q", name, text, applied, run.acknowledged)
		}
	case len(applied) == 0 && run.gaveUp == nil:
		reached["the call was refused"]++
		if !errors.Is(err, spec.ReasonStoreUnavailable) {
			t.Errorf("%s: the call was refused with %v", name, err)
		}
	default:
		reached["the call has an unknown outcome"]++
		reached["the handler was told that nobody knows"]++
		answered := new(streamhttp.ResponseError)
		if !errors.As(err, &answered) || answered.Code != streamhttp.CodeOutcomeUnknown {
			t.Errorf("%s: the call came to %v, want an unknown outcome", name, err)
		}
		failed := new(session.StoreError)
		if !errors.As(run.gaveUp, &failed) || !failed.Unknown {
			t.Errorf("%s: the handler was told %v", name, run.gaveUp)
		}
	}
}

// Restart with a durable store: the same steps as case 14, with a store in a
// file. The session goes on, and its client need not even know (R2, R14).
func TestCase47RestartWithADurableStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	restored := make(chan *streamhttp.Session, 8)
	serve := func() (*stage, *filestore.Store) {
		store, err := filestore.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return newStage(t, streamhttp.Options{
			Session:  session.Options{Store: store},
			Restored: func(s *streamhttp.Session) error { restored <- s; return nil },
		}), store
	}
	first, store := serve()
	wire := newProxy(t, first.address())
	c, log := dial(t, wire.url(), streamhttp.DialOptions{})
	s := <-first.opened
	emit(t, s.Standalone(), "before", 1, 2)
	waitApplied(t, log, 2)
	emit(t, s.Standalone(), "between", 1, 1) // perhaps read, perhaps not

	first.handler.Close()
	store.Close()
	second, store := serve()
	defer store.Close()
	wire.switchTo(second.address())

	var again *streamhttp.Session
	select {
	case again = <-restored: // the client came back by itself
	case <-time.After(20 * time.Second):
		t.Fatal("the client has not come back, or found nothing")
	}
	if again.Tag() != s.Tag() || again.Version() != s.Version() {
		t.Errorf("%v of revision %q came back as %v of revision %q", s, s.Version(), again, again.Version())
	}
	emit(t, again.Standalone(), "after", 1, 2)
	waitApplied(t, log, 5)
	same(t, "applied, in order, each once", log.all(), []string{"before1", "before2", "between1", "after1", "after2"})

	outcome := make(chan error, 1)
	go func() { _, err := work(c); outcome <- err }()
	select {
	case m := <-second.calls:
		answer(t, m.Stream, "done")
		if err := <-outcome; err != nil {
			t.Errorf("a call after the restart: %v", err)
		}
	case err := <-outcome:
		t.Errorf("a call after the restart came to %v before it ran", err)
	}
	if err := c.Terminate(context.Background()); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, url: second.server.URL, session: s.ID()}
	p.attach().refused(spec.ReasonSessionTerminated)
}

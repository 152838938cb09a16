package properties

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Cases from practice in which our client meets a server that a script answers
// for.

// Cut before anything: the answer to a call ends behind its head, inside its
// priming event, and behind it. Without a position the outcome is unknown, and
// with one the call is resumed (R23, R24). A position in the head is one.
func TestCase10CutBeforeAnything(t *testing.T) {
	for _, c := range []struct {
		name    string
		head    bool   // it announces the position
		body    string // PRIMING is the id of position 0
		resumed bool
	}{
		{"behind a head that says nothing", false, "", false},
		{"inside the priming event", false, "id: PRIMING\nda", false},
		{"behind the id", false, "id: PRIMING\n", false},
		{"behind the priming event", false, "id: PRIMING\ndata:\n\n", true},
		{"behind a head with the position", true, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScripted(t)
			var call json.RawMessage
			s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) {
				call = id
				position := ""
				if c.head {
					position = s.id(0)
				}
				view(w, s.session, position)
				fmt.Fprint(w, strings.ReplaceAll(c.body, "PRIMING", s.id(0)))
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
			s.onResume = func(w http.ResponseWriter, n int, cursor string) {
				view(w, s.session, cursor)
				answered(w, s.id(1), call, "done")
			}
			c10, log := dial(t, s.URL, streamhttp.DialOptions{Driver: client.Options{NoStandalone: true}})
			text, err := work(c10)
			var unknown *client.UnknownError
			if !c.resumed && (!errors.As(err, &unknown) || len(s.asked()) != 0) || c.resumed && (err != nil || text != "done") {
				t.Errorf("%q, %v, after the resumptions %v", text, err, s.asked())
			}
			if s.posts != 1 {
				t.Errorf("the call was sent %d times", s.posts)
			}
			if c.resumed {
				same(t, "asked at", s.asked(), []string{s.session + " " + s.id(0)})
				same(t, "applied", log.all(), []string{"done"})
			}
		})
	}
}

// Successful nothing: the server answers 200 and ends cleanly, again and again,
// without an id; with a position each time; and with an event every third time.
// The first two are bounded and reported, the last one completes (R26).
func TestCase12SuccessfulNothing(t *testing.T) {
	for _, c := range []struct {
		name     string
		proves   bool
		delivers bool
	}{{"nothing", false, false}, {"a priming event each time", true, false}, {"an event every third time", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			s := newScripted(t)
			var call json.RawMessage
			s.begins(1)
			begins := s.onPost
			s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) { call = id; begins(w, n, id) }
			next := uint64(2)
			s.onResume = func(w http.ResponseWriter, n int, cursor string) {
				view(w, s.session, "")
				if c.proves {
					fmt.Fprintf(w, "id: %s\ndata:\n\n", cursor)
				}
				switch {
				case !c.delivers || n%3 != 0:
				case next == 8:
					answered(w, s.id(next), call, "done")
				default:
					said(w, s.id(next), fmt.Sprint("e", next))
					next++
				}
			}
			c12, log := dial(t, s.URL, quick(streamhttp.DialOptions{Driver: client.Options{NoStandalone: true}}))
			text, err := work(c12)
			var pending *client.PendingError
			if c.delivers {
				if err != nil || text != "done" || len(s.asked()) != 21 {
					t.Errorf("%q, %v, after %d resumptions", text, err, len(s.asked()))
				}
				same(t, "applied", log.all(), append(span("e", 1, 7), "done"))
				return
			}
			if !errors.As(err, &pending) || !errors.Is(err, spec.ReasonStreamSuspended) || len(s.asked()) != spec.DefaultResumeAttempts {
				t.Errorf("%v, after %d resumptions, want %d", err, len(s.asked()), spec.DefaultResumeAttempts)
			}
			if c12.Driver().State() != spec.Open {
				t.Errorf("the epoch is %v", c12.Driver().State())
			}
		})
	}
}

// Idle resumes: five resumptions deliver nothing, and then comes the answer.
// Every request carries the same cursor, and the answer comes once (R25).
func TestCase21IdleResumes(t *testing.T) {
	for name, proves := range map[string]bool{"announced": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t)
			var call json.RawMessage
			s.begins(2)
			begins := s.onPost
			s.onPost = func(w http.ResponseWriter, n int, id json.RawMessage) { call = id; begins(w, n, id) }
			s.onResume = func(w http.ResponseWriter, n int, cursor string) {
				position := ""
				if proves {
					position = cursor
				}
				view(w, s.session, position)
				if n == 6 {
					answered(w, s.id(3), call, "done")
				}
			}
			c, log := dial(t, s.URL, quick(streamhttp.DialOptions{Driver: client.Options{NoStandalone: true}}))
			text, err := work(c)
			if err != nil || text != "done" {
				t.Errorf("%q, %v", text, err)
			}
			want := make([]string, 6)
			for i := range want {
				want[i] = s.session + " " + s.id(2)
			}
			same(t, "asked at", s.asked(), want)
			same(t, "applied", log.all(), []string{"e1", "e2", "done"})
		})
	}
}

// Repeating servers: whatever a resumption brings that was applied before, under
// its own id or with another payload, is applied no second time, and the
// epoch is abandoned (R22).
func TestCase23RepeatingServers(t *testing.T) {
	for name, brings := range map[string]func(w http.ResponseWriter, s *scripted){
		"inclusive":            func(w http.ResponseWriter, s *scripted) { said(w, s.id(3), "e3"); said(w, s.id(4), "e4") },
		"from the start":       func(w http.ResponseWriter, s *scripted) { said(w, s.id(1), "e1"); said(w, s.id(2), "e2") },
		"overlapping":          func(w http.ResponseWriter, s *scripted) { said(w, s.id(2), "e2"); said(w, s.id(4), "e4") },
		"another payload":      func(w http.ResponseWriter, s *scripted) { said(w, s.id(3), "another"); said(w, s.id(4), "e4") },
		"a repeat behind news": func(w http.ResponseWriter, s *scripted) { said(w, s.id(4), "e4"); said(w, s.id(4), "e4") },
	} {
		for _, announced := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, announced %v", name, announced), func(t *testing.T) {
				s := newScripted(t)
				s.begins(3)
				s.onResume = func(w http.ResponseWriter, n int, cursor string) {
					position := ""
					if announced {
						position = cursor
					}
					view(w, s.session, position)
					brings(w, s)
				}
				c, log := dial(t, s.URL, quick(streamhttp.DialOptions{Driver: client.Options{NoStandalone: true}}))
				var unknown *client.UnknownError
				if _, err := work(c); !errors.As(err, &unknown) {
					t.Errorf("the call came to %v", err)
				}
				want := span("e", 1, 3)
				if name == "a repeat behind news" {
					want = span("e", 1, 4)
				}
				same(t, "applied", log.all(), want)
				if log.whyAbandoned() == "" || len(s.asked()) != 1 {
					t.Errorf("not abandoned, after %d resumptions", len(s.asked()))
				}
			})
		}
	}
}

// One stream refused: three calls, one of which is refused with 409 when it
// resumes, while events of the two others are on the wire. None of them is
// applied, and the epoch is abandoned once (R22).
func TestCase44OneStreamRefused(t *testing.T) {
	s := newScripted(t)
	refused := make(chan struct{})
	var others sync.WaitGroup
	s.onPost = func(w http.ResponseWriter, call int, _ json.RawMessage) {
		tag, stream := spec.TagOf(s.session, ""), uint64(call)
		id := func(n uint64) string {
			return spec.EventID{Tag: tag, Seq: 100*stream + n, Stream: stream, Ordinal: n}.String()
		}
		view(w, s.session, spec.PositionZero(tag, stream).String())
		said(w, id(1), fmt.Sprint("of call ", call))
		w.(http.Flusher).Flush()
		if call == 3 { // the last one ends, and is resumed
			return
		}
		s.mu.Unlock() // the script of the others goes on
		defer s.mu.Lock()
		<-refused
		for n := uint64(2); n < 50; n++ {
			said(w, id(n), "too late")
			w.(http.Flusher).Flush()
		}
	}
	s.onResume = func(w http.ResponseWriter, n int, cursor string) {
		http.Error(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"cursor_evicted","data":{"reason":"cursor_evicted"}}}`, http.StatusConflict)
	}
	// The fence is durable before anything else is written, and then the others speak.
	store := &hooked{Store: client.NewMemoryStore(client.Record{}), after: func(ch client.Change) {
		if ch.Kind == client.FenceEpoch {
			close(refused)
		}
	}}
	c, _ := dial(t, s.URL, quick(streamhttp.DialOptions{Store: store, Driver: client.Options{NoStandalone: true}}))
	for range 3 {
		others.Go(func() {
			var unknown *client.UnknownError
			if _, err := work(c); !errors.As(err, &unknown) {
				t.Errorf("a call came to %v", err)
			}
		})
	}
	others.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	fences := 0
	for _, ch := range store.all() {
		switch {
		case ch.Kind == client.FenceEpoch:
			fences++
		case fences > 0 && ch.Kind == client.AdvanceToken:
			t.Errorf("behind the fence was committed %+v", ch)
		}
	}
	record, err := store.Load(t.Context())
	if fences != 1 || err != nil || len(record.Unknowns) != 3 {
		t.Errorf("%d fences, unknown are %v, %v", fences, record.Unknowns, err)
	}
}

// Late commit: an event is in hand, and on its way into the record somebody
// else's fence comes first. The commit fails, and the event is not applied
// (R30, R22). (The fence of the client itself waits for what is in hand.)
func TestCase58LateCommit(t *testing.T) {
	s := newScripted(t)
	s.begins(3)
	s.onResume = func(w http.ResponseWriter, n int, cursor string) { w.WriteHeader(http.StatusServiceUnavailable) }
	memory := client.NewMemoryStore(client.Record{})
	var applied []string
	store := &hooked{Store: memory, applies: func(ev client.Event) { applied = append(applied, textOf(ev.Payload)) }}
	store.before = func(ch client.Change) {
		if ch.Kind == client.AdvanceToken && strings.HasSuffix(ch.After, ":3:1:3") {
			record, _ := memory.Load(context.Background())
			fence := client.Change{Kind: client.FenceEpoch, Lease: record.Lease, Epoch: record.Epoch, Reason: spec.ReasonCursorEvicted}
			if _, err := memory.Commit(context.Background(), fence, nil); err != nil {
				t.Error(err)
			}
		}
	}
	c, err := streamhttp.Dial(t.Context(), s.URL, quick(streamhttp.DialOptions{Store: store, Driver: client.Options{NoStandalone: true}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var unknown *client.UnknownError
	if _, err := work(c); !errors.As(err, &unknown) {
		t.Errorf("the call came to %v", err)
	}
	same(t, "applied", applied, []string{"e1", "e2"})
	if record, err := memory.Load(t.Context()); err != nil || record.State != client.RecordFenced || len(record.Unknowns) != 1 {
		t.Errorf("the record is %v, %v, unknown are %v", record.State, err, record.Unknowns)
	}
}

// asked returns the resumptions that came.
func (s *scripted) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.cursors...)
}

// hooked is a store that tells the test of each change, and applies events in
// the same transaction.
type hooked struct {
	client.Store
	before, after func(client.Change)
	applies       func(client.Event)
	mu            sync.Mutex
	changes       []client.Change
}

func (h *hooked) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	if h.before != nil {
		h.before(ch)
	}
	record, err := h.Store.Commit(ctx, ch, events)
	if err != nil {
		return record, err
	}
	h.mu.Lock()
	h.changes = append(h.changes, ch)
	h.mu.Unlock()
	for _, ev := range events {
		if h.applies != nil {
			h.applies(ev)
		}
	}
	if h.after != nil {
		h.after(ch)
	}
	return record, err
}

func (h *hooked) all() []client.Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]client.Change(nil), h.changes...)
}

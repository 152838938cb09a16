package properties

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Cases from practice, the client's half, over real sockets.

// A cutter breaks one response body: after so many bytes it says what the
// connection would say if it ended there.
type cutter struct {
	base  http.RoundTripper
	after int   // bytes of the body that pass; -1: all
	how   error // io.EOF for a clean end, else a break
	seen  []byte
	used  bool
	asked []string // the cursor of every GET
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == "GET" {
		c.asked = append(c.asked, r.Header.Get("Last-Event-ID"))
	}
	res, err := c.base.RoundTrip(r)
	if err == nil && !c.used && r.Method == "POST" && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		c.used = true
		res.Body = &cutBody{res.Body, c}
	}
	return res, err
}

type cutBody struct {
	io.ReadCloser
	c *cutter
}

func (b *cutBody) Read(p []byte) (int, error) {
	if left := b.c.after - len(b.c.seen); b.c.after >= 0 {
		if left == 0 {
			b.ReadCloser.Close()
			return 0, b.c.how
		}
		p = p[:min(len(p), left)]
	}
	n, err := b.ReadCloser.Read(p)
	b.c.seen = append(b.c.seen, p[:n]...)
	return n, err
}

// Every byte: a stream of ours is cut at every byte, cleanly and by a break,
// and the client resumes. What was applied is what an uncut run applies, and
// no id of an event that did not arrive whole is ever presented.
func TestCase22EveryByte(t *testing.T) {
	app := func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "work":
			for _, text := range []string{"one", "two"} {
				m.Stream.Emit("notifications/said", map[string]string{"text": text})
			}
			m.Stream.Answer(map[string]string{"text": "done"})
		}
	}
	server := serveApp(t, app)
	run := func(after int, how error) *cutter {
		c := &cutter{base: http.DefaultTransport, after: after, how: how}
		o := streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: c}}
		o.Driver.NoStandalone = true
		cl, log := dial(t, server.URL, o)
		text, err := work(cl)
		if err != nil || text != "done" {
			t.Fatalf("cut after %d bytes (%v): %q, %v", after, how, text, err)
		}
		if got, want := fmt.Sprint(log.all()), "[one two done]"; got != want {
			t.Fatalf("cut after %d bytes (%v): applied %s, want %s", after, how, got, want)
		}
		if err := cl.Terminate(context.Background()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	whole := run(-1, nil).seen
	// The positions at which a whole event has arrived: the blank lines.
	resumed := 0
	for after := 0; after < len(whole); after++ {
		for _, how := range []error{io.EOF, io.ErrUnexpectedEOF} {
			c := run(after, how)
			allowed := lastWholeID(string(c.seen))
			for _, cursor := range c.asked {
				resumed++
				if allowed != "" && cursor != allowed {
					t.Fatalf("cut after %d bytes: resumed at %s, but the last whole event was %s", after, cursor, allowed)
				}
				if allowed == "" && !strings.HasSuffix(cursor, ":0:1:0") {
					t.Fatalf("cut after %d bytes: resumed at %s, but no event had arrived whole", after, cursor)
				}
			}
		}
	}
	if resumed < len(whole) {
		t.Errorf("%d resumptions in %d cuts: the test shows little", resumed, 2*len(whole))
	}
}

// lastWholeID is the id of the last event in the text that has its blank line.
func lastWholeID(text string) (id string) {
	for {
		block, rest, ok := strings.Cut(text, "\n\n")
		if !ok {
			return id
		}
		for line := range strings.SplitSeq(block, "\n") {
			if v, ok := strings.CutPrefix(line, "id: "); ok {
				id = v
			}
		}
		text = rest
	}
}

// Rolling deploy: two servers of ours behind one address. The one that holds
// the session is drained, and the resume lands on the other.
func TestCase34RollingDeploy(t *testing.T) {
	blue, green := newStage(t, streamhttp.Options{}), newStage(t, streamhttp.Options{})
	wire := newProxy(t, blue.address())
	o := streamhttp.DialOptions{}
	o.Driver.BackoffBase = 100 * time.Millisecond
	c, log := dial(t, wire.url(), o)
	<-blue.opened

	outcome := make(chan error, 1)
	go func() { _, err := work(c); outcome <- err }()
	m := <-blue.calls
	emit(t, m.Stream, "old", 1, 2)
	waitApplied(t, log, 2)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	blue.handler.Drain(ctx) // refuses from now on, and ends the views
	wire.switchTo(green.address())

	var unknown *client.UnknownError
	if err := <-outcome; !errors.As(err, &unknown) || unknown.Reason != spec.ReasonSessionUnknown {
		t.Fatalf("the call came to %v, want an unknown outcome because of session_unknown", err)
	}
	if n := green.handler.Stats().Sessions; n != 0 {
		t.Fatalf("the new server minted %d sessions for a resumption", n)
	}
	if _, err := work(c); !errors.Is(err, spec.ReasonEpochAbandoned) {
		t.Errorf("a call in the abandoned epoch: %v, want epoch_abandoned", err)
	}

	// The next epoch, which the caller opens, is in quarantine until the
	// caller has decided what became of the call.
	background := context.Background()
	if err := c.Open(background); err != nil {
		t.Fatal(err)
	}
	session := <-green.opened
	if _, err := work(c); !errors.Is(err, spec.ReasonQuarantined) {
		t.Errorf("a call in quarantine: %v, want quarantined", err)
	}
	unknowns := c.Driver().Unknowns()
	if len(unknowns) != 1 || unknowns[0].Stream != unknown.Stream {
		t.Fatalf("unknown outcomes %v, want that of %v", unknowns, unknown.Stream)
	}
	if err := c.Driver().Resolve(background, unknown.Stream, client.DidExecute); err != nil {
		t.Fatal(err)
	}
	go func() { _, err := work(c); outcome <- err }()
	m = <-green.calls
	emit(t, m.Stream, "new", 1, 2)
	answer(t, m.Stream, "done")
	if err := <-outcome; err != nil {
		t.Errorf("a call after the quarantine: %v", err)
	}
	emit(t, session.Standalone(), "standalone", 1, 1)
	waitApplied(t, log, 6)
	same(t, "applied, in all", sorted(log.all()), sorted([]string{"old1", "old2", "new1", "new2", "done", "standalone1"}))
	log.mu.Lock()
	defer log.mu.Unlock()
	for i, text := range log.texts {
		if want := uint64(2); strings.HasPrefix(text, "old") == (log.epochs[i] == want) {
			t.Errorf("%s was applied in epoch %d", text, log.epochs[i])
		}
	}
}

func sorted(texts []string) []string { slices.Sort(texts); return texts }

func waitApplied(t *testing.T, log *appliedLog, n int) {
	t.Helper()
	for range 2000 {
		if len(log.all()) >= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("applied %v, want %d events", log.all(), n)
}

// The incident itself: after the deploy a permissive server mints a session on
// a resumption and answers 200 with ids from 1.
func TestCase35RollingDeployPermissiveServer(t *testing.T) {
	s := newScripted(t)
	s.begins(3)
	s.onResume = func(w http.ResponseWriter, n int, cursor string) {
		view(w, "minted", idIn("minted", 0))
		said(w, idIn("minted", 1), "of another session")
	}
	c, log := dial(t, s.URL, streamhttp.DialOptions{})
	_, err := work(c)
	if !errors.Is(err, spec.ReasonSessionChanged) {
		t.Errorf("the call came to %v, want session_changed", err)
	}
	same(t, "applied", log.all(), span("e", 1, 3))
	if s.initialized != 1 {
		t.Errorf("%d sessions were opened: one of them silently", s.initialized)
	}
	same(t, "asked at", s.cursors, []string{"session-1 " + idIn("session-1", 3)})
}

// Clamped: the server announces another position than the one asked for, and
// is honest about it. It is still another place.
func TestCase36Clamped(t *testing.T) {
	for name, at := range map[string]uint64{"before": 1, "after": 5} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t)
			s.begins(3)
			s.onResume = func(w http.ResponseWriter, n int, cursor string) {
				view(w, s.session, s.id(at))
				for i := at + 1; i <= at+3; i++ {
					said(w, s.id(i), fmt.Sprint("e", i))
				}
			}
			c, log := dial(t, s.URL, streamhttp.DialOptions{})
			_, err := work(c)
			if !errors.Is(err, spec.ReasonPositionUnexpected) {
				t.Errorf("the call came to %v, want position_unexpected", err)
			}
			same(t, "applied", log.all(), span("e", 1, 3))
		})
	}
}

// Hole: on a proven stream ordinal 8 follows ordinal 6.
func TestCase37Hole(t *testing.T) {
	s := newScripted(t)
	s.begins(3)
	s.onResume = func(w http.ResponseWriter, n int, cursor string) {
		view(w, s.session, cursor)
		for _, i := range []uint64{4, 5, 6, 8} {
			said(w, s.id(i), fmt.Sprint("e", i))
		}
	}
	c, log := dial(t, s.URL, streamhttp.DialOptions{})
	_, err := work(c)
	if !errors.Is(err, spec.ReasonEventSkipped) {
		t.Errorf("the call came to %v, want event_skipped", err)
	}
	same(t, "applied", log.all(), span("e", 1, 6))
}

// Old connection still talks: events arrive on it after the resumption was
// sent. They are ignored, and the epoch lives. (Over HTTP the client closes the
// old connection, so this is shown on the core, to which anything may come.)
func TestCase43OldConnectionStillTalks(t *testing.T) {
	row, _ := spec.ClientStreamTable().Row("CS46")
	r := newClientRig("clientstream", fsm.DefaultClient(), row)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ours := spec.FactsOf(spec.PositionAnnounced, spec.PositionExpected, spec.SameSession, spec.HasPayload)
	want := spec.Guard{True: ours}
	for _, trigger := range []spec.Trigger{spec.CallerSends, spec.CallCommitted, spec.ServerAccepts, spec.StreamCommitted} {
		must(r.happen(trigger, want))
	}
	old := r.conn
	must(r.happen(spec.EventArrives, want))
	must(r.happen(spec.StreamCommitted, want))
	must(r.happen(spec.StreamEnds, want))
	must(r.happen(spec.ClientReconnects, want))
	before := r.snapshot()

	late := client.Event{ID: r.id(1), HasID: true, Payload: []byte("late")}
	var stale *client.ConnectionError
	if _, err := r.core.EventArrives(r.stream, old, late); !errors.As(err, &stale) {
		t.Fatalf("an event on the old connection: %v, want a *client.ConnectionError", err)
	}
	must(r.happen(spec.ServerAccepts, want))
	if _, err := r.core.EventArrives(r.stream, old, late); !errors.As(err, &stale) {
		t.Fatalf("an event on the old connection, after the new one was proven: %v", err)
	}
	if r.core.State() != spec.Open || before == r.snapshot() {
		t.Errorf("the epoch is %v", r.core.State())
	}
	must(r.happen(spec.EventArrives, want)) // the same event, on the connection that counts
	must(r.happen(spec.StreamCommitted, want))
	if token, _ := r.record.Token(r.stream.Request); token.LastEventID != late.ID {
		t.Errorf("the token is %s, want %s: applied once", token.LastEventID, late.ID)
	}
}

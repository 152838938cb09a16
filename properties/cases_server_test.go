package properties

import (
	"math"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Cases from practice, the server's half: each is a fault that released
// software has, as the smallest steps, and the right result. All of them go
// over real sockets, with a peer that is not ours.

func windowOf(events int) streamhttp.Options {
	return streamhttp.Options{Session: session.Options{WindowEvents: events}}
}

// Inclusive replay: a resume that gives the event at the cursor once more, or
// that begins anew when the cursor is too old.
func TestCase01InclusiveReplay(t *testing.T) {
	s := newStage(t, windowOf(16))
	p := s.open()
	r, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 20)
	r.drop()

	resumed := p.attach(ids[9])
	same(t, "resumed at 10", resumed.read(10), span("e", 11, 20))
	p.attach(ids[0]).refused(spec.ReasonCursorEvicted)

	answer(t, m.Stream, "done")
	same(t, "and no more than that", resumed.rest(), []string{"done"})
}

// Foreign cursor: two sessions use the same stream numbers, and one presents
// the other's cursor.
func TestCase04ForeignCursor(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	a, b := s.open(), s.open()
	ra, ma := s.call(a)
	rb, mb := s.call(b)
	idsA, idsB := emit(t, ma.Stream, "a", 1, 3), emit(t, mb.Stream, "b", 1, 3)
	same(t, "a's own view", ra.read(3), span("a", 1, 3))
	same(t, "b's own view", rb.read(3), span("b", 1, 3))

	a.attach(idsB[0]).refused(spec.ReasonCursorForeign)
	b.attach(idsA[0]).refused(spec.ReasonCursorForeign)

	same(t, "a resumes its own", a.attach(idsA[0]).read(2), span("a", 2, 3))
	same(t, "b resumes its own", b.attach(idsB[1]).read(1), span("b", 3, 3))
}

// Cross-stream: two calls interleave their progress, one is resumed.
func TestCase05CrossStream(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	r1, one := s.call(p)
	r2, two := s.call(p)
	var first string
	for i := 1; i <= 5; i++ {
		if id := emit(t, one.Stream, "one", i, i)[0]; i == 1 {
			first = id
		}
		emit(t, two.Stream, "two", i, i)
	}
	r1.drop()
	answer(t, one.Stream, "one done")
	answer(t, two.Stream, "two done")
	same(t, "the resumed stream", p.attach(first).rest(), append(span("one", 2, 5), "one done"))
	same(t, "the other one, never dropped", r2.rest(), append(span("two", 1, 5), "two done"))
}

// Finished while away: everything happens while nobody reads.
func TestCase06FinishedWhileAway(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	r, m := s.call(p)
	start := r.header.Get("Reattach-Position")
	r.drop()
	emit(t, m.Stream, "e", 1, 3)
	answer(t, m.Stream, "done")
	same(t, "resumed", p.attach(start).rest(), append(span("e", 1, 3), "done"))
}

// Cursor matrix: every wrong cursor has its reason, before any byte of an
// event, and the session then still serves a good one.
func TestCase11CursorMatrix(t *testing.T) {
	s := newStage(t, windowOf(4))
	p, other := s.open(), s.open()
	r, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 6) // 1 and 2 are evicted
	r.drop()
	_, mo := s.call(other)
	foreign := emit(t, mo.Stream, "o", 1, 1)[0]
	id := func(seq, stream, ordinal uint64) string {
		return spec.EventID{Tag: p.server.Tag(), Seq: seq, Stream: stream, Ordinal: ordinal}.String()
	}
	tag := string(p.server.Tag())
	for _, c := range []struct {
		name    string
		cursors []string
		why     spec.Reason
	}{
		{"malformed", []string{"e3"}, spec.ReasonCursorMalformed},
		{"leading zero", []string{tag + ":03:1:3"}, spec.ReasonCursorMalformed},
		{"too long", []string{ids[3] + strings.Repeat("0", 90)}, spec.ReasonCursorMalformed},
		{"beyond 64 bits", []string{tag + ":18446744073709551616:1:3"}, spec.ReasonCursorMalformed},
		{"empty", []string{""}, spec.ReasonCursorMalformed},
		{"two", []string{ids[3], ids[4]}, spec.ReasonCursorMalformed},
		{"unknown stream", []string{id(3, 9, 3)}, spec.ReasonCursorUnissued},
		{"evicted", []string{ids[0]}, spec.ReasonCursorEvicted},
		{"position 0, evicted", []string{id(0, 1, 0)}, spec.ReasonCursorEvicted},
		{"ahead by 1", []string{id(7, 1, 7)}, spec.ReasonCursorAhead},
		{"ahead by 1000", []string{id(1006, 1, 1006)}, spec.ReasonCursorAhead},
		{"ahead by all", []string{id(math.MaxUint64, 1, math.MaxUint64)}, spec.ReasonCursorAhead},
		{"foreign", []string{foreign}, spec.ReasonCursorForeign},
		{"of an earlier epoch", []string{spec.EventID{Tag: spec.TagOf("gone", ""), Seq: 3, Stream: 1, Ordinal: 3}.String()}, spec.ReasonCursorForeign},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := p.attach(c.cursors...)
			reply.t = t
			reply.refused(c.why)
		})
	}
	p.send("POST", `{"jsonrpc":"2.0","id":9,"method":"work"}`, "Last-Event-ID", ids[3]).refused(spec.ReasonCursorWithMessage)
	same(t, "the session still serves a good cursor", p.attach(ids[3]).read(2), span("e", 5, 6))
	same(t, "and one at the floor", p.attach(ids[1]).read(4), span("e", 3, 6))
}

// The same where the deployment chose that a miss ends the session: 404 with
// the reason, and the session is gone; by default it lives (the case above).
func TestMissThatEndsTheSession(t *testing.T) {
	o := windowOf(4)
	o.MissEndsSession = true
	s := newStage(t, o)
	p := s.open()
	_, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 6)

	p.attach("nonsense").refused(spec.ReasonCursorMalformed) // a fault, not a miss
	same(t, "the session still serves a good cursor", p.attach(ids[3]).read(2), span("e", 5, 6))
	r := p.attach(ids[0])
	if body := r.all(); r.status != 404 || !strings.Contains(body, string(spec.ReasonCursorEvicted)) {
		t.Errorf("a miss: %d %s, want 404 with cursor_evicted", r.status, body)
	}
	p.attach(ids[3]).refused(spec.ReasonSessionTerminated)
}

// Ahead: a cursor beyond the head must not lie in wait for the events to come.
func TestCase13Ahead(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	r, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 3)
	r.drop()
	p.attach(spec.EventID{Tag: p.server.Tag(), Seq: 99, Stream: 1, Ordinal: 99}.String()).refused(spec.ReasonCursorAhead)
	emit(t, m.Stream, "e", 4, 5)
	same(t, "resumed at 3", p.attach(ids[2]).read(2), span("e", 4, 5))
}

// Restart: a server without durable state comes back on the same address, and
// an old session id is presented on every method.
func TestCase14Restart(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	address := s.server.Listener.Addr().String()
	p := s.open()
	r, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 2)
	r.drop()
	s.handler.Close()
	s.server.CloseClientConnections()
	s.server.Close()

	again := newStage(t, streamhttp.Options{})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(again.handler)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)

	p.attach(ids[0]).refused(spec.ReasonSessionUnknown)
	p.attach().refused(spec.ReasonSessionUnknown)
	p.send("POST", `{"jsonrpc":"2.0","id":9,"method":"work"}`).refused(spec.ReasonSessionUnknown)
	p.send("POST", "", "Last-Event-ID", ids[0]).refused(spec.ReasonSessionUnknown)
	p.send("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`).refused(spec.ReasonSessionUnknown)
	p.send("DELETE", "", "Last-Event-ID", ids[0]).refused(spec.ReasonSessionUnknown)
	if n := again.handler.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions were created by requests for an old one", n)
	}
}

// Fresh attach after eviction: nothing is left, and nobody is refused for it.
func TestCase15FreshAttachAfterEviction(t *testing.T) {
	s := newStage(t, windowOf(4))
	p := s.open()
	emit(t, p.server.Standalone(), "old", 1, 3)
	r, m := s.call(p)
	emit(t, m.Stream, "e", 1, 4) // evicts all of the standalone stream
	r.drop()

	first := p.attach()
	if first.status != 200 {
		t.Fatalf("fresh attach: %d %s", first.status, first.all())
	}
	second := p.attach()
	same(t, "the older view ends and carries nothing", first.over(), nil)
	emit(t, p.server.Standalone(), "new", 1, 1)
	same(t, "the newer one begins with what is new", second.read(1), []string{"new1"})
}

// Stolen seq: a seq that the session did issue, but not with that stream or
// that ordinal.
func TestCase38StolenSeq(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	r1, one := s.call(p)
	r2, two := s.call(p)
	emit(t, one.Stream, "one", 1, 2)        // seqs 1 2
	emit(t, two.Stream, "two", 1, 2)        // seqs 3 4
	ids := emit(t, one.Stream, "one", 3, 3) // seq 5
	r1.drop()
	r2.drop()
	for _, c := range []struct{ seq, stream, ordinal uint64 }{
		{3, 1, 1}, // issued on the other stream
		{4, 1, 3}, // the same, in the place of another
		{5, 1, 2}, // right seq, wrong ordinal
		{5, 1, 5}, // right seq, an ordinal that was never issued
		{4, 1, 4}, // both beyond this stream's, but the seq was issued
		{1, 0, 1}, // a stream that has no events
		{9, 1, 2}, // a seq that was never issued, at an ordinal that was
	} {
		cursor := spec.EventID{Tag: p.server.Tag(), Seq: c.seq, Stream: c.stream, Ordinal: c.ordinal}.String()
		p.attach(cursor).refused(spec.ReasonCursorUnissued)
	}
	emit(t, one.Stream, "one", 4, 4)
	same(t, "the true cursor", p.attach(ids[0]).read(1), []string{"one4"})
}

// Never sent: what was emitted before the first view, or between two, is not
// history; what a view took is, even if its client never saw it.
func TestCase40NeverSent(t *testing.T) {
	t.Run("before the first view, and a cut", func(t *testing.T) {
		s := newStage(t, streamhttp.Options{})
		p := s.open()
		emit(t, p.server.Standalone(), "e", 1, 2)
		first := p.attach()
		same(t, "never-sent events", first.read(2), span("e", 1, 2))
		first.drop()
		s.await(spec.ViewBreaks)
		emit(t, p.server.Standalone(), "e", 3, 3)
		same(t, "after the last one handed over", p.attach().read(1), []string{"e3"})
	})
	t.Run("the first one evicted", func(t *testing.T) {
		s := newStage(t, windowOf(2))
		p := s.open()
		emit(t, p.server.Standalone(), "e", 1, 3)
		r := p.attach()
		want := spec.EventID{Tag: p.server.Tag(), Seq: 1, Stream: 0, Ordinal: 1}.String()
		if got := r.header.Get("Reattach-Position"); got != want {
			t.Errorf("announced %s, want the floor %s: one was skipped", got, want)
		}
		same(t, "from the floor on", r.read(2), span("e", 2, 3))
	})
	t.Run("the first view's headers lost", func(t *testing.T) {
		// A client of ours does not need them: the answer to initialize named
		// position 0.
		s := newStage(t, streamhttp.Options{})
		p := s.open()
		emit(t, p.server.Standalone(), "e", 1, 3)
		p.attach().drop()
		same(t, "re-attached at position 0", p.attach(p.standalone).read(3), span("e", 1, 3))
	})
	t.Run("a second view before anything was delivered", func(t *testing.T) {
		s := newStage(t, streamhttp.Options{})
		p := s.open()
		first := p.attach()
		second := p.attach()
		emit(t, p.server.Standalone(), "e", 1, 2)
		same(t, "all to the newer one", second.read(2), span("e", 1, 2))
		same(t, "none to the older one", first.over(), nil)
	})
}

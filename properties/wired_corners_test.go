package properties

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Corners: rows that the stories and the random runs do not come to by
// themselves, each over a real socket.

const noteText = `{"jsonrpc":"2.0","method":"notifications/x"}`

// A session that never was, that expired, and that was terminated: whoever
// speaks to it is told which (R6), whatever the message.
func TestCornerMessagesToSessionsThatAreGone(t *testing.T) {
	s := newStage(t, streamhttp.Options{Session: session.Options{SessionBudget: 20 * time.Millisecond}})
	p := s.open()
	s.await(spec.SessionBudgetElapses)
	p.send("POST", noteText).refused(spec.ReasonSessionExpired)
	p.send("POST", initializeText).refused(spec.ReasonSessionExpired)

	s = newStage(t, streamhttp.Options{})
	p = s.open()
	p.send("DELETE", "")
	p.send("POST", initializeText).refused(spec.ReasonSessionTerminated)
	p.session = strings.Repeat("A", len(p.session))
	p.send("POST", noteText).refused(spec.ReasonSessionUnknown)
}

// An answer that is too large is refused as an event is, and leaves the call to
// be answered otherwise (R3).
func TestCornerAnswerTooLarge(t *testing.T) {
	s := newStage(t, streamhttp.Options{Session: session.Options{EventBytes: 2000}})
	p := s.open()
	r, m := s.call(p)
	if _, err := m.Stream.Answer(map[string]string{"text": strings.Repeat("x", 2000)}); !errors.Is(err, spec.ReasonEventTooLarge) {
		t.Errorf("too large an answer: %v", err)
	}
	answer(t, m.Stream, "small")
	same(t, "the view", r.rest(), []string{"small"})
}

// stuck makes a call whose stream is finished while its reader has not read to
// the end: more waits than sockets hold.
func stuck(t *testing.T, s *stage, p *peer) (*reply, *streamhttp.Message, string) {
	t.Helper()
	r, m := s.call(p)
	for range 64 {
		if _, err := m.Stream.Emit("notifications/said", map[string]string{"text": strings.Repeat("x", 250_000)}); err != nil {
			t.Fatal(err)
		}
	}
	e, err := m.Stream.Answer(map[string]string{"text": "done"})
	if err != nil {
		t.Fatal(err)
	}
	return r, m, e.ID.String()
}

// What ends a view whose stream is finished and not read: the handler, a client
// that asks at the head (R10, R11), and the end of the session (R6).
func TestCornerEndsOfAFinishedView(t *testing.T) {
	large := streamhttp.Options{Session: session.Options{WindowBytes: 64 << 20}}
	t.Run("the handler ends the view", func(t *testing.T) {
		s := newStage(t, large)
		p := s.open()
		_, m, last := stuck(t, s, p)
		if err := m.Stream.EndView(time.Second); err != nil {
			t.Error(err)
		}
		if r := p.attach(last); r.status != 204 {
			t.Errorf("at the head: %d", r.status)
		}
	})
	t.Run("the client asks at the head", func(t *testing.T) {
		s := newStage(t, large)
		p := s.open()
		_, _, last := stuck(t, s, p)
		if r := p.attach(last); r.status != 204 {
			t.Errorf("at the head: %d", r.status)
		}
	})
	t.Run("the connection breaks", func(t *testing.T) {
		s := newStage(t, large)
		p := s.open()
		r, _, last := stuck(t, s, p)
		r.drop()
		s.await(spec.ViewBreaks)
		if r := p.attach(last); r.status != 204 {
			t.Errorf("at the head: %d", r.status)
		}
	})
	t.Run("the client resumes before the end", func(t *testing.T) {
		s := newStage(t, large)
		p := s.open()
		r, _, last := stuck(t, s, p)
		same(t, "the newer view", p.attach(elsewhere(t, last, func(id *spec.EventID) { id.Seq--; id.Ordinal-- })).rest(), []string{"done"})
		r.drop()
	})
	t.Run("the session ends", func(t *testing.T) {
		s := newStage(t, large)
		p := s.open()
		_, _, last := stuck(t, s, p)
		p.send("DELETE", "")
		p.attach(last).refused(spec.ReasonSessionTerminated)
	})
}

// Finished streams make room for new ones, oldest first (R3).
func TestCornerRecordsMakeRoom(t *testing.T) {
	s := newStage(t, streamhttp.Options{Session: session.Options{Streams: 3, Requests: 2}})
	p := s.open()
	var ids []string
	for range 5 {
		r, m := s.call(p)
		ids = append(ids, emit(t, m.Stream, "e", 1, 1)...)
		answer(t, m.Stream, "done")
		same(t, "the view", r.rest(), []string{"e1", "done"})
	}
	p.attach(ids[0]).refused(spec.ReasonCursorEvicted)
	same(t, "the newest", p.attach(ids[4]).rest(), []string{"done"})
}

// A reader that takes nothing is cut at the stall budget, whether its stream is
// finished or not (R9).
func TestCornerStuckReaders(t *testing.T) {
	o := streamhttp.Options{StallBudget: 300 * time.Millisecond, Session: session.Options{WindowBytes: 64 << 20}}
	s := newStage(t, o)
	finished := s.open()
	_, _, last := stuck(t, s, finished)
	s.await(spec.ViewStalls)
	if r := finished.attach(last); r.status != 204 {
		t.Errorf("at the head: %d", r.status)
	}
	s = newStage(t, o)
	running := s.open()
	_, m := s.call(running)
	for range 64 {
		if _, err := m.Stream.Emit("notifications/said", map[string]string{"text": strings.Repeat("x", 250_000)}); err != nil {
			t.Fatal(err)
		}
	}
	s.await(spec.ViewStalls)
	answer(t, m.Stream, "done")
}

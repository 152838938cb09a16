package properties

import (
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

// Given a server that tells a miss by answering the call, when a client of others
// resumes too late, then its call ends with the reason, and its session goes on:
// the window keeps what it kept, and the next call is answered.
func TestStoryMissAnswersTheCall(t *testing.T) {
	o := windowOf(4)
	o.MissAnswersCall = true
	s := newStage(t, o)
	p := s.open()
	_, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 6)

	r := p.attach(ids[0])
	body := r.all()
	if r.status != 200 || r.header.Get("Content-Type") != "text/event-stream" || r.header.Get("Reattach-Position") != "" {
		t.Errorf("a miss: %d %v %q", r.status, r.header, body)
	}
	if want := fmt.Sprintf(`"id":%s,`, m.ID); !strings.HasPrefix(body, "data: ") || strings.Contains(body, "\nid:") ||
		!strings.Contains(body, want) || !strings.Contains(body, string(spec.ReasonCursorEvicted)) {
		t.Errorf("a miss is told as %q, want %s and the reason", body, want)
	}
	if got := r.header.Get("Mcp-Session-Id"); got != p.session {
		t.Errorf("it is the answer of session %q", got)
	}
	// Where there is no call to answer it is the refusal that it was.
	p.attach(elsewhere(t, ids[0], func(id *spec.EventID) { id.Stream, id.Seq, id.Ordinal = 0, 99, 99 })).refused(spec.ReasonCursorAhead)
	p.attach(elsewhere(t, ids[0], func(id *spec.EventID) { id.Tag = spec.TagOf("another", "") })).refused(spec.ReasonCursorForeign)
	newer := p.send("GET", "", "Last-Event-ID", ids[3], "Reattach-Attempt", "1.2")
	same(t, "the session still serves a good cursor", newer.read(2), span("e", 5, 6))
	p.send("GET", "", "Last-Event-ID", ids[3], "Reattach-Attempt", "1.1").refused(spec.ReasonAttemptSuperseded)
	answer(t, m.Stream, "done")
	next, m := s.call(p)
	answer(t, m.Stream, "next")
	same(t, "the next call", next.rest(), []string{"next"})
}

// outrun lets a stream run away from its reader before the first resumption.
type outrun struct {
	run  func()
	once sync.Once
}

func (o *outrun) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == "GET" && r.Header.Get("Last-Event-ID") != "" {
		o.once.Do(o.run)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// R21, R22: a client of ours takes no such answer for the answer. It comes on a
// view that announces no position, in an event without an id, so it is doubt: the
// epoch is abandoned, nothing of it is applied, and the call is an unknown
// outcome, as it is where the miss is told as 409 or 404.
func TestStoryMissIsNoAnswerToUs(t *testing.T) {
	for name, c := range map[string]struct {
		form func(*streamhttp.Options)
		why  spec.Reason
	}{
		"409":               {func(*streamhttp.Options) {}, spec.ReasonCursorEvicted},
		"404":               {func(o *streamhttp.Options) { o.MissEndsSession = true }, ""},
		"answered with 200": {func(o *streamhttp.Options) { o.MissAnswersCall = true }, spec.ReasonEventWithoutID},
	} {
		t.Run(name, func(t *testing.T) {
			o := windowOf(4)
			c.form(&o)
			s := newStage(t, o)
			wire := newProxy(t, s.address())
			wire.cutBehind(`"e2"`)
			var m *streamhttp.Message
			dialled := streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: &outrun{run: func() {
				emit(t, m.Stream, "late", 1, 9)
				answer(t, m.Stream, "done")
			}}}}
			dialled.Driver.NoStandalone = true
			cl, log := dial(t, wire.url(), dialled)
			emitted := make(chan struct{})
			go func() {
				defer close(emitted)
				m = <-s.calls
				emit(t, m.Stream, "e", 1, 2)
			}()
			text, err := work(cl)
			<-emitted
			var unknown *client.UnknownError
			if !errors.As(err, &unknown) {
				t.Fatalf("the call came to %q, %v", text, err)
			}
			if why := log.whyAbandoned(); why == "" || c.why != "" && why != c.why {
				t.Errorf("abandoned for %q, want %q", string(why), string(c.why))
			}
			for _, text := range log.all() {
				if text != "e1" && text != "e2" {
					t.Errorf("applied: %v", log.all())
				}
			}
			if n := len(cl.Driver().Unknowns()); n != 1 {
				t.Errorf("%d unknown outcomes", n)
			}
		})
	}
}

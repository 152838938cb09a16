package streamhttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// The third form of a cursor miss (R5): the call whose stream is asked for is
// answered with the refusal, on a stream of status 200. The event has no id, and
// nothing announces a position: no reader takes it for a resumption.
func TestMissAnswersTheCall(t *testing.T) {
	r := newRig(t, bench{}.app, Options{MissAnswersCall: true, Session: session.Options{WindowEvents: 4}})
	tag := r.open().Tag
	r.call(17, "count", `{"n":5}`).all() // seq 1…6 on stream 1; 1 and 2 are evicted
	cursor := func(seq, stream, ordinal uint64) string {
		return spec.EventID{Tag: tag, Seq: seq, Stream: stream, Ordinal: ordinal}.String()
	}
	for name, c := range map[string]struct {
		cursor string
		why    spec.Reason
	}{
		"evicted":      {cursor(1, 1, 1), spec.ReasonCursorEvicted},
		"position 0":   {cursor(0, 1, 0), spec.ReasonCursorEvicted},
		"never issued": {cursor(3, 1, 4), spec.ReasonCursorUnissued},
		"ahead":        {cursor(9, 1, 9), spec.ReasonCursorAhead},
	} {
		w := r.resume(c.cursor)
		for _, header := range []string{HeaderPosition, HeaderMode, HeaderKeepAlive} {
			if got := w.resp.Header.Get(header); got != "" {
				t.Errorf("%s: %s: %s", name, header, got)
			}
		}
		if got := w.resp.Header.Get(HeaderSessionID); got != r.session {
			t.Errorf("%s: it is the answer of session %q", name, got)
		}
		events, err := eventsOf(w)
		if err != nil || len(events) != 1 || events[0].HasID {
			t.Fatalf("%s: %+v, %v: want one event without an id", name, events, err)
		}
		var answer struct {
			ID    int
			Error struct {
				Code int
				Data errorData
			}
		}
		if err := json.Unmarshal(events[0].Data, &answer); err != nil {
			t.Fatal(err)
		}
		said := answer.Error.Data
		if answer.ID != 17 || answer.Error.Code != CodeRefused || said.Reason != string(c.why) || said.Cursor != c.cursor || said.Floor == "" || said.Head == "" {
			t.Errorf("%s: answered %s", name, events[0].Data)
		}
	}
	// The session lives, and its good cursors too.
	if got := ids(r.resume(cursor(3, 1, 3)).all()); got != "4:1:4 5:1:5 6:1:6" {
		t.Errorf("afterwards: %s", got)
	}
}

func eventsOf(w *wire) (events []sse.Event, err error) {
	for {
		ev, err := w.next()
		if err != nil {
			return events, nil
		}
		if ev.Kind != sse.Comment {
			events = append(events, ev)
		}
	}
}

// What is the miss of no call's stream stays the refusal that it is by default:
// the standalone stream, a stream that is forgotten, another session's, a fault.
func TestMissWithoutACallIsRefused(t *testing.T) {
	r := newRig(t, bench{}.app, Options{MissAnswersCall: true, Session: session.Options{Streams: 2}})
	other := r.open()
	r.call(1, "count", `{"n":1}`).all()
	standalone := r.open()
	r.call(1, "count", `{"n":1}`).all()
	for id := range 3 {
		r.call(2+id, "count", `{"n":1}`).all() // stream 1 is forgotten: there may be two records
	}
	for name, c := range map[string]struct {
		cursor string
		why    spec.Reason
	}{
		"the standalone stream":    {spec.EventID{Tag: standalone.Tag, Seq: 9, Ordinal: 9}.String(), spec.ReasonCursorAhead},
		"a forgotten stream":       {spec.EventID{Tag: standalone.Tag, Seq: 1, Stream: 1, Ordinal: 1}.String(), spec.ReasonCursorEvicted},
		"a stream that never was":  {spec.EventID{Tag: standalone.Tag, Seq: 9, Stream: 9, Ordinal: 9}.String(), spec.ReasonCursorUnissued},
		"another session's stream": {spec.EventID{Tag: other.Tag, Seq: 1, Stream: 4, Ordinal: 1}.String(), spec.ReasonCursorForeign},
		"no cursor at all":         {"nonsense", spec.ReasonCursorMalformed},
	} {
		got := refusalOf(t, r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, c.cursor))
		if got.Reason != c.why || got.Status != c.why.Status() || got.ID != nil {
			t.Errorf("%s: %d %s for %s, want %s", name, got.Status, got.Reason, got.ID, c.why)
		}
	}
}

// R10: who comes too late is told so, in every form; it answers no call.
func TestLateAttemptIsNoMiss(t *testing.T) {
	gate := make(chan struct{})
	r := newRig(t, bench{"gated": gated(gate)}.app, Options{MissAnswersCall: true})
	r.open()
	cursor := r.call(1, "gated", `{"n":1}`).position()
	r.resume(cursor, HeaderAttempt, "1.2")
	if got := refusalOf(t, r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, cursor, HeaderAttempt, "1.1")); got.Reason != spec.ReasonAttemptSuperseded {
		t.Errorf("%d %s", got.Status, got.Reason)
	}
	close(gate)
}

func TestOneFormOfAMiss(t *testing.T) {
	if _, err := NewHandler(bench{}.app, Options{MissEndsSession: true, MissAnswersCall: true}); err == nil {
		t.Error("a cursor that is refused is answered in two forms")
	}
	for _, o := range []Options{{MissEndsSession: true}, {MissAnswersCall: true}} {
		h, err := NewHandler(bench{}.app, o)
		if err != nil {
			t.Fatal(fmt.Sprintf("%+v", o), err)
		}
		h.Close()
	}
}

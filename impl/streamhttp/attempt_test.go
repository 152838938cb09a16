package streamhttp

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// R10: three numbered resumptions of one stream race. In whichever order they
// arrive, the newest has the view in the end and gets the next event, exactly
// once; an older one was superseded, or told so, and the session is untouched.
func TestThreeAttemptsRace(t *testing.T) {
	gate := make(chan struct{})
	r := newRig(t, bench{"gated": gated(gate)}.app, Options{MissEndsSession: true}) // not even then does it end
	r.open()
	cursor := r.call(1, "gated", `{"n":1000}`).position()
	refused := 0
	for round := range 40 {
		type outcome struct {
			attempt int
			id      string
			late    bool
		}
		got := make(chan outcome, 3)
		attached := make(chan struct{}, 3)
		var began sync.WaitGroup
		for _, n := range rand.Perm(3) {
			began.Add(1)
			go func() {
				w, err := r.tryAttempt(cursor, fmt.Sprintf("%d.%d", 1+round, n))
				began.Done()
				if err != nil { // superseded before its head was written
					got <- outcome{attempt: n}
					return
				}
				if w.resp.StatusCode == http.StatusConflict {
					got <- outcome{attempt: n, late: refusalOf(t, w.resp).Reason == spec.ReasonAttemptSuperseded}
					return
				}
				attached <- struct{}{}
				for {
					ev, err := w.next()
					if err != nil {
						got <- outcome{attempt: n}
						return
					}
					if ev.Kind == sse.Message {
						got <- outcome{attempt: n, id: string(ev.ID)}
						w.drop()
						return
					}
				}
			}()
		}
		began.Wait()
		gate <- struct{}{}
		delivered := 0
		for range 3 {
			o := within(t, got, "the end of a view")
			if o.late {
				refused++
			}
			if o.id != "" {
				delivered++
				cursor = o.id
				if o.attempt != 2 {
					t.Fatalf("round %d: attempt %d got the event", round, o.attempt)
				}
			}
		}
		if delivered != 1 {
			t.Fatalf("round %d: %d views got the event", round, delivered)
		}
	}
	t.Logf("%d of 120 came too late", refused)
	if r.handler.Stats().Sessions != 1 {
		t.Error("the session is gone")
	}
}

// tryAttempt is tryResume with a number.
func (r *rig) tryAttempt(cursor, attempt string) (*wire, error) {
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header = http.Header{HeaderSessionID: {r.session}, "Last-Event-Id": {cursor}, HeaderAttempt: {attempt}}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	return &wire{t: r.t, resp: resp, events: sse.NewReader(resp.Body, sse.Options{Comments: true}), drop: func() { resp.Body.Close() }}, nil
}

// R10: a request that comes too late disturbs nobody: the newer view goes on,
// as if nothing had been asked. One that cannot be read is a fault of the
// client's, also without a cursor.
func TestLateAttemptTouchesNothing(t *testing.T) {
	gate := make(chan struct{})
	r := newRig(t, bench{"gated": gated(gate)}.app, Options{})
	r.open()
	cursor := r.call(1, "gated", `{"n":2}`).position()
	newer := r.resume(cursor, HeaderAttempt, "7.3")
	for attempt, want := range map[string]spec.Reason{
		"7.2": spec.ReasonAttemptSuperseded, "6.9": spec.ReasonAttemptSuperseded,
		"": spec.ReasonAttemptMalformed, "7": spec.ReasonAttemptMalformed, "7.4\x007.4": spec.ReasonAttemptMalformed,
	} {
		resp := r.request(t.Context(), http.MethodGet, "", HeaderLastEventID, cursor, HeaderAttempt, attempt)
		if got := refusalOf(t, resp); got.Reason != want || got.Status != want.Status() {
			t.Errorf("attempt %q: %v, want %s", attempt, got, want)
		}
	}
	if got := refusalOf(t, r.request(t.Context(), http.MethodGet, "", HeaderAttempt, "x")); got.Reason != spec.ReasonAttemptMalformed {
		t.Errorf("a malformed one on the standalone stream: %v", got)
	}
	go func() {
		for range 3 {
			select {
			case gate <- struct{}{}:
			case <-time.After(20 * time.Second):
			}
		}
	}()
	if got := ids(newer.all()); got != "1:1:1 2:1:2 3:1:3" {
		t.Errorf("the newer view got %s", got)
	}
}

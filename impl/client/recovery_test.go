package client

import (
	"fmt"
	"testing"

	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

// R29: a request id is never used twice, in another epoch and after a restart.
func TestRequestIDsAreNeverUsedTwice(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	used := map[uint64]bool{}
	for epoch := range 3 {
		g.openAs(fmt.Sprint(session, epoch), "")
		for _, u := range g.durable.Unknowns {
			g.do(g.core.Resolve(u.Stream, GaveUp))
			g.commitAll()
		}
		for n := range 4 {
			id, _ := g.call()
			if used[id.Request] || id.Request == 0 {
				t.Fatalf("request id %d again", id.Request)
			}
			used[id.Request] = true
			if n%2 == 1 {
				g.start()
				g.commitAll()
				g.take()
			}
		}
		g.do(g.core.Terminate())
		g.commitAll()
		g.take()
		if epoch == 1 {
			g.start()
		}
	}
	if len(used) != 12 {
		t.Errorf("%d ids", len(used))
	}
}

func TestRecovery(t *testing.T) {
	open := Record{Version: 9, Epoch: 2, State: RecordOpen, SessionID: session, Tag: tag, Announced: true, NextRequest: 8,
		Meta: []byte("meta"), Seen: []Span{{1, 4}}}
	t.Run("a stream with a token goes on, a call without one is unknown", func(t *testing.T) {
		r := open
		r.Streams = []Token{{Request: 0, LastEventID: at(3, 0, 2)}, {Request: 5, LastEventID: at(4, 2, 1)}}
		r.Calls = []Call{{Request: 5}, {Request: 7, Key: "k"}}
		g := newRig(t, r, CoreOptions{})
		g.state(spec.Open)
		g.streamState(StreamID{2, 0}, spec.Ended)
		g.streamState(StreamID{2, 5}, spec.Ended)
		g.streamState(StreamID{2, 7}, spec.Lost)
		scheduled := 0
		for _, a := range g.actions {
			if a.Do == spec.ScheduleResume {
				scheduled++
			}
		}
		g.commitAll()
		want := []Unknown{{Stream: StreamID{2, 7}, Key: "k", Reason: spec.ReasonEventWithoutID}}
		if diff := cmp.Diff(want, g.durable.Unknowns); diff != "" || scheduled != 2 {
			t.Errorf("%d scheduled, unknown: %s", scheduled, diff)
		}
		g.do(g.core.Reconnect(StreamID{2, 5}, false))
		resume := g.find(spec.SendResume)
		if resume.Cursor != at(4, 2, 1) || string(resume.Session.Meta) != "meta" {
			t.Errorf("resumed with %+v", resume)
		}
	})
	t.Run("an open record with an earlier epoch's unknown is in quarantine", func(t *testing.T) {
		r := open
		r.Unknowns = []Unknown{{Stream: StreamID{1, 3}}}
		newRig(t, r, CoreOptions{}).state(spec.Quarantined)
	})
	t.Run("with one of its own it is not", func(t *testing.T) {
		r := open
		r.Unknowns = []Unknown{{Stream: StreamID{2, 3}}}
		newRig(t, r, CoreOptions{}).state(spec.Open)
	})
	for state, want := range map[RecordState]spec.State{RecordFenced: spec.Abandoned, RecordClosed: spec.Closed} {
		t.Run(state.String(), func(t *testing.T) {
			r := open
			r.State, r.Seen = state, nil
			g := newRig(t, r, CoreOptions{})
			g.state(want)
			if len(g.actions) != 0 {
				t.Errorf("at once: %v", effects(g.actions))
			}
			g.openAs("next", "")
			g.state(spec.Open)
		})
	}
	t.Run("a record that contradicts itself is refused", func(t *testing.T) {
		for name, spoil := range map[string]func(*Record){
			"no session":             func(r *Record) { r.SessionID = "" },
			"no tag":                 func(r *Record) { r.Tag = "x" },
			"a used id to come":      func(r *Record) { r.Calls = []Call{{Request: 8}} },
			"a stream without call":  func(r *Record) { r.Streams = []Token{{Request: 5, LastEventID: "x"}} },
			"in flight when fenced":  func(r *Record) { r.State, r.Calls = RecordFenced, []Call{{Request: 5}} },
			"an unknown to come":     func(r *Record) { r.Unknowns = []Unknown{{Stream: StreamID{3, 1}}} },
			"in flight and unknown":  func(r *Record) { r.Calls, r.Unknowns = []Call{{Request: 5}}, []Unknown{{Stream: StreamID{2, 5}}} },
			"spans that overlap":     func(r *Record) { r.Seen = []Span{{1, 4}, {4, 6}} },
			"calls in another order": func(r *Record) { r.Calls = []Call{{Request: 5}, {Request: 4}} },
			"a state of its own":     func(r *Record) { r.State = 9 },
		} {
			r := open.Clone()
			spoil(&r)
			if _, _, err := NewCore(r, CoreOptions{}); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}

package client

import (
	"testing"

	"example.com/reattach/spec"
)

// Case 36: the position announced must be the cursor sent, neither before nor
// after it.
func TestAClampedResumptionIsAbandonedBeforeAnythingIsApplied(t *testing.T) {
	for name, announced := range map[string]string{
		"before":         at(1, 1, 1),
		"after":          at(3, 1, 3),
		"another stream": at(2, 2, 2),
		"another seq":    at(9, 1, 2),
		"nonsense":       "2",
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			id, conn := g.streaming(1)
			for n := uint64(1); n <= 2; n++ {
				g.do(g.core.EventArrives(id, conn, message(at(n, 1, n))))
				g.commit()
			}
			resume := g.resumed(id, conn)
			if resume.Cursor != at(2, 1, 2) || resume.Session.ID != session {
				t.Fatalf("resumed with %q, %q", resume.Session.ID, resume.Cursor)
			}
			g.do(g.core.Accepts(id, resume.Conn, Accepted{session, announced}))
			g.abandoned(spec.ReasonPositionUnexpected)
			if _, err := g.core.EventArrives(id, resume.Conn, message(at(3, 1, 3))); err == nil {
				t.Error("an event was taken after the doubt")
			}
			if len(g.applied) != 2 {
				t.Errorf("applied %v", ids(g.applied))
			}
			if o := g.outcomes[id]; o.Kind != OutcomeUnknown || o.Reason != spec.ReasonPositionUnexpected {
				t.Errorf("outcome %+v", o)
			}
		})
	}
}

// Case 37, and the rest of "next": exactly one ordinal more, and a greater seq.
func TestOnlyTheNextEventIsApplied(t *testing.T) {
	other := spec.TagOf("another", "")
	for _, c := range []struct {
		name string
		ev   Event
		why  spec.Reason // "" if it is next
	}{
		{"the next", message(at(6, 1, 3)), ""},
		{"the next, with a greater seq", message(at(60, 1, 3)), ""},
		{"a repeat", message(at(5, 1, 2)), spec.ReasonEventRepeated},
		{"an earlier one", message(at(4, 1, 1)), spec.ReasonEventRepeated},
		{"a hole", message(at(7, 1, 4)), spec.ReasonEventSkipped},
		{"the next ordinal with an old seq", message(at(5, 1, 3)), spec.ReasonEventOutOfOrder},
		{"another stream", message(at(6, 2, 3)), spec.ReasonEventUnorderable},
		{"another session", message(spec.EventID{Tag: other, Seq: 6, Stream: 1, Ordinal: 3}.String()), spec.ReasonEventUnorderable},
		{"an opaque id", message("6"), spec.ReasonEventUnorderable},
		{"no id", bare("x"), spec.ReasonEventWithoutID},
		{"an empty id", Event{HasID: true, Payload: []byte("x")}, spec.ReasonEventWithoutID},
		{"the position where we stand", position(at(5, 1, 2)), ""},
		{"a position ahead", position(at(6, 1, 3)), spec.ReasonPositionUnexpected},
		{"a position behind", position(at(4, 1, 1)), spec.ReasonPositionUnexpected},
		{"a comment", Event{}, ""},
		{"a retry", Event{HasRetry: true, Retry: 3}, ""},
	} {
		for _, how := range []string{"on a proven view", "as the first of an unproven view"} {
			t.Run(c.name+" "+how, func(t *testing.T) {
				g := newRig(t, Record{}, CoreOptions{})
				g.open()
				id, conn := g.streaming(1)
				for n := uint64(1); n <= 2; n++ {
					g.do(g.core.EventArrives(id, conn, message(at(n+3, 1, n))))
					g.commit()
				}
				if how != "on a proven view" {
					resume := g.resumed(id, conn)
					g.do(g.core.Accepts(id, resume.Conn, Accepted{session, ""}))
					g.streamState(id, spec.Unproven)
					conn = resume.Conn
				}
				g.do(g.core.EventArrives(id, conn, c.ev))
				if c.why != "" {
					g.abandoned(c.why)
					return
				}
				g.commitAll()
				g.state(spec.Open)
				if wantsApply := len(c.ev.Payload) > 0; wantsApply != (len(g.applied) == 3) {
					t.Errorf("applied %v", ids(g.applied))
				}
				// Only an event, or a position where we stand, is a proof (R8, R21).
				if want := how == "on a proven view" || c.ev.ID != ""; want != (g.stream(id).State == spec.Streaming) {
					t.Errorf("the stream is %v", g.stream(id).State)
				}
			})
		}
	}
}

func TestAPostOpensAnUnseenStreamAtItsBeginning(t *testing.T) {
	for name, c := range map[string]struct {
		announced string
		good      bool
	}{
		"its own, at position 0": {at(0, 7, 0), true},
		"seen on another call":   {at(0, 1, 0), false},
		"seen long ago":          {at(0, 2, 0), false},
		"not at its beginning":   {at(5, 7, 3), false},
		"the standalone stream":  {at(0, 0, 0), false},
		"another session's":      {spec.PositionZero(spec.TagOf("another", ""), 7).String(), false},
		"opaque":                 {"seven", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			g.streaming(1)
			done, conn := g.streaming(2)
			g.do(g.core.EventArrives(done, conn, answer(at(1, 2, 1))))
			g.commitAll()
			g.start() // what was seen is remembered across a restart
			g.commitAll()
			g.take()
			id, conn := g.call()
			g.do(g.core.Accepts(id, conn, Accepted{session, c.announced}))
			if !c.good {
				g.abandoned(spec.ReasonPositionUnexpected)
				return
			}
			g.commitAll()
			g.streamState(id, spec.Streaming)
		})
	}
}

// Where no header announced a position, the first id must do so by itself.
func TestWithoutAnAnnouncementTheFirstIDMustBeTheBeginning(t *testing.T) {
	for name, c := range map[string]struct {
		ev  Event
		why spec.Reason
	}{
		"its first event":   {message(at(4, 7, 1)), ""},
		"its position 0":    {position(at(0, 7, 0)), ""},
		"its second event":  {message(at(4, 7, 2)), spec.ReasonPositionUnexpected},
		"a later position":  {position(at(4, 7, 2)), spec.ReasonPositionUnexpected},
		"a stream seen":     {message(at(4, 1, 1)), spec.ReasonPositionUnexpected},
		"an opaque id":      {message("4"), spec.ReasonEventUnorderable},
		"another session's": {position(spec.PositionZero(spec.TagOf("another", ""), 7).String()), spec.ReasonEventUnorderable},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			g.streaming(1)
			id, conn := g.call()
			g.do(g.core.Accepts(id, conn, Accepted{session, ""}))
			g.do(g.core.EventArrives(id, conn, c.ev))
			if c.why != "" {
				g.abandoned(c.why)
				return
			}
			g.commitAll()
			if token, _ := g.durable.Token(id.Request); token.LastEventID != c.ev.ID {
				t.Errorf("token %q", token.LastEventID)
			}
		})
	}
}

// Two calls cannot both have one stream of the server's, whoever is first.
func TestTwoCallsNeverShareAStream(t *testing.T) {
	g := newRig(t, Record{}, CoreOptions{})
	g.open()
	one, conn1 := g.call()
	two, conn2 := g.call()
	g.do(g.core.Accepts(one, conn1, Accepted{session, at(0, 1, 0)}))
	g.do(g.core.Accepts(two, conn2, Accepted{session, at(0, 1, 0)})) // the first is not durable yet
	g.commit()
	g.streamState(one, spec.Streaming)
	g.commit()
	g.state(spec.Fencing)
}

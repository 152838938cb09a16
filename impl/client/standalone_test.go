package client

import (
	"errors"
	"testing"

	"example.com/reattach/spec"
)

// The standalone stream (R7): offered where its position was announced,
// listened to without a cursor where it was not.
func TestTheStandaloneStream(t *testing.T) {
	t.Run("is re-attached at the announced position", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.open()
		id := g.core.Standalone()
		if _, err := g.core.Listen(id); !errors.Is(err, ErrWrongStream) {
			t.Errorf("listened without a cursor although there is one: %v", err)
		}
		g.do(g.core.Offer(id))
		g.find(spec.ScheduleResume)
		g.do(g.core.Reconnect(id, false))
		resume := g.find(spec.SendResume)
		if resume.Cursor != at(0, 0, 0) {
			t.Errorf("cursor %q", resume.Cursor)
		}
		g.do(g.core.Accepts(id, resume.Conn, Accepted{session, at(0, 0, 0)}))
		g.do(g.core.EventArrives(id, resume.Conn, message(at(1, 0, 1))))
		g.commitAll()
		if len(g.applied) != 1 {
			t.Errorf("applied %v", ids(g.applied))
		}
	})
	t.Run("without a position it begins where the server says", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		if _, err := g.core.Offer(id); !errors.Is(err, ErrWrongStream) {
			t.Errorf("offered without a position: %v", err)
		}
		g.do(g.core.Listen(id))
		get := g.find(spec.SendGet)
		if get.Cursor != "" || get.Session.ID != session {
			t.Errorf("asked with %+v", get)
		}
		g.do(g.core.Accepts(id, get.Conn, Accepted{session, at(7, 0, 4)}))
		g.commitAll()
		g.do(g.core.EventArrives(id, get.Conn, message(at(9, 0, 5))))
		g.commitAll()
		if len(g.applied) != 1 {
			t.Errorf("applied %v", ids(g.applied))
		}
	})
	t.Run("after an empty id it never begins before what was applied", func(t *testing.T) {
		for _, c := range []struct {
			position string
			good     bool
		}{{at(5, 0, 2), true}, {at(9, 0, 4), true}, {at(4, 0, 1), false}, {at(0, 0, 0), false}} {
			g := newRig(t, Record{}, CoreOptions{})
			g.openAs(session, "")
			id := g.core.Standalone()
			g.do(g.core.Listen(id))
			conn := g.find(spec.SendGet).Conn
			g.do(g.core.Accepts(id, conn, Accepted{session, at(4, 0, 1)}))
			g.commitAll()
			for _, ev := range []Event{message(at(5, 0, 2)), {HasID: true}} {
				g.do(g.core.EventArrives(id, conn, ev))
				g.commitAll()
			}
			g.do(g.core.StreamEnds(id, conn))
			g.find(spec.ReportGap)
			g.take()
			g.core.Forget(id)
			g.do(g.core.Listen(id))
			g.do(g.core.Accepts(id, g.find(spec.SendGet).Conn, Accepted{session, c.position}))
			if !c.good {
				g.abandoned(spec.ReasonPositionUnexpected)
				continue
			}
			g.commitAll()
			g.streamState(id, spec.Streaming)
		}
	})
	// A walk found a payload at position 0 to be taken for an event: ordinals
	// start at 1.
	t.Run("position 0 with a payload is doubt", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		conn := g.find(spec.SendGet).Conn
		g.do(g.core.Accepts(id, conn, Accepted{session, ""}))
		g.do(g.core.EventArrives(id, conn, message(at(0, 0, 0))))
		g.abandoned(spec.ReasonPositionUnexpected)
	})
	t.Run("of another session it is doubt", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		g.do(g.core.Accepts(id, g.find(spec.SendGet).Conn, Accepted{session, spec.PositionZero(spec.TagOf("x", ""), 0).String()}))
		g.abandoned(spec.ReasonPositionUnexpected)
	})
	t.Run("405 only says that there is none", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		g.do(g.core.Refuses(id, g.find(spec.SendGet).Conn, Refusal{Status: 405}))
		g.state(spec.Open)
		g.find(spec.ReportStandalone)
	})
	t.Run("404 says that the session is gone", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		g.do(g.core.Refuses(id, g.find(spec.SendGet).Conn, Refusal{Status: 404}))
		g.abandoned(spec.ReasonSessionUnknown)
	})
	t.Run("lost without a position it is a gap, and may begin anew", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{})
		g.openAs(session, "")
		id := g.core.Standalone()
		g.do(g.core.Listen(id))
		g.do(g.core.ConnectionBreaks(id, g.find(spec.SendGet).Conn))
		g.find(spec.ReportGap)
		g.state(spec.Open)
		g.take()
		g.core.Forget(id)
		g.do(g.core.Listen(id))
		g.find(spec.SendGet)
	})
}

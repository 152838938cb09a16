package model

import (
	"testing"

	"example.com/reattach/spec"
)

// opened returns a client with an open epoch, its standalone stream offered.
func opened(t *testing.T) *Client {
	t.Helper()
	c := NewClient(TheRules(), false)
	openEpoch(c, "session", testTag)
	if c.epoch != spec.Open {
		t.Fatalf("the epoch is %v", c.epoch)
	}
	return c
}

func openEpoch(c *Client, session string, tag spec.Tag) {
	c.Open()
	c.Opened(Opening{SessionID: session, Standalone: spec.PositionZero(tag, 0).String()})
	c.EpochCommitted()
	c.Offer()
}

// streaming brings the standalone stream to where events are read.
func streaming(c *Client) StreamID {
	id := StreamID{c.record.Epoch, 0}
	c.Reconnect(id, true)
	token, _ := c.Cursor(id)
	c.Accepts(id, c.record.SessionID, token.String())
	return id
}

func event(ordinal uint64) Arrival {
	return Arrival{ID: cursorText(10*ordinal, 0, ordinal), HasID: true, Payload: true}
}

// apply takes an event and commits it.
func apply(c *Client, id StreamID, ev Arrival) {
	c.EventArrives(id, ev)
	c.StreamCommitted(id)
}

// The token moves with the event and not before; a crash between the two loses
// neither (R20).
func TestTokenMovesWithItsEvent(t *testing.T) {
	c := opened(t)
	id := streaming(c)
	apply(c, id, event(1))
	c.EventArrives(id, event(2))
	if token, _ := c.Cursor(id); token.Ordinal != 1 || len(c.Applied()) != 1 {
		t.Fatalf("with 2 in hand: token %v, applied %v", token, c.Applied())
	}
	c.Restart()
	if token, _ := c.Cursor(id); c.State(id) != spec.Ended || token.Ordinal != 1 {
		t.Errorf("after the crash: %v, token %v", c.State(id), token)
	}
	id = streaming(c)
	apply(c, id, event(2))
	if got := c.Applied(); len(got) != 2 || got[1].ID.Ordinal != 2 {
		t.Errorf("applied %v", got)
	}
}

// What ends an epoch, and what does not (R21, R22): each begins on a stream
// whose token is ordinal 1.
func TestDoubtEndsTheEpoch(t *testing.T) {
	resuming := func(c *Client, id StreamID) { c.StreamEnds(id); c.Reconnect(id, true) }
	for _, test := range []struct {
		name  string
		do    func(c *Client, id StreamID)
		epoch spec.State
		state spec.State
	}{
		{"the next event", func(c *Client, id StreamID) { c.EventArrives(id, event(2)) }, spec.Open, spec.Committing},
		{"a repeat", func(c *Client, id StreamID) { c.EventArrives(id, event(1)) }, spec.Fencing, spec.Lost},
		{"a hole", func(c *Client, id StreamID) { c.EventArrives(id, event(3)) }, spec.Fencing, spec.Lost},
		{"the next ordinal with an old seq", func(c *Client, id StreamID) {
			c.EventArrives(id, Arrival{ID: cursorText(9, 0, 2), HasID: true, Payload: true})
		}, spec.Fencing, spec.Lost},
		{"a payload without an id", func(c *Client, id StreamID) { c.EventArrives(id, Arrival{Payload: true}) }, spec.Fencing, spec.Lost},
		{"another stream's event", func(c *Client, id StreamID) {
			c.EventArrives(id, Arrival{ID: cursorText(20, 1, 2), HasID: true, Payload: true})
		}, spec.Fencing, spec.Lost},
		{"the token as a position", func(c *Client, id StreamID) {
			c.EventArrives(id, Arrival{ID: cursorText(10, 0, 1), HasID: true})
		}, spec.Open, spec.Streaming},
		{"another position", func(c *Client, id StreamID) {
			c.EventArrives(id, Arrival{ID: cursorText(20, 0, 2), HasID: true})
		}, spec.Fencing, spec.Lost},
		{"a clean end", func(c *Client, id StreamID) { c.StreamEnds(id) }, spec.Open, spec.Ended},
		{"a break", func(c *Client, id StreamID) { c.ConnectionBreaks(id) }, spec.Open, spec.Truncated},
		{"accepted at the cursor", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Accepts(id, "session", cursorText(10, 0, 1))
		}, spec.Open, spec.Streaming},
		{"accepted, clamped", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Accepts(id, "session", cursorText(20, 0, 2))
		}, spec.Fencing, spec.Lost},
		{"accepted, from the start", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Accepts(id, "session", cursorText(0, 0, 0))
		}, spec.Fencing, spec.Lost},
		{"accepted by a minted session", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Accepts(id, "another", cursorText(10, 0, 1))
		}, spec.Fencing, spec.Lost},
		{"accepted, nothing announced", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Accepts(id, "session", "")
		}, spec.Open, spec.Unproven},
		{"the next event without an announcement", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Accepts(id, "session", "")
			c.EventArrives(id, event(2))
		}, spec.Open, spec.Committing},
		{"a replay without an announcement", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Accepts(id, "session", "")
			c.EventArrives(id, event(1))
		}, spec.Fencing, spec.Lost},
		{"refused", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Refuses(id, spec.ReasonCursorEvicted, false, false)
		}, spec.Fencing, spec.Lost},
		{"superseded by another of its kind", func(c *Client, id StreamID) {
			resuming(c, id)
			c.Refuses(id, spec.ReasonAttemptSuperseded, false, false)
		}, spec.Abandoned, spec.Lost},
		{"not now", func(c *Client, id StreamID) { resuming(c, id); c.Defers(id) }, spec.Open, spec.Ended},
		{"attempts used up", func(c *Client, id StreamID) { c.StreamEnds(id); c.Reconnect(id, false) }, spec.Open, spec.Suspended},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := opened(t)
			id := streaming(c)
			apply(c, id, event(1))
			test.do(c, id)
			if c.epoch != test.epoch || c.State(id) != test.state {
				t.Errorf("epoch %v, stream %v, expected %v and %v", c.epoch, c.State(id), test.epoch, test.state)
			}
			if len(c.Applied()) != 1 {
				t.Errorf("applied %v", c.Applied())
			}
		})
	}
}

// A fence makes the calls in flight unknown, which outlive any number of
// epochs, each in quarantine, until the caller decides (R22, R23, case 54).
func TestUnknownOutlivesEpochs(t *testing.T) {
	c := opened(t)
	call, _ := c.Call(false)
	c.CallCommitted(call)
	c.Contradict()
	if c.State(call) != spec.Lost || len(c.record.Unknowns) != 0 {
		t.Fatal("the call is unknown before the fence is durable")
	}
	c.FenceCommitted()
	for _, session := range []string{"second", "third"} {
		openEpoch(c, session, testTag)
		c.Restart()
		if c.epoch != spec.Quarantined || !c.record.Unknowns[call] {
			t.Fatalf("%s epoch: %v, unknowns %v", session, c.epoch, c.record.Unknowns)
		}
		if _, r := c.Call(false); r != spec.ReasonQuarantined {
			t.Errorf("a call in quarantine: %q", r)
		}
		if session == "second" {
			c.Abandon()
			c.FenceCommitted()
		}
	}
	c.Resolve()
	c.ResolutionCommitted(call)
	if next, r := c.Call(false); r != "" || next.Request <= call.Request {
		t.Errorf("after the decision: %v %q; request ids are never used again", next, r)
	}
}

// Case 44 and 58: one stream is refused while another has an event in hand; if
// the fence is durable first, its commit has to be refused.
func TestLateCommitIsRefused(t *testing.T) {
	c := opened(t)
	id := streaming(c)
	call, _ := c.Call(false)
	c.CallCommitted(call)
	c.EventArrives(id, event(1))
	before := c.Clone()
	for _, c := range []*Client{c, before} {
		c.Refuses(call, spec.ReasonSessionUnknown, true, false)
		if c.State(id) != spec.Lost || !c.Holds(id) {
			t.Fatalf("in doubt, not fenced: %v, the store would take the commit: %t", c.State(id), c.Holds(id))
		}
	}
	if before.StreamCommitted(id); len(before.Applied()) != 1 {
		t.Error("before the fence the commit was not applied")
	}
	c.FenceCommitted()
	if c.Holds(id) {
		t.Fatal("after the fence a store would take the commit")
	}
	c.StreamCommitFailed(id, true)
	if len(c.Applied()) != 0 || !c.record.Unknowns[call] {
		t.Errorf("applied %v, unknowns %v", c.Applied(), c.record.Unknowns)
	}
}

// A POST's view opens an unseen stream at position 0 (R21).
func TestPostOpensUnseenStreamAtZero(t *testing.T) {
	for _, test := range []struct {
		name     string
		position string
		state    spec.State
	}{
		{"position 0 of an unseen stream", cursorText(0, 7, 0), spec.Committing},
		{"position 0 of the standalone stream", cursorText(0, 0, 0), spec.Lost},
		{"later than position 0", cursorText(5, 7, 1), spec.Lost},
		{"of another session", string(spec.PositionZero("ffeeddccbbaa99887766554433221100", 7).String()), spec.Lost},
		{"of a stream that another call has", cursorText(0, 6, 0), spec.Lost},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := opened(t)
			first, _ := c.Call(false)
			c.CallCommitted(first)
			c.Accepts(first, "session", cursorText(0, 6, 0))
			c.StreamCommitted(first)
			call, _ := c.Call(false)
			c.CallCommitted(call)
			c.Accepts(call, "session", test.position)
			if c.State(call) != test.state || (c.epoch == spec.Fencing) != (test.state == spec.Lost) {
				t.Errorf("%v, epoch %v, expected %v", c.State(call), c.epoch, test.state)
			}
		})
	}
}

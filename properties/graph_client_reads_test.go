package properties

import (
	"errors"
	"fmt"

	"example.com/reattach/impl/client"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// What a graphClient makes of what arrives.

// outcome says whether what was read ended certainty.
func (c *graphClient) outcome(otherwise string) string {
	if c.core.State() == spec.Fencing {
		return "doubt"
	}
	return otherwise
}

// arrive lets a frame arrive, whether or not anybody waits for it.
func (c *graphClient) arrive(kind string, e, n, k int) (reply any, err error) {
	switch kind {
	case "opened":
		return nil, c.opened(e)
	case "accepted":
		return c.readAccepted(e, n)
	case "complete":
		return c.readComplete(e)
	case "refused":
		return nil, c.readRefused()
	case "event":
		return c.readEvent(e, n, k)
	case "end", "torn":
		return nil, c.readEnd(kind == "torn")
	}
	return nil, fmt.Errorf("nobody said how %s is read", kind)
}

// behind lets the connection speak that the client had before its present one.
// Nothing of it may be heard, however right it is (R21).
func (c *graphClient) behind(kind string, e, n int) error {
	id, conn, says := c.core.Standalone(), c.conn-1, idAt(e, n).String()
	var err error
	switch opening := c.core.State() == spec.Opening; kind {
	case "opened":
		_, err = c.core.Opened(c.core.Snapshot().Opening-1, client.Opened{SessionID: sessionOf(e), Standalone: says})
	case "accepted", "replay":
		_, err = c.core.Accepts(id, conn, client.Accepted{SessionID: sessionOf(e), Position: says})
	case "complete":
		_, err = c.core.Completes(id, conn, sessionOf(e))
	case "refused":
		_, err = c.core.Refuses(id, conn, client.Refusal{Status: 404, Reason: spec.ReasonSessionUnknown})
	case "event":
		_, err = c.core.EventArrives(id, conn, client.Event{ID: says, HasID: true, Payload: []byte("too late")})
	case "end", "torn":
		switch {
		case opening:
			_, err = c.core.OpeningFails(c.core.Snapshot().Opening-1, spec.ReasonRefused)
		case kind == "end":
			_, err = c.core.StreamEnds(id, conn)
		default:
			_, err = c.core.ConnectionBreaks(id, conn)
		}
	}
	var other *client.ConnectionError
	if !errors.As(err, &other) {
		return fmt.Errorf("%s of an old connection is heard: %v", kind, err)
	}
	return graph.ErrRefused
}

// doubts checks that something ends certainty which is as wrong as what another
// session says, on a clone.
func (c *graphClient) doubts(what any, arrives func(*client.Core, uint64) ([]client.Action, error)) error {
	n := c.clone()
	actions, err := arrives(n.core, c.conn)
	if err := n.take(actions, err); err != nil || n.phase() != "doubt" || n.fence == nil {
		return fmt.Errorf("%v is as wrong, and makes it %s: %w", what, n.phase(), err)
	}
	return nil
}

// staleText is an id whose ordinal follows and whose seq does not. Where there
// is no such number it is the id of nobody.
func staleText(id spec.EventID) string {
	if id.Seq == 0 {
		return "0"
	}
	return id.String()
}

// readAccepted: 200 to a resumption.
func (c *graphClient) readAccepted(e, n int) (any, error) {
	if e != c.epoch() && c.stream(0).State == spec.Resuming {
		own, sent := c.record.SessionID, c.stream(0).Cursor
		beyond := spec.EventID{Tag: c.record.Tag, Seq: 9, Ordinal: 9}.String()
		for _, said := range [][2]string{{"", sent}, {sessionOf(e), sent}, {own, idAt(e, n).String()}, {own, beyond}, {own, sent + "0"}, {"", ""}} {
			a := client.Accepted{SessionID: said[0], Position: said[1]}
			if err := c.doubts(a, func(c *client.Core, conn uint64) ([]client.Action, error) { return c.Accepts(c.Standalone(), conn, a) }); err != nil {
				return nil, err
			}
		}
	}
	unproven := c.clone()
	actions, err := c.core.Accepts(c.core.Standalone(), c.conn, client.Accepted{SessionID: sessionOf(e), Position: idAt(e, n).String()})
	said, err := c.outcomeOf("proven", c.take(actions, err))
	if said == "proven" {
		err = unproven.provesItself(c)
	}
	return said, err
}

// provesItself checks, where the client was right to go on from a position that
// was announced, what it makes of an answer without one: it is proved by an event
// that is only the position, and then as good; till then nothing but the very
// next event is taken (R21).
func (c *graphClient) provesItself(announced *graphClient) error {
	id, sent := c.core.Standalone(), c.stream(0).Cursor
	actions, err := c.core.Accepts(id, c.conn, client.Accepted{SessionID: c.record.SessionID})
	if err := c.take(actions, err); err != nil || c.stream(0).State != spec.Unproven {
		return fmt.Errorf("an answer without a position makes it %v: %w", c.stream(0).State, err)
	}
	for _, wrong := range []string{sent, "", "1", idAt(c.epoch(), int(c.stream(0).High.Ordinal)+9).String()} {
		ev := client.Event{ID: wrong, HasID: wrong != "", Payload: []byte("not next")}
		if err := c.doubts(wrong, func(c *client.Core, conn uint64) ([]client.Action, error) {
			return c.EventArrives(c.Standalone(), conn, ev)
		}); err != nil {
			return err
		}
	}
	actions, err = c.core.EventArrives(id, c.conn, client.Event{ID: sent, HasID: true})
	if err := c.take(actions, err); err != nil {
		return err
	}
	if got, want := c.key(), announced.key(); got != want {
		return fmt.Errorf("a position that comes as an event makes it\n%s\nand one that was announced\n%s", got, want)
	}
	return nil
}

// readComplete: 204 to a resumption, which names no position. With it a call
// that is unanswered learns that nothing will come.
func (c *graphClient) readComplete(e int) (any, error) {
	if e != c.epoch() && c.stream(0).State == spec.Resuming {
		if err := c.doubts("204 of nobody", func(c *client.Core, conn uint64) ([]client.Action, error) {
			return c.Completes(c.Standalone(), conn, "")
		}); err != nil {
			return nil, err
		}
	}
	actions, err := c.core.Completes(c.core.Standalone(), c.conn, sessionOf(e))
	said, err := c.outcomeOf("proven", c.take(actions, err))
	if err != nil || said == "doubt" {
		return said, err
	}
	for k := range c.calls {
		if c.callWord(k+1) == "inflight" {
			if err := c.callBroken(k + 1); err != nil {
				return nil, err
			}
		}
	}
	return said, nil
}

func (c *graphClient) outcomeOf(otherwise string, err error) (any, error) {
	if err := denied(err); err != nil {
		return nil, err
	}
	return c.outcome(otherwise), nil
}

// readRefused: a final refusal of a resumption.
func (c *graphClient) readRefused() error {
	actions, err := c.core.Refuses(c.core.Standalone(), c.conn, client.Refusal{Status: 409, Reason: spec.ReasonCursorEvicted})
	return denied(c.take(actions, err))
}

// readEvent: a whole event. If it answers a call that is in flight, the answer
// arrives on that call's own stream at the same time.
func (c *graphClient) readEvent(e, n, k int) (any, error) {
	if e != c.epoch() && c.stream(0).State == spec.Streaming {
		at, _ := spec.ParseEventID(c.stream(0).Cursor)
		next := spec.EventID{Tag: at.Tag, Seq: at.Seq + 1, Ordinal: at.Ordinal + 1}
		elsewhere, hole, stale := next, next, next
		elsewhere.Stream, hole.Seq, hole.Ordinal, stale.Seq = 1, at.Seq+2, at.Ordinal+2, at.Seq
		for _, id := range []string{"", at.String(), elsewhere.String(), hole.String(), staleText(stale), "1", next.String() + " "} {
			ev := client.Event{ID: id, HasID: id != "", Payload: []byte("as wrong")}
			if err := c.doubts(id, func(c *client.Core, conn uint64) ([]client.Action, error) {
				return c.EventArrives(c.Standalone(), conn, ev)
			}); err != nil {
				return nil, err
			}
		}
		for _, id := range []string{next.String(), hole.String(), elsewhere.String()} { // a position, without a payload
			ev := client.Event{ID: id, HasID: true}
			if err := c.doubts(id, func(c *client.Core, conn uint64) ([]client.Action, error) {
				return c.EventArrives(c.Standalone(), conn, ev)
			}); err != nil {
				return nil, err
			}
		}
	}
	actions, err := c.core.EventArrives(c.core.Standalone(), c.conn, client.Event{ID: idAt(e, n).String(), HasID: true, Payload: payloadAnswering(e, n, k)})
	said, err := c.outcomeOf("next", c.take(actions, err))
	if err != nil || said == "doubt" {
		return said, err
	}
	c.hand = handSight{e, n, k}
	if k > 0 && c.callWord(k) == "inflight" {
		return said, c.answer(k)
	}
	return said, nil
}

// readEnd: the connection is over, cleanly or inside an event.
func (c *graphClient) readEnd(torn bool) error {
	if c.core.State() == spec.Opening {
		actions, err := c.core.OpeningFails(c.core.Snapshot().Opening, spec.ReasonRefused)
		return denied(c.take(actions, err))
	}
	ends := c.core.ConnectionBreaks
	if st := c.stream(0); st.State == spec.Streaming && !torn {
		ends = c.core.StreamEnds
	}
	actions, err := ends(c.core.Standalone(), c.conn)
	if c.hand != (handSight{}) && c.ended == "" && c.stream(0).State == spec.Committing {
		if denied(err) != graph.ErrRefused {
			return fmt.Errorf("the end of the connection is heard while a transaction is in hand: %v", err)
		}
		c.ended = map[bool]string{true: "torn", false: "end"}[torn]
		return nil
	}
	return denied(c.take(actions, err))
}

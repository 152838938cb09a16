package model

import (
	"cmp"
	"maps"
	"slices"

	"example.com/reattach/spec"
)

// A ClientView is what can be seen of a client from outside: what a lockstep
// suite compares after every step.
type ClientView struct {
	Epoch    spec.State
	Number   uint64 // of the record's epoch
	Session  string
	Streams  []ClientStreamView // by epoch and request
	Calls    []uint64           // in flight in the record, ascending
	Unknowns []StreamID         // unresolved in the record
	Applied  int                // events applied so far
}

// A ClientStreamView is what can be seen of a client's stream.
type ClientStreamView struct {
	ID    StreamID
	State spec.State
	Token spec.EventID // in the record; zero: none
}

func byStream(a, b StreamID) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Request, b.Request))
}

// Observe returns what can be seen of the client.
func (c *Client) Observe() ClientView {
	v := ClientView{Epoch: c.epoch, Number: c.record.Epoch, Session: c.record.SessionID, Applied: len(c.applied),
		Calls: slices.Sorted(maps.Keys(c.record.Calls)), Unknowns: slices.SortedFunc(maps.Keys(c.record.Unknowns), byStream)}
	for _, id := range slices.SortedFunc(maps.Keys(c.streams), byStream) {
		token, _ := c.token(id)
		v.Streams = append(v.Streams, ClientStreamView{ID: id, State: c.streams[id].state, Token: token})
	}
	return v
}

// Record returns a copy of what is durable.
func (c *Client) Record() DurableRecord { return c.record.clone() }

// Applied returns what was applied, in order.
func (c *Client) Applied() []Applied { return slices.Clone(c.applied) }

// State returns the state of a stream by its name in package spec.
func (c *Client) State(id StreamID) spec.State { return c.stream(id).state }

// Cursor returns what a resumption of the stream carries: its token, as it
// stands in the record (R25).
func (c *Client) Cursor(id StreamID) (spec.EventID, bool) { return c.token(id) }

// Forget drops a stream that is over.
func (c *Client) Forget(id StreamID) { delete(c.streams, id) }

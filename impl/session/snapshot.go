package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// StreamInfo is what can be said of one stream.
type StreamInfo struct {
	Number      uint64
	State       spec.State
	Floor, Head window.Position // zero without a record
	Handed      window.Position // the last event that any view ever took (R7)
	Newest      spec.Attempt    // of those that were granted (R10)
	Retained    uint64
	View        *ViewState // or nil
}

// Stream describes a stream. One without a record is Unopened or Forgotten.
func (c *Core) Stream(n uint64) StreamInfo {
	rec := c.glance(n)
	info := StreamInfo{Number: n, State: rec.state, Handed: rec.handed, Newest: rec.newest, View: rec.view, Retained: c.window.Retained(n)}
	info.Floor, _ = c.window.Floor(n)
	info.Head, _ = c.window.Head(n)
	return info
}

// Streams describes every stream that has a record, in the order of their
// numbers.
func (c *Core) Streams() []StreamInfo {
	if c.zeroState() != spec.Detached {
		return nil
	}
	all := []StreamInfo{c.Stream(0)}
	if c.body != nil {
		for _, n := range slices.Sorted(maps.Keys(c.body.more)) {
			all = append(all, c.Stream(n))
		}
	}
	return all
}

// Clone returns a core that behaves as this one and shares nothing with it that
// moves. The views of the clone are its own: [Core.Stream] tells them.
func (c *Core) Clone() *Core {
	n := *c
	n.window = c.window.Clone()
	if c.body == nil {
		return &n
	}
	b := *c.body
	b.notes, b.done = nil, nil
	b.zero = *cloneRecord(&c.body.zero)
	n.body = &b
	b.zero.adopt()
	b.more = make(map[uint64]*record, len(c.body.more))
	for number, rec := range c.body.more {
		b.more[number] = cloneRecord(rec)
		b.more[number].adopt()
	}
	b.finished = nil
	for _, rec := range c.body.finished {
		b.finished = append(b.finished, b.more[rec.number])
	}
	return &n
}

func cloneRecord(rec *record) *record {
	n := *rec
	n.handle = nil
	if rec.view != nil {
		v := *rec.view
		v.wait = waiter{}
		n.view = &v
	}
	return &n
}

// adopt tells a cloned record's view whose it is.
func (rec *record) adopt() {
	if rec.view != nil {
		rec.view.rec = rec
	}
}

// A Snapshot is everything that decides how a session will behave, but for
// time: two cores with equal snapshots answer equal calls equally. It is
// readable, and comparable.
type Snapshot string

// Snapshot returns the snapshot of the core.
func (c *Core) Snapshot() Snapshot {
	var b strings.Builder
	fmt.Fprintf(&b, "%v seq=%d retained=%d/%d next=%d", c.state, c.window.Seq(), c.window.Len(), c.window.Bytes(), c.NextStream())
	for _, s := range c.Streams() {
		fmt.Fprintf(&b, "\nstream %d %v floor=%d/%d head=%d/%d handed=%d", s.Number, s.State,
			s.Floor.Ordinal, s.Floor.Seq, s.Head.Ordinal, s.Head.Seq, s.Handed.Ordinal)
		if !s.Newest.IsZero() {
			fmt.Fprintf(&b, " attempt=%v", s.Newest)
		}
		if s.View != nil {
			fmt.Fprintf(&b, " view=%d", s.View.At.Ordinal)
		}
	}
	if c.body != nil && len(c.body.finished) > 0 {
		b.WriteString("\nfinished")
		for _, rec := range c.body.finished {
			fmt.Fprintf(&b, " %d", rec.number)
		}
	}
	for ev := range c.window.All() {
		fmt.Fprintf(&b, "\nevent %v %q", ev.Position, ev.Payload)
	}
	return Snapshot(b.String())
}

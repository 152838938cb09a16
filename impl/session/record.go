package session

import (
	"maps"
	"math"
	"slices"

	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// record is what a session knows of one stream, from StreamOpens to
// ForgetStream; its floor, head and events are the window's.
type record struct {
	number    uint64
	state     spec.State
	cancelled bool            // its work is to stop
	plain     bool            // in this state, the row of an event that fits records it and does nothing else (see emitPlainly)
	flows     bool            // and that of an event that is taken and is not the last one delivers it and does nothing else (see deliverTo)
	view      *ViewState      // the one that is not superseded, or nil
	handed    window.Position // the last event that any view ever took (R7)
	newest    spec.Attempt    // of those that were granted (R10)
	last      uint64          // seq of the event that finished it
	since     int64           // when it was last left without a view
	meta      any
	handle    *Stream // the registry's, if it gave one out
}

// body is what a session has once anything happened in it. What emitting looks
// at comes first, on one cache line.
type body struct {
	tag spec.Tag

	// finished holds the finished streams in the order of their last events'
	// seqs, mostly that in which they finished: so eviction, which is oldest
	// first, takes the last retained event of the first of them first.
	finished []*record

	zero record             // the standalone stream
	more map[uint64]*record // the others that have a record
	next uint64             // number of the next stream

	views    int // open
	inFlight int // calls unfinished, or finished with a view that still carries them
	detached int // calls that are unfinished and without a view

	notes []Note
	done  chan struct{} // the registry's: closed when the session has ended
	held  *held         // the registry's, if it has a store
}

// lastStream is a number that is never assigned: numbers end, they never start
// again (R2).
const lastStream = math.MaxUint64

// embody makes the body of a session in which something happens.
func (c *Core) embody() *body {
	if c.body == nil {
		c.body = &body{tag: c.Tag(), next: c.NextStream(), zero: record{state: c.zeroState()}}
	}
	return c.body
}

// zeroState is the state of the standalone stream while there is no body.
func (c *Core) zeroState() spec.State {
	switch c.state {
	case spec.Absent:
		return spec.Unopened
	case spec.Live, spec.Draining:
		return spec.Detached
	default:
		return spec.Forgotten
	}
}

// NextStream returns the number that the next stream gets.
func (c *Core) NextStream() uint64 {
	switch {
	case c.body != nil:
		return c.body.next
	case c.state == spec.Absent:
		return 0
	default:
		return 1
	}
}

// at returns a stream's record for a trigger that may change it. A number that
// was never assigned, or whose record was dropped, gets one that says so and is
// kept nowhere: its rows forbid everything but what changes nothing.
func (c *Core) at(n uint64) *record {
	if n == 0 && c.zeroState() == spec.Detached {
		return &c.embody().zero
	}
	if b := c.body; b != nil {
		if n == 0 {
			return &b.zero
		}
		if rec := b.more[n]; rec != nil {
			return rec
		}
	}
	if n >= c.NextStream() {
		return &record{number: n, state: spec.Unopened}
	}
	return &record{number: n, state: spec.Forgotten}
}

// glance returns a copy of a stream's record, and makes no body for it.
func (c *Core) glance(n uint64) record {
	if n == 0 && c.body == nil {
		return record{state: c.zeroState()}
	}
	return *c.at(n)
}

// assign gives a stream its number, which must be the next one, and keeps its
// record. An idle session keeps none: that it is Live says that its standalone
// stream is Detached.
func (c *Core) assign(rec *record) {
	if rec.number != c.NextStream() {
		bug("stream %d opens, the next number is %d", rec.number, c.NextStream())
	}
	c.window.Open(rec.number)
	if rec.number == 0 {
		return
	}
	b := c.embody()
	b.next++
	if b.more == nil {
		b.more = make(map[uint64]*record)
	}
	b.more[rec.number] = rec
}

// finish puts a stream among the finished ones, in the order of their last
// seqs. Its own is the highest, unless no number was left for its answer.
func (b *body) finish(rec *record) {
	i := len(b.finished)
	for i > 0 && b.finished[i-1].last > rec.last {
		i--
	}
	b.finished = slices.Insert(b.finished, i, rec)
}

// forget drops the record of a stream, and with it what it retains.
func (c *Core) forget(rec *record) {
	c.window.Forget(rec.number)
	b := c.embody()
	delete(b.more, rec.number)
	if i := slices.Index(b.finished, rec); i >= 0 {
		b.finished = slices.Delete(b.finished, i, i+1)
	}
	if len(b.finished) == 0 {
		b.finished = nil
	}
}

// move is where a stream's state changes, and with it what is counted.
func (c *Core) move(rec *record, to spec.State, now int64) {
	if rec.number != 0 && rec.state != to {
		b := c.body
		b.inFlight += inFlight(to) - inFlight(rec.state)
		b.detached += detached(to) - detached(rec.state)
	}
	if rec.state == to {
		return
	}
	if to == spec.Detached {
		rec.since = now
	}
	rec.state, rec.plain, rec.flows = to, false, false
}

func inFlight(s spec.State) int {
	if s == spec.Detached || s == spec.Attached || s == spec.FinishedAttached {
		return 1
	}
	return 0
}

func detached(s spec.State) int {
	if s == spec.Detached {
		return 1
	}
	return 0
}

// recordsFull reports whether another record would be one too many.
func (c *Core) recordsFull() bool {
	return c.body != nil && 1+len(c.body.more) >= c.cfg.Streams || c.cfg.Streams <= 1
}

// oldestFinished returns the finished stream without a view that finished
// first, or nil.
func (c *Core) oldestFinished() *record {
	if c.body != nil {
		for _, rec := range c.body.finished {
			if rec.state == spec.FinishedDetached {
				return rec
			}
		}
	}
	return nil
}

// records returns every record that may move, in the order of their numbers.
func (c *Core) records() []*record {
	if c.zeroState() != spec.Detached { // absent, or over
		return nil
	}
	b := c.embody()
	all := make([]*record, 1, 1+len(b.more))
	all[0] = &b.zero
	for _, n := range slices.Sorted(maps.Keys(b.more)) {
		all = append(all, b.more[n])
	}
	return all
}

package window_test

import (
	"cmp"
	"maps"
	"slices"

	"example.com/reattach/impl/window"
)

// naive is the window as the contract says it: every event that was ever
// issued, in a list; how many of them are gone; nothing else. Floors, heads and
// standings are looked up in the list each time. It shares nothing with the
// package but the types of its arguments and results.
type naive struct {
	limits  window.Limits
	first   uint64 // seq of the first event in issued is first+1
	issued  []issued
	gone    int                 // the first so many of issued are evicted
	streams map[uint64]position // open streams, and where they began
}

type position struct{ seq, ordinal uint64 }

type issued struct {
	seq, stream, ordinal uint64
	stamp                int64
	payload              string
}

func newNaive(limits window.Limits, seq uint64) *naive {
	return &naive{limits: limits, first: seq, streams: map[uint64]position{}}
}

func (n *naive) seq() uint64        { return n.first + uint64(len(n.issued)) }
func (n *naive) retained() []issued { return n.issued[n.gone:] }

func (n *naive) bytes() int {
	sum := 0
	for _, e := range n.retained() {
		sum += len(e.payload)
	}
	return sum
}

func (n *naive) head(stream uint64) position {
	p := n.streams[stream]
	for _, e := range n.issued {
		if e.stream == stream {
			p = position{e.seq, e.ordinal}
		}
	}
	return p
}

func (n *naive) floor(stream uint64) position {
	p := n.streams[stream]
	for _, e := range n.issued[:n.gone] {
		if e.stream == stream {
			p = position{e.seq, e.ordinal}
		}
	}
	return p
}

func (n *naive) stampAt(now int64) int64 {
	if r := n.retained(); len(r) > 0 {
		return max(now, r[len(r)-1].stamp)
	}
	return now
}

// append returns the new event's numbers, how many were evicted for it, and
// which error there is instead.
func (n *naive) append(stream uint64, payload string, now int64) (seq, ordinal uint64, evicted int, refused string) {
	switch {
	case len(payload) > n.limits.MaxEvent || len(payload) >= n.limits.Bytes:
		return 0, 0, 0, "too large"
	case n.seq()+1 == 0 || n.head(stream).ordinal+1 == 0:
		return 0, 0, 0, "exhausted"
	}
	now = n.stampAt(now)
	for len(n.retained()) > 0 {
		r := n.retained()
		if now-r[0].stamp <= n.limits.Age && len(r) < n.limits.Events && n.bytes()+len(payload) <= n.limits.Bytes {
			break
		}
		n.gone++
		evicted++
	}
	e := issued{n.seq() + 1, stream, n.head(stream).ordinal + 1, now, payload}
	n.issued = append(n.issued, e)
	return e.seq, e.ordinal, evicted, ""
}

func (n *naive) evictWhile(old func(issued) bool) int {
	count := 0
	for len(n.retained()) > 0 && old(n.retained()[0]) {
		n.gone++
		count++
	}
	return count
}

// readable are the retained events of the open streams.
func (n *naive) readable() []issued {
	var out []issued
	for _, e := range n.retained() {
		if _, open := n.streams[e.stream]; open {
			out = append(out, e)
		}
	}
	return out
}

// after are the stream's retained events with a higher ordinal.
func (n *naive) after(stream, ordinal uint64) []issued {
	var out []issued
	for _, e := range n.readable() {
		if e.stream == stream && e.ordinal > ordinal {
			out = append(out, e)
		}
	}
	return out
}

// classify follows the sentences of the contract: a number below the floor is
// evicted, whatever its seq; a pair that was issued (or is where the stream
// began) is good; one that lies beyond everything is ahead; any other was never
// issued.
func (n *naive) classify(p window.Position) window.Standing {
	began, open := n.streams[p.Stream]
	if !open {
		return window.NoRecord
	}
	floor := n.floor(p.Stream)
	if p.Ordinal < floor.ordinal {
		return window.Evicted
	}
	if floor == began && (position{p.Seq, p.Ordinal}) == began {
		return window.AtFloor
	}
	for i, e := range n.issued {
		if e.seq == p.Seq && e.stream == p.Stream && e.ordinal == p.Ordinal {
			if i < n.gone {
				return window.AtFloor // not below it, and gone
			}
			return window.InWindow
		}
	}
	if p.Ordinal > n.head(p.Stream).ordinal && p.Seq > n.seq() {
		return window.Ahead
	}
	return window.Unissued
}

func (n *naive) sorted() []uint64 {
	return slices.SortedFunc(maps.Keys(n.streams), cmp.Compare[uint64])
}

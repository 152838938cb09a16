package client

import "slices"

// A Span is a run of stream numbers, First to Last. A record keeps the numbers
// that the streams of its calls had as spans, since a server assigns them in
// order: a million calls are one span, and a stream that was there before is
// recognised however long ago that was (R21).
type Span struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// maxSpans bounds what a server can make a record hold by numbers with holes.
// Beyond it the lowest hole is closed: a number in it counts as seen, which
// can only make the client stricter.
const maxSpans = 64

func seen(spans []Span, n uint64) bool {
	i, _ := slices.BinarySearchFunc(spans, n, func(s Span, n uint64) int { return order(s.Last, n) })
	return i < len(spans) && spans[i].First <= n
}

// addSeen returns spans with n in them; it leaves the argument as it is.
func addSeen(spans []Span, n uint64) []Span {
	if seen(spans, n) {
		return spans
	}
	i, _ := slices.BinarySearchFunc(spans, n, func(s Span, n uint64) int { return order(s.Last, n) })
	spans = slices.Insert(slices.Clone(spans), i, Span{n, n})
	spans = joinSpans(spans, i)
	spans = joinSpans(spans, i-1)
	if len(spans) > maxSpans {
		spans[1].First = spans[0].First
		spans = spans[1:]
	}
	return spans
}

// joinSpans makes one of spans i and i+1 if no number lies between them.
func joinSpans(spans []Span, i int) []Span {
	if i < 0 || i+1 >= len(spans) || spans[i].Last+1 != spans[i+1].First {
		return spans
	}
	spans[i].Last = spans[i+1].Last
	return slices.Delete(spans, i+1, i+2)
}

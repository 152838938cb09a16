package streamhttp

import "sync"

const (
	burstBytes = 60 << 10 // encoded before it is written: two pieces of what is written at once (pace.go)
	smallBurst = 4 << 10  // what a lent buffer has room for at least
	keptBytes  = 2 * burstBytes
)

// A burst is room for events between their encoding and their writing. A view
// borrows one when there is something to take and gives it back before it
// waits, so that a view that waits holds none, however much it wrote before.
type burst struct {
	buf  []byte
	ends []end
}

// bursts are those that no view has in use. What a single large event made
// larger than usual is not kept (keptBytes).
var bursts = sync.Pool{New: func() any { return &burst{buf: make([]byte, 0, 2*smallBurst)} }}

// borrow makes sure that the view has room for events.
func (v *view) borrow() {
	if v.lent != nil {
		return
	}
	v.lent = bursts.Get().(*burst)
	v.buf, v.ends = append(v.lent.buf, v.buf...), append(v.lent.ends, v.ends...)
}

// giveBack gives up the room for events, and the events in it.
func (v *view) giveBack() {
	if v.lent == nil {
		return
	}
	if cap(v.buf) <= keptBytes {
		clear(v.ends) // of the tags in it
		*v.lent = burst{v.buf[:0], v.ends[:0]}
		bursts.Put(v.lent)
	}
	v.lent, v.buf, v.ends = nil, nil, nil
}

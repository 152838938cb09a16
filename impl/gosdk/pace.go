package gosdk

import (
	"cmp"
	"context"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A pace keeps a tool from overtaking its own reader.
//
// With the SDK's handler a notification is written before NotifyProgress
// returns, so a tool runs no faster than its client reads. Here it is recorded,
// and recording waits for nobody (R3): a tool that emits a thousand at once
// would push its reader's next event out of the window, and lose the call. So
// what is sent in the context of a call returns when no more than the call's
// share of the window is waiting for the view of its own stream. It never waits
// for a client that is away, nor for another stream's; R9 ends the view of one
// that does not read.
//
// The calls of a session share one window, whose oldest event goes first: a
// reader that stops altogether is still overtaken by what other calls emit.
type pace struct {
	events uint64 // of all calls of a session, not taken by their views
	bytes  uint64
}

func newPace(o session.Options) *pace {
	return &pace{ // the other half is for what is on its way when a connection breaks
		events: uint64(cmp.Or(o.WindowEvents, spec.DefaultWindowEvents)) / 2,
		bytes:  uint64(cmp.Or(o.WindowBytes, spec.DefaultWindowBytes)) / 2,
	}
}

// share is how many events of at most size bytes may wait on one of n streams.
func (p *pace) share(n int, size uint64) uint64 {
	return max(min(p.events, p.bytes/max(size, 1))/uint64(max(n, 1)), 1)
}

// keep returns when the stream's view has taken enough after an event of the
// call was emitted.
func (k *call) keep(ctx context.Context, e streamhttp.Emitted, size int) {
	if k.pace == nil || !e.Attached {
		return
	}
	largest := k.largest.Load()
	for uint64(size) > largest && !k.largest.CompareAndSwap(largest, uint64(size)) {
		largest = k.largest.Load()
	}
	share := k.pace.share(k.conn.session.Views(), k.largest.Load())
	if e.Lag <= share {
		return
	}
	k.stream.AwaitLag(ctx, share/2)
}

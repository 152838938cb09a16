package session

import (
	"context"
	"errors"
	"io"
	"iter"

	"example.com/reattach/spec"
)

// A View is one live response on its way to a client: a position in a stream
// that moves over the events as it takes them. One goroutine at a time may take
// from it; Break and the rest are safe from any.
type View struct {
	session *Session
	stream  *Stream
	state   *ViewState
}

// A Delivery is one event that a view took. It is the view's to finish: whether
// its client got it, the client's next cursor tells.
type Delivery struct {
	ID      spec.EventID
	Payload []byte
	Last    bool // the last event of a finished stream
}

// Session returns the view's session.
func (v *View) Session() *Session { return v.session }

// Stream returns the view's stream.
func (v *View) Stream() *Stream { return v.stream }

// Position returns where the view began: what its answer announces (R8).
func (v *View) Position() spec.EventID {
	v.session.mu.Lock()
	defer v.session.mu.Unlock()
	return v.session.core.eventID(v.state.Start)
}

// Mode returns attach or reattach (R8).
func (v *View) Mode() string { return v.state.Mode.String() }

// Skipped returns how many events before Position were evicted without ever
// having been handed to a view (R7).
func (v *View) Skipped() uint64 { return v.state.Skipped }

// Finished reports whether the stream was finished when the view began.
func (v *View) Finished() bool { return v.state.Finished }

// Lag returns how many events of the stream the view has not taken.
func (v *View) Lag() uint64 {
	v.session.mu.Lock()
	defer v.session.mu.Unlock()
	head, ok := v.session.core.window.Head(v.state.Stream)
	if !ok || v.state.End != StillOpen {
		return 0
	}
	return head.Ordinal - v.state.At.Ordinal
}

// Next takes the next event, and waits for it. The payload is copied to buf,
// from its beginning, or to a larger one in its place.
//
// It returns io.EOF once the view was delivered to its end, the context's
// error, or a [*ViewOverError]: ErrSuperseded (nothing more may be written),
// ErrOvertaken, ErrStalled, ErrViewEnded, ErrSessionOver, ErrBroken.
func (v *View) Next(ctx context.Context, buf []byte) (Delivery, error) {
	for {
		d, ok, err := v.TryNext(buf)
		if ok || err != nil {
			return d, err
		}
		select {
		case <-v.Ready():
		case <-ctx.Done():
			return Delivery{}, ctx.Err()
		}
	}
}

// TryNext is Next without the waiting: ok says whether there was an event. If
// there was none, and no error, Ready tells when to try again.
func (v *View) TryNext(buf []byte) (d Delivery, ok bool, err error) {
	n, err := v.take(func(lent Delivery) bool {
		d = lent
		d.Payload = append(buf[:0], lent.Payload...)
		return false
	})
	return d, n == 1, err
}

// Take takes what there is, without waiting, and hands it to yield until that
// returns false; what yield was given is taken. It returns how many that were.
// An error is returned only with none, and is one of Next's.
//
// The payload is lent, and the session is locked: yield copies or encodes it,
// and must neither wait nor call back.
func (v *View) Take(yield func(Delivery) bool) (n int, err error) { return v.take(yield) }

func (v *View) take(yield func(Delivery) bool) (n int, err error) {
	s := v.session
	now := s.owner.registry.clock.Load()
	var notes []Note
	s.mu.Lock()
	defer func() {
		s.mu.Unlock()
		s.logNotes(notes)
	}()
	for {
		taken, err := s.core.DeliverTo(v.state, now)
		if v.state.End != StillOpen && len(s.core.Notes()) > 0 { // just now
			s.active = s.owner.registry.now()
			notes = s.settle(s.active)
		}
		switch {
		case err != nil && n > 0:
			return n, nil // next time
		case err != nil:
			return 0, err
		case !taken.OK:
			if n == 0 {
				v.state.wait.arm()
			}
			return n, nil
		}
		n++
		more := yield(Delivery{ID: s.core.eventID(taken.Event.Position), Payload: taken.Event.Payload, Last: taken.Last})
		if !more || taken.Last {
			return n, nil
		}
	}
}

// Ready returns a channel that has a token once something has happened since
// the last time that nothing was taken: an event, or the view's end. The
// channel is always the same one.
func (v *View) Ready() <-chan struct{} {
	v.session.mu.Lock()
	defer v.session.mu.Unlock()
	return v.state.wait.channel()
}

// Events takes one event after the other, and waits for each. The payload is
// valid until the next one. A view that is delivered to its end just ends; any
// other end, and the end of the context, yields its error last.
func (v *View) Events(ctx context.Context) iter.Seq2[Delivery, error] {
	return func(yield func(Delivery, error) bool) {
		var buf []byte
		for {
			d, err := v.Next(ctx, buf)
			if errors.Is(err, io.EOF) || !yield(d, err) || err != nil {
				return
			}
			buf = d.Payload
		}
	}
}

// Break fires ViewBreaks: the connection is gone, and its stream waits for the
// client to resume. A view that has ended stays as it is.
func (v *View) Break() error { return v.finish((*Core).Break) }

// Stall fires ViewStalls: the view accepts too little, and is cut (R9). Its
// reader is told ErrStalled. A view that has ended stays as it is.
func (v *View) Stall() error { return v.finish((*Core).Stall) }

// End fires HandlerEndsView for this very view, whatever its stream got since:
// it ends cleanly, and the client may resume (R9b). A view that has ended stays
// as it is.
func (v *View) End() error { return v.finish((*Core).EndView) }

// finish fires what ends the view, unless it has ended.
func (v *View) finish(how func(*Core, uint64, int64) error) error {
	s := v.session
	now := s.owner.registry.now()
	s.mu.Lock()
	defer s.release(now)
	if v.state.End != StillOpen {
		return nil
	}
	s.active = now
	return how(&s.core, v.state.Stream, now)
}

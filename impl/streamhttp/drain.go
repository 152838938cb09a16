package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrStillRunning is what Drain and Shutdown return when calls outlived the
// grace period: their clients come back for the answers, here in vain (R12).
var ErrStillRunning = errors.New("reattach: calls still run")

// Drain begins the shutdown (R12). From its beginning on
//
//   - new sessions, new calls and resumptions are refused with 503, draining,
//     and Retry-After;
//   - answers to the server's own requests, other notifications and DELETE are
//     still taken;
//   - the standalone streams' views are ended cleanly with `retry`;
//   - calls run on, and their answers are delivered to the views that wait.
//
// It returns nil when no call runs and no view is open any more. When the
// context ends first, or Options.GracePeriod, the views that are left are ended
// cleanly with `retry`, shortly before so that they still can be, and the error
// wraps ErrStillRunning if calls still run, with the context's cause. It is not
// undone, and may be called again to wait longer. Then comes
// http.Server.Shutdown, and Close; or Shutdown in the place of both.
func (h *Handler) Drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.opts.GracePeriod)
	defer cancel()
	h.registry.Drain()
	deadline, _ := ctx.Deadline()
	left := time.Until(deadline)
	timer := time.NewTimer(left - min(left/8, parting))
	defer timer.Stop()
	quiet := h.quiet(ctx)
	select {
	case <-quiet:
	case <-timer.C:
	case <-ctx.Done():
	}
	h.registry.EndViews() // of those that are quiet there are none
	select {
	case <-h.views.idle(): // each has written its end
	case <-ctx.Done():
	}
	select {
	case <-h.calls.idle():
		return nil
	default:
	}
	select {
	case <-h.calls.idle():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrStillRunning, context.Cause(ctx))
	}
}

// parting bounds the time, at the end of a grace period, that is left to views
// for writing their end.
const parting = 2 * time.Second

// quiet is closed when neither a call runs nor a view is open, unless the
// context ends first.
func (h *Handler) quiet(ctx context.Context) <-chan struct{} {
	quiet := make(chan struct{})
	go func() {
		for _, c := range []*tally{&h.calls, &h.views} { // no call begins once the first is idle
			select {
			case <-c.idle():
			case <-ctx.Done():
				return
			}
		}
		close(quiet)
	}()
	return quiet
}

// Shutdown is Drain and then Close: whatever is left of the sessions ends, and
// with it the context of every call that still runs, and every request of the
// server that waits for its client with an unknown outcome (R16). The error is
// Drain's. It leaves the listener to http.Server.
func (h *Handler) Shutdown(ctx context.Context) error {
	err := h.Drain(ctx)
	h.Close()
	return err
}

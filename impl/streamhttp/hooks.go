package streamhttp

import (
	"context"
	"net/http"
)

// End ends the session, as a DELETE of its client does: its views end, its
// calls' contexts too, and its id is never found again (R6). An error says that
// it had ended already.
func (s *Session) End() error { return s.core.Terminate() }

// Admits reports whether the protection against pages of a browser lets the
// request in (Options.Hosts and Options.Origins), and answers it with 403 if
// not. It is for what is served beside the handler under the same URL; the
// handler itself asks for every request.
func (h *Handler) Admits(w http.ResponseWriter, r *http.Request) bool {
	if err := h.guard.check(r); err != nil {
		plain(http.StatusForbidden, CodeInvalidRequest, err.Error()).write(w)
		return false
	}
	return true
}

// AwaitLag returns when no more than that many events of the stream wait for its
// view, or it has none, or the context has ended: for an emitter that does not
// want to overtake its own reader. Emitting itself waits for nobody (R3).
func (s *Stream) AwaitLag(ctx context.Context, most uint64) {
	for {
		v := s.session.viewOf(s.core.Number())
		if v == nil {
			return
		}
		more := v.willTake()
		if v.core.Lag() <= most { // also of a view that is over
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// willTake returns a channel that is closed when the view has taken events, or
// is over.
func (v *view) willTake() <-chan struct{} {
	for {
		if c := v.lagging.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if v.lagging.CompareAndSwap(nil, &c) {
			return c
		}
	}
}

// took wakes who waits for the view.
func (v *view) took() {
	if c := v.lagging.Swap(nil); c != nil {
		close(*c)
	}
}

// Views returns how many responses are being written for the session.
func (s *Session) Views() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.views)
}

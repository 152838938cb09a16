package streamhttp

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// A view is the writer of one HTTP response that is attached to one stream.
//
// It writes whole events only: they are encoded into a buffer, and the buffer
// is written in pieces, under a deadline (pace.go). If a piece fails, the
// connection is aborted, so that nothing ever follows half an event (R9).
type view struct {
	core    *session.View
	session *Session
	handler *Handler
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte               // encoded, not yet written
	ends    []end                // where events end in buf
	lent    *burst               // whose room buf and ends are, if they are a burst's
	at      spec.EventID         // the last event that was written whole, or where the view began
	pace    pace                 // what of it is accepted
	stalled bool                 // it accepts too little: nothing more is written but its end (R9)
	until   time.Time            // it is ended cleanly then, so that nothing lives for ever (R9b)
	id      []byte               // scratch
	notify  bool                 // the client asked for control notifications
	retry   atomic.Int64         // hint of an EndView, in nanoseconds; 0 = the handler's
	cut     atomic.Bool          // superseded: not another byte (R10)
	before  atomic.Pointer[view] // the writer that this one supersedes, until that is silent
	idle    chan struct{}        // holds a token while nothing is being written
	mu      sync.Mutex
	over    bool // the response has ended: its writer may serve another one

	lagging atomic.Pointer[chan struct{}] // closed when it has taken something, or is over; nil = nobody waits
}

// newView returns the writer of a response for a view of the session's.
func (h *Handler) newView(w http.ResponseWriter, r *http.Request, s *Session, core *session.View) *view {
	v := &view{core: core, session: s, handler: h, w: w, control: http.NewResponseController(w), idle: make(chan struct{}, 1)}
	v.idle <- struct{}{}
	v.notify = r.Header.Get(HeaderNotify) == "1"
	v.pace = newPace(h.opts.StallBudget, h.opts.MinRate)
	v.at = core.Position()
	life := h.opts.ViewLifeOthers
	if comesBack(r.Header, s.Version()) {
		life = h.opts.ViewLife
	}
	v.until = time.Now().Add(life)
	return v
}

// comesBack reports whether the client of a request is known to resume what is
// ended cleanly: it is one of ours, or has resumed just now, or its revision
// says that servers may end a view (2025-11-25). Others might take the end of a
// view for the end of their call (R9b).
func comesBack(h http.Header, version string) bool {
	for _, name := range [...]string{HeaderNotify, HeaderAttempt, HeaderLastEventID} {
		if h.Get(name) != "" {
			return true
		}
	}
	return primes(version)
}

// serve writes the stream's events to the response until the view is over.
// The older view of the stream, if there is one, has written its last byte
// before this one writes its first.
func (v *view) serve(r *http.Request, older *view) {
	v.handler.views.add()
	defer v.handler.views.done()
	defer v.leave()
	if older != nil {
		older.supersede()
		v.before.Store(nil)
	}
	_ = v.control.SetReadDeadline(time.Time{}) // the server's ReadTimeout is about the request, which is here
	v.begin()
	if !v.run(r.Context().Done()) {
		panic(http.ErrAbortHandler)
	}
}

// leave ends the view with its response; after it nobody touches the writer.
func (v *view) leave() {
	_ = v.core.Break() // one that ended otherwise knows nothing of it
	v.session.unseat(v)
	v.took()
	v.giveBack() // also of what is not written any more
	v.mu.Lock()
	defer v.mu.Unlock()
	v.over = true
}

// begin writes what the client must know before anything else (R8).
func (v *view) begin() {
	position := v.core.Position().String()
	h := v.w.Header()
	h.Set("Content-Type", mediaEventStream)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set(HeaderSessionID, v.session.id)
	h.Set(HeaderPosition, position)
	h.Set(HeaderMode, v.core.Mode())
	h.Set(HeaderKeepAlive, strconv.Itoa(int(math.Ceil(v.handler.opts.KeepAlive.Seconds()))))
	v.w.WriteHeader(http.StatusOK)

	v.comment(commentPosition + position)
	if v.notify {
		v.controlMessage(MethodResumed, position)
	}
	if !v.core.Finished() && primes(v.session.Version()) {
		v.buf = must(sse.AppendPosition(v.buf, position))
	}
}

// run writes until the view is over. It reports whether the response may end
// as it stands; if not, the connection must be aborted.
func (v *view) run(gone <-chan struct{}) (clean bool) {
	keepAlive := v.handler.opts.KeepAlive
	timer := time.NewTimer(keepAlive)
	defer timer.Stop()
	for {
		switch {
		case v.stalled:
			_ = v.core.Stall() // it may have ended otherwise just now
		case !time.Now().Before(v.until):
			_ = v.core.End()
		}
		v.borrow()
		n, err := v.core.Take(v.encode)
		if err != nil {
			return v.end(err)
		}
		if n > 0 {
			v.took()
		}
		if !v.flush() { // what begin wrote goes out together with what was there already
			return false
		}
		if n > 0 || v.stalled {
			continue
		}
		v.giveBack()
		v.pace.rest()
		timer.Reset(min(keepAlive, time.Until(v.until)))
		select {
		case <-v.core.Ready():
		case <-timer.C:
			if !time.Now().Before(v.until) {
				continue // it has lived long enough
			}
			v.comment(commentKeepAlive)
		case <-gone:
			return false
		}
	}
}

// encode appends an event to the buffer; false = that is enough for now.
func (v *view) encode(d session.Delivery) bool {
	before := len(v.buf)
	v.id, _ = d.ID.AppendText(v.id[:0])
	v.buf = must(sse.AppendEvent(v.buf, v.id, "", d.Payload))
	v.ends = append(v.ends, end{len(v.buf), d.ID})
	// Pieces end with an event: there is to be room for two more like this one,
	// lest a burst be a few bytes more than its pieces hold.
	return len(v.buf)+2*(len(v.buf)-before) < burstBytes
}

// end writes what belongs behind the last event, and reports whether the
// response may end cleanly.
func (v *view) end(err error) (clean bool) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, session.ErrSessionOver):
	case errors.Is(err, session.ErrViewEnded):
		v.buf = sse.AppendRetry(v.buf, v.retryHint())
	case errors.Is(err, session.ErrOvertaken), errors.Is(err, session.ErrStalled):
		v.stalled = false
		v.pace.farewell()
		v.comment(commentRequired)
		if v.notify {
			v.controlMessage(MethodResumptionRequired, v.at.String())
		}
		v.buf = sse.AppendRetry(v.buf, v.retryHint())
	case errors.Is(err, session.ErrSuperseded), errors.Is(err, session.ErrBroken):
		return false
	default:
		v.handler.log.Error("a view failed", "session", v.session.Tag(), "stream", v.core.Stream().Number(), "error", err)
		return false
	}
	return v.flush()
}

func (v *view) retryHint() time.Duration {
	if d := v.retry.Load(); d > 0 {
		return time.Duration(d)
	}
	return v.handler.opts.RetryHint
}

func (v *view) comment(text string) { v.buf = must(sse.AppendComment(v.buf, text)) }

// controlMessage appends a control notification: it carries no event id (R8).
func (v *view) controlMessage(method, position string) {
	payload, err := encode(outNotification{"2.0", method, struct {
		Position string `json:"position"`
		Mode     string `json:"mode"`
	}{position, v.core.Mode()}})
	if err != nil {
		panic("reattach: BUG: a control notification that is not JSON: " + err.Error())
	}
	v.buf = must(sse.AppendEvent(v.buf, "", "", payload))
}

// must is for what this package composed itself, or checked before it was
// recorded: that it cannot be framed is our fault.
func must(buf []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprintf("reattach: BUG: cannot be framed: %v", err))
	}
	return buf
}

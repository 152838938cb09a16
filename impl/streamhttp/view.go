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
)

// A view is the writer of one HTTP response that is attached to one stream.
//
// It writes whole events only: they are encoded into a buffer, and the buffer
// is written in pieces, each with a deadline of its own. If a piece fails, the
// connection is aborted, so that nothing ever follows half an event (R9).
type view struct {
	core    *session.View
	session *Session
	handler *Handler
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte               // encoded, not yet written
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

const (
	pieceBytes = 64 << 10 // written at once, under one deadline
	burstBytes = 64 << 10 // encoded before it is written
	keptBytes  = 64 << 10 // a larger buffer is given back after its burst
)

// newView returns the writer of a response for a view of the session's.
func (h *Handler) newView(w http.ResponseWriter, r *http.Request, s *Session, core *session.View) *view {
	v := &view{core: core, session: s, handler: h, w: w, control: http.NewResponseController(w), idle: make(chan struct{}, 1)}
	v.idle <- struct{}{}
	v.notify = r.Header.Get(HeaderNotify) == "1"
	return v
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
		if !v.flush() { // at first what begin wrote, then the last burst
			return false
		}
		n, err := v.core.Take(v.encode)
		if err != nil {
			return v.end(err)
		}
		if n > 0 {
			v.took()
			continue
		}
		timer.Reset(keepAlive)
		select {
		case <-v.core.Ready():
		case <-timer.C:
			v.comment(commentKeepAlive)
		case <-gone:
			return false
		}
	}
}

// encode appends an event to the buffer; false = that is enough for now.
func (v *view) encode(d session.Delivery) bool {
	v.id, _ = d.ID.AppendText(v.id[:0])
	v.buf = must(sse.AppendEvent(v.buf, v.id, "", d.Payload))
	return len(v.buf) < burstBytes
}

// end writes what belongs behind the last event, and reports whether the
// response may end cleanly.
func (v *view) end(err error) (clean bool) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, session.ErrSessionOver):
	case errors.Is(err, session.ErrViewEnded):
		v.buf = sse.AppendRetry(v.buf, v.retryHint())
	case errors.Is(err, session.ErrOvertaken):
		v.comment(commentRequired)
		if v.notify {
			v.controlMessage(MethodResumptionRequired, v.position(err))
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

// position is where an error says that the view ended.
func (v *view) position(err error) string {
	var over *session.ViewOverError
	if errors.As(err, &over) {
		return over.Position.String()
	}
	return v.core.Position().String()
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

// flush writes the buffer, whole, and hands it to the network. It reports
// false when the connection must be aborted.
func (v *view) flush() bool {
	if len(v.buf) == 0 {
		return true
	}
	<-v.idle
	defer func() { v.idle <- struct{}{} }()
	for rest := v.buf; len(rest) > 0; {
		piece := rest[:min(len(rest), pieceBytes)]
		rest = rest[len(piece):]
		if !v.write(piece, len(rest) == 0) {
			return false
		}
	}
	if v.buf = v.buf[:0]; cap(v.buf) > keptBytes {
		v.buf = nil
	}
	// HTTP/2 resets a stream whose deadline passes even while nothing is
	// written.
	_ = v.control.SetWriteDeadline(time.Time{})
	return !v.cut.Load()
}

func (v *view) write(piece []byte, last bool) bool {
	// A writer without deadlines is some middleware's; the server's own
	// WriteTimeout holds there.
	_ = v.control.SetWriteDeadline(time.Now().Add(v.handler.opts.WriteBudget))
	if v.cut.Load() { // after the deadline was set: see supersede
		return false
	}
	if _, err := v.w.Write(piece); err != nil {
		return false
	}
	if last {
		if err := v.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
	}
	return true
}

// supersede stops the view's writing for a newer one of the same stream, and
// returns when not another byte of it will follow (R10), nor of the one that it
// superseded itself and may not have silenced yet. A write in progress fails at
// once by its deadline: either the deadline set here comes after the writer's
// own, or the writer sees cut.
func (v *view) supersede() {
	v.cut.Store(true)
	if before := v.before.Load(); before != nil {
		before.supersede()
	}
	v.mu.Lock()
	if !v.over {
		_ = v.control.SetWriteDeadline(time.Unix(1, 0))
	}
	v.mu.Unlock()
	patience := time.NewTimer(time.Second) // for writers without deadlines
	defer patience.Stop()
	select {
	case <-v.idle: // kept: flush would wait for it, and must not write
		v.idle <- struct{}{}
	case <-patience.C:
	}
}

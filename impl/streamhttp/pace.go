package streamhttp

import (
	"errors"
	"net/http"
	"os"
	"time"

	"example.com/reattach/spec"
)

// A pace watches how much of what is pending on a view its reader accepts (R9).
//
// It measures in windows. One begins with the first write after a break, and
// anew whenever the quota was accepted: what the lowest rate brings in the
// budget; or half of it at once, which is more than that rate brought. A window
// that has lasted for the budget without its quota means that data was pending
// for the whole budget, without a break, at less than that rate. So
//
//	(1) a reader of the lowest rate or more is never cut
//	(2) one that stops reading is cut within the budget
//	(3) one that reads too slowly, and did so in the second half of the budget,
//	    is given a quarter of it more for the event in hand, so that it can be
//	    cut between two events and told
type pace struct {
	budget time.Duration
	quota  int
	since  time.Time // when the window began; zero: nothing is pending
	took   int       // accepted in the window
	last   time.Time // when something was accepted last
	stride int       // bytes that are written at once
}

const (
	minStride = 1 << 10
	maxStride = 64 << 10
)

func newPace(budget time.Duration, rate int) pace {
	quota := max(1, int(budget.Seconds()*float64(rate)))
	return pace{budget: budget, quota: quota, stride: 4 << 10}
}

// begin says that something is pending.
func (p *pace) begin(now time.Time) {
	if p.since.IsZero() {
		p.since = now
	}
}

// rest says that nothing is.
func (p *pace) rest() { p.since, p.took = time.Time{}, 0 }

// farewell leaves the end of a view an eighth of the budget.
func (p *pace) farewell() {
	p.rest()
	p.budget /= 8
}

// over reports whether the reader has accepted too little.
func (p *pace) over(now time.Time) bool { return !p.since.IsZero() && now.Sub(p.since) >= p.budget }

// deadline is until when the next write must be done.
func (p *pace) deadline() time.Time {
	if p.last.Sub(p.since) > p.budget/2 {
		return p.since.Add(p.budget + p.budget/4)
	}
	return p.since.Add(p.budget)
}

// next returns how many bytes to write at once: few to a slow reader, so that
// it stands between two events often.
func (p *pace) next() int { return max(1, min(p.stride, p.quota-p.took)) }

// accepted says that so many bytes were, after so long.
func (p *pace) accepted(n int, began, now time.Time) {
	switch wait := now.Sub(began); {
	case wait > p.budget/64:
		p.stride = max(p.stride/4, minStride)
	case wait < p.budget/1024:
		p.stride = min(p.stride*2, maxStride)
	}
	p.last = now
	p.took += n
	if p.took >= p.quota || p.took >= p.quota/2 && now.Sub(p.since) < p.budget/1024 {
		p.since, p.took = now, 0
	}
}

// An end is where an event ends in a view's buffer.
type end struct {
	offset int
	id     spec.EventID
}

// flush writes the buffer and hands it to the network. It reports false when
// the connection must be aborted. If the reader turns out to be too slow while
// the view stands between two events, nothing more is written, and stalled set.
func (v *view) flush() bool {
	if len(v.buf) == 0 {
		return true
	}
	<-v.idle
	defer func() { v.idle <- struct{}{} }()
	if !v.pour() {
		return false
	}
	clear(v.ends) // of the tags in it
	v.ends = v.ends[:0]
	v.buf = v.buf[:0]
	// HTTP/2 resets a stream whose deadline passes even while nothing is
	// written.
	_ = v.control.SetWriteDeadline(time.Time{})
	return !v.cut.Load()
}

// pour writes the buffer in pieces that end, where they can, with an event.
func (v *view) pour() bool {
	ends := v.ends
	edge := 0 // the newest place between two events that was written up to
	for from := 0; from < len(v.buf); {
		now := time.Now()
		v.pace.begin(now)
		if v.pace.over(now) {
			if from == edge {
				v.stalled = true
				return true
			}
			_ = v.core.Stall()
			return false
		}
		to := min(from+v.pace.next(), len(v.buf))
		whole := 0 // events that end in this piece
		for whole < len(ends) && ends[whole].offset <= to {
			whole++
		}
		if whole > 0 && to < len(v.buf) {
			to = ends[whole-1].offset
		}
		if !v.write(v.buf[from:to], to == len(v.buf)) {
			return false
		}
		v.pace.accepted(to-from, now, time.Now())
		if whole > 0 {
			v.at, edge = ends[whole-1].id, ends[whole-1].offset
			ends = ends[whole:]
		}
		from = to
	}
	return true
}

// write writes a piece, and hands it over with everything before if it is the
// last one, or if the reader is a slow one.
func (v *view) write(piece []byte, last bool) bool {
	// A writer without deadlines is some middleware's; the server's own
	// WriteTimeout holds there.
	_ = v.control.SetWriteDeadline(v.pace.deadline())
	if v.cut.Load() { // after the deadline was set: see supersede
		return false
	}
	_, err := v.w.Write(piece)
	if err == nil && (last || v.pace.stride <= minStride) {
		if err = v.control.Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	if err == nil {
		return true
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && !v.cut.Load() {
		_ = v.core.Stall() // and not just broken: the reader is there
	}
	return false
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

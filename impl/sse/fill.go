package sse

import "io"

// fill reads more bytes into the buffer, or sets err.
func (r *Reader) fill() {
	if r.srcErr != nil {
		r.finish()
		return
	}
	unread, data := r.end-r.pos, r.dataTo-r.dataFrom
	if unread+data > r.max+lineSlack {
		r.err = &TooLargeError{Field: "line", Max: r.max + lineSlack}
		return
	}
	if len(r.buf)-r.end < leastRead || unread == 0 && !r.hasData {
		r.makeRoom()
	}
	for range noProgress {
		n, err := r.src.Read(r.buf[r.end:])
		if n < 0 || n > len(r.buf)-r.end {
			n, err = 0, io.ErrNoProgress // a reader that breaks its contract
		}
		r.end += n
		r.srcErr = err
		if n > 0 || err != nil {
			return
		}
	}
	r.srcErr = io.ErrNoProgress
}

// finish says how the stream ended, when nothing is left to read.
func (r *Reader) finish() {
	unread := r.end - r.pos
	if !r.begun && string(r.buf[r.pos:r.end]) == bom {
		unread = 0
	}
	pending := r.pending + unread
	switch {
	case r.srcErr != io.EOF:
		r.err = &TruncatedError{Pending: pending, Err: r.srcErr}
	case r.open || unread > 0:
		r.err = &TruncatedError{Pending: pending, Err: io.ErrUnexpectedEOF}
	default:
		r.err = io.EOF
	}
	r.buf, r.pos, r.end, r.crClear, r.lf, r.hasLF = nil, 0, 0, 0, 0, false
}

// makeRoom moves what is still needed to the front of the buffer: the payload
// so far, a byte for the line feed behind it, and what is unread. Where that
// leaves too little room the buffer doubles, up to what the limits allow. A
// large buffer is given up after some small events.
func (r *Reader) makeRoom() {
	size := len(r.buf)
	keep := r.end - r.pos
	front := 0
	if r.hasData {
		front = r.dataTo - r.dataFrom + 1
	}
	switch {
	case size == 0 || r.quiet >= 16 && keep+front < firstBuf/2:
		size, r.quiet = firstBuf, 0
	case size-keep-front < min(size/2, firstBuf):
		size = min(2*size, r.max+lineSlack+2*firstBuf)
	}
	buf := r.buf
	if size != len(r.buf) {
		buf = make([]byte, size)
	}
	if r.hasData {
		copy(buf, r.buf[r.dataFrom:r.dataTo])
		r.dataFrom, r.dataTo = 0, front-1
	}
	copy(buf[front:], r.buf[r.pos:r.end])
	shift := r.pos - front
	r.buf = buf
	r.pos, r.end, r.crClear, r.lf = front, r.end-shift, r.crClear-shift, r.lf-shift
}

package properties

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A wiredPipe is one end of a connection in memory that takes every write at
// once. net/http writes to HTTP/2 connections while it holds a lock; if the
// write waited, so would whoever wants that lock, and nobody who waits for a
// lock lets virtual time pass.
type wiredPipe struct{ in, out *wiredBuffer }

// newWiredPipe returns both ends.
func newWiredPipe() (net.Conn, net.Conn) {
	a, b := newWiredBuffer(), newWiredBuffer()
	return &wiredPipe{a, b}, &wiredPipe{b, a}
}

func (p *wiredPipe) Read(b []byte) (int, error)  { return p.in.read(b) }
func (p *wiredPipe) Write(b []byte) (int, error) { return p.out.write(b) }

func (p *wiredPipe) Close() error {
	p.in.close(net.ErrClosed)
	p.out.close(io.EOF)
	return nil
}

func (p *wiredPipe) LocalAddr() net.Addr                { return wiredAddr{} }
func (p *wiredPipe) RemoteAddr() net.Addr               { return wiredAddr{} }
func (p *wiredPipe) SetWriteDeadline(time.Time) error   { return nil }
func (p *wiredPipe) SetDeadline(at time.Time) error     { return p.SetReadDeadline(at) }
func (p *wiredPipe) SetReadDeadline(at time.Time) error { p.in.expire(at); return nil }

// A wiredBuffer is one direction of a wiredPipe, for one reader at a time.
type wiredBuffer struct {
	mu       sync.Mutex
	data     []byte
	closed   error // what a reader is told behind the data
	deadline time.Time
	wake     chan struct{}
}

func newWiredBuffer() *wiredBuffer { return &wiredBuffer{wake: make(chan struct{}, 1)} }

func (w *wiredBuffer) read(b []byte) (int, error) {
	for {
		w.mu.Lock()
		var left time.Duration
		if !w.deadline.IsZero() {
			left = time.Until(w.deadline)
		}
		switch {
		case w.closed == net.ErrClosed:
			w.mu.Unlock()
			return 0, net.ErrClosed
		case left < 0:
			w.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(w.data) > 0:
			n := copy(b, w.data)
			w.data = w.data[n:]
			w.mu.Unlock()
			return n, nil
		case w.closed != nil:
			why := w.closed
			w.mu.Unlock()
			return 0, why
		}
		w.mu.Unlock()
		var late <-chan time.Time
		if left > 0 {
			late = time.After(left + 1)
		}
		select {
		case <-w.wake:
		case <-late:
		}
	}
}

func (w *wiredBuffer) write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed != nil {
		return 0, io.ErrClosedPipe
	}
	w.data = append(w.data, b...)
	w.signal()
	return len(b), nil
}

func (w *wiredBuffer) close(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed == nil || why == net.ErrClosed {
		w.closed = why
	}
	w.signal()
}

func (w *wiredBuffer) expire(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = at
	w.signal()
}

func (w *wiredBuffer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

package properties

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A wiredNet is a network in memory, in virtual time, between one client and
// whatever server stands behind its address now. What befalls a connection was
// drawn before the run: the n-th one that is dialled has the n-th fault.
type wiredNet struct {
	faults []wiredFault
	hits   hits

	// Connections to the server: without buffers, so that a server waits for its
	// reader, where net/http can stand it (see wiredPipe).
	backend func() (net.Conn, net.Conn)

	mu       sync.Mutex
	listener *wiredListener // of the server that stands there now; nil: nobody
	dials    int
	links    map[*wiredLink]struct{}
	running  sync.WaitGroup
}

// A wiredFault befalls one connection.
type wiredFault struct {
	Kind  string // see wiredFaults
	Down  bool   // on the way to the client; else on the way to the server
	After int    // so many bytes in that direction pass first
	Wait  time.Duration
}

var wiredFaults = []share[string]{
	{"none", 30},
	{"end", 14},      // the connection ends, as if on purpose
	{"reset", 14},    // it breaks
	{"half open", 6}, // nothing passes any more; after a while it breaks
	{"delay", 10},    // what comes behind the mark comes late, and so do all bytes
	{"hold", 10},     // everything on it comes late, even after the client has gone: others overtake
	{"doubled", 12},  // everything sent on it arrives twice, at once or later
	{"trickle", 4},   // a few bytes at a time
}

func drawWiredFault(d dice) wiredFault {
	f := wiredFault{Kind: pick(d, wiredFaults), Down: d(3) > 0, After: oneOf(d, d(300), d(900), d(2500), 150+d(800)),
		Wait: oneOf(d, 50*time.Millisecond, time.Second, 7*time.Second, 40*time.Second)}
	if f.Kind == "hold" || f.Kind == "doubled" {
		f.Down = false
	}
	return f
}

type wiredListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newWiredListener() *wiredListener {
	return &wiredListener{conns: make(chan net.Conn, 64), done: make(chan struct{})}
}

func (l *wiredListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *wiredListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *wiredListener) Addr() net.Addr { return wiredAddr{} }

type wiredAddr struct{}

func (wiredAddr) Network() string { return "wired" }
func (wiredAddr) String() string  { return "wired" }

// A wiredLink is one connection: two pipes and what is between them.
type wiredLink struct {
	net            *wiredNet
	fault          wiredFault
	client, server net.Conn    // our ends of the pipes
	second         chan []byte // of a doubled connection: what is to be said again
	broken         atomic.Bool
	once           sync.Once
}

// A wiredEnd is the client's end: it tells a break from an end.
type wiredEnd struct {
	net.Conn
	link *wiredLink
}

func (e wiredEnd) Read(b []byte) (int, error) {
	n, err := e.Conn.Read(b)
	if err == io.EOF && e.link.broken.Load() {
		err = &net.OpError{Op: "read", Net: "wired", Err: syscall.ECONNRESET}
	}
	return n, err
}

func (n *wiredNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listener == nil {
		n.hits.hit("dial refused")
		return nil, &net.OpError{Op: "dial", Net: "wired", Err: syscall.ECONNREFUSED}
	}
	l := &wiredLink{net: n}
	if n.dials < len(n.faults) {
		l.fault = n.faults[n.dials]
	}
	n.dials++
	var near, far net.Conn
	near, l.client = newWiredPipe()
	far, l.server = n.backend()
	n.listener.conns <- far
	if l.fault.Kind == "doubled" {
		second, shadow := newWiredPipe() // never in the way of the first one
		l.second = make(chan []byte, 4096)
		n.listener.conns <- second
		n.running.Go(func() { io.Copy(io.Discard, shadow) })
		n.running.Go(func() { l.repeat(shadow) })
	}
	n.links[l] = struct{}{}
	n.running.Go(func() { l.carry(l.client, l.server, false) })
	n.running.Go(func() { l.carry(l.server, l.client, true) })
	return wiredEnd{near, l}, nil
}

// carry carries one direction, with what befalls it.
func (l *wiredLink) carry(from, to net.Conn, down bool) {
	f := l.fault
	if f.Down != down {
		f.Kind = "none"
	}
	queue := make(chan []byte, 4096)
	l.net.running.Go(func() { l.put(queue, to, f, down) })
	defer close(queue)
	passed := 0
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		chunk := bytes.Clone(buf[:n])
		if cut := f.After - passed; n > cut && cut >= 0 {
			switch f.Kind {
			case "end", "reset":
				queue <- chunk[:cut]
				l.net.hit(f.Kind, down)
				time.Sleep(time.Millisecond) // what was sent before arrives
				l.over(f.Kind == "reset")
				return
			case "half open":
				queue <- chunk[:cut]
				l.net.hit(f.Kind, down)
				l.silence(from, f.Wait+20*time.Second)
				return
			case "delay":
				l.net.hit(f.Kind, down)
				time.Sleep(f.Wait)
			}
		}
		passed += n
		if n > 0 {
			queue <- chunk
		}
		if err != nil {
			return
		}
	}
}

// silence swallows what comes, until the link breaks.
func (l *wiredLink) silence(from net.Conn, long time.Duration) {
	time.AfterFunc(long, func() { l.over(true) })
	io.Copy(io.Discard, from)
}

// put delivers what was carried. One end's end ends the other, once everything
// before it has arrived.
func (l *wiredLink) put(queue <-chan []byte, to net.Conn, f wiredFault, down bool) {
	if f.Kind == "hold" {
		l.net.hit(f.Kind, down)
		time.Sleep(f.Wait)
	}
	if f.Kind == "doubled" {
		l.net.hit(f.Kind, down)
	}
	for chunk := range queue {
		for len(chunk) > 0 {
			piece := chunk
			if f.Kind == "trickle" {
				piece = chunk[:min(len(chunk), 100)]
				time.Sleep(5 * time.Millisecond)
			}
			chunk = chunk[len(piece):]
			if l.second != nil && !down {
				l.second <- piece
			}
			if _, err := to.Write(piece); err != nil {
				break
			}
		}
	}
	if f.Kind != "half open" {
		l.over(false)
	}
	if l.second != nil && !down {
		close(l.second)
	}
}

// repeat says everything again, later, on a connection of its own, whether or
// not anybody is left who asked.
func (l *wiredLink) repeat(to net.Conn) {
	time.Sleep(l.fault.Wait)
	for chunk := range l.second {
		to.Write(chunk)
	}
	time.Sleep(time.Second)
	to.Close()
}

// over ends the link: both sides notice.
func (l *wiredLink) over(broken bool) {
	l.once.Do(func() {
		l.broken.Store(broken)
		l.client.Close()
		l.server.Close()
		l.net.mu.Lock()
		delete(l.net.links, l)
		l.net.mu.Unlock()
	})
}

func (n *wiredNet) hit(kind string, down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hits.hit("fault %s down=%v", kind, down)
}

// serveBy puts another server behind the address, or nobody, and breaks every
// connection to the one before.
func (n *wiredNet) serveBy(l *wiredListener) {
	n.mu.Lock()
	n.listener = l
	var old []*wiredLink
	for link := range n.links {
		old = append(old, link)
	}
	n.mu.Unlock()
	for _, link := range old {
		link.over(true)
	}
}

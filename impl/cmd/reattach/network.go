package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// A network is one address on loopback behind which backends can be exchanged
// and connections break at a chosen place. Clients know this address only.
type network struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	backend string
	cuts    []*cut
	held    chan struct{} // non-nil: nothing of a client passes until it is closed
	down    bool          // new connections are refused
	pipes   map[*pipe]struct{}
}

// A cut breaks the connection on which it happens first that an event with
// the mark is on its way to the client.
type cut struct {
	at     mark
	inside bool // at the mark, which is in the middle of the event; else behind the event
	reset  bool // by a reset; else the connection closes without the end of the response
	hold   bool // and then clients are held until release
	text   []byte
	done   chan struct{}
}

func newNetwork() (*network, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &network{listener: l, pipes: map[*pipe]struct{}{}}
	n.running.Go(n.accept)
	return n, nil
}

// url is where clients go.
func (n *network) url() string { return "http://" + n.listener.Addr().String() + "/mcp" }

// cutAt arranges for a break and returns what is closed when it has happened.
func (n *network) cutAt(c cut) <-chan struct{} {
	c.text, c.done = []byte(`"`+c.at.String()+`"`), make(chan struct{})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts = append(n.cuts, &c)
	return c.done
}

// release lets clients pass that a cut holds.
func (n *network) release() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held != nil {
		close(n.held)
		n.held = nil
	}
}

// switchTo sends whatever comes from now on to another backend. A response
// that is on its way may end; its connection then closes.
func (n *network) switchTo(backend string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.backend = backend
	for p := range n.pipes {
		p.old = true
		if !p.busy {
			p.close(false)
		}
	}
}

// goDown breaks every connection and refuses new ones until goUp.
func (n *network) goDown() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = true
	for p := range n.pipes {
		p.close(true)
	}
}

func (n *network) goUp() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}

// Close ends the network and waits for its goroutines.
func (n *network) Close() {
	n.listener.Close()
	n.goDown()
	n.release()
	n.running.Wait()
}

func (n *network) accept() {
	for {
		client, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.running.Go(func() { n.connect(client) })
	}
}

func (n *network) connect(client net.Conn) {
	n.mu.Lock()
	backend, down := n.backend, n.down
	n.mu.Unlock()
	if down {
		client.Close()
		return
	}
	server, err := net.Dial("tcp", backend)
	if err != nil {
		client.Close()
		return
	}
	p := &pipe{network: n, client: client, server: server}
	n.mu.Lock()
	n.pipes[p] = struct{}{}
	if n.down || backend != n.backend {
		p.close(false)
	}
	n.mu.Unlock()
	n.running.Go(p.up)
	p.downstream()
	n.mu.Lock()
	delete(n.pipes, p)
	n.mu.Unlock()
}

// hit returns the cut that applies to what has arrived of an event.
func (n *network) hit(data []byte, whole bool) *cut {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, c := range n.cuts {
		if c.inside && bytes.HasSuffix(data, c.text) || !c.inside && whole && bytes.Contains(data, c.text) {
			n.cuts = append(n.cuts[:i:i], n.cuts[i+1:]...)
			if c.hold && n.held == nil {
				n.held = make(chan struct{})
			}
			return c
		}
	}
	return nil
}

// armed reports whether any cut is waiting; without one there is nothing to look for.
func (n *network) armed() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.cuts) > 0
}

// pass waits while clients are held.
func (n *network) pass() {
	n.mu.Lock()
	held := n.held
	n.mu.Unlock()
	if held != nil {
		<-held
	}
}

// A pipe is one connection through the network.
type pipe struct {
	network        *network
	client, server net.Conn
	tap            tap
	once           sync.Once

	// Guarded by network.mu.
	busy bool // a request went up and its response is not over
	old  bool // the backend has been exchanged
}

// up carries requests.
func (p *pipe) up() {
	defer p.close(false)
	buf := make([]byte, 16<<10)
	for {
		k, err := p.client.Read(buf)
		if err != nil {
			return
		}
		p.network.pass()
		p.network.mu.Lock()
		stale := p.old && !p.busy
		p.busy = true
		p.network.mu.Unlock()
		if stale {
			return
		}
		if _, err := p.server.Write(buf[:k]); err != nil {
			return
		}
	}
}

// downstream carries responses, up to where a cut says.
func (p *pipe) downstream() {
	defer p.close(false)
	buf := make([]byte, 16<<10)
	for {
		k, err := p.server.Read(buf)
		if k > 0 {
			stop, c := p.look(buf[:k])
			if _, err := p.client.Write(buf[:stop]); err != nil {
				return
			}
			if c != nil {
				if c.reset {
					// A reset overtakes bytes that were not acknowledged; the
					// story wants the client to have what came before it.
					time.Sleep(20 * time.Millisecond)
				}
				p.close(c.reset)
				close(c.done)
				return
			}
			if p.finished() {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.close(true)
			}
			return
		}
	}
}

// look reads along and returns how many bytes may pass, and the cut behind them.
func (p *pipe) look(b []byte) (int, *cut) {
	armed := p.network.armed()
	for i, c := range b {
		m := p.tap.next(c)
		if m == responseOver {
			p.network.mu.Lock()
			p.busy = false
			p.network.mu.Unlock()
		}
		if armed && (m == dataArrived || m == eventArrived) {
			if c := p.network.hit(p.tap.data, m == eventArrived); c != nil {
				return i + 1, c
			}
		}
		if m == eventArrived {
			p.tap.taken()
		}
	}
	return len(b), nil
}

// finished reports whether this connection has nothing more to do.
func (p *pipe) finished() bool {
	p.network.mu.Lock()
	defer p.network.mu.Unlock()
	return p.old && !p.busy
}

// close ends both connections; a reset drops what is on its way.
func (p *pipe) close(reset bool) {
	p.once.Do(func() {
		if tcp, ok := p.client.(*net.TCPConn); ok && reset {
			tcp.SetLinger(0)
		}
		p.client.Close()
		p.server.Close()
	})
}

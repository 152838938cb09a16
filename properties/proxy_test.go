package properties

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// A proxy is a loopback address in front of a backend whose connections break
// where a test says: right behind the first occurrence of a mark among the
// bytes on their way to the client.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	backend  string
	marks    [][]byte
	cuts     int
	refused  bool
	conns    map[net.Conn]struct{}
}

func newProxy(t *testing.T, backend string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, backend: backend, conns: map[net.Conn]struct{}{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cutAll()
		running.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

// cutBehind arranges for a reset behind the next occurrence of the mark.
func (p *proxy) cutBehind(mark string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.marks = append(p.marks, []byte(mark))
}

// happened is how many connections were cut at a mark.
func (p *proxy) happened() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// cutAll resets every connection that is open.
func (p *proxy) cutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		reset(c)
	}
}

// switchTo sends new connections to another backend, and ends the old ones.
func (p *proxy) switchTo(backend string) {
	p.mu.Lock()
	p.backend = backend
	p.mu.Unlock()
	p.cutAll()
}

func (p *proxy) serve(client net.Conn) {
	p.mu.Lock()
	backend := p.backend
	p.mu.Unlock()
	server, err := net.Dial("tcp", backend)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	go func() {
		pump(server, client, nil)
		server.Close()
	}()
	pump(client, server, p.cut)
	client.Close()
	server.Close()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// pump copies until either side ends, or until cut says how much still passes.
func pump(to, from net.Conn, cut func(seen []byte) int) {
	buf := make([]byte, 32<<10)
	var seen []byte
	for {
		n, err := from.Read(buf)
		if n > 0 && cut != nil {
			old := len(seen)
			seen = append(seen, buf[:n]...)
			if at := cut(seen); at >= 0 {
				to.Write(buf[:max(at-old, 0)])
				reset(to)
				reset(from)
				return
			}
			if keep := 4096; len(seen) > keep {
				seen = append(seen[:0], seen[len(seen)-keep:]...)
			}
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut returns where in seen the connection breaks, or -1.
func (p *proxy) cut(seen []byte) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, mark := range p.marks {
		if at := bytes.Index(seen, mark); at >= 0 {
			p.marks = append(p.marks[:i:i], p.marks[i+1:]...)
			p.cuts++
			return at + len(mark)
		}
	}
	return -1
}

// reset closes a connection with RST, so that nobody takes it for an end.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

package fault

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// A Proxy is a loopback address in front of a server, whose connections are
// broken by plan. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	plan     func(connection int) Plan
	running  sync.WaitGroup
	up, down atomic.Int64
	count    atomic.Int64

	mu     sync.Mutex
	target string
	open   map[*link]struct{}
	closed bool
}

// NewProxy listens on a free port of the loopback interface and passes
// connections on to target, a TCP address. The n-th connection, counted from 0,
// gets plan(n); a nil plan leaves all of them alone.
func NewProxy(target string, plan func(connection int) Plan) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("fault: %w", err)
	}
	if plan == nil {
		plan = func(int) Plan { return Plan{} }
	}
	p := &Proxy{listener: l, plan: plan, target: target, open: map[*link]struct{}{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address to connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL returns the address with the scheme http.
func (p *Proxy) URL() string { return "http://" + p.Addr() }

// Connections returns how many connections there were.
func (p *Proxy) Connections() int { return int(p.count.Load()) }

// Bytes returns how many bytes passed to the server and to clients.
func (p *Proxy) Bytes() (up, down int64) { return p.up.Load(), p.down.Load() }

// Target sends the connections that come from now on to another server, and
// leaves those that are open where they are.
func (p *Proxy) Target(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// ResetAll breaks every connection that is open, and says how many.
func (p *Proxy) ResetAll() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.open {
		l.reset()
	}
	return len(p.open)
}

// Close ends the proxy and every connection, and waits for them.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listener.Close()
	for l := range p.open {
		l.reset()
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		n := int(p.count.Add(1) - 1)
		p.running.Go(func() { p.serve(client, p.plan(n)) })
	}
}

func (p *Proxy) serve(client net.Conn, plan Plan) {
	l := &link{client: client}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	p.mu.Lock()
	target := p.target
	p.open[l] = struct{}{}
	if p.closed {
		l.reset()
	}
	p.mu.Unlock()
	defer func() {
		l.end()
		p.mu.Lock()
		delete(p.open, l)
		p.mu.Unlock()
	}()
	if plan.Wait > 0 && !sleep(l.ctx, plan.Wait) {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		l.reset()
		return
	}
	if !l.reaches(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(plan.Up, counted{server, &p.up}, client) })
	both.Go(func() { l.carry(plan.Down, counted{client, &p.down}, server) })
	both.Wait()
}

// A counted connection counts what is written to it.
type counted struct {
	net.Conn
	n *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.n.Add(int64(n))
	return n, err
}

func (c counted) CloseWrite() error { return closeWrite(c.Conn) }

// A link is one connection: two sockets and what is between them.
type link struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	client net.Conn
	server net.Conn // nil until it was reached
	over   bool
}

// reaches notes the server's side; it reports false if all was over before.
func (l *link) reaches(server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		server.Close()
		return false
	}
	l.server = server
	return true
}

func (l *link) carry(d Direction, to net.Conn, from net.Conn) {
	switch d.pump(l.ctx, to, from) {
	case sourceEnded:
		closeWrite(to) // the other direction goes on
	case cutClean:
		l.end()
	case cutBroken, sourceBroke:
		l.reset()
	case contextEnded:
	}
}

func (l *link) end()   { l.finish(func(c net.Conn) { c.Close() }) }
func (l *link) reset() { l.finish(reset) }

func (l *link) finish(how func(net.Conn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	l.cancel()
	how(l.client)
	if l.server != nil {
		how(l.server)
	}
}

// reset closes a connection with RST, so that nobody takes it for an end.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

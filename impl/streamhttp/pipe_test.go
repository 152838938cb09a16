package streamhttp

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// A pipeNet is a network without buffers, for virtual time: a write waits for
// its reader.
type pipeNet struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipeNet() *pipeNet { return &pipeNet{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipeNet) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipeNet) Addr() net.Addr { return pipeAddr{} }

func (p *pipeNet) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// newPipeRig is newRig on a pipeNet, inside a bubble of synctest.
func newPipeRig(t *testing.T, app App, o Options) *rig {
	t.Helper()
	o.Session.Now = time.Now // the bubble's
	h, err := NewHandler(app, o)
	if err != nil {
		t.Fatal(err)
	}
	network := newPipeNet()
	server := &http.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- server.Serve(network) }()
	transport := &http.Transport{DialContext: network.Dial, DisableCompression: true}
	t.Cleanup(func() {
		h.Close()
		transport.CloseIdleConnections()
		server.Close()
		<-served
	})
	return &rig{t: t, handler: h, client: &http.Client{Transport: transport}, url: "http://pipe/mcp", version: Version20251125, network: network}
}

package interop

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"example.com/reattach/impl/gosdk"
)

// benchWindow is how many events a server on the bench keeps: enough for what
// the tools tell, few enough to be outrun.
const benchWindow = 64

// A Bench is a server of ours behind a wire.
type Bench struct {
	*Toolbox
	Wire    *Wire
	handler atomic.Pointer[gosdk.Handler]
	options gosdk.Options
	servers [2]*httptest.Server
}

// NewBench starts a server that answers a cursor that is gone in one of the
// forms, behind a wire with this seed.
func NewBench(miss Miss, seed uint64) (*Bench, error) {
	b := &Bench{Toolbox: NewToolbox(benchWindow)}
	b.options.HTTP.Session.WindowEvents = benchWindow
	b.options.HTTP.RetryHint = 50 * time.Millisecond
	b.options.HTTP.RetryAfter = time.Second
	if err := miss.Apply(&b.options); err != nil {
		return nil, err
	}
	if err := b.restart(); err != nil {
		return nil, err
	}
	b.servers[0] = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.handler.Load().ServeHTTP(w, r)
	}))
	wire, err := NewWire(b.servers[0].URL, seed)
	if err != nil {
		return nil, err
	}
	b.Wire = wire
	b.servers[1] = httptest.NewServer(wire)
	return b, nil
}

// URL is the endpoint as the client sees it.
func (b *Bench) URL() string { return b.servers[1].URL + "/mcp" }

// Restart puts a server without sessions in the place of the present one, as a
// process that was started again.
func (b *Bench) Restart() error {
	old := b.handler.Load()
	err := b.restart()
	old.Close()
	return err
}

func (b *Bench) restart() error {
	h, err := NewHandler(b.Server, b.options)
	if err == nil {
		b.handler.Store(h)
	}
	return err
}

// Drain begins the shutdown, and is over when no call runs any more.
func (b *Bench) Drain(ctx context.Context) error { return b.handler.Load().Drain(ctx) }

// Close ends everything.
func (b *Bench) Close() {
	b.handler.Load().Close()
	for _, s := range b.servers {
		s.CloseClientConnections()
		s.Close()
	}
}

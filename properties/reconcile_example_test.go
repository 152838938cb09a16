package properties_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A call runs when its session is lost: nobody can say what came of it. The next
// session asks the server's ledger, and gets the answer; the tool ran once.
func Example_reconciliation() {
	ctx := context.Background()
	running, goOn := make(chan struct{}), make(chan struct{})
	server := payments(running, goOn)
	defer server.Close()
	wire := &gateway{base: &http.Transport{}}
	c, err := streamhttp.Dial(ctx, server.URL, streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: wire}})
	if err != nil {
		panic(err)
	}
	defer c.Close()

	var losing sync.WaitGroup
	losing.Go(func() {
		<-running
		wire.lose(c.Driver().Session().ID) // the gateway says 404 from now on
		server.CloseClientConnections()
	})
	_, err = c.Call(ctx, "pay", map[string]int{"amount": 12}, nil)
	var unknown *client.UnknownError
	fmt.Println("unknown:", errors.As(err, &unknown))

	losing.Wait()
	wire.base.CloseIdleConnections()

	// The next session is the caller's decision, and it is in quarantine.
	if err := c.Open(ctx); err != nil {
		panic(err)
	}
	_, err = c.Call(ctx, "pay", map[string]int{"amount": 7}, nil)
	fmt.Println("quarantined:", errors.Is(err, spec.ReasonQuarantined))

	close(goOn) // the payment that nobody waits for comes to its end
	resolutions, err := c.Reconcile(ctx)
	if err != nil {
		panic(err)
	}
	for _, r := range resolutions {
		switch {
		case r.Resolved() && r.State == spec.KeyExecuted:
			result, err := streamhttp.Result(r.Answer)
			fmt.Println(r.Unknown.Method, "ran:", string(result), err)
		case r.Resolved():
			fmt.Println(r.Unknown.Method, "did not run, and never will: send it again as a new call")
		default: // the ledger does not know, or is another one: you decide
			fmt.Println(r.Unknown.Method, c.Driver().Resolve(ctx, r.Unknown.Stream, client.GaveUp))
		}
	}
	fmt.Println("now the epoch is", c.Driver().State())
	// Output:
	// unknown: true
	// quarantined: true
	// pay ran: "paid" <nil>
	// now the epoch is Open
}

// payments is a server with a ledger and one tool.
func payments(running chan<- struct{}, goOn <-chan struct{}) *httptest.Server {
	l, err := ledger.New(ledger.NewMemoryStore(), ledger.Options{}) // in earnest: ledger.OpenFile(path)
	if err != nil {
		panic(err)
	}
	handler, err := streamhttp.NewHandler(l.Wrap(func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "pay":
			close(running)
			<-goOn
			m.Stream.Answer("paid")
		}
	}), streamhttp.Options{})
	if err != nil {
		panic(err)
	}
	return httptest.NewServer(handler)
}

// A gateway forgets a session behind which a server lives.
type gateway struct {
	base *http.Transport
	mu   sync.Mutex
	lost string
}

func (g *gateway) lose(session string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost = session
}

func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	g.mu.Lock()
	lost := g.lost
	g.mu.Unlock()
	if lost != "" && r.Header.Get(streamhttp.HeaderSessionID) == lost {
		if r.Body != nil {
			io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
		w := httptest.NewRecorder()
		w.WriteHeader(http.StatusNotFound)
		return w.Result(), nil
	}
	return g.base.RoundTrip(r)
}

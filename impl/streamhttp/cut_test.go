package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// A journal is what an application of a client applied, event by event.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) apply(ev client.Event) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, string(ev.Payload))
	return nil
}

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.entries, "\n")
}

// A faultyNet cuts the bytes that come back to a client, once.
type faultyNet struct {
	network, address string
	left             atomic.Int64 // bytes until the cut; negative = none
	fault            error        // io.EOF, or that of a reset
	read             atomic.Int64 // bytes so far
}

func (f *faultyNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, f.network, f.address)
	return faultyConn{c, f}, err
}

type faultyConn struct {
	net.Conn
	net *faultyNet
}

func (c faultyConn) Read(p []byte) (int, error) {
	if c.net.left.CompareAndSwap(0, -1) {
		c.Conn.Close()
		return 0, c.net.fault
	}
	n, err := c.Conn.Read(p)
	c.net.read.Add(int64(n))
	switch left := c.net.left.Load(); { // read was waiting, perhaps, when the cut was ordered
	case left == 0:
		c.net.left.Store(-1)
		c.Conn.Close()
		return 0, c.net.fault
	case left > 0:
		n = min(n, int(left))
		c.net.left.Add(-int64(n))
	}
	return n, err
}

// counter is the application of the tests that cut: it counts how often it ran.
func counter(executions *atomic.Int64) App {
	return bench{"count": func(_ context.Context, m *Message) {
		executions.Add(1)
		countTo(m, nil)
	}}.app
}

// impatient are options of a driver that has no time to lose, and one stream.
var impatient = client.Options{NoStandalone: true, BackoffBase: time.Millisecond, BackoffMax: time.Millisecond}

func mustDial(t testing.TB, url string, o DialOptions) *Client {
	t.Helper()
	c, err := Dial(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCase22EveryByte: the connection of a call is cut at every byte of the
// answer, its head included, cleanly and by reset. Behind the head the applied
// events equal the uncut run's; before its end the call is an unknown outcome,
// nothing was applied, and the epoch lives (R20, R24). The tool ran once in
// every case.
func TestCase22EveryByte(t *testing.T) {
	var executions atomic.Int64
	h, err := NewHandler(counter(&executions), Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer func() { h.Close(); server.CloseClientConnections(); server.Close() }()

	run := func(left int64, fault error) (applied string, err error, read int64) {
		f := &faultyNet{network: "tcp", address: server.Listener.Addr().String(), fault: fault}
		f.left.Store(-1)
		roundTripper := &http.Transport{DialContext: f.dial}
		defer roundTripper.CloseIdleConnections()
		var j journal
		c := mustDial(t, server.URL, DialOptions{Apply: j.apply, Driver: impatient, Transport: TransportOptions{HTTP: roundTripper}})
		defer c.Close()
		before, ran := f.read.Load(), executions.Load()
		f.left.Store(left)
		_, err = c.Call(t.Context(), "count", map[string]int{"n": 2}, nil)
		for executions.Load() == ran { // a client can know of the cut before the tool has begun
			runtime.Gosched()
		}
		if n := executions.Load() - ran; n != 1 {
			t.Fatalf("cut at byte %d: the tool ran %d times", left, n)
		}
		if state := c.Driver().State(); state != spec.Open {
			t.Fatalf("cut at byte %d: the epoch is %v", left, state)
		}
		return j.text(), err, f.read.Load() - before
	}
	whole, err, length := run(-1, nil)
	if err != nil {
		t.Fatal(err)
	}
	unknown, resumed := 0, 0
	for _, fault := range []error{io.EOF, syscall.ECONNRESET} {
		for cut := range length {
			applied, err, _ := run(cut, fault)
			switch unknownOutcome := (*client.UnknownError)(nil); {
			case err == nil && applied == whole && cut == 0:
				// net/http noticed before it wrote anything, and took another connection.
			case err == nil && applied == whole:
				resumed++
			case errors.As(err, &unknownOutcome) && applied == "" && resumed == 0:
				unknown++
			default:
				t.Fatalf("cut at byte %d of %d by %v: %v, applied\n%s\nwant\n%s", cut, length, fault, err, applied, whole)
			}
		}
		if unknown < 200 || resumed < 300 {
			t.Errorf("%v: %d unknown outcomes, %d resumed: the cases of interest were not reached", fault, unknown, resumed)
		}
		unknown, resumed = 0, 0
	}
	if n := executions.Load(); n != 1+2*length {
		t.Errorf("%d executions of %d calls", n, 1+2*length)
	}
}

// A cutter ends the responses of a handler early, as a proxy does that is
// restarted: the body ends at a byte, and the framing of HTTP says that this
// was all of it.
type cutter struct {
	http.Handler
	mu   sync.Mutex
	left map[string][]int // by the request's header Cut: where its responses are cut, in turn
}

func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method != http.MethodGet && !bytes.Contains(body, []byte(`"count"`)) {
		c.Handler.ServeHTTP(w, r)
		return
	}
	name := r.Header.Get("Cut")
	c.mu.Lock()
	left := 1 << 30
	if cuts := c.left[name]; len(cuts) > 0 {
		left, c.left[name] = cuts[0], cuts[1:]
	}
	c.mu.Unlock()
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	c.Handler.ServeHTTP(&cutWriter{w, left}, r)
}

type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *cutWriter) Write(p []byte) (int, error) {
	if w.left >= len(p) {
		w.left -= len(p)
		return w.ResponseWriter.Write(p)
	}
	n, _ := w.ResponseWriter.Write(p[:w.left])
	w.left = 0
	return n, io.ErrClosedPipe
}

// The same with an end that HTTP calls clean, wherever it falls: on the
// response of the call, and on the next one as well.
func TestCase22CleanEndAtEveryByte(t *testing.T) {
	var executions atomic.Int64
	h, err := NewHandler(counter(&executions), Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Handler: h, left: map[string][]int{}}
	server := httptest.NewServer(c)
	defer func() { h.Close(); server.CloseClientConnections(); server.Close() }()

	run := func(cuts ...int) (applied string, tookAll bool) {
		name := fmt.Sprint(cuts)
		c.left[name] = cuts
		var j journal
		client := mustDial(t, server.URL, DialOptions{Apply: j.apply, Driver: impatient, Transport: TransportOptions{
			HTTP:    server.Client().Transport,
			Headers: func(context.Context) (http.Header, error) { return http.Header{"Cut": {name}}, nil },
		}})
		defer client.Close()
		if _, err := client.Call(t.Context(), "count", map[string]int{"n": 2}, nil); err != nil {
			t.Fatalf("cuts at %v: %v", cuts, err)
		}
		return j.text(), len(c.left[name]) > 0
	}
	whole, _ := run()
	cuts := 0
	for at := 0; ; at++ {
		applied, uncut := run(at, at/2)
		if applied != whole {
			t.Fatalf("cuts at %d and %d: applied\n%s\nwant\n%s", at, at/2, applied, whole)
		}
		if uncut {
			break
		}
		cuts++
	}
	if cuts < 300 {
		t.Errorf("only %d places to cut", cuts)
	}
	if n := executions.Load(); n != int64(cuts+2) {
		t.Errorf("%d executions of %d calls", n, cuts+2)
	}
}

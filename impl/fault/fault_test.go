package fault

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const text = "0123456789"

// arrives runs text through a direction and returns what came out and how it
// ended.
func arrives(ctx context.Context, d Direction) (string, verdict) {
	var out bytes.Buffer
	how := d.pump(ctx, &out, strings.NewReader(text))
	return out.String(), how
}

// What passes of a direction, and how it ends, at each byte of it.
func TestDirections(t *testing.T) {
	for after := int64(0); after <= int64(len(text)); after++ {
		behind := after == int64(len(text))
		for _, piece := range []int{0, 1, 3} {
			if got, how := arrives(t.Context(), Direction{Piece: piece}); got != text || how != sourceEnded {
				t.Errorf("pass in pieces of %d: %q, %v", piece, got, how)
			}
			for what, want := range map[Kind]verdict{End: cutClean, Reset: cutBroken} {
				got, how := arrives(t.Context(), Direction{What: what, After: after, Piece: piece})
				if got != text[:after] || how != want {
					t.Errorf("%v after %d in pieces of %d: %q, %v", what, after, piece, got, how)
				}
			}
			got, how := arrives(t.Context(), Direction{What: Flip, After: after, Piece: piece})
			want := []byte(text)
			if !behind {
				want[after] ^= 1
			}
			if got != string(want) || how != sourceEnded {
				t.Errorf("flip after %d in pieces of %d: %q, %v", after, piece, got, how)
			}
		}
	}
}

// A stall lets nothing pass while it lasts; a drop never does again, and does
// not tell the sender; both end with their context.
func TestWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if got, how := arrives(t.Context(), Direction{What: Stall, After: 4, For: time.Minute}); got != text || how != sourceEnded || time.Since(began) != time.Minute {
			t.Errorf("stall: %q, %v after %v", got, how, time.Since(began))
		}
		began = time.Now()
		if got, how := arrives(t.Context(), Direction{Rate: 2, Piece: 1}); got != text || how != sourceEnded || time.Since(began) != 5*time.Second {
			t.Errorf("10 bytes at 2 a second: %q, %v after %v", got, how, time.Since(began))
		}
		for _, d := range []Direction{{What: Stall, After: 4}, {What: Drop, After: 4}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if got, how := arrives(ctx, d); got != text[:4] || how != contextEnded {
				t.Errorf("%v: %q, %v", d, got, how)
			}
			cancel()
		}
	})
}

// echo is a TCP server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// Over real sockets a client sees what the plan of its connection says: an end
// is no break and a break no end.
func TestProxy(t *testing.T) {
	plans := []Plan{
		{},
		{Down: Direction{What: End, After: 4}},
		{Down: Direction{What: Reset, After: 4}},
		{Up: Direction{What: Flip, After: 0}, Down: Direction{Piece: 1}},
	}
	p, err := NewProxy(echo(t), func(n int) Plan { return plans[n] })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for n, want := range []struct {
		got string
		err error
	}{{text, nil}, {text[:4], nil}, {text[:4], syscall.ECONNRESET}, {"1" + text[1:], nil}} {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, text)
		if n == 0 || n == 3 {
			c.(*net.TCPConn).CloseWrite()
		}
		got, err := io.ReadAll(c)
		// A reset may overtake what was sent before it.
		if string(got) != want.got && (want.err == nil || !strings.HasPrefix(want.got, string(got))) || !errors.Is(err, want.err) {
			t.Errorf("%v: got %q, %v; want %q, %v", plans[n], got, err, want.got, want.err)
		}
		c.Close()
	}
	if p.Connections() != len(plans) {
		t.Errorf("%d connections, want %d", p.Connections(), len(plans))
	}
	if up, down := p.Bytes(); up < 20 || down < 24 {
		t.Errorf("%d bytes up and %d down", up, down)
	}
}

// A half-open connection takes everything and says nothing, until it is reset.
func TestProxyHalfOpen(t *testing.T) {
	p, err := NewProxy(echo(t), func(int) Plan { return Plan{Down: Direction{What: Drop}} })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "timeout") {
		t.Fatalf("read %d bytes, %v; want to wait", n, err)
	}
	if n := p.ResetAll(); n != 1 {
		t.Errorf("reset %d connections, want 1", n)
	}
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after the reset: %v", err)
	}
}

// New connections go to the new target, and to nobody if nobody is there.
func TestProxyTarget(t *testing.T) {
	p, err := NewProxy("127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	try := func() (string, error) {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			return "", err
		}
		defer c.Close()
		io.WriteString(c, text)
		got := make([]byte, len(text))
		_, err = io.ReadFull(c, got)
		return string(got), err
	}
	if got, err := try(); err == nil {
		t.Errorf("nobody answered %q", got)
	}
	p.Target(echo(t))
	if got, err := try(); got != text || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// A seed is a run: the same plans each time, whatever the order in which they
// are asked for; another seed is another run; and every kind comes up.
func TestSeeded(t *testing.T) {
	a, b, c := Seeded(1, 100, time.Second), Seeded(1, 100, time.Second), Seeded(2, 100, time.Second)
	kinds, same := map[Kind]int{}, 0
	for n := range 400 {
		plan := a(n)
		if plan != b(n) || plan != a(n) {
			t.Fatalf("connection %d has two plans", n)
		}
		if plan == c(n) {
			same++
		}
		kinds[plan.Up.What]++
		kinds[plan.Down.What]++
		if plan.Wait > time.Second || plan.Down.For > time.Second+1 {
			t.Errorf("connection %d waits longer than it may: %v", n, plan)
		}
	}
	if same > 300 {
		t.Errorf("%d of 400 connections have the same plan under another seed", same)
	}
	for _, k := range []Kind{Pass, End, Reset, Stall} {
		if kinds[k] == 0 {
			t.Errorf("%v never came up", k)
		}
	}
}

// What a transport does to a request and to its answer.
func TestTransport(t *testing.T) {
	var arrived atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		w.Header().Set("Mcp-Session-Id", "a")
		io.Copy(w, r.Body)
	}))
	defer server.Close()
	for _, test := range []struct {
		x       Exchange
		body    string
		err     error // of the exchange
		readErr error // of the body
		arrived int64
	}{
		{Exchange{}, text, nil, nil, 1},
		{Exchange{Wait: time.Millisecond}, text, nil, nil, 1},
		{Exchange{Lose: true}, "", ErrLost, nil, 0},
		{Exchange{LoseAnswer: true}, "", ErrLost, nil, 1},
		{Exchange{Double: time.Millisecond}, text, nil, nil, 2},
		{Exchange{Body: Direction{What: End, After: 3}}, text[:3], nil, nil, 1},
		{Exchange{Body: Direction{What: Reset, After: 3}}, text[:3], nil, io.ErrUnexpectedEOF, 1},
		{Exchange{Body: Direction{Piece: 1}}, text, nil, nil, 1},
		{Exchange{Header: func(h http.Header) { h.Set("Mcp-Session-Id", "b") }}, text, nil, nil, 1},
	} {
		arrived.Store(0)
		ft := &Transport{Plan: func(int, *http.Request) Exchange { return test.x }}
		res, err := (&http.Client{Transport: ft}).Post(server.URL, "text/plain", strings.NewReader(text))
		if !errors.Is(err, test.err) {
			t.Errorf("%+v: %v, want %v", test.x, err, test.err)
		}
		if err == nil {
			got, err := io.ReadAll(res.Body)
			if string(got) != test.body || !errors.Is(err, test.readErr) {
				t.Errorf("%+v: read %q, %v; want %q, %v", test.x, got, err, test.body, test.readErr)
			}
			if changed := res.Header.Get("Mcp-Session-Id") == "b"; changed != (test.x.Header != nil) {
				t.Errorf("%+v: header %v", test.x, res.Header)
			}
			res.Body.Close()
		}
		ft.Wait()
		if arrived.Load() != test.arrived {
			t.Errorf("%+v: %d requests arrived, want %d", test.x, arrived.Load(), test.arrived)
		}
		if ft.Requests() != 1 {
			t.Errorf("%d requests, want 1", ft.Requests())
		}
	}
}

// A body that stalls ends with its request's context, and one that is closed
// ends what is under it.
func TestTransportBodyEnds(t *testing.T) {
	gone := make(chan struct{}, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer server.Close()
	for _, what := range []Kind{Stall, Drop} {
		ctx, cancel := context.WithCancel(t.Context())
		ft := &Transport{Plan: func(int, *http.Request) Exchange {
			return Exchange{Body: Direction{What: what, After: 4}}
		}}
		r, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		res, err := ft.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != text[:4] {
			t.Fatalf("%v: read %q, %v", what, got, err)
		}
		time.AfterFunc(50*time.Millisecond, cancel)
		if n, err := res.Body.Read(got); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%v: read %d bytes, %v; want the context's end", what, n, err)
		}
		res.Body.Close()
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Errorf("%v: the server never learned that the reader is gone", what)
		}
	}
}

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// aLine listens on one connection in memory.
type aLine struct {
	conn chan net.Conn
	gone chan struct{}
	once sync.Once
}

func (l *aLine) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.gone:
		return nil, net.ErrClosed
	}
}
func (l *aLine) Close() error   { l.once.Do(func() { close(l.gone) }); return nil }
func (l *aLine) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// Given a client that sends its header a byte a second, then its connection is
// closed in time and no handler ever runs; one whose header is longer than the
// bound gets 431; one that hurries is answered, and may take long to read the
// answer.
func TestSlowAndLongHeadersAreCut(t *testing.T) {
	for name, test := range map[string]struct {
		send  string
		pause time.Duration // before each byte
		want  int           // 0: closed without an answer
	}{
		"slow": {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 100) + "\r\n\r\n", time.Second, 0},
		"long": {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", serveHeaderBytes+8<<10) + "\r\n\r\n", 0, http.StatusRequestHeaderFieldsTooLarge},
		"fast": {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 100) + "\r\n\r\n", time.Millisecond, http.StatusNoContent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := false
				server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ran = true
					time.Sleep(time.Hour) // a stream lives longer than a header may take
					w.WriteHeader(http.StatusNoContent)
				}))
				line := &aLine{conn: make(chan net.Conn, 1), gone: make(chan struct{})}
				served := make(chan struct{})
				go func() { server.Serve(line); close(served) }()
				near, far := net.Pipe()
				line.conn <- far
				began := time.Now()
				var sent sync.WaitGroup
				sent.Go(func() {
					if test.pause == 0 {
						io.WriteString(near, test.send)
						return
					}
					for i := range len(test.send) {
						time.Sleep(test.pause)
						if _, err := near.Write([]byte(test.send[i : i+1])); err != nil {
							return
						}
					}
				})
				resp, err := http.ReadResponse(bufio.NewReader(near), nil)
				took := time.Since(began)
				switch {
				case test.want == 0 && (took > serveHeaderTime+time.Second || err == nil && (resp.StatusCode < 400 || !resp.Close)):
					t.Errorf("cut after %v: %v, %v", took, resp, err)
				case test.want != 0 && (err != nil || resp.StatusCode != test.want):
					t.Errorf("%v, %v, want %d", resp, err, test.want)
				}
				if ran != (test.want == http.StatusNoContent) {
					t.Errorf("the handler ran: %v", ran)
				}
				near.Close()
				server.Close()
				<-served
				sent.Wait()
				time.Sleep(time.Second) // a refused connection lingers
			})
		})
	}
}

package streamhttp

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/client"
)

// A POST that was handed to the network whole is never sent again, because it
// may have run (R23). net/http would: for HTTP/2 a stream that the peer resets
// with PROTOCOL_ERROR is one to try again, and gateways say that of a server
// that broke behind them.
func TestPostIsSentOnce(t *testing.T) {
	peer := newResettingPeer(t)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport, err := NewTransport("http://"+peer.listener.Addr().String(), TransportOptions{HTTP: &http.Transport{Protocols: &protocols}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // net/http would try for ever
	defer cancel()
	_, err = transport.Post(ctx, client.PostRequest{Session: aSession, Request: 5, Payload: []byte(`{"jsonrpc":"2.0","id":5,"method":"m"}`)})
	if err == nil || errors.Is(err, client.ErrNotSent) {
		t.Errorf("the call came to %v, want an error that leaves open whether it ran", err)
	}
	if n := len(peer.requests); n != 1 {
		t.Errorf("the call reached the server %d times", n)
	}
	<-peer.requests
	go func() { _, _ = transport.Get(ctx, client.GetRequest{Session: aSession, Cursor: "c"}) }()
	within(t, peer.requests, "a resumption")
	within(t, peer.requests, "the same once more, which is allowed: else this peer shows nothing")
}

// What was not written whole is sent again without harm: no server can have
// taken it for a request.
func TestUnsentBodyIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		wrote *httptrace.WroteRequestInfo
		again bool
	}{
		{"not written", nil, true},
		{"written in part", &httptrace.WroteRequestInfo{Err: io.ErrClosedPipe}, true},
		{"written", &httptrace.WroteRequestInfo{}, false},
	} {
		var err error
		var body io.ReadCloser
		o := once{roundTripper(func(r *http.Request) (*http.Response, error) {
			if c.wrote != nil {
				httptrace.ContextClientTrace(r.Context()).WroteRequest(*c.wrote)
			}
			body, err = r.GetBody()
			return nil, io.ErrUnexpectedEOF
		})}
		r, failed := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x", strings.NewReader("call"))
		if failed != nil {
			t.Fatal(failed)
		}
		_, _ = o.RoundTrip(r)
		if (err == nil) != c.again || c.again && body == nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A resettingPeer speaks just enough HTTP/2 to take every request whole and to
// reset its stream with PROTOCOL_ERROR.
type resettingPeer struct {
	listener net.Listener
	requests chan struct{} // a token for each that came whole
}

func newResettingPeer(t *testing.T) *resettingPeer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &resettingPeer{listener: listener, requests: make(chan struct{}, 1000)}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	return p
}

func (p *resettingPeer) serve(conn net.Conn) {
	const (
		frameHeaders, frameReset, frameSettings = 1, 3, 4
		flagEnd, flagAck                        = 1, 1
		protocolError                           = 1
	)
	defer conn.Close()
	frame := func(kind, flags byte, stream uint32, payload []byte) {
		head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
		head = append(head, flags)
		_, _ = conn.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
	}
	if _, err := io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	frame(frameSettings, 0, 0, nil)
	for {
		var head [9]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return
		}
		length, kind, flags := binary.BigEndian.Uint32(head[:4])>>8, head[3], head[4]
		stream := binary.BigEndian.Uint32(head[5:])
		if _, err := io.CopyN(io.Discard, conn, int64(length)); err != nil {
			return
		}
		switch {
		case kind == frameSettings && flags&flagAck == 0:
			frame(frameSettings, flagAck, 0, nil)
		case kind <= frameHeaders && flags&flagEnd != 0: // the last frame of a request
			p.requests <- struct{}{}
			frame(frameReset, 0, stream, binary.BigEndian.AppendUint32(nil, protocolError))
		}
	}
}

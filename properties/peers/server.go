package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/impl/streamhttp"
)

// Servers: each has a call that emits so many notifications of 256 bytes of
// JSON and answers.

const burst = 1000

// A server is one way to serve that call.
type server struct {
	name string
	mcp  bool // opens a session first
	// handler makes one; with paced, events leave one at a time.
	handler func(paced bool) http.Handler
}

// said is the message of the i-th notification, such that its JSON is as long
// as every other's.
func said(i int) string {
	const frame = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"","progress":,"progressToken":"t"}}`
	return strings.Repeat("x", eventBytes-len(frame)-len(strconv.Itoa(i)))
}

func serveOurs(paced bool) http.Handler {
	payload := event()
	h, err := streamhttp.NewHandler(func(ctx context.Context, m *streamhttp.Message) {
		if m.Method == "initialize" {
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
			return
		}
		if m.Kind != streamhttp.Request {
			return
		}
		for range burst {
			e, err := m.Stream.Send(payload)
			switch {
			case err != nil:
				panic(err)
			case paced:
				m.Stream.AwaitLag(ctx, 0)
			case e.Lag >= windowEvents: // no faster than the reader, as the bare ring
				m.Stream.AwaitLag(ctx, windowEvents/2)
			}
		}
		m.Stream.Answer(struct{}{})
	}, streamhttp.Options{})
	if err != nil {
		panic(err)
	}
	return h
}

func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "peers", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "emit", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := 1; i <= burst; i++ {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "t", Message: said(i), Progress: float64(i)}); err != nil {
				return nil, err
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
	})
	return s
}

func serveGosdk(bool) http.Handler {
	s := sdkServer()
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
}

func serveOursGosdk(bool) http.Handler {
	s := sdkServer()
	return gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

func serveMcpgo(bool) http.Handler {
	s := mcpgoserver.NewMCPServer("peers", "1", mcpgoserver.WithToolCapabilities(true))
	s.AddTool(mcpgo.NewTool("emit"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		for i := 1; i <= burst; i++ {
			for { // it refuses when a hundred wait, and offers no way to wait for room
				err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": "t", "message": said(i), "progress": i})
				if err == nil {
					break
				}
				if ctx.Err() != nil || !errors.Is(err, mcpgoserver.ErrNotificationChannelBlocked) {
					return nil, err
				}
				runtime.Gosched()
			}
		}
		return mcpgo.NewToolResultText("done"), nil
	})
	return mcpgoserver.NewStreamableHTTPServer(s, mcpgoserver.WithStateful(true), mcpgoserver.WithEventStore(mcpgoserver.NewInMemoryEventStore()))
}

func appendFramed(to []byte, seq uint64, payload []byte) []byte {
	to = append(to, "id: "...)
	to = strconv.AppendUint(to, seq, 10)
	to = append(to, "\ndata: "...)
	to = append(to, payload...)
	return append(to, "\n\n"...)
}

func beginStream(w http.ResponseWriter) *http.ResponseController {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return http.NewResponseController(w)
}

// serveBare frames, writes and flushes each event, keeps nothing, and knows no
// session: what net/http allows.
func serveBare(bool) http.Handler {
	payload := event()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		control, buf := beginStream(w), make([]byte, 0, 512)
		for i := uint64(1); i <= burst+1; i++ {
			buf = appendFramed(buf[:0], i, payload)
			w.Write(buf)
			control.Flush()
		}
	})
}

// serveBareRing has a producer put events into a ring, as fast as it can, and
// writes and flushes whatever has come since the last time. A GET with a cursor
// gets what follows it, in one write.
func serveBareRing(bool) http.Handler {
	payload := event()
	var last atomic.Pointer[boundRing] // the last call's, for GET
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			kept := last.Load()
			cursor, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
			if err != nil || kept == nil || kept.last-cursor > windowEvents {
				http.Error(w, "no such cursor", http.StatusConflict)
				return
			}
			events := make([]byte, 0, windowEvents*eventBytes)
			n := kept.after(cursor, events)
			beginStream(w)
			out := make([]byte, 0, n*(eventBytes+40))
			for i := range n {
				out = appendFramed(out, cursor+1+uint64(i), events[:cap(events)][i*eventBytes:(i+1)*eventBytes])
			}
			w.Write(out)
			return
		}
		io.Copy(io.Discard, r.Body)
		control, ring := beginStream(w), &boundRing{}
		wake, room := make(chan struct{}, 1), make(chan struct{}, 1)
		signal := func(c chan struct{}) {
			select {
			case c <- struct{}{}:
			default:
			}
		}
		var sent atomic.Uint64
		go func() {
			for i := uint64(1); i <= burst+1; i++ {
				for i-sent.Load() > windowEvents {
					<-room
				}
				ring.append(payload, coarseNow.Load())
				signal(wake)
			}
		}()
		events, out := make([]byte, 0, windowEvents*eventBytes), make([]byte, 0, windowEvents*(eventBytes+40))
		for at := uint64(0); at < burst+1; {
			ring.mu.Lock()
			empty := ring.last == at
			ring.mu.Unlock()
			if empty {
				<-wake
				continue
			}
			n := ring.after(at, events)
			out = out[:0]
			for i := range n {
				out = appendFramed(out, at+1+uint64(i), events[:cap(events)][i*eventBytes:(i+1)*eventBytes])
			}
			w.Write(out)
			control.Flush()
			at += uint64(n)
			sent.Store(at)
			signal(room)
		}
		last.Store(ring)
	})
}

// A reader is the same plain client for every server.
type reader struct {
	http    *http.Client
	url     string
	session string
	calls   int
	lines   *bufio.Reader
}

const protocol = "2025-11-25"

func newReader(s server, url string) (*reader, error) {
	r := &reader{http: &http.Client{Transport: &http.Transport{DisableCompression: true}}, url: url, lines: bufio.NewReaderSize(nil, 64<<10)}
	if !s.mcp {
		return r, nil
	}
	res, err := r.send("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+protocol+`","capabilities":{},"clientInfo":{"name":"peers","version":"1"}}}`, "")
	if err != nil {
		return nil, err
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	if r.session = res.Header.Get("Mcp-Session-Id"); r.session == "" {
		return nil, fmt.Errorf("%s: %s, and no session", s.name, res.Status)
	}
	if res, err = r.send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""); err != nil {
		return nil, err
	}
	return r, res.Body.Close()
}

func (r *reader) send(method, body, cursor string) (*http.Response, error) {
	request, err := http.NewRequest(method, r.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.session != "" {
		request.Header.Set("Mcp-Session-Id", r.session)
		request.Header.Set("Mcp-Protocol-Version", protocol)
	}
	if cursor != "" {
		request.Header.Set("Last-Event-ID", cursor)
	}
	res, err := r.http.Do(request)
	if err == nil && res.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		res.Body.Close()
		return nil, fmt.Errorf("%s: %s %s", method, res.Status, text)
	}
	return res, err
}

func (r *reader) call() (*http.Response, error) {
	r.calls++
	return r.send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"emit","arguments":{},"_meta":{"progressToken":"t"}}}`, r.calls), "")
}

// callToTheEnd calls and reads the whole stream.
func (r *reader) callToTheEnd(name string) {
	res, err := r.call()
	if err != nil {
		panic(err)
	}
	defer res.Body.Close()
	r.lines.Reset(res.Body)
	if got, _, err := r.events(0); err != nil || got != burst+1 {
		panic(fmt.Sprintf("%s: %d events, want %d: %v", name, got, burst+1, err))
	}
}

// events reads so many events with data, or to the end of the stream if 0, and
// returns how many there were and the id of the last one.
func (r *reader) events(most int) (n int, id string, err error) {
	var last []byte
	data := false
	for {
		line, err := r.lines.ReadSlice('\n')
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return n, string(last), err
		}
		switch {
		case bytes.HasPrefix(line, []byte("id:")):
			last = append(last[:0], bytes.TrimSpace(line[3:])...)
		case bytes.HasPrefix(line, []byte("data:")) && len(line) > 16:
			data = true
		case len(line) <= 2 && data:
			data = false
			if n++; n == most {
				return n, string(last), nil
			}
		}
	}
}

// serve starts a server and opens a session on it.
func serve(s server, paced bool) (*reader, func(), error) {
	h := s.handler(paced)
	srv := httptest.NewServer(h)
	done := func() {
		if c, ok := h.(interface{ Close() error }); ok {
			_ = c.Close()
		}
		srv.CloseClientConnections()
		srv.Close()
	}
	r, err := newReader(s, srv.URL)
	if err != nil {
		done()
		return nil, nil, err
	}
	return r, done, nil
}

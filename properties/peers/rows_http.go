package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The rows over HTTP, on loopback.

func httpRows() []row {
	ours := server{"ours", true, serveOurs}
	sdk := server{"go-sdk", true, serveGosdk}
	mcpgo := server{"mcp-go", true, serveMcpgo}
	bare, ring := server{"bare", false, serveBare}, server{"bare ring", false, serveBareRing}
	return []row{
		{"http-flush", "a call with 1,000 notifications, each flushed alone: a notification", "ns",
			streams(true, ours, bare, sdk, mcpgo),
			[]target{{of: "ours", to: "bare", atMost: 1 / 0.8}, {of: "go-sdk", to: "ours", atLeast: 2.5}, {of: "mcp-go", to: "ours", atLeast: 1.7}}},
		{"http-burst", "the same as fast as the handler emits, coalesced by who can: a notification", "ns",
			streams(false, ours, ring, sdk, mcpgo),
			[]target{{of: "ours", to: "bare ring", atMost: 1 / 0.65}, {of: "go-sdk", to: "ours", atLeast: 18}, {of: "mcp-go", to: "ours", atLeast: 13}}},
		{"sdk-call", "the SDK's own client calls a tool of the SDK with 1,000 notifications: a notification", "ns",
			[]doer{sdkCall("ours", serveOursGosdk), sdkCall("go-sdk", serveGosdk)},
			[]target{{of: "go-sdk", to: "ours", atLeast: 1.5}}},
		{"resume-first", "resume on a fresh connection after 800 of 1,000: until the first missed event", "ns",
			append(resumes(1, ours, ring, sdk, mcpgo), bareGet()),
			[]target{{of: "ours", to: "bare GET", atMost: 1.35}, {of: "go-sdk", to: "ours", atLeast: 1.6}, {of: "mcp-go", to: "ours", atLeast: 1.8}}},
		{"resume-all", "the same: until all 200 missed events have come", "ns",
			append(resumes(burst-resumeAt, ours, ring, sdk, mcpgo), bareGet()),
			[]target{{of: "ours", to: "bare GET", atMost: 1.5}, {of: "go-sdk", to: "ours", atLeast: 3}, {of: "mcp-go", to: "ours", atLeast: 2.3}}},
	}
}

// streams are calls whose whole stream is read; a sample is a notification.
func streams(paced bool, servers ...server) (doers []doer) {
	for _, s := range servers {
		doers = append(doers, doer{name: s.name, open: func() (func(int) float64, func(), error) {
			r, done, err := serve(s, paced)
			if err != nil {
				return nil, nil, err
			}
			return func(n int) float64 {
				return timed(n, func(int) { r.callToTheEnd(s.name) }) / burst
			}, done, nil
		}})
	}
	return doers
}

// sdkCall is the SDK's client on a server that is made with the SDK.
func sdkCall(name string, handler func(bool) http.Handler) doer {
	return doer{name: name, open: func() (func(int) float64, func(), error) {
		h := handler(false)
		srv := httptest.NewServer(h)
		done := func() {
			if c, ok := h.(interface{ Close() error }); ok {
				_ = c.Close()
			}
			srv.CloseClientConnections()
			srv.Close()
		}
		var got atomic.Int64
		all := make(chan struct{}, 1)
		client := mcp.NewClient(&mcp.Implementation{Name: "peers", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
				if got.Add(1)%burst == 0 {
					all <- struct{}{}
				}
			},
		})
		ctx := context.Background()
		session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: srv.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
		if err != nil {
			done()
			return nil, nil, err
		}
		return func(n int) float64 {
			return timed(n, func(int) {
				params := &mcp.CallToolParams{Name: "emit", Arguments: map[string]any{}}
				params.SetProgressToken("t")
				if _, err := session.CallTool(ctx, params); err != nil {
					panic(err)
				}
				<-all
			}) / burst
		}, func() { session.Close(); done() }, nil
	}}
}

const resumeAt = 800

// resumes measure from the GET to the n-th missed event. The client reads the
// whole stream first and acts as if it had lost the end of it, so that every
// server is in the same state.
func resumes(n int, servers ...server) (doers []doer) {
	for _, s := range servers {
		doers = append(doers, doer{name: s.name, n: 24, open: func() (func(int) float64, func(), error) {
			r, done, err := serve(s, false)
			if err != nil {
				return nil, nil, err
			}
			r.http.Transport.(*http.Transport).DisableKeepAlives = true
			once := func() time.Duration {
				res, err := r.call()
				if err != nil {
					panic(err)
				}
				r.lines.Reset(res.Body)
				_, cursor, err := r.events(resumeAt)
				if err != nil {
					panic(err)
				}
				_, _, _ = r.events(0)
				res.Body.Close()
				time.Sleep(2 * time.Millisecond)
				began := time.Now()
				if res, err = r.send("GET", "", cursor); err != nil {
					panic(err)
				}
				r.lines.Reset(res.Body)
				if got, _, err := r.events(n); err != nil || got != n {
					panic(fmt.Sprintf("%s: %d events after the cursor, want %d: %v", s.name, got, n, err))
				}
				took := time.Since(began)
				res.Body.Close()
				return took
			}
			return middle(once), done, nil
		}})
	}
	return doers
}

// bareGet is a GET of two bytes on a fresh connection.
func bareGet() doer {
	return doer{name: "bare GET", n: 24, open: func() (func(int) float64, func(), error) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
		return middle(func() time.Duration {
			time.Sleep(2 * time.Millisecond)
			began := time.Now()
			res, err := client.Get(srv.URL)
			if err != nil {
				panic(err)
			}
			io.Copy(io.Discard, res.Body)
			took := time.Since(began)
			res.Body.Close()
			return took
		}), srv.Close, nil
	}}
}

// middle returns the median of n measurements.
func middle(once func() time.Duration) func(int) float64 {
	return func(n int) float64 {
		var r result
		for range n {
			r.samples = append(r.samples, float64(once().Nanoseconds()))
		}
		return r.median()
	}
}

package streamhttp

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// once hands requests on so that a body is sent again only while it was not
// handed to the network whole: after that the request may have run (R23).
//
// net/http would do otherwise. Over HTTP/2 it takes a stream that its peer reset
// with PROTOCOL_ERROR for one to be tried again, without bound, and gateways
// say that of a server that broke behind them.
type once struct{ next http.RoundTripper }

var errSent = errors.New("reattach: the connection broke after the request was sent: it may have run")

func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	again := r.GetBody
	if again == nil {
		return o.next.RoundTrip(r)
	}
	var sent atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				sent.Store(true)
			}
		},
	}))
	r.GetBody = func() (io.ReadCloser, error) {
		if sent.Load() {
			return nil, errSent
		}
		return again()
	}
	return o.next.RoundTrip(r)
}

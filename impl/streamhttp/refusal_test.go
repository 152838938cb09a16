package streamhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
)

// A refusal is its status: nobody waits long for a body that does not come, and
// a call that was refused does not hang (case 24).
func TestRefusalWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newPipeNet()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(ctype, mediaJSON)
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})}
		go server.Serve(network)
		roundTripper := &http.Transport{DialContext: network.Dial}
		defer func() { roundTripper.CloseIdleConnections(); server.Close() }()
		transport, err := NewTransport("http://pipe/", TransportOptions{HTTP: roundTripper})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		for _, request := range []uint64{0, 5} {
			resp, err := transport.Post(ctx, client.PostRequest{Session: aSession, Request: request, Payload: []byte(`{}`)})
			if err != nil || resp.Kind != client.ResponseRefused || resp.Status != http.StatusNotFound || resp.Reason != "" {
				t.Errorf("a message, request %d: %+v, %v", request, resp, err)
			}
		}
		_, err = transport.Open(ctx, client.OpenRequest{Payload: []byte(initializeOf(Version20251125))})
		if refused := (*Refusal)(nil); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
			t.Errorf("the opening: %v", err)
		}
		if err := transport.Delete(ctx, aSession); err != nil {
			t.Errorf("the DELETE: %v", err)
		}
		if took := time.Since(start); took > 3*refusalPatience {
			t.Errorf("told after %v", took)
		}
	})
}

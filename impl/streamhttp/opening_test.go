package streamhttp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/client"
)

// An opening whose second half is cut, on its way or on the way back, is
// finished: it may be said twice. A network that is down for good ends it, and
// the session is in the record.
func TestTheEndOfAnOpeningIsSaidAgain(t *testing.T) {
	for _, c := range []struct {
		cuts    int
		arrives bool
		said    int32
		opens   bool
	}{{0, false, 1, true}, {1, false, 1, true}, {1, true, 2, true}, {readyTries - 1, true, readyTries, true}, {readyTries, false, 0, false}} {
		var said, tried atomic.Int32
		r := newRig(t, bench{methodReady: func(context.Context, *Message) { said.Add(1) }}.app, Options{})
		store := client.NewMemoryStore(client.Record{})
		opened, err := Dial(t.Context(), r.url, DialOptions{Store: store, Transport: TransportOptions{HTTP: roundTripper(func(q *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(q.Body)
			q.Body = io.NopCloser(bytes.NewReader(body))
			cut := bytes.Contains(body, []byte(methodReady)) && int(tried.Add(1)) <= c.cuts
			if cut && !c.arrives {
				return nil, io.ErrUnexpectedEOF
			}
			answer, err := http.DefaultTransport.RoundTrip(q)
			if cut && err == nil {
				answer.Body.Close()
				return nil, io.ErrUnexpectedEOF
			}
			return answer, err
		})}, Driver: client.Options{NoStandalone: true, BackoffBase: time.Millisecond, BackoffMax: time.Second}})
		for wait := time.Now().Add(10 * time.Second); said.Load() < c.said && time.Now().Before(wait); {
			time.Sleep(time.Millisecond)
		}
		if (err == nil) != c.opens || said.Load() != c.said {
			t.Errorf("%+v: %v, and it was said %d times", c, err, said.Load())
		}
		if record, err := store.Load(t.Context()); err != nil || record.State != client.RecordOpen {
			t.Errorf("%+v: the record is %v, %v", c, record.State, err)
		}
		if opened != nil {
			opened.Close()
		}
	}
}

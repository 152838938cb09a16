package properties

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/fault"
	"example.com/reattach/impl/streamhttp"
)

// Every byte of every message: a whole exchange, from initialize to the answer
// of a call, over real sockets. Its connection is cut behind each byte of each
// direction, by an end and by a break, over HTTP/1.1 and HTTP/2. TestCase22
// cuts one body and knows what must be resumed; this one cuts everything, and
// knows what may come of it. A plain run cuts each byte one way, and which way
// is drawn: REATTACH_EVERY_BYTE=both cuts each both ways.
var bothCuts = os.Getenv("REATTACH_EVERY_BYTE") == "both"

// A byteRun is one such exchange.
type byteRun struct {
	opened  bool
	dial    error // why there is no session
	applied []string
	outcome error // of the call; nil: answered
	epoch   bool  // the epoch lives
	ran     int64 // how often the call ran
}

// fault returns what is wrong with the run: everything was applied, once and in
// order, or the caller was told that it does not know; and nothing ran twice.
func (r byteRun) fault() error {
	whole := []string{"one", "two", "done"}
	unknown, notRun := (*client.UnknownError)(nil), (*client.NotRunError)(nil)
	switch {
	case r.ran > 1:
		return fmt.Errorf("ran %d times", r.ran)
	case !r.opened && len(r.applied)+int(r.ran) > 0:
		return fmt.Errorf("no session, and applied %q, ran %d times", r.applied, r.ran)
	case !r.opened:
		return nil
	case len(r.applied) > len(whole) || !slices.Equal(r.applied, whole[:len(r.applied)]):
		return fmt.Errorf("applied %q", r.applied)
	case r.outcome == nil && (len(r.applied) != len(whole) || r.ran != 1):
		return fmt.Errorf("answered, and applied %q, ran %d times", r.applied, r.ran)
	case errors.As(r.outcome, &notRun) && r.ran > 0:
		return fmt.Errorf("known as not run, and ran")
	case r.outcome != nil && !errors.As(r.outcome, &notRun) && !errors.As(r.outcome, &unknown):
		return fmt.Errorf("the caller learned neither: %w", r.outcome)
	}
	return nil
}

func TestEveryByteBothWays(t *testing.T) {
	var mu sync.Mutex
	var label atomic.Int64
	runs := map[string]*atomic.Int64{} // by the label of the call
	app := func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "work":
			mu.Lock()
			ran := runs[string(m.Params)]
			mu.Unlock()
			ran.Add(1)
			for _, text := range []string{"one", "two"} {
				m.Stream.Emit("notifications/said", map[string]string{"text": text})
			}
			m.Stream.Answer(map[string]string{"text": "done"})
		}
	}
	handler, err := streamhttp.NewHandler(app, streamhttp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { handler.Close() }) // after both
	for _, http2 := range []bool{false, true} {
		t.Run(map[bool]string{false: "HTTP/1.1", true: "HTTP/2"}[http2], func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: handler, Protocols: protocols(http2)}
			go server.Serve(l)
			defer server.Close()
			run := func(plan fault.Plan) (r byteRun, up, down int64) {
				p, err := fault.NewProxy(l.Addr().String(), func(n int) fault.Plan {
					if n == 0 {
						return plan
					}
					return fault.Plan{}
				})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				name := fmt.Sprintf("{\"label\":%d}", 100_000+label.Add(1))
				ran := new(atomic.Int64)
				mu.Lock()
				runs[name] = ran
				mu.Unlock()
				r = exchange(t, p.URL(), http2, name)
				r.ran = ran.Load()
				up, down = p.Bytes()
				return r, up, down
			}
			whole, up, down := run(fault.Plan{})
			if err := whole.fault(); err != nil || whole.outcome != nil || !whole.epoch {
				t.Fatalf("uncut: %+v: %v, %v", whole, err, whole.dial)
			}
			h, drawn := hits{}, rand.Int64N(2)
			for after := range max(up, down) + 1 {
				for i, what := range []fault.Kind{fault.End, fault.Reset} {
					if !bothCuts && (after+drawn)%2 == int64(i) {
						continue
					}
					cut := fault.Direction{What: what, After: after}
					for way, plan := range map[string]fault.Plan{"up": {Up: cut}, "down": {Down: cut}} {
						if way == "up" && after > up || way == "down" && after > down {
							continue
						}
						r, _, _ := run(plan)
						if err := r.fault(); err != nil {
							t.Errorf("%s, %v: %+v: %v", way, cut, r, err)
						}
						h.when(!r.opened, way+": no session")
						h.when(r.opened && r.outcome == nil, way+": answered")
						h.when(r.outcome != nil && r.ran == 1, way+": ran, unknown")
						h.when(r.outcome != nil && r.opened && r.ran == 0, way+": did not run")
					}
				}
			}
			h.need(t, "up: no session", "up: did not run", "down: no session", "down: answered", "down: ran, unknown")
			h.log(t)
		})
	}
}

// exchange opens a session, makes one call, and says what came of it.
func exchange(t *testing.T, url string, http2 bool, params string) (r byteRun) {
	transport := &http.Transport{DisableCompression: true, Protocols: protocols(http2)}
	defer transport.CloseIdleConnections()
	var mu sync.Mutex
	o := streamhttp.DialOptions{Transport: streamhttp.TransportOptions{HTTP: transport}}
	o.Driver.NoStandalone = true
	o.Driver.BackoffBase, o.Driver.BackoffMax = time.Millisecond, 5*time.Millisecond
	o.Apply = func(ev client.Event) error {
		mu.Lock()
		defer mu.Unlock()
		r.applied = append(r.applied, textOf(ev.Payload))
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := streamhttp.Dial(ctx, url, o)
	r.dial = err
	if err != nil {
		if ctx.Err() != nil {
			t.Errorf("dial hangs: %v", err)
		}
		return r
	}
	r.opened = true
	_, r.outcome = c.Call(ctx, "work", json.RawMessage(params), nil)
	if ctx.Err() != nil {
		t.Errorf("the call hangs: %v", r.outcome)
	}
	r.epoch = strings.Contains(c.Driver().State().String(), "Open")
	c.Close()
	mu.Lock()
	defer mu.Unlock()
	return r
}

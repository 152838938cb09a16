package properties

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
)

// Given a real client and a real server on real sockets, when several calls run
// at once and their connections are reset again and again, then every call is
// answered, and the model allows every step that the server took.
func TestTraceOfLoopbackIsAccepted(t *testing.T) {
	var trace bytes.Buffer
	o := session.Options{WindowEvents: 200}
	tracer, err := session.NewTracer(&trace, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Observe = wired.server(tracer.Observe)
	const callers, events = 4, 12
	h, err := streamhttp.NewHandler(func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "work":
			var p struct{ Caller int }
			json.Unmarshal(m.Params, &p)
			for i := range events {
				m.Stream.Emit("said", map[string]string{"text": fmt.Sprintf("m%d.%d.", p.Caller, i)})
			}
			m.Stream.Answer(map[string]string{"text": "done"})
		}
	}, streamhttp.Options{Session: o})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	network := newProxy(t, server.Listener.Addr().String())
	for c := range callers {
		for i := range events {
			if (c+i)%3 == 0 {
				network.cutBehind(fmt.Sprintf("m%d.%d.", c, i)) // inside the event, or behind it: wherever the bytes end
			}
		}
	}
	cl, err := streamhttp.Dial(t.Context(), network.url(), streamhttp.DialOptions{Driver: client.Options{NoStandalone: true}})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for c := range callers {
		running.Go(func() {
			next := 0
			result, err := cl.Call(t.Context(), "work", map[string]int{"caller": c}, func(in streamhttp.Incoming) {
				if text := textOf([]byte(`{"params":` + string(in.Params) + `}`)); text != fmt.Sprintf("m%d.%d.", c, next) {
					t.Errorf("caller %d was told %q, not its message %d", c, text, next)
				}
				next++
			})
			if err != nil || next != events {
				t.Errorf("caller %d: %s, %v after %d messages", c, result, err, next)
			}
		})
	}
	running.Wait()
	cl.Terminate(t.Context())
	cl.Close()
	h.Close()
	server.CloseClientConnections()
	server.Close()
	report := accepted(t, trace.Bytes())
	if network.happened() < callers || report.Rows["ST24"]+report.Rows["ST25"]+report.Rows["ST26"]+report.Rows["ST27"] < callers {
		t.Errorf("%d connections were cut, and the rows were %v", network.happened(), report.Rows)
	}
}

package gosdk_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

const (
	burstEvents = 2000
	burstBytes  = 8 << 10 // of one: all of them are more than any buffer on the way holds
)

// bursts returns a tool that emits far more than a window holds, and reports
// when it has.
func bursts(emitted chan<- struct{}) toolFunc { return burstsCounted(emitted, new(atomic.Int64)) }

// burstsCounted is bursts that counts what it has emitted.
func burstsCounted(emitted chan<- struct{}, count *atomic.Int64) toolFunc {
	return func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
		for i := range burstEvents {
			count.Store(int64(i))
			p := &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: float64(i), Message: strings.Repeat("x", burstBytes)}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return "", err
			}
		}
		close(emitted)
		return "emitted", nil
	}
}

// standstill waits until a count moves no more, and returns it.
func standstill(count *atomic.Int64) int64 {
	for {
		before := count.Load()
		time.Sleep(100 * time.Millisecond)
		if n := count.Load(); n == before && n > 0 {
			return n
		}
	}
}

const callBursts = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bursts","arguments":{"text":""}}}`

// Given a client that begins to read late, when a tool emits twice what
// the window holds, then it is kept from overtaking its reader, and every event
// arrives, once and in order.
func TestAToolDoesNotOvertakeItsReader(t *testing.T) {
	ctx := testContext(t)
	var count atomic.Int64
	_, server := serve(t, newServer(nil, map[string]toolFunc{"bursts": burstsCounted(make(chan struct{}), &count)}), gosdk.Options{})
	answer := raw(t, server.URL).post(ctx, callBursts)
	if n := standstill(&count); n >= burstEvents-1 {
		t.Error("the tool did not wait for its reader")
	}
	text := answer.rest()
	for i := range burstEvents {
		_, behind, ok := strings.Cut(text, fmt.Sprintf(`"progress":%d}`, i))
		if !ok {
			t.Fatalf("event %d is missing, or out of order", i)
		}
		text = behind
	}
	if !strings.Contains(text, `"emitted"`) || strings.Contains(text, `"progress"`) {
		t.Errorf("behind the last event: %.200q", text)
	}
}

// The same without the pace: the reader is overtaken and cut, and its cursor is
// refused, not silently moved on. That is what the pace is there for.
func TestWithoutThePaceAReaderIsOvertaken(t *testing.T) {
	ctx := testContext(t)
	emitted := make(chan struct{})
	_, server := serve(t, newServer(nil, map[string]toolFunc{"bursts": bursts(emitted)}), gosdk.Options{Unpaced: true})
	c := raw(t, server.URL)
	answer := c.post(ctx, callBursts)
	await(t, ctx, emitted, "the end of the burst")
	text := answer.rest()
	if !strings.Contains(text, "resumption-required") || strings.Contains(text, `"emitted"`) {
		t.Fatalf("the reader was not cut: %.200q", text)
	}
	if a := c.get(ctx, lastID(text)); a.StatusCode != http.StatusConflict {
		t.Errorf("resuming: %s, want the refusal of an evicted cursor", a.Status)
	}
}

// Given a tool whose client went away in the middle of a burst, when it emits
// on, then it waits for nobody.
func TestAToolWaitsForNobodyWhoIsAway(t *testing.T) {
	ctx := testContext(t)
	emitted := make(chan struct{})
	_, server := serve(t, newServer(nil, map[string]toolFunc{"bursts": bursts(emitted)}), gosdk.Options{})
	here, leave := context.WithCancel(ctx)
	raw(t, server.URL).post(here, callBursts).until("progress")
	leave()
	await(t, ctx, emitted, "the end of the burst")
}

package gosdk_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

// Given a handler of notifications that takes its time, when a client sends
// hundreds, then most of them wait at its own cost, not in the SDK's queue; when
// the handler goes on, all of them are handled, and calls were never held up.
// What the SDK cannot read, or does not know, holds up nothing.
func TestNotificationsWaitAtTheirClientsCost(t *testing.T) {
	ctx := testContext(t)
	const many = 300
	goOn := make(chan struct{})
	var handled, answered atomic.Int64
	s := newServer(&mcp.ServerOptions{RootsListChangedHandler: func(context.Context, *mcp.RootsListChangedRequest) {
		<-goOn
		handled.Add(1)
	}}, nil)
	_, server := serve(t, s, gosdk.Options{})
	c := raw(t, server.URL)
	send := func(method, params string) int {
		r := c.do(ctx, http.MethodPost, `{"jsonrpc":"2.0","method":"`+method+`","params":`+params+`}`, nil)
		r.Body.Close()
		return r.StatusCode
	}
	for range many {
		send("notifications/nobody/knows", "{}")
		if status := send("notifications/progress", `{"progressToken":{}}`); status != http.StatusAccepted { // no token is an object
			t.Fatalf("a notification that cannot be read: %d", status)
		}
	}
	done := make(chan struct{}, many)
	for range many {
		go func() {
			send("notifications/roots/list_changed", "{}")
			answered.Add(1)
			done <- struct{}{}
		}()
	}
	for quiet := int64(-1); quiet != answered.Load() || quiet == 0; time.Sleep(50 * time.Millisecond) {
		quiet = answered.Load()
	}
	if n := answered.Load(); n < 1 || n > many/2 { // twice 64 if its goroutine was late to begin
		t.Errorf("%d of %d notifications were taken while the handler was busy, want at most about 64", n, many)
	}
	if a := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.StatusCode != http.StatusOK {
		t.Errorf("a ping meanwhile: %s", a.Status)
	}
	close(goOn)
	for range many {
		await(t, ctx, done, "the end of a POST")
	}
	for handled.Load() < many && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if n := handled.Load(); n != many {
		t.Errorf("%d of %d were handled", n, many)
	}
}

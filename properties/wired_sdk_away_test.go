package properties

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
	ledgers "example.com/reattach/impl/ledger"
)

// The official SDK's servers behind impl/gosdk whose client goes away while a
// tool works, or sends more than the program takes.

// Given a tool that emits on while its client is cut off and ends the session,
// then with a ledger nothing of that disturbs the tool: it runs to its end, once,
// and a new session learns the outcome by the call's key, and by the same call
// (R22, R28). Without a ledger nobody answers for it, and it is cancelled.
func TestWiredSDKWorkOutlivesItsSession(t *testing.T) {
	for _, with := range []bool{true, false} {
		t.Run(fmt.Sprint("ledger ", with), func(t *testing.T) {
			var o gosdk.Options
			name := "0123456789abcdef"
			if with {
				l, err := ledgers.New(ledgers.NewMemoryStore(), ledgers.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				o.Ledger, name = l, l.Name()
			}
			var runs atomic.Int64
			var h *gosdk.Handler
			goOn, ended := make(chan struct{}), make(chan error, 2)
			w := serveSDK(t, unguarded(t, o, &h), func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
				n := runs.Add(1)
				step := &mcp.ProgressNotificationParams{ProgressToken: "p", Message: "step"}
				err := r.Session.NotifyProgress(ctx, step)
				select {
				case <-goOn:
					for range 3 {
						if err == nil {
							err = r.Session.NotifyProgress(ctx, step)
						}
					}
				case <-ctx.Done():
					err = ctx.Err()
				}
				ended <- err
				return fmt.Sprint("run ", n), err
			})
			key := fmt.Sprintf("%s.%d.%032x", name, time.Now().UnixMilli(), 9)
			keyed := func(id int) string {
				return strings.Replace(sdkCallOf(id), `"arguments":{}`, `"arguments":{},"_meta":{"reattach/key":"`+key+`"}`, 1)
			}
			p := openReady(t, w.URL)
			call := p.send("POST", keyed(1))
			call.wants("its first step", `"step"`)
			call.drop()
			p.send("DELETE", "")
			eventually(t, "the end of the session", func() bool { return h.Stats().Sessions == 0 })
			if with {
				close(goOn)
			}
			select {
			case err := <-ended:
				if (err == nil) != with {
					t.Errorf("the tool came to %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the tool never ended")
			}
			if !with {
				return
			}
			next := openReady(t, w.URL)
			query := `{"jsonrpc":"2.0","id":2,"method":"reattach/outcome","params":{"key":"` + key + `"}}`
			var text string
			eventually(t, "the outcome", func() bool {
				text = next.send("POST", query).all()
				return strings.Contains(text, `"executed"`)
			})
			if !strings.Contains(text, "run 1") {
				t.Errorf("the outcome: %s", text)
			}
			if text := next.send("POST", keyed(3)).all(); !strings.Contains(text, "run 1") || !strings.Contains(text, `"id":3`) {
				t.Errorf("the same call again: %s", text)
			}
			if n := runs.Load(); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}

// Given a program that is busy with a notification, when its client sends on, one
// after the other, then soon the client is let wait: what the server holds for it
// is bounded (R3). Calls are let in meanwhile. Of the notification whose connection
// breaks while it waits nothing comes; all that were taken are handled, and the
// next one is.
func TestWiredSDKNotificationsWait(t *testing.T) {
	const many, bound = 400, 200
	const changed = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	goOn := make(chan struct{})
	var handled, taken, inside atomic.Int64
	w := serveSDK(t, func(s *mcp.Server) http.Handler {
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == "notifications/roots/list_changed" {
					<-goOn
					handled.Add(1)
				}
				return next(ctx, method, r)
			}
		})
		h := unguarded(t, gosdk.Options{}, nil)(s)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inside.Add(1)
			defer inside.Add(-1)
			h.ServeHTTP(w, r)
		})
	}, func(context.Context, *mcp.CallToolRequest) (string, error) { return "served", nil })
	p := openReady(t, w.URL)
	ctx, breaks := context.WithCancel(context.Background())
	defer breaks()
	over := make(chan error, 1)
	go func() {
		for range many {
			answer, err := http.DefaultClient.Do(p.request(ctx, changed))
			if err != nil {
				over <- err
				return
			}
			answer.Body.Close()
			taken.Add(1)
		}
		over <- nil
	}()
	n := standsStill(t, "a client that is let wait", &taken, many)
	if n > bound {
		t.Errorf("%d notifications were taken while the program was busy", n)
	}
	call := p.send("POST", sdkCall) // is taken; the SDK comes to it in its turn
	if call.status != http.StatusOK {
		t.Errorf("a call meanwhile: %d", call.status)
	}
	breaks()
	if err := <-over; err == nil {
		t.Error("the client was never let wait")
	}
	eventually(t, "the server to notice that it broke", func() bool { return inside.Load() <= 1 }) // the call
	close(goOn)
	call.wants("the call", `"served"`)
	p.send("POST", changed)
	want := taken.Load() + 1
	eventually(t, "all to be handled", func() bool { return handled.Load() >= want })
	p.send("POST", sdkCallOf(2)).wants("a call at the end", `"served"`)
	if got := handled.Load(); got != want {
		t.Errorf("%d notifications were handled, want the %d that were taken", got, want)
	}
}

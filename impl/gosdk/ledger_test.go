package gosdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/impl/ledger"
)

// Given a tool with a side effect whose client loses the session while it runs,
// when the server has a ledger, then the tool runs to its end as if nothing had
// happened, a new session learns the outcome by the call's key, and sending the
// call again answers the same without running it. Without a ledger the end of
// the session cancels the tool.
func TestALedgerAnswersForACallWhoseSessionIsLost(t *testing.T) {
	for _, with := range []bool{true, false} {
		t.Run(fmt.Sprint("ledger ", with), func(t *testing.T) {
			ctx := testContext(t)
			var runs atomic.Int64
			goOn, ended := make(chan struct{}), make(chan error, 1)
			s := newServer(nil, map[string]toolFunc{"count": func(ctx context.Context, r *mcp.CallToolRequest, _ string) (string, error) {
				n := runs.Add(1)
				progress := &mcp.ProgressNotificationParams{ProgressToken: "p", Message: "counting"}
				err := r.Session.NotifyProgress(ctx, progress)
				select {
				case <-goOn:
					err = r.Session.NotifyProgress(ctx, progress)
				case <-ctx.Done():
					err = ctx.Err()
				}
				ended <- err
				return fmt.Sprint("run ", n), err
			}})
			var o gosdk.Options
			if with {
				l, err := ledger.New(ledger.NewMemoryStore(), ledger.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				o.Ledger = l
			}
			h, server := serve(t, s, o)

			first := &rawClient{t: t, url: server.URL, version: "2025-11-25"}
			a := first.post(ctx, rawInitialize)
			first.session = a.Header.Get("Mcp-Session-Id")
			name := ledgerName(t, a.rest())
			if (name != "") != with {
				t.Fatalf("the answer to initialize names the ledger %q", name)
			}
			if !with {
				name = "0123456789abcdef"
			}
			key := fmt.Sprintf("%s.%d.%032x", name, time.Now().UnixMilli(), 7)
			call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"text":""},"_meta":{"reattach/key":"` + key + `"}}}`
			first.post(ctx, call).until("counting")
			first.do(ctx, http.MethodDelete, "", nil).rest()
			for h.Stats().Sessions > 0 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if !with {
				if err := await(t, ctx, ended, "the tool's end"); err == nil {
					t.Error("the tool ran to its end, although nobody answers for it")
				}
				return
			}
			close(goOn)
			if err := await(t, ctx, ended, "the tool's end"); err != nil {
				t.Errorf("the tool was disturbed: %v", err)
			}
			second := raw(t, server.URL)
			query := `{"jsonrpc":"2.0","id":2,"method":"reattach/outcome","params":{"key":"` + key + `"}}`
			var text string
			for !strings.Contains(text, `"executed"`) && ctx.Err() == nil {
				text = second.post(ctx, query).rest()
			}
			if !strings.Contains(text, "run 1") {
				t.Errorf("the outcome: %s", text)
			}
			if text := second.post(ctx, strings.Replace(call, `"id":1`, `"id":3`, 1)).rest(); !strings.Contains(text, "run 1") || !strings.Contains(text, `"id":3`) {
				t.Errorf("the same call again: %s", text)
			}
			if n := runs.Load(); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			second.do(ctx, http.MethodDelete, "", nil).rest()
			awaitNoSession(t, ctx, s, h)
		})
	}
}

// ledgerName returns the ledger that an answer to initialize names, or "".
func ledgerName(t *testing.T, answer string) string {
	t.Helper()
	var a struct {
		Result struct {
			Capabilities struct {
				Experimental struct {
					Reattach struct {
						Ledger string `json:"ledger"`
					} `json:"reattach"`
				} `json:"experimental"`
			} `json:"capabilities"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	return a.Result.Capabilities.Experimental.Reattach.Ledger
}

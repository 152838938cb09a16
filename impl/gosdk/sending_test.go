package gosdk

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/streamhttp"
)

// When a session ends, the end of a tool's question and the cancellation of the
// tool race. Whichever it hears of, it is told of an unknown outcome (R16); but
// its own cancellation in a session that lives, and an answer, stay what they
// are.
func TestACancellationBehindTheEndOfASession(t *testing.T) {
	heard := make(chan [3]error, 2)
	began, goOn := make(chan struct{}, 2), make(chan struct{}, 1)
	var h *Handler
	s := mcp.NewServer(&mcp.Implementation{Name: "test"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		ask := func(method string, answer error) error {
			next := func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, answer }
			_, err := h.sending(next)(ctx, method, &mcp.ServerRequest[*mcp.CreateMessageParams]{Session: r.Session})
			return err
		}
		began <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		heard <- [3]error{ask("sampling/createMessage", context.Canceled), ask("sampling/createMessage", errRejected), ask("notifications/message", context.Canceled)}
		return &mcp.CallToolResult{}, nil, nil
	})
	h = NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	server := httptest.NewServer(h)
	defer server.Close()
	defer h.Close()
	send := func(method, session, body string) *http.Response {
		r, err := http.NewRequest(method, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-11-25"}}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	for _, ends := range []bool{false, true} {
		opened := send("POST", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		_, _ = io.Copy(io.Discard, opened.Body)
		session := opened.Header.Get("Mcp-Session-Id")
		send("POST", session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
		<-began // a session that ends before has no tool to tell
		if ends {
			send("DELETE", session, "")
		} else {
			goOn <- struct{}{}
		}
		select {
		case errs := <-heard:
			if errors.Is(errs[0], streamhttp.ErrOutcomeUnknown) != ends || !errors.Is(errs[0], context.Canceled) {
				t.Errorf("session over %v: a cancelled question came to %v", ends, errs[0])
			}
			for _, err := range errs[1:] {
				if errors.Is(err, streamhttp.ErrOutcomeUnknown) {
					t.Errorf("session over %v: %v, although nothing was asked", ends, err)
				}
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the tool never went on")
		}
	}
}

package gosdk_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

// The page's diff, applied to the client before, is the client after; it
// changes at most five lines, and both programs call the tool. The one after
// goes on in its session when it runs again.
func TestAdoptingTheClient(t *testing.T) {
	before, after := program(t, "client_before"), program(t, "client_after")
	got, changed := apply(t, before, diffOf(t, "## Client"))
	if got != after {
		t.Errorf("the diff of %s makes of the program before:\n%s", adoptingPage, got)
	}
	if changed == 0 || changed > 5 {
		t.Errorf("%d lines of the diff are changes, want 1 to 5", changed)
	}
	for name, sessions := range map[string]int{"client_before": 2, "client_after": 1} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			s := mcp.NewServer(&mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
			mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in greeting) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
			})
			h := gosdk.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
			opened := newTally()
			server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte(`"initialize"`)) {
					opened.add("session")
				}
				h.ServeHTTP(w, r)
			}), h.Close)
			dir := t.TempDir()
			binary := filepath.Join(dir, name)
			if out, err := exec.Command("go", "build", "-o", binary, "./"+filepath.ToSlash(filepath.Join("testdata", "adopt", name))).CombinedOutput(); err != nil {
				t.Fatalf("building %s: %v\n%s", name, err, out)
			}
			for range 2 {
				cmd := exec.CommandContext(ctx, binary, server.URL)
				cmd.Dir = dir
				if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "Hello, Ada" {
					t.Errorf("it said %q, %v", out, err)
				}
			}
			opened.mu.Lock()
			defer opened.mu.Unlock()
			if len(opened.all) != sessions {
				t.Errorf("two runs opened %d sessions, want %d", len(opened.all), sessions)
			}
		})
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/spec"
)

// serveOn runs the subcommand until the test is over, and returns the URL that
// it prints.
func serveOn(t *testing.T, args ...string) (url string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	code := make(chan int, 1)
	var diag bytes.Buffer
	go func() {
		code <- runServe(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), in, &diag)
		in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it says nothing: %v, %s", err, &diag)
	}
	go io.Copy(io.Discard, out)
	said, url, found := strings.Cut(strings.TrimSpace(line), " at ")
	if !found || said != "serving MCP" {
		t.Fatalf("it says %q, want where it serves", line)
	}
	stop = func() int {
		cancel()
		return <-code
	}
	t.Cleanup(func() { cancel() })
	return url, stop
}

func connect(t *testing.T, url string, steps chan<- string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "by hand", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { steps <- r.Params.Message },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func callText(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) string {
	t.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken(tool)
	result, err := session.CallTool(t.Context(), params)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// Given a server behind a wire that breaks streams, when a client that knows
// nothing of us calls its tools, then each says what it does, every step comes
// once and in order, and the counter counts calls; and an interrupt ends it.
func TestServeIsForAnyClient(t *testing.T) {
	url, stop := serveOn(t, "-cut", "7")
	steps := make(chan string, 100)
	session := connect(t, url, steps)
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"burst", "closer", "counter", "forget", "silent", "slow"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	for i, want := range []string{"1", "2"} {
		if got := callText(t, session, "counter", nil); got != want {
			t.Errorf("call %d of the counter: %q, want %s", i+1, got, want)
		}
	}
	if got := callText(t, session, "closer", map[string]any{"pause_ms": 100}); got != "closed 1" {
		t.Errorf("closer: %q", got)
	}
	if got := callText(t, session, "slow", map[string]any{"steps": 3, "pause_ms": 1}); got != "told 3" {
		t.Errorf("slow: %q", got)
	}
	for _, want := range []string{"step 1", "step 2", "step 3"} {
		select {
		case got := <-steps:
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%q did not come", want)
		}
	}
	session.Close()
	if code := stop(); code != exitOK {
		t.Errorf("exit %d after an interrupt", code)
	}
}

// With a ledger the server names it to its clients, and by the same name after
// a restart.
func TestServeNamesItsLedger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	var names [2]string
	for i := range names {
		url, stop := serveOn(t, "-ledger", file)
		session := connect(t, url, make(chan string, 1))
		offered, err := json.Marshal(session.InitializeResult().Capabilities.Experimental[spec.CapabilityName])
		if err != nil {
			t.Fatal(err)
		}
		names[i] = string(offered)
		session.Close()
		if code := stop(); code != exitOK {
			t.Errorf("exit %d", code)
		}
	}
	if names[0] != names[1] || !strings.Contains(names[0], "ledger") {
		t.Errorf("named %s, and after a restart %s", names[0], names[1])
	}
}

// The server for the public suite is the other one.
func TestServeConformance(t *testing.T) {
	url, _ := serveOn(t, "-conformance")
	session := connect(t, url, make(chan string, 100))
	defer session.Close()
	if got := callText(t, session, "test_reconnection", nil); got != "you came back" {
		t.Errorf("%q", got)
	}
}

func TestServeSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"an address that is taken": {[]string{"-addr", taken.Addr().String()}, exitFailed, "another address is given with -addr"},
		"a ledger that cannot be":  {[]string{"-ledger", t.TempDir()}, exitFailed, "the ledger"},
		"no such form of a miss":   {[]string{"-miss", "500"}, exitMisuse, "[409 404"},
		"no such level":            {[]string{"-log", "loud"}, exitMisuse, `no level is called "loud"`},
		"a window of less than 0":  {[]string{"-events", "-1"}, exitMisuse, "WindowEvents"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, diag bytes.Buffer
			if code := runServe(t.Context(), tc.args, &out, &diag); code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			if !strings.Contains(diag.String(), tc.says) || out.Len() > 0 {
				t.Errorf("says %q and prints %q, want %q on stderr", &diag, &out, tc.says)
			}
		})
	}
}

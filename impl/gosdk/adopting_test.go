package gosdk_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const adoptingPage = "../../docs/adopting.md"

// The page's diff, applied to the program before, is the program after; it
// changes at most five lines, and the tool of both programs works.
func TestAdoptingTheServer(t *testing.T) {
	before, after := program(t, "server_before"), program(t, "server_after")
	got, changed := apply(t, before, diffOf(t, "## Server"))
	if got != after {
		t.Errorf("the diff of %s makes of the program before:\n%s", adoptingPage, got)
	}
	if changed == 0 || changed > 5 {
		t.Errorf("%d lines of the diff are changes, want 1 to 5", changed)
	}
	for _, name := range []string{"server_before", "server_after"} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			url := start(t, name)
			cs := client(t, ctx, url, nil)
			got, err := callTool(ctx, cs, "greet", "")
			if err == nil || !strings.Contains(err.Error(), "validating") {
				t.Errorf("greeting with other arguments: %q, %v", got, err)
			}
			if got := greet(t, ctx, cs, "Ada"); got != "Hello, Ada" {
				t.Errorf("greeting: %q", got)
			}
			if resumable := lastID(raw(t, url).post(ctx, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).rest()) != ""; resumable != (name == "server_after") {
				t.Errorf("its events have ids: %v", resumable)
			}
		})
	}
}

func program(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "adopt", name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// diffOf returns the first diff below a heading of the page.
func diffOf(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile(adoptingPage)
	if err != nil {
		t.Fatal(err)
	}
	_, below, ok := strings.Cut(string(page), "\n"+heading+"\n")
	_, diff, found := strings.Cut(below, "```diff\n")
	diff, _, closed := strings.Cut(diff, "```")
	if !ok || !found || !closed {
		t.Fatalf("no diff below %q in %s", heading, adoptingPage)
	}
	return diff
}

// apply applies a unified diff, by its text alone, and counts its changes.
func apply(t *testing.T, source, diff string) (result string, changed int) {
	t.Helper()
	for hunk := range strings.SplitSeq("\n"+diff, "\n@@ ") {
		_, body, ok := strings.Cut(hunk, "\n")
		if !ok || strings.TrimSpace(hunk) == "" {
			continue
		}
		var from, to strings.Builder
		for line := range strings.Lines(body) {
			switch {
			case line == "\n": // context whose only space an editor took away
				from.WriteString(line)
				to.WriteString(line)
			case line[0] == ' ':
				from.WriteString(line[1:])
				to.WriteString(line[1:])
			case line[0] == '-':
				from.WriteString(line[1:])
				changed++
			case line[0] == '+':
				to.WriteString(line[1:])
				changed++
			default:
				t.Fatalf("not a line of a diff: %q", line)
			}
		}
		if strings.Count(source, from.String()) != 1 {
			t.Fatalf("these lines are not in the source, exactly once:\n%s", from.String())
		}
		source = strings.Replace(source, from.String(), to.String(), 1)
	}
	return source, changed
}

// start builds and runs a program, and returns the address that it prints.
func start(t *testing.T, name string) (url string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", binary, "./"+filepath.ToSlash(filepath.Join("testdata", "adopt", name))).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	cmd := exec.Command(binary)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // with it the program ends
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s said nothing: %v", name, err)
	}
	return strings.TrimSpace(line)
}

func greet(t *testing.T, ctx context.Context, cs *mcp.ClientSession, name string) string {
	t.Helper()
	p := &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": name}}
	p.SetProgressToken("p")
	result, err := cs.CallTool(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	return result.Content[0].(*mcp.TextContent).Text
}

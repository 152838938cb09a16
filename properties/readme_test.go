package properties

import (
	"os"
	"strings"
	"testing"
)

// The code in the README is code that compiles and runs: every Go block of it
// stands, line by line, in the examples of impl/streamhttp.
func TestReadmeCodeIsTested(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("../impl/streamhttp/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	flat := func(text string) string {
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, strings.TrimSpace(line))
		}
		return strings.Join(lines, "\n")
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) != 2 {
		t.Fatalf("%d Go blocks in the README, want one for a server and one for a client", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(flat(string(examples)), strings.TrimSpace(flat(code))) {
			t.Errorf("not in impl/streamhttp/example_test.go, so nobody knows whether it works:\n%s", code)
		}
	}
}

// Every page that the README or a page of docs points to is there.
func TestLinksLeadSomewhere(t *testing.T) {
	pages := []string{"../README.md"}
	for _, dir := range []string{"../docs/", "../docs/decisions/", "../tla/"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".md") {
				pages = append(pages, dir+e.Name())
			}
		}
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		base := page[:strings.LastIndex(page, "/")+1]
		for _, part := range strings.Split(string(text), "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			target, _, _ = strings.Cut(target, "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			links++
			if _, err := os.Stat(base + target); err != nil {
				t.Errorf("%s points to %s, which is not there", page, target)
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links were found in %d pages", links, len(pages))
	}
}

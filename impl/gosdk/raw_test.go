package gosdk_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A rawClient speaks HTTP by hand, for what no SDK's client does.
type rawClient struct {
	t            *testing.T
	url, session string
	version      string
}

const rawInitialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// raw opens a session.
func raw(t *testing.T, url string) *rawClient {
	t.Helper()
	c := &rawClient{t: t, url: url, version: "2025-11-25"}
	r := c.post(testContext(t), rawInitialize)
	c.session = r.Header.Get("Mcp-Session-Id")
	if text := r.rest(); c.session == "" {
		t.Fatalf("no session: %s", text)
	}
	c.post(testContext(t), `{"jsonrpc":"2.0","method":"notifications/initialized"}`).rest()
	return c
}

// A rawAnswer is an answer whose body is read as text.
type rawAnswer struct {
	*http.Response
	t     *testing.T
	lines *bufio.Reader
}

func (c *rawClient) post(ctx context.Context, body string) *rawAnswer {
	return c.do(ctx, http.MethodPost, body, nil)
}

func (c *rawClient) get(ctx context.Context, cursor string) *rawAnswer {
	h := http.Header{}
	if cursor != "" {
		h.Set("Last-Event-ID", cursor)
	}
	return c.do(ctx, http.MethodGet, "", h)
}

func (c *rawClient) do(ctx context.Context, method, body string, h http.Header) *rawAnswer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, values := range h {
		r.Header[name] = values
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Protocol-Version", c.version)
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	c.t.Cleanup(func() { answer.Body.Close() })
	return &rawAnswer{answer, c.t, bufio.NewReader(answer.Body)}
}

// rest returns what is left of the body.
func (a *rawAnswer) rest() string {
	text, err := io.ReadAll(a.lines)
	if err != nil {
		a.t.Errorf("reading: %v", err)
	}
	return string(text)
}

// until reads up to the line that contains the mark, and returns all of it.
func (a *rawAnswer) until(mark string) string {
	a.t.Helper()
	var text strings.Builder
	for {
		line, err := a.lines.ReadString('\n')
		text.WriteString(line)
		if strings.Contains(line, mark) {
			return text.String()
		}
		if err != nil {
			a.t.Fatalf("no %q in %q: %v", mark, text.String(), err)
		}
	}
}

// lastID returns the last event id in a text.
func lastID(text string) (id string) {
	for line := range strings.SplitSeq(text, "\n") {
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = v
		} else if v, ok := strings.CutPrefix(line, "id:"); ok {
			id = v
		}
	}
	return id
}

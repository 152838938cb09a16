package gosdk_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/impl/streamhttp"
)

const (
	laterMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"later","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	discover  = `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{` + laterMeta + `}}`
)

// modernClient speaks revision 2026-07-28 by hand.
type modernClient struct{ *rawClient }

func modern(t *testing.T, url string) modernClient {
	return modernClient{&rawClient{t: t, url: url, version: "2026-07-28"}}
}

func (c modernClient) post(ctx context.Context, body string) *rawAnswer {
	h := http.Header{}
	switch {
	case strings.Contains(body, "server/discover"):
		h.Set("Mcp-Method", "server/discover")
	case strings.Contains(body, "tools/call"):
		h.Set("Mcp-Method", "tools/call")
		h.Set("Mcp-Name", "echo")
	}
	return c.do(ctx, http.MethodPost, body, h)
}

func echoServer() *mcp.Server {
	return newServer(nil, map[string]toolFunc{"echo": func(_ context.Context, r *mcp.CallToolRequest, text string) (string, error) {
		return text + " to " + r.Session.InitializeParams().ProtocolVersion, nil
	}})
}

// One URL serves both eras with one server: a client that speaks both falls
// back to sessions, because only there it can resume; where the program offers
// it the choice, it chooses the later one; a client that knows only the later
// one and asks nothing before is served either way.
func TestOneURLForBothEras(t *testing.T) {
	for name, test := range map[string]struct {
		offer    bool
		chooses  string
		discover int
	}{
		"led to sessions": {false, "2025-11-25", http.StatusBadRequest},
		"offered both":    {true, "2026-07-28", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			h, server := serve(t, echoServer(), gosdk.Options{OfferSessionless: test.offer})
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "both", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server.URL}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer cs.Close()
			if v := cs.InitializeResult().ProtocolVersion; v != test.chooses {
				t.Errorf("the client chose %s, want %s", v, test.chooses)
			}
			mustCall(t, ctx, cs, "echo", "x", "x to "+test.chooses)
			if n := h.Stats().Sessions; (n == 1) != (test.chooses < "2026-07-28") {
				t.Errorf("%d sessions are open", n)
			}

			c := modern(t, server.URL)
			if a := c.post(ctx, discover); a.StatusCode != test.discover || !strings.Contains(a.rest(), `"id":"d"`) {
				t.Errorf("discover: %s", a.Status)
			}
			c.session = "a session that means nothing here"
			text := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"y"},`+laterMeta+`}}`).rest()
			if !strings.Contains(text, "y to 2026-07-28") {
				t.Errorf("a call of 2026-07-28: %s", text)
			}
			if a := c.get(ctx, "x"); a.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("GET in 2026-07-28: %s", a.Status)
			}
		})
	}
}

// What is wrong in a request of the later era is refused there, and its id is
// repeated only if it is one.
func TestLaterRequestsThatMakeNoSense(t *testing.T) {
	ctx := testContext(t)
	_, server := serve(t, echoServer(), gosdk.Options{})
	c := modern(t, server.URL)
	for body, want := range map[string]string{
		`{"id":{},"method":"server/discover"}`:                                `"error"`,
		`{"id":1.5,"method":"server/discover"}`:                               `"error"`,
		`not JSON, server/discover`:                                           `"error"`,
		`{"id":7,"method":"server/discover"}`:                                 `"id":7`,
		`{"id":"server/discover","x":"` + strings.Repeat("x", 100<<10) + `"}`: "too large",
	} {
		a := c.post(ctx, body)
		if text := a.rest(); a.StatusCode < 400 || !strings.Contains(text, want) || strings.Contains(text, "1.5") || strings.Contains(text, `"id":1,`) {
			t.Errorf("%.40s: %s %s", body, a.Status, text)
		}
	}
	for version, want := range map[string]int{"2024-11-05": 400, "2026-07-27": 400, "zzzz-zz-zz": 400, "2026-07-2": 400} {
		c := &rawClient{t: t, url: server.URL, version: version}
		if a := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.StatusCode != want {
			t.Errorf("version %s: %s", version, a.Status)
		}
	}
}

// Hosts, origins and authentication hold for both eras.
func TestBothErasAreGuarded(t *testing.T) {
	ctx := testContext(t)
	o := gosdk.Options{OfferSessionless: true}
	_, server := serve(t, echoServer(), o)
	foreign := http.Header{"Origin": {"https://evil.example"}, "Mcp-Method": {"server/discover"}}
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		c := &rawClient{t: t, url: server.URL, version: version}
		body := rawInitialize
		if version == "2026-07-28" {
			body = discover
		}
		if a := c.do(ctx, http.MethodPost, body, foreign.Clone()); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s from a foreign origin: %s", version, a.Status)
		}
		own := http.Header{"Mcp-Method": {"server/discover"}}
		if a := c.do(ctx, http.MethodPost, body, own); a.StatusCode != http.StatusOK {
			t.Errorf("%s without an origin: %s", version, a.Status)
		}
	}

	o.HTTP.Subject = func(*http.Request) (string, error) { return "", context.Canceled }
	_, server = serve(t, echoServer(), o)
	if a := modern(t, server.URL).post(ctx, discover); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody in 2026-07-28: %s", a.Status)
	}
	c := &rawClient{t: t, url: server.URL, version: "2025-11-25"}
	if a := c.post(ctx, rawInitialize); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("nobody in 2025-11-25: %s", a.Status)
	}
}

// Each revision with sessions is negotiated as asked; the one of another
// transport is answered with the newest.
func TestRevisionsWithSessions(t *testing.T) {
	ctx := testContext(t)
	_, server := serve(t, echoServer(), gosdk.Options{})
	wants := map[string]string{"2024-11-05": "2025-11-25", "1999-01-01": "2025-11-25"}
	for _, v := range streamhttp.Versions() {
		wants[v] = v
	}
	for asked, want := range wants {
		c := &rawClient{t: t, url: server.URL, version: "2025-11-25"}
		text := c.post(ctx, strings.Replace(rawInitialize, "2025-11-25", asked, 1)).rest()
		if !strings.Contains(text, `"protocolVersion":"`+want+`"`) {
			t.Errorf("asked for %s: %s", asked, text)
		}
	}
	for _, params := range []string{`{}`, `[]`, `{"protocolVersion":1}`, `null`} { // whatever the SDK makes of them
		c := &rawClient{t: t, url: server.URL, version: "2025-11-25"}
		if text := c.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+params+`}`).rest(); !strings.Contains(text, `"id":1`) {
			t.Errorf("params %s: %s", params, text)
		}
	}
}

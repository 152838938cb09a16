package streamhttp

import (
	"context"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
)

// What looks at an answer sees it before it is sent, and may send another; of
// several, the last to come looks first. It sees the answer to initialize too,
// the one that the handler gives where the application gave none, and the
// smaller one that follows one that was too large.
func TestWhatInterceptsAnAnswerSeesItFirst(t *testing.T) {
	var seen []string
	look := func(name string) func([]byte) []byte {
		return func(answer []byte) []byte {
			seen = append(seen, name+" "+string(answer))
			return []byte(strings.ReplaceAll(string(answer), "word", "word, "+name))
		}
	}
	app := bench{
		"say": func(_ context.Context, m *Message) {
			m.Stream.Intercept(look("outer"))
			m.Stream.Intercept(look("inner"))
			_, _ = m.Stream.Answer("word")
		},
		"silent": func(_ context.Context, m *Message) { m.Stream.Intercept(look("silent")) },
		"large": func(_ context.Context, m *Message) {
			m.Stream.Intercept(look("large"))
			if _, err := m.Stream.Answer(strings.Repeat("x", 4096)); err == nil {
				t.Error("the answer is not too large")
			}
			_, _ = m.Stream.Answer("small")
		},
		"initialize": func(_ context.Context, m *Message) {
			m.Stream.Intercept(look("opening"))
			_, _ = m.Stream.Answer(map[string]any{"protocolVersion": Negotiate(m.Params), "capabilities": struct{}{}, "word": "word"})
		},
	}
	r := newRig(t, app.app, Options{Session: session.Options{EventBytes: 2048}})
	opened := r.request(t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	r.session = opened.Header.Get(HeaderSessionID)
	if text := readBody(t, opened); !strings.Contains(text, "word, opening") {
		t.Errorf("the answer to initialize: %s", text)
	}
	for _, c := range []struct{ method, answer string }{{"say", `"word, outer, inner"`}, {"silent", "gave no answer"}, {"large", `"small"`}} {
		text := readBody(t, r.request(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"`+c.method+`"}`))
		if !strings.Contains(text, c.answer) {
			t.Errorf("%s is answered with %s", c.method, text)
		}
	}
	var order []string
	for _, s := range seen {
		name, _, _ := strings.Cut(s, " ")
		order = append(order, name)
	}
	if got := strings.Join(order, " "); got != "opening inner outer silent large large" {
		t.Errorf("who looked, in order: %s", got)
	}
}

package streamhttp

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
)

// A lateContext ends when it is waited for, and at that very moment the answer
// comes.
type lateContext struct {
	context.Context
	answer func()
}

func (c lateContext) Done() <-chan struct{} { c.answer(); return c.Context.Done() }

// R16: an answer that is there when the wait for it ends is the answer. (Which
// of two that are ready is looked at first is left to chance: so it is tried
// often.)
func TestAnAnswerThatIsThereIsTaken(t *testing.T) {
	const times = 40
	outcome := make(chan string, times)
	r := newRig(t, bench{"ask": func(_ context.Context, m *Message) {
		over, end := context.WithCancel(context.Background())
		end()
		for n := range times {
			answers := func() {
				e, err := parseEnvelope(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"s%d","result":%d}`, n+1, n))
				if err != nil || !m.Session.answered(e) {
					outcome <- fmt.Sprint("not taken: ", err)
				}
			}
			result, err := m.Stream.Request(lateContext{over, answers}, "roots/list", nil)
			outcome <- fmt.Sprint(string(result), err)
		}
	}}.app, Options{})
	r.open()
	r.call(9, "ask", `{}`)
	for n := range times {
		if got, want := within(t, outcome, "an answer"), fmt.Sprint(n, "<nil>"); got != want {
			t.Fatalf("answer %d: %s, want %s", n, got, want)
		}
	}
}

// R16: of two answers the first one is taken; whoever brings the second waits
// for nobody, also before the first was looked at.
func TestASecondAnswerIsNobodys(t *testing.T) {
	var s Session
	id, answer, ok := s.ask()
	if !ok {
		t.Fatal("no room")
	}
	e := envelope{kind: Response, id: json.RawMessage(`"` + id + `"`), result: json.RawMessage("1")}
	second := make(chan bool, 1)
	if !s.answered(e) {
		t.Error("the first one is nobody's")
	}
	go func() { second <- s.answered(envelope{kind: Response, id: e.id, result: json.RawMessage("2")}) }()
	if within(t, second, "the second answer") {
		t.Error("the second one was taken")
	}
	if got := within(t, answer, "the answer"); string(got.result) != "1" || len(answer) != 0 {
		t.Errorf("got %s, and %d more", got.result, len(answer))
	}
}

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// moments feeds a tap and lists what it saw, with the data of whole events.
func moments(t *tap, wire string) (seen []string) {
	for i := range len(wire) {
		switch t.next(wire[i]) {
		case eventArrived:
			seen = append(seen, "event "+string(t.data))
			t.taken()
		case responseOver:
			seen = append(seen, "over")
		}
	}
	return seen
}

// chunked returns a body in chunks of n bytes.
func chunked(body string, n int) string {
	var b strings.Builder
	for len(body) > 0 {
		k := min(n, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", k, body[:k])
		body = body[k:]
	}
	return b.String() + "0\r\n\r\n"
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestTapFindsEventsHoweverTheyAreChunked(t *testing.T) {
	body := ": hello\n\nid: 1\ndata: \n\nid: 2\ndata: {\"a\":1}\n\nretry: 5\n\nid: 3\ndata:b\n\n"
	want := []string{`event  {"a":1}`, "event b", "over"}
	for n := 1; n <= len(body); n++ {
		var tp tap
		if got := moments(&tp, streamHead+chunked(body, n)); !slices.Equal(got, want) {
			t.Fatalf("chunks of %d: %q, want %q", n, got, want)
		}
	}
}

func TestTapFollowsOneResponseAfterAnother(t *testing.T) {
	wire := "HTTP/1.1 100 Continue\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"a\":\n\n true" +
		"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n" +
		"HTTP/1.1 204 No Content\r\n\r\n" +
		streamHead + chunked("data: x\n\n", 4) +
		"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"
	want := []string{"over", "over", "over", "event  x", "over", "over"}
	var tp tap
	if got := moments(&tp, wire); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTapTellsAnEventThatIsNotWhole(t *testing.T) {
	var tp tap
	for _, b := range []byte(streamHead + "14\r\nid: 1\ndata: {\"mark\"\n") {
		if tp.next(b) == eventArrived {
			t.Fatal("an event without its blank line counts as whole")
		}
	}
	if got := string(tp.data); got != ` {"mark"` {
		t.Errorf("data so far %q", got)
	}
}

package sse_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/sse"
)

// The exact bytes, as other programs will see them.
func TestAppendWritesTheseBytes(t *testing.T) {
	must := func(b []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	at := func(b []byte, err error) []byte { return []byte(must(b, err)) }
	for _, c := range []struct{ name, got, want string }{
		{"event", must(sse.AppendEvent(nil, "7", "", []byte("x"))), "id: 7\ndata: x\n\n"},
		{"with a name", must(sse.AppendEvent(nil, []byte("7"), "e", []byte("x"))), "event: e\nid: 7\ndata: x\n\n"},
		{"without an id", must(sse.AppendEvent(nil, "", "", []byte("x"))), "data: x\n\n"},
		{"with lines", must(sse.AppendEvent(nil, "", "", []byte("\nx\n"))), "data: \ndata: x\ndata: \n\n"},
		{"in two steps", must(sse.AppendData(at(sse.AppendID(nil, "7")), []byte("x"))), "id: 7\ndata: x\n\n"},
		{"behind others", must(sse.AppendEvent([]byte("before|"), "", "", []byte("x"))), "before|data: x\n\n"},
		{"position", must(sse.AppendPosition(nil, "7")), "id: 7\ndata: \n\n"},
		{"comment", must(sse.AppendComment(nil, "reattach position=7")), ": reattach position=7\n"},
		{"retry", string(sse.AppendRetry(nil, 2*time.Second)), "retry: 2000\n\n"},
		{"retry, rounded up", string(sse.AppendRetry(nil, time.Nanosecond)), "retry: 1\n\n"},
		{"retry, negative", string(sse.AppendRetry(nil, -time.Second)), "retry: 0\n\n"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

// What would end its line, or be read as something else, is refused before a
// byte is appended.
func TestAppendRefusesInjection(t *testing.T) {
	x := []byte("x")
	for _, c := range []struct {
		name, field string
		append      func([]byte) ([]byte, error)
	}{
		{"LF in id", "id", func(b []byte) ([]byte, error) { return sse.AppendEvent(b, "1\ndata: y", "", x) }},
		{"CR in id", "id", func(b []byte) ([]byte, error) { return sse.AppendEvent(b, "1\r", "", x) }},
		{"NUL in id", "id", func(b []byte) ([]byte, error) { return sse.AppendEvent(b, "1\x00", "", x) }},
		{"LF in a position", "id", func(b []byte) ([]byte, error) { return sse.AppendPosition(b, "1\n") }},
		{"no position", "id", func(b []byte) ([]byte, error) { return sse.AppendPosition(b, "") }},
		{"LF in an id line", "id", func(b []byte) ([]byte, error) { return sse.AppendID(b, []byte("\n")) }},
		{"LF in name", "event", func(b []byte) ([]byte, error) { return sse.AppendEvent(b, "", "e\n", x) }},
		{"CR in name", "event", func(b []byte) ([]byte, error) { return sse.AppendEvent(b, "", "\re", x) }},
		{"LF in comment", "comment", func(b []byte) ([]byte, error) { return sse.AppendComment(b, "a\n\ndata: y") }},
		{"CR in comment", "comment", func(b []byte) ([]byte, error) { return sse.AppendComment(b, "\r") }},
		{"CR in data", "data", func(b []byte) ([]byte, error) { return sse.AppendData(b, []byte("a\r\ndata: y")) }},
		{"no data", "data", func(b []byte) ([]byte, error) { return sse.AppendData(b, nil) }},
	} {
		out, err := c.append([]byte("before"))
		var e *sse.FieldError
		if !errors.Is(err, sse.ErrUnencodable) || !errors.As(err, &e) || e.Field != c.field || string(out) != "before" {
			t.Errorf("%s: got %q, %v", c.name, out, err)
		}
	}
}

// A keep-alive is harmless wherever between two lines it falls, even inside an
// event: it cannot end one.
func TestCommentNeverEndsAnEvent(t *testing.T) {
	event := "id: 1\ndata: a\ndata: b\n\n"
	for i := range len(event) {
		if i > 0 && event[i-1] != '\n' {
			continue
		}
		stream, _ := sse.AppendComment([]byte(event[:i]), "ping")
		got, end := read(strings.NewReader(string(stream)+event[i:]), sse.Options{})
		if d := diff([]sse.Event{message("1", "a\nb")}, got); d != "" || end != io.EOF {
			t.Errorf("comment at %d: end %v (-want +got)\n%s", i, end, d)
		}
	}
}

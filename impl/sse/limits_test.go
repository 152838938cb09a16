package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/reattach/impl/sse"
)

// The largest payload is accepted and one byte more is not, in one line and in
// several. What came before the oversized event stays given.
func TestReaderBoundsEvents(t *testing.T) {
	const maxEvent = 1000
	lines := func(size int) string { // a payload of this size in lines of 10
		return strings.Repeat("data: 123456789\n", size/10) + "data: " + strings.Repeat("x", size%10) + "\n\n"
	}
	for _, c := range []struct {
		name, event, field string
		ok                 bool
	}{
		{"one line", "data: " + strings.Repeat("x", maxEvent) + "\n\n", "", true},
		{"one line too large", "data: " + strings.Repeat("x", maxEvent+1) + "\n\n", "data", false},
		{"many lines", lines(maxEvent), "", true},
		{"many lines too large", lines(maxEvent + 1), "data", false},
		{"only line feeds", strings.Repeat("data\n", maxEvent+1) + "\n", "", true},
		{"too many line feeds", strings.Repeat("data\n", maxEvent+2) + "\n", "data", false},
		{"a long id", "id: " + strings.Repeat("x", 16<<10) + "\ndata: x\n\n", "", true},
		{"too long an id", "id: " + strings.Repeat("x", 16<<10+1) + "\ndata: x\n\n", "id", false},
		{"too long a name", "event: " + strings.Repeat("x", 16<<10+1) + "\ndata: x\n\n", "event", false},
		{"many comments", "data: x\n" + strings.Repeat(": xx\n", 50_000) + "\n", "", true},
		{"many unknown fields", strings.Repeat("x: xx\n", 50_000) + "data: x\n\n", "", true},
		{"many short fields", strings.Repeat("id: 1\nevent: e\nretry: 1\n", 50_000) + "data: x\n\n", "", true},
	} {
		stream := "data: before\n\n" + c.event
		for name, src := range map[string]io.Reader{"at once": strings.NewReader(stream),
			"in halves": iotest.HalfReader(strings.NewReader(stream)), "in bytes": iotest.OneByteReader(strings.NewReader(stream))} {
			got, end := read(src, sse.Options{MaxEvent: maxEvent})
			var e *sse.TooLargeError
			switch {
			case len(got) == 0 || string(got[0].Data) != "before":
				t.Errorf("%s, %s: the event before is missing", c.name, name)
			case c.ok && (end != io.EOF || len(got) != 2):
				t.Errorf("%s, %s: end %v after %d events", c.name, name, end, len(got))
			case !c.ok && (!errors.Is(end, sse.ErrEventTooLarge) || !errors.As(end, &e) || e.Field != c.field || len(got) != 1):
				t.Errorf("%s, %s: end %v after %d events", c.name, name, end, len(got))
			}
		}
	}
}

// endless repeats some bytes for ever and counts how many were taken.
type endless struct {
	bytes string
	taken int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.bytes[(e.taken+i)%len(e.bytes)]
	}
	e.taken += len(p)
	return len(p), nil
}

// A peer that never ends a line, or an event, is given up after a bounded
// number of bytes, and a bounded amount of memory.
func TestReaderGivesUpOnEndlessEvents(t *testing.T) {
	for name, b := range map[string]string{"one line": "x", "a comment": ":", "data lines": "data: x\n", "data line feeds": "data\n"} {
		src := &endless{bytes: b}
		_, end := read(src, sse.Options{MaxEvent: 100_000})
		if !errors.Is(end, sse.ErrEventTooLarge) || src.taken > 1_200_000 {
			t.Errorf("%s: end %v after %d bytes", name, end, src.taken)
		}
	}
}

// Line feeds are looked for once: a stream of nothing but carriage returns, or
// with a line feed far away, takes time in proportion to its length. (Were it
// the square, this would be 10^12 steps.)
func TestReaderIsLinear(t *testing.T) {
	stream := bytes.Repeat([]byte("\r"), 1_000_000)
	stream = append(append(append([]byte("data: "), bytes.Repeat([]byte("x"), 1_000_000)...), "\n\n"...), stream...)
	stream = append(stream, "\ndata: x\n\n"...)
	if got, end := read(bytes.NewReader(stream), sse.Options{}); end != io.EOF || len(got) != 2 {
		t.Errorf("end %v after %d events", end, len(got))
	}
}

// looper gives the same bytes again and again, as often as asked.
type looper struct {
	b    []byte
	rest []byte
}

func (l *looper) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		l.rest = l.b
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// In the steady state an event costs no allocation, neither to write nor to
// read, also with several lines, a name and a retry.
func TestNoAllocations(t *testing.T) {
	data := []byte("{\"a\":\n" + strings.Repeat("x", 240) + "}")
	id := []byte("0123456789abcdef0123456789abcdef:12345:0:12345")
	buf := make([]byte, 0, 1024)
	encode := func() {
		buf, _ = sse.AppendEvent(buf[:0], id, "message", data)
		buf = sse.AppendRetry(buf, 100)
		buf, _ = sse.AppendComment(buf, "ping")
		buf, _ = sse.AppendPosition(buf, id)
	}
	if n := testing.AllocsPerRun(1000, encode); n != 0 {
		t.Errorf("writing allocates %v times", n)
	}
	r := sse.NewReader(&looper{b: buf}, sse.Options{Comments: true})
	next := func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		next()
	}
	if n := testing.AllocsPerRun(1000, next); n != 0 {
		t.Errorf("reading allocates %v times", n)
	}
}

// A reader that gave a large event does not keep its memory for ever.
func TestReaderGivesMemoryBack(t *testing.T) {
	small := strings.Repeat("data: x\n\n", 2000)
	large := "data: " + strings.Repeat("x", 1<<20) + "\n\n"
	r := sse.NewReader(iotest.HalfReader(strings.NewReader(large+strings.Repeat(small, 1000))), sse.Options{})
	if _, err := r.Next(); err != nil || r.BufferBytes() < 1<<20 {
		t.Fatalf("after the large event: %d bytes, %v", r.BufferBytes(), err)
	}
	for range 1_900_000 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if r.BufferBytes() > 64<<10 {
		t.Errorf("after many small events: %d bytes", r.BufferBytes())
	}
}

// stubborn reads nothing, for ever.
type stubborn struct{}

func (stubborn) Read([]byte) (int, error) { return 0, nil }

// A source that gives neither bytes nor an error ends the stream.
func TestReaderGivesUpOnNoProgress(t *testing.T) {
	if _, end := read(stubborn{}, sse.Options{}); !errors.Is(end, io.ErrNoProgress) || !errors.Is(end, sse.ErrTruncated) {
		t.Errorf("end %v", end)
	}
}

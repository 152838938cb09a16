package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"example.com/reattach/impl/sse"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// read returns all events of a stream and how it ended.
func read(src io.Reader, o sse.Options) (events []sse.Event, end error) {
	r := sse.NewReader(src, o)
	for {
		ev, err := r.Next()
		if err != nil {
			if _, again := r.Next(); again != err {
				return events, fmt.Errorf("the end changed from %v to %v", err, again)
			}
			return events, err
		}
		events = append(events, ev.Clone())
	}
}

func message(id, data string) sse.Event {
	ev := sse.Event{Kind: sse.Message, Data: []byte(data)}
	if id != "" {
		ev.ID, ev.HasID = []byte(id), true
	}
	return ev
}

func position(id string) sse.Event {
	return sse.Event{Kind: sse.Position, ID: []byte(id), HasID: true}
}

func diff(want, got []sse.Event) string {
	return cmp.Diff(want, got, cmp.Transformer("bytes", func(b []byte) string { return string(b) }),
		cmp.Transformer("nil", func(e []sse.Event) []sse.Event { return append([]sse.Event{}, e...) }))
}

// What a line means, one way of writing it after the other.
func TestReaderUnderstands(t *testing.T) {
	retry := func(d time.Duration) sse.Event { return sse.Event{Kind: sse.Position, Retry: d, HasRetry: true} }
	named := func(name string, ev sse.Event) sse.Event { ev.Name = name; return ev }
	for _, c := range []struct {
		name, stream string
		want         []sse.Event
	}{
		{"nothing", "", nil},
		{"blank lines", "\n\r\n\r", nil},
		{"a message", "data: x\n\n", []sse.Event{message("", "x")}},
		{"no space", "data:x\n\n", []sse.Event{message("", "x")}},
		{"one of two spaces", "data:  x\n\n", []sse.Event{message("", " x")}},
		{"a tab stays", "data:\tx\n\n", []sse.Event{message("", "\tx")}},
		{"colons in the value", "data: a:b: c\n\n", []sse.Event{message("", "a:b: c")}},
		{"lines are joined", "data: a\ndata:\ndata: b\n\n", []sse.Event{message("", "a\n\nb")}},
		{"two empty lines are a line feed", "data\ndata\n\n", []sse.Event{message("", "\n")}},
		{"data without colon first", "data\ndata: x\n\n", []sse.Event{message("", "\nx")}},
		{"data without colon last", "data: x\ndata\n\n", []sse.Event{message("", "x\n")}},
		{"all fields", "event: e\nid: 7\nretry: 15\ndata: x\n\n", []sse.Event{{Kind: sse.Message, Name: "e",
			ID: []byte("7"), HasID: true, Retry: 15 * time.Millisecond, HasRetry: true, Data: []byte("x")}}},
		{"the last id of an event counts", "id: 1\nid: 2\ndata: x\n\n", []sse.Event{message("2", "x")}},
		{"an id with NUL is ignored", "id: 1\nid: 2\x00\ndata: x\n\n", []sse.Event{message("1", "x")}},
		{"only such an id", "id: 2\x00\n\n", []sse.Event{{Kind: sse.Position}}},
		{"case 26, a priming event", "id: 5\ndata: \n\n", []sse.Event{position("5")}},
		{"an id alone", "id: 5\n\n", []sse.Event{position("5")}},
		{"an empty id", "id:\n\n", []sse.Event{position("")}},
		{"an id without colon", "id\n\n", []sse.Event{position("")}},
		{"case 26, retry only", "retry: 0\n\n", []sse.Event{retry(0)}},
		{"a retry beyond bounds", "retry: 99999999999999999999999\n\n", []sse.Event{retry(sse.MaxRetry)}},
		{"a retry that is none", "retry: 1s\nretry: -1\nretry:\ndata: x\n\n", []sse.Event{message("", "x")}},
		{"a name alone", "event: e\n\n", []sse.Event{named("e", sse.Event{Kind: sse.Position})}},
		{"a name does not last", "event: e\ndata: x\n\ndata: y\n\n", []sse.Event{named("e", message("", "x")), message("", "y")}},
		{"case 26, comments only", ": ping\n\n:\n", nil},
		{"a comment inside", "data: a\n: ping\ndata: b\n\n", []sse.Event{message("", "a\nb")}},
		{"unknown fields only", "x\nData: y\n data: z\n\n", nil},
		{"unknown fields beside", "x: 1\ndata: y\n\n", []sse.Event{message("", "y")}},
		{"a byte order mark", "\xEF\xBB\xBFdata: x\n\n", []sse.Event{message("", "x")}},
		{"a byte order mark only", "\xEF\xBB\xBF", nil},
		{"two byte order marks", "\xEF\xBB\xBF\xEF\xBB\xBFdata: x\n\n", nil},
		{"a byte order mark later", "data: \xEF\xBB\xBFx\n\n", []sse.Event{message("", "\xEF\xBB\xBFx")}},
		{"CR", "data: a\rdata: b\r\rdata: c\r\r", []sse.Event{message("", "a\nb"), message("", "c")}},
		{"CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []sse.Event{message("", "a\nb"), message("", "c")}},
		{"mixed", "data: a\r\ndata: b\n\rdata: c\r\r\ndata: d\n\n", []sse.Event{message("", "a\nb"), message("", "c"), message("", "d")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, src := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream)),
				iotest.DataErrReader(strings.NewReader(c.stream))} {
				got, end := read(src, sse.Options{})
				if d := diff(c.want, got); d != "" || end != io.EOF {
					t.Errorf("end %v, events (-want +got):\n%s", end, d)
				}
			}
		})
	}
}

// Comments are given when asked for, where they stand, and an event around one
// is not disturbed.
func TestReaderGivesComments(t *testing.T) {
	comment := func(text string) sse.Event { return sse.Event{Kind: sse.Comment, Comment: []byte(text)} }
	want := []sse.Event{comment("one"), comment(" two"), comment("three"), message("1", "a\nb"), comment("")}
	src := ": one\n:  two\n\ndata: a\n:three\nid: 1\ndata: b\n\n:\n"
	got, end := read(iotest.OneByteReader(strings.NewReader(src)), sse.Options{Comments: true})
	if d := diff(want, got); d != "" || end != io.EOF {
		t.Errorf("end %v, events (-want +got):\n%s", end, d)
	}
}

// R25: the last id survives events without one, and an explicit empty id clears
// it. R20: one that was not dispatched never counts.
func TestLastIDIsThatOfWholeEvents(t *testing.T) {
	r := sse.NewReader(strings.NewReader("data: a\n\nid: 1\ndata: b\n\ndata: c\n\nid\n\nid: 2\n\nid: 3\ndata: half"), sse.Options{})
	for i, want := range []string{"", "1", "1", "", "2", "2"} {
		_, err := r.Next()
		if id, ok := r.LastID(); string(id) != want || ok != (want != "") {
			t.Errorf("after event %d (%v): last id %q, %v, want %q", i+1, err, id, ok, want)
		}
	}
}

// recorded is a stream with everything in it, in the given line ends.
func recorded(eol string) []byte {
	s := "\xEF\xBB\xBF: reattach position=t:0:0:0\nid: t:0:0:0\ndata: \n\n" +
		"id: t:1:0:1\ndata: {\"a\":1}\n\nretry: 100\n\n: ping\n" +
		"event: message\nid: t:2:0:2\ndata: {\ndata: \"b\": \"\u2028\"\ndata\ndata: }\n\n" +
		"id: t:3:0:3\ndata: " + strings.Repeat("x", 300) + "\n\nid:\ndata: last\n\n"
	return []byte(strings.ReplaceAll(s, "\n", eol))
}

// cutReader gives the bytes of a stream up to a cut, then the error.
func cutReader(b []byte, err error) io.Reader {
	return io.MultiReader(bytes.NewReader(b), iotest.ErrReader(err))
}

// Case 22, for the framing: a stream cut at every byte, cleanly and by reset,
// gives the whole events before the cut and nothing of the next one. It is a
// clean end exactly where no field line is pending and no line is unfinished.
func TestCase22EveryByteCut(t *testing.T) {
	reset := errors.New("connection reset")
	for _, eol := range []string{"\n", "\r", "\r\n"} {
		stream := recorded(eol)
		whole, _ := read(bytes.NewReader(stream), sse.Options{})
		if len(whole) != 6 {
			t.Fatalf("the uncut stream has %d events, want 6", len(whole))
		}
		clean, truncated := 0, 0
		for cut := range len(stream) + 1 {
			// How many events end before the cut is counted in the text:
			// every blank line of this stream ends one.
			text := strings.ReplaceAll(string(stream[:cut]), eol, "\n")
			text = strings.ReplaceAll(text, "\r", "\n")
			blank := strings.Count(text, "\n\n")
			rest := text[strings.LastIndex(text, "\n\n")+1:]
			wantClean := cleanRest(rest)

			got, end := read(bytes.NewReader(stream[:cut]), sse.Options{})
			if d := diff(whole[:blank], got); d != "" {
				t.Fatalf("eol %q, cut at %d: (-want +got)\n%s", eol, cut, d)
			}
			var e *sse.TruncatedError
			switch {
			case wantClean && end == io.EOF:
				clean++
			case !wantClean && errors.Is(end, sse.ErrTruncated) && errors.As(end, &e) &&
				errors.Is(end, io.ErrUnexpectedEOF) && e.Pending > 0:
				truncated++
			default:
				t.Fatalf("eol %q, cut at %d, after %q: end %v, clean wanted: %v", eol, cut, rest, end, wantClean)
			}

			got, end = read(cutReader(stream[:cut], reset), sse.Options{})
			if d := diff(whole[:blank], got); d != "" {
				t.Fatalf("eol %q, reset at %d: (-want +got)\n%s", eol, cut, d)
			}
			if !errors.Is(end, sse.ErrTruncated) || !errors.Is(end, reset) || !errors.As(end, &e) || (e.Pending > 0) == wantClean {
				t.Fatalf("eol %q, reset at %d: end %v", eol, cut, end)
			}
		}
		if clean < 7 || truncated < 400 {
			t.Errorf("eol %q: %d clean ends, %d truncated ones: the cuts do not reach both", eol, clean, truncated)
		}
	}
}

// cleanRest reports whether what follows the last event is nothing but whole
// comment lines and blank ones (or the whole byte order mark).
func cleanRest(rest string) bool {
	if rest == "\xEF\xBB\xBF" {
		return true
	}
	rest = strings.TrimPrefix(rest, "\xEF\xBB\xBF")
	for line := range strings.Lines(rest) {
		if line != "\n" && !(strings.HasPrefix(line, ":") && strings.HasSuffix(line, "\n")) {
			return false
		}
	}
	return true
}

// Case 27: payloads with every kind of separator arrive byte for byte, in every
// split of the stream into two and in single bytes. A carriage return is the
// one thing that the format cannot carry, and is refused.
func TestCase27LineSeparators(t *testing.T) {
	payloads := []string{"{\"s\":\"\u2028\u2029\u0085\"}", "nul \x00 in data", "line\nfeed", "\n", "\n\n\n", "ends\n", "\nstarts",
		" space", "data: data: x", ": no comment", "\xEF\xBB\xBF", "\v\f\x1c", "id: 9", strings.Repeat("long", 3000)}
	var stream []byte
	var want []sse.Event
	for i, p := range payloads {
		id := fmt.Sprint("t:", i)
		var err error
		if stream, err = sse.AppendEvent(stream, id, "", []byte(p)); err != nil {
			t.Fatal(err)
		}
		want = append(want, message(id, p))
	}
	for _, bad := range []string{"lone\rCR", "CR\r\nLF", "\r", ""} {
		if out, err := sse.AppendEvent(stream, "", "", []byte(bad)); !errors.Is(err, sse.ErrUnencodable) || len(out) != len(stream) {
			t.Errorf("payload %q: error %v, %d bytes added", bad, err, len(out)-len(stream))
		}
	}
	crlf := bytes.ReplaceAll(stream, []byte("\n"), []byte("\r\n"))
	for name, s := range map[string][]byte{"LF": stream, "CRLF": crlf} {
		if got, end := read(iotest.OneByteReader(bytes.NewReader(s)), sse.Options{}); diff(want, got) != "" || end != io.EOF {
			t.Errorf("%s by bytes: end %v (-want +got)\n%s", name, end, diff(want, got))
		}
		for split := range s {
			if split > 400 && split < len(s)-100 && split%97 != 0 {
				continue // inside the long one
			}
			src := io.MultiReader(bytes.NewReader(s[:split]), bytes.NewReader(s[split:]))
			if got, end := read(src, sse.Options{}); diff(want, got) != "" || end != io.EOF {
				t.Fatalf("%s split at %d: end %v (-want +got)\n%s", name, split, end, diff(want, got))
			}
		}
	}
}

// A live event is given as soon as its blank line has begun: with CRLF the
// reader must not wait for the LF, which may be long in coming.
func TestReaderDoesNotWaitForTheLineFeed(t *testing.T) {
	in, out := io.Pipe()
	r := sse.NewReader(in, sse.Options{})
	go out.Write([]byte("data: x\r\n\r"))
	if ev, err := r.Next(); err != nil || string(ev.Data) != "x" {
		t.Fatalf("got %q, %v", ev.Data, err)
	}
	go func() {
		out.Write([]byte("\ndata: y\r\n\r\n"))
		out.Close()
	}()
	var got []string
	for ev, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(ev.Data))
	}
	if !slices.Equal(got, []string{"y"}) {
		t.Errorf("got %q", got)
	}
}

// Events ends without an error at a clean end and with one, once, otherwise.
func TestEventsEndsWithTheError(t *testing.T) {
	for stream, want := range map[string]int{"data: x\n\n": 0, "data: x\n\ndata: y": 1} {
		events, errs := 0, 0
		for _, err := range sse.NewReader(strings.NewReader(stream), sse.Options{}).Events() {
			if err != nil {
				errs++
			} else {
				events++
			}
		}
		if events != 1 || errs != want {
			t.Errorf("%q: %d events, %d errors", stream, events, errs)
		}
	}
}

// Whatever is written is read back, whatever the pieces in which it comes, with
// other events, comments and positions in between.
func TestRoundTrip(t *testing.T) {
	seen := map[sse.Kind]int{}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab: \n\u2028\x00\uFEFF{}")))
		line := rapid.StringOf(rapid.SampledFrom([]rune("ab: \u2028\uFEFF")))
		var stream []byte
		var want []sse.Event
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			var ev sse.Event
			var err error
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				ev = position(line.Filter(func(s string) bool { return s != "" }).Draw(t, "id"))
				stream, err = sse.AppendPosition(stream, ev.ID)
			case 1:
				ev = sse.Event{Kind: sse.Comment, Comment: []byte(line.Draw(t, "comment"))}
				stream, err = sse.AppendComment(stream, string(ev.Comment))
			case 2:
				ev = sse.Event{Kind: sse.Position, HasRetry: true, Retry: time.Duration(rapid.IntRange(0, 99999).Draw(t, "ms")) * time.Millisecond}
				stream = sse.AppendRetry(stream, ev.Retry)
			default:
				ev = message(line.Draw(t, "id"), text.Filter(func(s string) bool { return s != "" }).Draw(t, "data"))
				ev.Name = line.Draw(t, "name")
				if rapid.Bool().Draw(t, "long") {
					ev.Data = bytes.Repeat(ev.Data, 700)
				}
				stream, err = sse.AppendEvent(stream, ev.ID, ev.Name, ev.Data)
			}
			if err != nil {
				t.Fatal(err)
			}
			seen[ev.Kind]++
			want = append(want, ev)
		}
		got, end := read(chunks(t, stream), sse.Options{Comments: true})
		if d := diff(want, got); d != "" || end != io.EOF {
			t.Fatalf("end %v, events (-want +got):\n%s", end, d)
		}
	})
	for _, k := range []sse.Kind{sse.Message, sse.Position, sse.Comment} {
		if seen[k] < 50 {
			t.Errorf("%v was written %d times only", k, seen[k])
		}
	}
}

// chunks is a reader that gives a stream in drawn pieces, some of them empty.
func chunks(t *rapid.T, stream []byte) io.Reader {
	var pieces []io.Reader
	for len(stream) > 0 {
		n := min(len(stream), rapid.SampledFrom([]int{0, 1, 2, 3, 7, 50, 511, 5000}).Draw(t, "chunk"))
		pieces = append(pieces, bytes.NewReader(stream[:n]))
		stream = stream[n:]
	}
	return io.MultiReader(pieces...)
}

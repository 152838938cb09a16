package sse_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"example.com/reattach/impl/sse"
)

// FuzzReader holds for any bytes: the reader ends, in one of its three ways; the
// same bytes in other pieces give the same events and end; a prefix gives a
// prefix of the events; and every message can be written and read back.
func FuzzReader(f *testing.F) {
	for _, eol := range []string{"\n", "\r", "\r\n"} {
		f.Add(recorded(eol), uint(77))
	}
	f.Add([]byte("data\ndata\n\nid\x00: \rretry: 1\r\n\r\n:c"), uint(9))
	f.Fuzz(func(t *testing.T, stream []byte, cut uint) {
		o := sse.Options{MaxEvent: 64, Comments: true}
		whole, end := read(bytes.NewReader(stream), o)
		if end != io.EOF && !errors.Is(end, sse.ErrTruncated) && !errors.Is(end, sse.ErrEventTooLarge) {
			t.Fatalf("end %v", end)
		}
		pieces, endPieces := read(iotest.OneByteReader(bytes.NewReader(stream)), o)
		if d := diff(whole, pieces); d != "" || end.Error() != endPieces.Error() {
			t.Fatalf("at once: %v, byte by byte: %v\n%s", end, endPieces, d)
		}
		part, _ := read(bytes.NewReader(stream[:cut%uint(len(stream)+1)]), o)
		if len(part) > len(whole) || diff(whole[:len(part)], part) != "" {
			t.Fatalf("the first %d bytes give other events\n%s", cut, diff(whole, part))
		}
		for _, ev := range whole {
			if ev.Kind != sse.Message {
				continue
			}
			b, err := sse.AppendEvent(nil, ev.ID, ev.Name, ev.Data)
			if err != nil {
				t.Fatalf("%q was read and cannot be written: %v", ev.Data, err)
			}
			again, _ := read(bytes.NewReader(b), o)
			if len(again) != 1 || !bytes.Equal(again[0].Data, ev.Data) || !bytes.Equal(again[0].ID, ev.ID) || again[0].Name != ev.Name {
				t.Fatalf("%q came back as %+v", ev.Data, again)
			}
		}
	})
}

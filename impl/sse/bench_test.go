package sse_test

import (
	"strings"
	"testing"

	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// What framing costs beside the copy that it cannot do without.
func BenchmarkAppendEvent(b *testing.B) {
	payload := []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"` + strings.Repeat("x", 180) + `"}}`)
	id, _ := spec.EventID{Tag: spec.TagOf("session", ""), Seq: 12345, Stream: 3, Ordinal: 1234}.AppendText(nil)
	var buf []byte
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			buf = append(append(buf[:0], id...), payload...)
		}
	})
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = sse.AppendEvent(buf[:0], id, "", payload)
		}
	})
}

// Every byte at every place of ids of every length up to some words is judged
// as one looked at alone, whatever surrounds it.
func TestEveryByteOfAnID(t *testing.T) {
	for length := 1; length <= 26; length++ {
		for at := range length {
			for _, around := range []byte{'a', ' ', 0x1f, 0x80, 0xff} {
				for c := range 256 {
					id := []byte(strings.Repeat(string([]byte{around}), length))
					id[at] = byte(c)
					bad := c == '\r' || c == '\n' || c == 0
					if err := sse.CheckID(id); (err != nil) != bad {
						t.Fatalf("byte %#x at %d of %d, between %#x: %v", c, at, length, around, err)
					}
				}
			}
		}
	}
}

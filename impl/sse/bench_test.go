package sse_test

import (
	"bytes"
	"testing"

	"example.com/reattach/impl/sse"
)

// The bound of both is the copy of the bytes.
func BenchmarkFraming(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 256)
	id := []byte("0123456789abcdef0123456789abcdef:12345:0:12345")
	frame, _ := sse.AppendEvent(nil, id, "", data)
	b.Run("bound", func(b *testing.B) {
		buf := make([]byte, 0, 1024)
		for range b.N {
			buf = append(buf[:0], frame...)
		}
	})
	b.Run("append", func(b *testing.B) {
		buf := make([]byte, 0, 1024)
		b.ReportAllocs()
		for range b.N {
			buf, _ = sse.AppendEvent(buf[:0], id, "", data)
		}
	})
	b.Run("next", func(b *testing.B) {
		r := sse.NewReader(&looper{b: bytes.Repeat(frame, 100)}, sse.Options{})
		b.ReportAllocs()
		for range b.N {
			if _, err := r.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

package sse

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// AppendEvent appends an event with a payload. With an empty id it has none,
// with an empty name it is a "message". It refuses, with a [*FieldError] and dst
// unchanged, what [CheckID] and [CheckData] refuse, and a name with a line end.
func AppendEvent[ID string | []byte](dst []byte, id ID, name string, data []byte) ([]byte, error) {
	if err := CheckData(data); err != nil {
		return dst, err
	}
	if err := check("event", name, "\r\n"); err != nil {
		return dst, err
	}
	if err := CheckID(id); err != nil && len(id) > 0 {
		return dst, err
	}
	if name != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, name...)
		dst = append(dst, '\n')
	}
	if len(id) > 0 {
		dst = appendID(dst, id)
	}
	return appendData(dst, data), nil
}

// AppendID appends the line with an id and nothing else, to be followed by
// [AppendData]. It refuses what [CheckID] refuses.
func AppendID[ID string | []byte](dst []byte, id ID) ([]byte, error) {
	if err := CheckID(id); err != nil {
		return dst, err
	}
	return appendID(dst, id), nil
}

// AppendData appends the lines with a payload and the blank line that ends an
// event. It refuses what [CheckData] refuses.
func AppendData(dst, data []byte) ([]byte, error) {
	if err := CheckData(data); err != nil {
		return dst, err
	}
	return appendData(dst, data), nil
}

// AppendPosition appends an event with an id and empty data: it tells a client
// where it is and delivers nothing (R8). It refuses what [CheckID] refuses.
func AppendPosition[ID string | []byte](dst []byte, id ID) ([]byte, error) {
	if err := CheckID(id); err != nil {
		return dst, err
	}
	return append(appendID(dst, id), "data: \n\n"...), nil
}

// AppendComment appends a comment line. It is a line of its own and no blank
// line follows, so that it cannot end an event. A text with a line end is
// refused.
func AppendComment(dst []byte, text string) ([]byte, error) {
	if err := check("comment", text, "\r\n"); err != nil {
		return dst, err
	}
	dst = append(dst, ": "...)
	dst = append(dst, text...)
	return append(dst, '\n'), nil
}

// AppendRetry appends the time after which the client is to reconnect, in whole
// milliseconds, rounded up; a negative one is 0.
func AppendRetry(dst []byte, d time.Duration) []byte {
	ms := max(0, d) / time.Millisecond
	if d > ms*time.Millisecond {
		ms++
	}
	dst = append(dst, "retry: "...)
	dst = strconv.AppendInt(dst, int64(ms), 10)
	return append(dst, "\n\n"...)
}

// CheckData refuses, with a [*FieldError], a payload that would not arrive byte
// for byte: an empty one, which would arrive as a position, and one with a
// carriage return, which would arrive as a line feed. A server asks before it
// gives the event a number.
func CheckData(data []byte) error {
	if len(data) == 0 {
		return &FieldError{Field: "data", Reason: "is empty: that is a position, not an event"}
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		return &FieldError{Field: "data", Reason: "contains a carriage return: the format turns it into a line feed"}
	}
	return nil
}

// CheckID refuses, with a [*FieldError], an empty id and one that contains a
// line end or NUL: it would end its line, or be ignored.
func CheckID[ID string | []byte](id ID) error {
	if len(id) == 0 {
		return &FieldError{Field: "id", Reason: "is empty: that clears the last event id"}
	}
	return check("id", id, "\r\n\x00")
}

// check refuses a value with one of the bad bytes, which are control characters.
func check[T string | []byte](field string, value T, bad string) error {
	if !hasControl(value) {
		return nil
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && strings.IndexByte(bad, c) >= 0 {
			return &FieldError{Field: field, Reason: fmt.Sprintf("contains %q at byte %d", c, i)}
		}
	}
	return nil
}

// hasControl reports whether a byte of value is below 32, or may be: it looks
// at eight bytes at a time, and subtracting 32 from each borrows from the next
// only if one of them is. Byte by byte, the check of an event id took longer
// than everything else about an event (BenchmarkAppendEvent).
func hasControl[T string | []byte](value T) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(value); i += 8 {
		w := uint64(value[i]) | uint64(value[i+1])<<8 | uint64(value[i+2])<<16 | uint64(value[i+3])<<24 |
			uint64(value[i+4])<<32 | uint64(value[i+5])<<40 | uint64(value[i+6])<<48 | uint64(value[i+7])<<56
		if (w-' '*ones)&^w&highs != 0 {
			return true
		}
	}
	for ; i < len(value); i++ {
		if value[i] < ' ' {
			return true
		}
	}
	return false
}

func appendID[ID string | []byte](dst []byte, id ID) []byte {
	dst = append(dst, "id: "...)
	dst = append(dst, id...)
	return append(dst, '\n')
}

func appendData(dst, data []byte) []byte {
	for {
		dst = append(dst, "data: "...)
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			dst = append(dst, data...)
			return append(dst, "\n\n"...)
		}
		dst = append(dst, data[:i+1]...)
		data = data[i+1:]
	}
}

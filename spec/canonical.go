package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// appendCanonical appends the canonical form of a valid JSON text, without the
// member `without` if it is an object. A null counts as an empty object there,
// as absent params do.
func appendCanonical(dst []byte, text []byte, without string) []byte {
	c := canon{text: text, d: json.NewDecoder(bytes.NewReader(text))}
	c.d.UseNumber()
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
		return append(dst, "{}"...)
	}
	return c.value(dst, without)
}

type canon struct {
	text []byte
	d    *json.Decoder
}

// token returns the next token, and its text.
func (c *canon) token() (json.Token, []byte) {
	from := c.d.InputOffset()
	t, err := c.d.Token()
	if err != nil {
		panic(fmt.Sprintf("reattach: BUG: JSON that was found valid is not: %v", err))
	}
	return t, bytes.TrimLeft(c.text[from:c.d.InputOffset()], " \t\r\n,:")
}

func (c *canon) value(dst []byte, without string) []byte {
	t, text := c.token()
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return c.object(dst, without)
		}
		return c.array(dst)
	case string:
		return appendString(dst, t, text)
	default: // numbers as they are written, and the three words
		return append(dst, text...)
	}
}

func (c *canon) array(dst []byte) []byte {
	dst = append(dst, '[')
	for first := true; c.d.More(); first = false {
		if !first {
			dst = append(dst, ',')
		}
		dst = c.value(dst, "")
	}
	c.token()
	return append(dst, ']')
}

func (c *canon) object(dst []byte, without string) []byte {
	type member struct{ name, text string }
	var members []member
	for c.d.More() {
		name, text := c.token()
		m := member{name: string(appendString(nil, name.(string), text)), text: string(c.value(nil, ""))}
		if without == "" || name != without {
			members = append(members, m)
		}
	}
	c.token()
	sort.SliceStable(members, func(i, j int) bool { return members[i].name < members[j].name })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, m.name...), ':'), m.text...)
	}
	return append(dst, '}')
}

// appendString appends a string with the least escapes. One that no text can
// stand for (half a surrogate, bytes that are not UTF-8) reads as U+FFFD: it
// keeps its own spelling, so that two of them are not taken for one.
func appendString(dst []byte, s string, text []byte) []byte {
	if strings.ContainsRune(s, utf8.RuneError) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = fmt.Appendf(dst, "\\u%04x", c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

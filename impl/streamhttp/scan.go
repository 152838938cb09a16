package streamhttp

import (
	"bytes"
	"encoding/json"
	"iter"
)

// members yields the members of a JSON object, which must be valid, in order:
// the key without its quotes and escapes, and the text of the value. It
// allocates only for a key that has an escape.
func members(object []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		i := skipSpace(object, 1)
		for object[i] != '}' {
			end := skipString(object, i)
			key := unquote(object[i:end])
			i = skipSpace(object, skipSpace(object, end)+1) // behind the colon
			end = skipValue(object, i)
			if !yield(key, json.RawMessage(object[i:end:end])) {
				return
			}
			if i = skipSpace(object, end); object[i] == ',' {
				i = skipSpace(object, i+1)
			}
		}
	}
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the place behind the string that begins at i.
func skipString(text []byte, i int) int {
	for i = plainTo(text, i+1); text[i] != '"'; i = plainTo(text, i+2) { // an escape
	}
	return i + 1
}

// skipValue returns the place behind the value that begins at i.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // behind a bare value that ends its container
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

func unquote(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return inner
	}
	return []byte(text)
}

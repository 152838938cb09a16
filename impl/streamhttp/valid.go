package streamhttp

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth bounds how deeply objects and arrays may be nested, as encoding/json
// does, so that a reader's stack does not grow by what a peer sends.
const maxDepth = 10_000

// valid reports exactly what [json.Valid] does. Every message that is emitted,
// and every one that comes in, is checked; json.Valid goes through it byte by
// byte and a function each, which took half of the time of a burst of
// notifications. This one looks at eight bytes of a text at a time
// (BenchmarkValid; FuzzValid and TestValidIsJSONValid hold both against each
// other).
func valid(text []byte) bool {
	end := checkValue(text, skipSpace(text, 0), 0)
	return end >= 0 && skipSpace(text, end) == len(text)
}

// checkValue returns the place behind the value that begins at i, or -1 if none
// does.
func checkValue(text []byte, i, depth int) int {
	if i >= len(text) {
		return -1
	}
	switch c := text[i]; {
	case c == '"':
		return checkString(text, i)
	case c == '{':
		return checkObject(text, i, depth+1, nil)
	case c == '[':
		return checkArray(text, i, depth+1)
	case c == '-' || isDigit(c):
		return checkNumber(text, i)
	case c == 't':
		return checkWord(text, i, "true")
	case c == 'f':
		return checkWord(text, i, "false")
	case c == 'n':
		return checkWord(text, i, "null")
	}
	return -1
}

func checkWord(text []byte, i int, word string) int {
	if end := i + len(word); end <= len(text) && string(text[i:end]) == word {
		return end
	}
	return -1
}

// checkObject returns the place behind the object that begins at i, or -1. It
// gives each its members, in order: the key with its quotes, and the value. What
// it gave of an object that turns out to be none means nothing.
func checkObject(text []byte, i, depth int, each func(key, value []byte)) int {
	if depth > maxDepth {
		return -1
	}
	if i = skipSpace(text, i+1); hasAt(text, i, '}') {
		return i + 1
	}
	for {
		if !hasAt(text, i, '"') {
			return -1
		}
		key := i
		keyEnd := checkString(text, i)
		if keyEnd < 0 {
			return -1
		}
		if i = skipSpace(text, keyEnd); !hasAt(text, i, ':') {
			return -1
		}
		value := skipSpace(text, i+1)
		if i = checkValue(text, value, depth); i < 0 {
			return -1
		}
		if each != nil {
			each(text[key:keyEnd], text[value:i:i])
		}
		if i = skipSpace(text, i); !hasAt(text, i, ',') {
			return after(text, i, '}')
		}
		i = skipSpace(text, i+1)
	}
}

func checkArray(text []byte, i, depth int) int {
	if depth > maxDepth {
		return -1
	}
	if i = skipSpace(text, i+1); hasAt(text, i, ']') {
		return i + 1
	}
	for {
		if i = checkValue(text, i, depth); i < 0 {
			return -1
		}
		if i = skipSpace(text, i); !hasAt(text, i, ',') {
			return after(text, i, ']')
		}
		i = skipSpace(text, i+1)
	}
}

// hasAt reports whether there is a c at i.
func hasAt(text []byte, i int, c byte) bool { return i < len(text) && text[i] == c }

// after returns the place behind the c at i, or -1 if there is none.
func after(text []byte, i int, c byte) int {
	if hasAt(text, i, c) {
		return i + 1
	}
	return -1
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func checkNumber(text []byte, i int) int {
	if text[i] == '-' {
		i++
	}
	if hasAt(text, i, '0') {
		i++
	} else if i = checkDigits(text, i); i < 0 {
		return -1
	}
	if hasAt(text, i, '.') {
		if i = checkDigits(text, i+1); i < 0 {
			return -1
		}
	}
	if hasAt(text, i, 'e') || hasAt(text, i, 'E') {
		if i++; hasAt(text, i, '+') || hasAt(text, i, '-') {
			i++
		}
		return checkDigits(text, i)
	}
	return i
}

// checkDigits returns the place behind one or more digits.
func checkDigits(text []byte, i int) int {
	if i >= len(text) || !isDigit(text[i]) {
		return -1
	}
	for i++; i < len(text) && isDigit(text[i]); i++ {
	}
	return i
}

// checkString returns the place behind the string that begins at i.
func checkString(text []byte, i int) int {
	for i++; ; {
		i = plainTo(text, i)
		if i >= len(text) {
			return -1
		}
		switch c := text[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		}
		if i = checkEscape(text, i+1); i < 0 {
			return -1
		}
	}
}

// checkEscape returns the place behind the rest of an escape.
func checkEscape(text []byte, i int) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if i+5 > len(text) {
			return -1
		}
		for _, c := range text[i+1 : i+5] {
			if !isDigit(c) && (c|0x20 < 'a' || 'f' < c|0x20) {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

// plainTo returns the place of the first byte from i on that is a quote, a
// backslash or a control character, or the end.
//
// It looks at eight bytes at a time. Subtracting a from each of them borrows
// from the byte above only where one is less than a, so the lowest of the
// marked bytes is marked truly; and a byte is a quote exactly where the xor
// with quotes is less than 1.
func plainTo(text []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote, slash := w^'"'*ones, w^'\\'*ones
		marked := ((w-' '*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if marked != 0 {
			return i + bits.TrailingZeros64(marked)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return i
}

package spec

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
)

// An Attempt numbers a client's requests for views (R10): Generation is that of
// the lease under which it holds its record (R30), durable and growing with
// each holder, and Counter counts the requests of that holder. So of two
// requests for one stream the one with the greater attempt is the newer one,
// whichever of them arrives first, and whichever process sent it.
//
// The zero Attempt is that of a client which numbers nothing: "none".
//
// Guarantees of every Attempt that [ParseAttempt] returned:
//
//	(1) ParseAttempt(a.String()) = a
//	(2) a is not the zero Attempt: none is said by leaving the header out
type Attempt struct{ Generation, Counter uint64 }

// MaxAttemptLen bounds the text form of an attempt, in bytes.
const MaxAttemptLen = 41

// ErrAttempt is what every refusal of [ParseAttempt] wraps.
var ErrAttempt = errors.New("not an attempt of the form <lease generation>.<counter>")

// IsZero reports whether there is no attempt.
func (a Attempt) IsZero() bool { return a == Attempt{} }

// Compare returns -1, 0 or 1: whether a is older than b, the same, or newer.
// The generation comes first: a new holder's first request is newer than every
// one of the holder before.
func (a Attempt) Compare(b Attempt) int {
	return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Counter, b.Counter))
}

// String returns the text form of a: at most MaxAttemptLen bytes, and "" for
// the zero Attempt.
func (a Attempt) String() string {
	if a.IsZero() {
		return ""
	}
	text := strconv.AppendUint(make([]byte, 0, MaxAttemptLen), a.Generation, 10)
	return string(strconv.AppendUint(append(text, '.'), a.Counter, 10))
}

// ParseAttempt accepts exactly what [Attempt.String] writes for an attempt that
// is not zero: no sign, no leading zero, no space. Every error wraps
// [ErrAttempt].
func ParseAttempt(text string) (a Attempt, err error) {
	if len(text) > MaxAttemptLen {
		return Attempt{}, ErrAttempt
	}
	generation, counter, _ := strings.Cut(text, ".")
	for _, field := range [...]struct {
		text string
		to   *uint64
	}{{generation, &a.Generation}, {counter, &a.Counter}} {
		n, err := strconv.ParseUint(field.text, 10, 64)
		if err != nil || field.text[0] == '+' || (field.text[0] == '0' && len(field.text) > 1) {
			return Attempt{}, ErrAttempt
		}
		*field.to = n
	}
	if a.IsZero() {
		return Attempt{}, ErrAttempt
	}
	return a, nil
}

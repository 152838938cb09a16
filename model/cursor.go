package model

import (
	"math/big"
	"regexp"

	"example.com/reattach/spec"
)

// A Cursor is what a request for a view carries: nothing, something that is no
// event id, or an event id. Whether that id was ever issued is another matter.
type Cursor struct {
	Form CursorForm
	ID   spec.EventID // only with FormID

	Attempt    spec.Attempt // of the request that carries it; zero: none (R10)
	BadAttempt bool         // it carries one that cannot be read, or several
}

// A CursorForm says what a [Cursor] is made of.
type CursorForm uint8

const (
	FormNone      CursorForm = iota // no cursor: begin afresh (R7)
	FormMalformed                   // empty, not an event id, or more than one
	FormID                          // one event id
)

// Presents returns the cursor that names an event id.
func Presents(id spec.EventID) Cursor { return Cursor{Form: FormID, ID: id} }

// eventIDForm is the text form of R1, written down once more so that it can
// disagree with the parser of package spec: tag, seq, stream, ordinal, in
// canonical decimal.
var eventIDForm = regexp.MustCompile(`^([0-9a-f]{32}):(0|[1-9][0-9]*):(0|[1-9][0-9]*):(0|[1-9][0-9]*)$`)

// attemptForm is the text form of an attempt, written down once more (R10).
var attemptForm = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)

// With returns the cursor with the attempts of its request (R10).
func (c Cursor) With(attempts ...string) Cursor {
	if len(attempts) == 0 {
		return c
	}
	c.BadAttempt = true
	parts := attemptForm.FindStringSubmatch(attempts[0])
	if len(attempts) > 1 || parts == nil {
		return c
	}
	generation, _ := new(big.Int).SetString(parts[1], 10)
	counter, _ := new(big.Int).SetString(parts[2], 10)
	if !generation.IsUint64() || !counter.IsUint64() || generation.Sign()+counter.Sign() == 0 {
		return c
	}
	c.BadAttempt = false
	c.Attempt = spec.Attempt{Generation: generation.Uint64(), Counter: counter.Uint64()}
	return c
}

// ReadCursor reads the cursors of a request: none is a fresh attach, two are
// as malformed as one that is no event id (R1, R5).
func ReadCursor(texts ...string) Cursor {
	if len(texts) == 0 {
		return Cursor{}
	}
	malformed := Cursor{Form: FormMalformed}
	if len(texts) > 1 || len(texts[0]) > spec.MaxEventIDLen {
		return malformed
	}
	parts := eventIDForm.FindStringSubmatch(texts[0])
	if parts == nil {
		return malformed
	}
	var numbers [3]uint64
	for i, text := range parts[2:] {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok || !n.IsUint64() {
			return malformed
		}
		numbers[i] = n.Uint64()
	}
	seq, stream, ordinal := numbers[0], numbers[1], numbers[2]
	if (seq == 0) != (ordinal == 0) {
		return malformed
	}
	return Presents(spec.EventID{Tag: spec.Tag(parts[1]), Seq: seq, Stream: stream, Ordinal: ordinal})
}

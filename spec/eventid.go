package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
)

// An EventID names one event, or position 0 of a stream, inside the session
// that issued it (R1). Seq orders the events of the whole session; Ordinal
// orders those of one logical stream, so that both ends can prove that nothing
// is missing between two of them.
//
// Guarantees of every EventID that [ParseEventID] returned or [EventID.Valid]
// accepts:
//
//	(1) len(Tag) = TagLen, lowercase hex
//	(2) Seq = 0  <=>  Ordinal = 0        (position 0, before the first event)
//	(3) ParseEventID(id.String()) = id
//
// An id may satisfy all three and never have been issued: that is for the
// session to say (cursor_unissued), not for the form.
type EventID struct {
	Tag     Tag
	Seq     uint64
	Stream  uint64
	Ordinal uint64
}

// A Tag stands for a session in event ids. It is a digest, so that event ids
// can be logged while session ids, which are bearer secrets, need not be.
type Tag string

const (
	// TagLen is the length of a [Tag] in bytes: 128 bits of SHA-256 in hex.
	TagLen = 32
	// MaxEventIDLen bounds the text form of an event id, in bytes.
	MaxEventIDLen = 96
)

// ErrEventID is what every refusal of [ParseEventID] wraps.
var ErrEventID = errors.New("not an event id of the form <tag>:<seq>:<stream>:<ordinal>")

// TagOf returns the tag of a session: the first TagLen hex digits of SHA-256
// over its id. The store's generation is part of the digest only where a store
// can lose acknowledged events (R14); otherwise it is "".
func TagOf(sessionID, generation string) Tag {
	text := sessionID
	if generation != "" {
		text += "\x00" + generation
	}
	sum := sha256.Sum256([]byte(text))
	return Tag(hex.EncodeToString(sum[:TagLen/2]))
}

// Valid reports whether t has the form of a tag.
func (t Tag) Valid() bool {
	if len(t) != TagLen {
		return false
	}
	for i := 0; i < len(t); i++ {
		c := t[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// PositionZero is the position before the first event of a stream.
func PositionZero(tag Tag, stream uint64) EventID { return EventID{Tag: tag, Stream: stream} }

// Valid reports whether id satisfies guarantees (1) and (2).
func (id EventID) Valid() bool {
	return id.Tag.Valid() && (id.Seq == 0) == (id.Ordinal == 0)
}

// AppendText appends the text form of id to dst. It allocates only to grow dst.
func (id EventID) AppendText(dst []byte) ([]byte, error) {
	dst = append(dst, id.Tag...)
	dst = append(dst, ':')
	dst = strconv.AppendUint(dst, id.Seq, 10)
	dst = append(dst, ':')
	dst = strconv.AppendUint(dst, id.Stream, 10)
	dst = append(dst, ':')
	return strconv.AppendUint(dst, id.Ordinal, 10), nil
}

// String returns the text form of id: at most MaxEventIDLen bytes.
func (id EventID) String() string {
	text, _ := id.AppendText(make([]byte, 0, MaxEventIDLen))
	return string(text)
}

// MarshalText returns the text form of id.
func (id EventID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText parses what MarshalText wrote.
func (id *EventID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseEventID(string(text))
	return err
}

// ParseEventID accepts exactly what [EventID.String] writes for a valid id:
// no sign, no leading zero, no space, nothing behind. Every error wraps
// [ErrEventID].
func ParseEventID(text string) (EventID, error) {
	if len(text) > MaxEventIDLen {
		return EventID{}, ErrEventID
	}
	tag, rest, _ := strings.Cut(text, ":")
	seq, rest, _ := strings.Cut(rest, ":")
	stream, ordinal, _ := strings.Cut(rest, ":")
	id := EventID{Tag: Tag(tag)}
	for _, field := range [...]struct {
		text string
		to   *uint64
	}{{seq, &id.Seq}, {stream, &id.Stream}, {ordinal, &id.Ordinal}} {
		n, err := strconv.ParseUint(field.text, 10, 64)
		if err != nil || field.text[0] == '+' || (field.text[0] == '0' && len(field.text) > 1) {
			return EventID{}, ErrEventID
		}
		*field.to = n
	}
	if !id.Valid() {
		return EventID{}, ErrEventID
	}
	return id, nil
}

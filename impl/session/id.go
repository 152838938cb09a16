package session

import (
	"crypto/rand"
	"encoding/binary"
)

// A SessionID names a session: 128 random bits. It is a bearer secret. Its
// text goes to the client that opened the session and nowhere else; logs,
// metrics and event ids carry the session's tag instead. It has no String
// method, lest it be printed.
type SessionID [16]byte

// idTextLen is the length of the text form: 128 bits in digits of 6.
const idTextLen = 22

// idDigits are those of base64url: visible ASCII, as MCP demands.
const idDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// idValues is the inverse of idDigits; 0xFF marks what is no digit.
var idValues = func() (values [256]byte) {
	for i := range values {
		values[i] = 0xFF
	}
	for i := range len(idDigits) {
		values[idDigits[i]] = byte(i)
	}
	return values
}()

// newSessionID draws an id from the system's secure source, which cannot fail.
func newSessionID() (id SessionID) {
	rand.Read(id[:])
	return id
}

// Text returns the text form of the id: the secret itself.
func (id SessionID) Text() string {
	var text [idTextLen]byte
	var bits, held uint
	n := 0
	for _, b := range id {
		bits, held = bits<<8|uint(b), held+8
		for held >= 6 {
			held -= 6
			text[n] = idDigits[bits>>held&63]
			n++
		}
	}
	text[n] = idDigits[bits<<(6-held)&63]
	return string(text[:])
}

// An idKey is a session id in two words: an array of bytes would go from one
// function to the next through memory, and wait there.
type idKey struct{ first, last uint64 }

func (id *SessionID) key() idKey {
	return idKey{binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])}
}

func (k idKey) id() (id SessionID) {
	binary.BigEndian.PutUint64(id[:8], k.first)
	binary.BigEndian.PutUint64(id[8:], k.last)
	return id
}

// parseSessionID accepts exactly what Text writes: a session has one name.
// Every request with a session goes through here, so it does not branch on what
// the digits are.
func parseSessionID(text string) (k idKey, ok bool) {
	if len(text) != idTextLen {
		return k, false
	}
	a, bad := fourDigits(text[0:4], 0)
	b, bad := fourDigits(text[4:8], bad)
	c, bad := fourDigits(text[8:12], bad)
	d, bad := fourDigits(text[12:16], bad)
	e, bad := fourDigits(text[16:20], bad)
	v, w := idValues[text[20]], idValues[text[21]] // 12 bits: a byte of the id, and 4 bits that are 0
	k = idKey{a<<40 | b<<16 | c>>8, c<<56 | d<<32 | e<<8 | uint64(v<<2|w>>4)}
	return k, bad|v|w < 64 && w&15 == 0
}

// fourDigits returns the 24 bits of four digits; bad ends up as 64 or more if
// one of them is no digit.
func fourDigits(text string, bad byte) (bits uint64, _ byte) {
	_ = text[3]
	v, w, x, y := idValues[text[0]], idValues[text[1]], idValues[text[2]], idValues[text[3]]
	return uint64(v)<<18 | uint64(w)<<12 | uint64(x)<<6 | uint64(y), bad | v | w | x | y
}

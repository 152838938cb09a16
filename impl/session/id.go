package session

import "crypto/rand"

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

// parseSessionID accepts exactly what Text writes: a session has one name.
func parseSessionID(text string) (id SessionID, ok bool) {
	if len(text) != idTextLen {
		return id, false
	}
	var bits, held uint
	var bad byte
	n := 0
	for i := range idTextLen {
		v := idValues[text[i]]
		bad |= v
		bits, held = bits<<6|uint(v&63), held+6
		if held >= 8 {
			held -= 8
			id[n] = byte(bits >> held)
			n++
		}
	}
	return id, bad < 64 && bits&(1<<held-1) == 0
}

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
	var bad byte
	digit := func(i int) uint {
		v := idValues[text[i]]
		bad |= v
		return uint(v)
	}
	for i := range 5 { // 4 digits are 3 bytes
		bits := digit(4*i)<<18 | digit(4*i+1)<<12 | digit(4*i+2)<<6 | digit(4*i+3)
		id[3*i], id[3*i+1], id[3*i+2] = byte(bits>>16), byte(bits>>8), byte(bits)
	}
	bits := digit(20)<<6 | digit(21) // and the last 2 hold a byte and 4 zero bits
	id[15] = byte(bits >> 4)
	return id, bad < 64 && bits&15 == 0
}

package model

// Proves is proof before use (R21): the answer to a resumption names the same
// session, and the position that it announces is the cursor that was sent.
func Proves(sent, announced Mark) bool { return announced == sent }

// IsNext is the proof that each later event brings (R21): the same session,
// exactly the next ordinal, and a greater seq. A hole is as fatal as a repeat.
func IsNext(token, event Mark) bool {
	return event.Session == token.Session && event.Ordinal == token.Ordinal+1 && event.Seq > token.Seq
}

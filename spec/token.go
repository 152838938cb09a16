package spec

import (
	"crypto/sha256"
	"encoding/hex"
)

// A ResumeToken is the client's durable proof of where it stands in one
// stream: a session id and the last event id applied there. The two are one
// value; neither means anything without the other (R1, R20).
type ResumeToken struct {
	SessionID   string
	LastEventID string
}

// Fingerprint is the hex SHA-256 of session id, one zero byte and last event
// id: what logs, metrics and traces show instead of the session id.
func (t ResumeToken) Fingerprint() string {
	sum := sha256.Sum256([]byte(t.SessionID + "\x00" + t.LastEventID))
	return hex.EncodeToString(sum[:])
}

package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// A Key names one call for good, over sessions, connections and processes
// (R28): with it a ledger can tell whether the call ran, and refuse to run it
// twice. The client fixes it when the call enters its record.
//
// Guarantees of every Key that [ParseKey] returned or [Key.Valid] accepts:
//
//	(1) Ledger is a ledger's name: LedgerNameLen lowercase hex digits
//	(2) Nonce is NonceLen lowercase hex digits
//	(3) ParseKey(k.String()) = k
//
// Minted is in milliseconds since 1970, by whatever clock the client has: the
// ledger compares it with its horizon only, and a wrong clock costs an answer
// ("unknown", "in the future"), never a second run.
type Key struct {
	Ledger string
	Minted uint64
	Nonce  string
}

const (
	// LedgerNameLen is the length of a ledger's name: 64 random bits in hex.
	LedgerNameLen = 16
	// NonceLen is the length of a key's nonce: 128 random bits in hex.
	NonceLen = 32
	// MaxKeyLen bounds the text form of a key, in bytes.
	MaxKeyLen = LedgerNameLen + 1 + 20 + 1 + NonceLen
)

// ErrKey is what every refusal of [ParseKey] wraps.
var ErrKey = errors.New("not a key of the form <ledger>.<minted>.<nonce>")

// The words of reconciliation on the wire (R23, R28). They are JSON-RPC's and
// MCP's, and stand here so that both ends spell them alike.
const (
	// CapabilityName is the member of capabilities.experimental in the answer
	// to initialize that names the ledger: see [LedgerCapability].
	CapabilityName = "reattach"
	// MetaKey is the member of a call's params._meta that carries its key. A
	// key never travels in a header: HTTP stacks re-send a POST that carries an
	// idempotency header.
	MetaKey = "reattach/key"
	// MethodOutcome asks for the outcome of a key: see [OutcomeParams] and
	// [OutcomeResult]. An unknown key is sealed by it.
	MethodOutcome = "reattach/outcome"
	// CodeLedger is the code of the error with which a ledger refuses a keyed
	// call or a query: see [LedgerRefusal].
	CodeLedger = -32010
)

// A KeyState is what a ledger says of a key.
type KeyState string

// The states of a key.
const (
	KeyExecuted    KeyState = "executed"     // it ran, once; its response stands beside
	KeyRunning     KeyState = "running"      // it runs now, or is about to
	KeyNotExecuted KeyState = "not_executed" // it did not run, and the seal says that it never will
	KeyUnknown     KeyState = "unknown"      // the ledger cannot tell, and will never run it
)

// A LedgerCapability is the value of capabilities.experimental[CapabilityName].
type LedgerCapability struct {
	Ledger string `json:"ledger"`
}

// OutcomeParams are the params of [MethodOutcome].
type OutcomeParams struct {
	Key string `json:"key"`
}

// An OutcomeResult is the result of [MethodOutcome]. Response is an object with
// the one member "result" or "error", as the call was answered; there is none
// unless State is executed, nor if it was too large to keep (ResponseLost).
type OutcomeResult struct {
	State        KeyState        `json:"state"`
	Response     json.RawMessage `json:"response,omitempty"`
	ResponseLost bool            `json:"response_lost,omitempty"`
}

// A LedgerRefusal is the data of an error with [CodeLedger].
type LedgerRefusal struct {
	Reason Reason `json:"reason"`
	Key    string `json:"key,omitempty"`
}

// KnownNotExecuted reports whether a ledger that gives this reason says that
// the key did not run and never will (R23): it is sealed. Every other reason
// proves nothing of the key.
func (r Reason) KnownNotExecuted() bool {
	return r == ReasonKeySealed || r == ReasonKeyFuture || r == ReasonLedgerFull
}

// IsLedgerName reports whether text has the form of a ledger's name.
func IsLedgerName(text string) bool { return isHex(text, LedgerNameLen) }

// Valid reports whether k satisfies guarantees (1) and (2).
func (k Key) Valid() bool { return IsLedgerName(k.Ledger) && isHex(k.Nonce, NonceLen) }

// String returns the text form of k: at most MaxKeyLen bytes.
func (k Key) String() string {
	return k.Ledger + "." + strconv.FormatUint(k.Minted, 10) + "." + k.Nonce
}

// ParseKey accepts exactly what [Key.String] writes for a valid key: no sign,
// no leading zero, no space, nothing behind. Every error wraps [ErrKey].
func ParseKey(text string) (Key, error) {
	if len(text) > MaxKeyLen {
		return Key{}, ErrKey
	}
	ledger, rest, _ := strings.Cut(text, ".")
	minted, nonce, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(minted, 10, 64)
	if err != nil {
		return Key{}, ErrKey
	}
	k := Key{Ledger: ledger, Minted: n, Nonce: nonce}
	if !k.Valid() || k.String() != text {
		return Key{}, ErrKey
	}
	return k, nil
}

func isHex(text string, length int) bool {
	if len(text) != length {
		return false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// DigestCall returns the digest by which both ends know a call's arguments
// again: the hex SHA-256 of the method, a zero byte, and the canonical JSON of
// params without their `_meta`, which may differ from one sending to the next.
// Canonical is: members sorted by name (those of one name in their order),
// numbers as they are written, no space. Absent params count as none.
//
// It never fails: params that are not JSON have a digest of their own, which
// no JSON shares.
func DigestCall(method string, params json.RawMessage) string {
	text := append([]byte(method), 0)
	switch {
	case len(params) == 0:
		text = append(text, "{}"...)
	case !json.Valid(params):
		text = append(append(text, 0), params...)
	default:
		text = appendCanonical(text, params, "_meta")
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

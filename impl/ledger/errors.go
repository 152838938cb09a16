package ledger

import (
	"errors"
	"fmt"

	"example.com/reattach/spec"
)

// A RefusedError says why a ledger refused a keyed call or a query. errors.Is
// with the spec.Reason tells which; [spec.Reason.KnownNotExecuted] whether it
// proves that the call did not run.
type RefusedError struct {
	Reason spec.Reason
	Key    string
	Cause  error // of the store; nil otherwise
}

func (e *RefusedError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("reattach: the ledger refuses: %s: %v", string(e.Reason), e.Cause)
	}
	return "reattach: the ledger refuses: " + string(e.Reason)
}

func (e *RefusedError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Cause}
}

// ErrClosed is why a closed ledger is unavailable.
var ErrClosed = errors.New("reattach: the ledger is closed")

// ErrNoRoom is why a ledger could not record a seal: it is full.
var ErrNoRoom = errors.New("reattach: there is no room for a seal")

// ErrSuperseded is what a store returns to a ledger of an older generation:
// another one was opened on it since.
var ErrSuperseded = errors.New("reattach: a later generation has opened this ledger")

// ErrInUse is what a file store returns whose file another process holds.
var ErrInUse = errors.New("reattach: another process holds this ledger")

func refused(k spec.Key, reason spec.Reason) error {
	return &RefusedError{Reason: reason, Key: k.String()}
}

func unavailable(k spec.Key, cause error) error {
	return &RefusedError{Reason: spec.ReasonLedgerUnavailable, Key: k.String(), Cause: cause}
}

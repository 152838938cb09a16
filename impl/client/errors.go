package client

import (
	"errors"
	"fmt"

	"example.com/reattach/spec"
)

var (
	// ErrNotSent is what a transport returns, possibly wrapped, if a request
	// never left this process: its dial failed. It proves that a call did not
	// run (R23), so a transport says it only if not one byte was written.
	ErrNotSent = errors.New("the request never left this process")
	// ErrUncertain is what a store returns, possibly wrapped, if it cannot tell
	// whether a change is durable. The epoch is then abandoned.
	ErrUncertain = errors.New("nobody can tell whether the change is durable")
	// ErrNoUnknown: there is no unresolved unknown outcome of that name.
	ErrNoUnknown = errors.New("no such unknown outcome")
	// ErrOtherCall: what is to be re-sent has another key, method or digest than
	// the unknown outcome (R28).
	ErrOtherCall = errors.New("that is not the call whose outcome is unknown")
	// ErrRequestUsed: a call was sent with this request id or a later one (R29).
	ErrRequestUsed = errors.New("the request id was used before")
	// ErrNoStream: the core knows no such stream.
	ErrNoStream = errors.New("no such stream")
	// ErrWrongStream: the move is for another kind of stream.
	ErrWrongStream = errors.New("not for this stream")
)

// A StaleError says that the record is not what a change expects: it was
// fenced, or another process wrote it. It is [spec.ReasonRecordStale] to
// errors.Is. Nothing was applied.
type StaleError struct {
	Change     ChangeKind
	Stream     StreamID // the epoch that was expected, and the stream if there is one
	Epoch      uint64   // what the record says
	State      RecordState
	Lease      uint64 // under which the change was made
	Holder     uint64 // under which the record is held
	Want, Have string // tokens
	Detail     string
}

func (e *StaleError) Error() string {
	if e.lost() {
		return fmt.Sprintf("record is stale: %v of %v under lease %d, and another holder has lease %d", e.Change, e.Stream, e.Lease, e.Holder)
	}
	text := fmt.Sprintf("record is stale: %v of %v with token %q meets epoch %d, %v, token %q",
		e.Change, e.Stream, e.Want, e.Epoch, e.State, e.Have)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

func (e *StaleError) lost() bool { return e.Lease != e.Holder }

// Unwrap returns the reasons: spec.ReasonLeaseLost before
// spec.ReasonRecordStale if another holder has the record (R30).
func (e *StaleError) Unwrap() []error {
	if e.lost() {
		return []error{spec.ReasonLeaseLost, spec.ReasonRecordStale}
	}
	return []error{spec.ReasonRecordStale}
}

// A ConnectionError says that something arrived on a connection that is not
// the stream's current one. It never reaches the table (R21).
type ConnectionError struct {
	Stream        StreamID
	Conn, Current uint64 // 0: none
}

func (e *ConnectionError) Error() string {
	return fmt.Sprintf("stream %v: connection %d speaks, and its current one is %d", e.Stream, e.Conn, e.Current)
}

// Unwrap returns the reason.
func (e *ConnectionError) Unwrap() error { return spec.ReasonNoConnection }

// An EpochError says that something is about an epoch that is not the current
// one. It never reaches the table.
type EpochError struct{ Epoch, Current uint64 }

func (e *EpochError) Error() string {
	return fmt.Sprintf("that is about epoch %d, and the current one is %d", e.Epoch, e.Current)
}

// Unwrap returns the reason.
func (e *EpochError) Unwrap() error { return spec.ReasonOutOfTurn }

// stale reports whether a failed commit says that the record is not what was
// expected. One whose outcome is unknown counts: in doubt, the epoch ends.
func stale(err error) bool {
	return errors.Is(err, spec.ReasonRecordStale) || errors.Is(err, ErrUncertain)
}

// An UnknownError ends a call of which nobody can say whether it ran. It stays
// in the record until Resolve (R23).
type UnknownError struct {
	Stream StreamID
	Reason spec.Reason // why certainty ended
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("call %v: unknown outcome, it may have run: %s", e.Stream, string(e.Reason))
}

// Unwrap returns the reason.
func (e *UnknownError) Unwrap() error { return e.Reason }

// A NotRunError ends a call that is known not to have run.
type NotRunError struct {
	Stream StreamID
	Reason spec.Reason
}

func (e *NotRunError) Error() string {
	return fmt.Sprintf("call %v: did not run: %s", e.Stream, string(e.Reason))
}

// Unwrap returns the reason, and spec.ReasonNotExecuted.
func (e *NotRunError) Unwrap() []error { return []error{e.Reason, spec.ReasonNotExecuted} }

// A LostError ends a call that ran, and whose response is lost: the server's
// ledger says so (R28). It is spec.ReasonResponseLost to errors.Is.
type LostError struct{ Stream StreamID }

func (e *LostError) Error() string {
	return fmt.Sprintf("call %v: it ran, and its response is lost", e.Stream)
}

// Unwrap returns the reason.
func (e *LostError) Unwrap() error { return spec.ReasonResponseLost }

// A PendingError says that nobody waits for the call any more, and that it
// goes on: it is in the record and will have one final outcome (R26). Await
// waits again.
type PendingError struct {
	Stream StreamID
	Err    error // why: spec.ReasonStreamSuspended, a context's error, ErrClosed, a refusal
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("call %v: pending: %v", e.Stream, e.Err)
}

// Unwrap returns why.
func (e *PendingError) Unwrap() error { return e.Err }

// ErrClosed: the client was closed. Its record stands as it was.
var ErrClosed = errors.New("the client is closed")

// An OpenError says that no session was opened.
type OpenError struct {
	Reason spec.Reason
	Err    error // the transport's or the store's, if there is one
}

func (e *OpenError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("no session was opened: %s: %v", string(e.Reason), e.Err)
	}
	return "no session was opened: " + string(e.Reason)
}

// Unwrap returns the reason and the cause.
func (e *OpenError) Unwrap() []error { return []error{e.Reason, e.Err} }

// A RefusalError says that the server did not take a message.
type RefusalError struct {
	Status int
	Reason spec.Reason
}

func (e *RefusalError) Error() string {
	return fmt.Sprintf("the server did not take the message: status %d, %s", e.Status, string(e.Reason))
}

// Unwrap returns the reason.
func (e *RefusalError) Unwrap() error { return e.Reason }

// reasonOf returns the reason that an error carries, or the usual one.
func reasonOf(err error, usual spec.Reason) spec.Reason {
	var why spec.Reason
	if errors.As(err, &why) && why != "" {
		return why
	}
	return usual
}

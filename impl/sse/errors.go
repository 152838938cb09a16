package sse

import (
	"errors"
	"fmt"
)

var (
	// ErrTruncated is what a [*TruncatedError] is.
	ErrTruncated = errors.New("sse: stream truncated")
	// ErrEventTooLarge is what a [*TooLargeError] is.
	ErrEventTooLarge = errors.New("sse: event too large")
	// ErrUnencodable is what a [*FieldError] is.
	ErrUnencodable = errors.New("sse: value cannot be carried")
)

// A TruncatedError ends a stream that did not end cleanly: it stopped inside an
// event, or reading failed. Nothing of the unfinished event was given (R24).
type TruncatedError struct {
	// Pending is the number of bytes of the unfinished event, 0 if reading
	// failed between two events.
	Pending int
	// Err is why the stream stopped, io.ErrUnexpectedEOF where the reader said
	// io.EOF inside an event.
	Err error
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("sse: stream truncated, %d bytes of an unfinished event dropped: %v", e.Pending, e.Err)
}

// Is reports whether target is [ErrTruncated].
func (e *TruncatedError) Is(target error) bool { return target == ErrTruncated }

// Unwrap returns Err.
func (e *TruncatedError) Unwrap() error { return e.Err }

// A TooLargeError ends a stream whose peer sends an event beyond the limits.
type TooLargeError struct {
	Field string // "data", "id", "event" or "line"
	Max   int    // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("sse: %s of an event exceeds %d bytes: raise Options.MaxEvent if the peer is right", e.Field, e.Max)
}

// Is reports whether target is [ErrEventTooLarge].
func (e *TooLargeError) Is(target error) bool { return target == ErrEventTooLarge }

// A FieldError refuses a value that the format cannot carry.
type FieldError struct {
	Field  string // "id", "event", "data" or "comment"
	Reason string // what is wrong with it
}

func (e *FieldError) Error() string { return fmt.Sprintf("sse: %s %s", e.Field, e.Reason) }

// Is reports whether target is [ErrUnencodable].
func (e *FieldError) Is(target error) bool { return target == ErrUnencodable }

package window

import (
	"errors"
	"fmt"
)

var (
	// ErrTooLarge is what a [*TooLargeError] is.
	ErrTooLarge = errors.New("window: event too large")
	// ErrExhausted is what an [*ExhaustedError] is.
	ErrExhausted = errors.New("window: numbers exhausted")
)

// A TooLargeError refuses an event that no window with these limits may retain.
// It is given before the event has a number, and the stream goes on (R3).
type TooLargeError struct {
	Size int // bytes of the payload
	Max  int // bytes that would have been accepted
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("window: event of %d bytes, at most %d are accepted: split it or raise the limits", e.Size, e.Max)
}

// Is reports whether target is [ErrTooLarge].
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// An ExhaustedError refuses an event because the next number would not fit in
// 64 bits: numbers end, they never start again (R2).
type ExhaustedError struct {
	Position // the last one that was issued
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("window: no number left after %v: open another session", e.Position)
}

// Is reports whether target is [ErrExhausted].
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

// bug reports a mistake of this program, never one of a peer.
func bug(format string, args ...any) {
	panic("reattach: BUG: window: " + fmt.Sprintf(format, args...))
}

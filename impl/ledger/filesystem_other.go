//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package ledger

import (
	"errors"
	"io"
)

func syncDir(string) error { return errors.ErrUnsupported }

// lockFile refuses: without a lock two processes could both advance a record.
func lockFile(string) (io.Closer, error) { return nil, errors.ErrUnsupported }

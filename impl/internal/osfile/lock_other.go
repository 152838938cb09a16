//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package osfile

import (
	"errors"
	"io"
)

func syncDir(string) error { return errors.ErrUnsupported }

// lock refuses: without a lock two processes could both write.
func lock(string) (io.Closer, error) { return nil, errors.ErrUnsupported }

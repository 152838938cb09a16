//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package filestore

import (
	"errors"
	"io"
)

// lockFile refuses: two processes with one file would overwrite each other.
func lockFile(string) (io.Closer, error) { return nil, errors.ErrUnsupported }

func syncDir(string) error { return errors.ErrUnsupported }

package osfile

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// syncDir does nothing: a directory cannot be synced here, and a rename is in
// the file system's journal.
func syncDir(string) error { return nil }

// lock opens the file so that nobody else can; the handle ends with the
// process.
func lock(name string) (io.Closer, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	const sharingViolation = syscall.Errno(32)
	if errors.Is(err, sharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), name), nil
}

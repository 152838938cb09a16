package client

import (
	"io"
	"os"

	"example.com/reattach/impl/internal/osfile"
)

// A fileSystem is what a [FileStore] needs of an operating system: few
// operations, each of which may be the last before a crash. Tests put one in
// its place that forgets what was not synced.
type fileSystem interface {
	// ReadFile is os.ReadFile.
	ReadFile(name string) ([]byte, error)
	// Create makes an empty file, readable by its owner only, in the place of
	// whatever is there.
	Create(name string) (file, error)
	// Rename puts a file in the place of another at once.
	Rename(from, to string) error
	// SyncDir makes what was created and renamed in a directory durable.
	SyncDir(dir string) error
	// Lock takes the lock of that name, which no other process can hold at the
	// same time and which ends with the process. It does not wait: it returns
	// osfile.ErrLocked if another one holds it.
	Lock(name string) (io.Closer, error)
}

type file interface {
	io.WriteCloser
	Sync() error
}

// osFiles is the operating system's own.
type osFiles struct{}

func (osFiles) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

func (osFiles) Create(name string) (file, error) {
	// What a crash left there goes first: it may have other permissions.
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, osfile.OwnerOnly) // the record holds a session id, which is a bearer secret
}

func (osFiles) Rename(from, to string) error { return os.Rename(from, to) }

func (osFiles) SyncDir(dir string) error { return osfile.SyncDir(dir) }

func (osFiles) Lock(name string) (io.Closer, error) { return osfile.Lock(name) }

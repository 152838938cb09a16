// Package osfile has what the stores in files need of an operating system and
// the standard library does not give: a lock that ends with its process, and a
// directory that is synced. It imports the standard library only.
package osfile

import (
	"errors"
	"io"
)

// ErrLocked: another holder has the lock.
var ErrLocked = errors.New("osfile: another process holds the lock")

// OwnerOnly is the mode of files that hold secrets.
const OwnerOnly = 0o600

// Lock takes the lock of that name, which no other process can hold at the same
// time and which ends with the process, however it ends. It does not wait: it
// returns [ErrLocked]. Where the system has no such lock it refuses, with
// errors.ErrUnsupported.
func Lock(name string) (io.Closer, error) { return lock(name) }

// SyncDir makes what was created and renamed in a directory durable.
func SyncDir(dir string) error { return syncDir(dir) }

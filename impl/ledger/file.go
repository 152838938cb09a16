package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// A FileStore keeps a ledger in a file of one process. What it acknowledged is
// synced: an append costs one sync of the file, a rewrite one of a new file and
// one of the directory.
//
// A file that is missing is a new ledger with another name. One that is damaged
// is refused with a *[CorruptError], unless Replace is set.
//
// Beside Path it uses Path.tmp and Path.lock, and with Replace Path.damaged. It
// is not safe for concurrent use: a [Ledger] is its only user.
type FileStore struct {
	path    string
	replace bool
	files   fileSystem

	lock  io.Closer
	out   file // where lines are appended; nil: Rewrite must come first
	lines int  // in the file
	size  int64
	image int64 // size after the last rewrite
	open  Image // name and generation
}

// slack is how much a file may grow beyond twice its image, in bytes.
const slack = 1 << 20

// OpenFile returns the store of a file, which need not exist. It reads nothing.
func OpenFile(path string) *FileStore { return &FileStore{path: path, files: osFiles{}} }

// ReplaceDamaged makes Open put a new ledger, with another name, in the place of
// a file that is damaged, which is kept as Path.damaged. It returns the store.
func (f *FileStore) ReplaceDamaged() *FileStore {
	f.replace = true
	return f
}

// Open takes the lock, reads the file, and writes it anew with the next
// generation.
func (f *FileStore) Open() (Image, error) {
	if f.lock == nil {
		lock, err := f.files.Lock(f.path + ".lock")
		if err != nil {
			return Image{}, fmt.Errorf("%s.lock: %w", f.path, err)
		}
		f.lock = lock
	}
	image, err := f.read()
	if err == nil {
		image.Generation++
		f.open = Image{Name: image.Name, Generation: image.Generation}
		err = f.Rewrite(image)
	}
	if err != nil {
		return Image{}, errors.Join(err, f.Close())
	}
	return image, nil
}

func (f *FileStore) read() (Image, error) {
	content, err := f.files.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Image{Name: NewName()}, nil
	}
	if err != nil {
		return Image{}, err
	}
	image, _, err := decodeFile(f.path, content)
	var damaged *CorruptError
	if errors.As(err, &damaged) && f.replace {
		if err := f.files.Rename(f.path, f.path+".damaged"); err != nil {
			return Image{}, err
		}
		return Image{Name: NewName()}, nil
	}
	return image, err
}

// Append adds one line and syncs.
func (f *FileStore) Append(generation uint64, b Batch) error {
	if generation != f.open.Generation {
		return ErrSuperseded
	}
	if f.out == nil {
		return fmt.Errorf("reattach: %s is to be rewritten first", f.path)
	}
	line, err := appendLine(nil, f.lines, fileBatchOf(b))
	if err != nil {
		return err
	}
	if _, err = f.out.Write(line); err == nil {
		err = f.out.Sync()
	}
	if err != nil {
		// What is behind the last line that was acknowledged is not known: no
		// line may follow it.
		f.drop()
		return fmt.Errorf("appending to %s: %w", f.path, err)
	}
	f.lines++
	f.size += int64(len(line))
	return nil
}

// Outdated reports whether the file is more than twice as long as it need be.
func (f *FileStore) Outdated() bool { return f.size > 2*f.image+slack }

// Rewrite writes a file beside, syncs it, renames it, and syncs the directory.
func (f *FileStore) Rewrite(image Image) error {
	if image.Generation != f.open.Generation || image.Name != f.open.Name {
		return ErrSuperseded
	}
	if f.lock == nil {
		return ErrClosed
	}
	f.drop()
	content, lines, err := encodeImage(image)
	if err != nil {
		return err
	}
	temporary := f.path + ".tmp"
	out, err := f.files.Create(temporary)
	if err != nil {
		return err
	}
	if _, err = out.Write(content); err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = f.files.Rename(temporary, f.path)
	}
	if err == nil {
		err = f.files.SyncDir(filepath.Dir(f.path))
	}
	if err == nil {
		f.out, err = f.files.Append(f.path) // not before: some systems rename no open file
	}
	if err != nil {
		f.out = nil
		return fmt.Errorf("rewriting %s: %w", f.path, err)
	}
	f.lines, f.size, f.image = lines, int64(len(content)), int64(len(content))
	return nil
}

func (f *FileStore) drop() {
	if f.out != nil {
		f.out.Close()
		f.out = nil
	}
}

// Close gives the lock back.
func (f *FileStore) Close() error {
	f.drop()
	if f.lock == nil {
		return nil
	}
	err := f.lock.Close()
	f.lock = nil
	return err
}

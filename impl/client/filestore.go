package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"example.com/reattach/impl/internal/osfile"
)

// A FileStore keeps the record in a file.
//
//	(1) after a crash at any instant Load returns the record before or after
//	    the write at hand: a write goes to a file beside it, is synced, takes
//	    the record's place by one rename, and the directory is synced
//	(2) what was damaged, cut or edited is a *CorruptError, never a guess
//	(3) a write is refused, as stale, if the file is not what this store read
//	    or wrote last: of two processes with one record only one advances (R30)
//	(4) while a client holds it a second one is refused at once, also of another
//	    process; a process that is killed holds nothing (R30)
//	(5) only the file's owner can read it: the session id is a bearer secret
//
// It applies events nowhere: wrap it in [RepeatOnCrash] or [LoseOnCrash], or
// take what the client hands on after the commit, which is the latter.
//
// Beside path it uses path.tmp and path.lock. Safe for concurrent use: the next
// client may take it while the last one lets go.
type FileStore struct {
	path  string
	files fileSystem

	mu      sync.Mutex // all below
	held    bool       // the lock, since Hold
	loaded  bool
	record  Record
	content []byte // of the file, as last read or written; nil: there was none
	// doubtful is what a write that failed may have left in the file. It is
	// resolved by reading before the next write.
	doubtful []byte
}

// OpenFile returns the store of a file, which need not exist. It reads nothing.
func OpenFile(path string) *FileStore { return &FileStore{path: path, files: osFiles{}} }

// A CorruptError says that a record's file is not what a store wrote.
type CorruptError struct {
	Path   string
	Detail string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged: %s; what it said of the session and of calls in flight is lost: "+
		"move it away, and treat what was in flight as unknown", e.Path, e.Detail)
}

// lockWait bounds how long a write waits for the lock of another process,
// which holds it for one write.
const lockWait = 10 * time.Second

// Load reads the record.
func (f *FileStore) Load(ctx context.Context) (Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load(ctx)
}

func (f *FileStore) load(ctx context.Context) (Record, error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	content, record, err := f.read()
	if err != nil {
		return Record{}, err
	}
	// What is there may be what a writer had not synced when it died, and what
	// is built upon must last.
	if content != nil {
		if err := f.files.SyncDir(filepath.Dir(f.path)); err != nil {
			return Record{}, fmt.Errorf("reading %s: %w", f.path, err)
		}
	}
	f.content, f.record, f.doubtful, f.loaded = content, record, nil, true
	return record, nil
}

// Commit writes the record that the change leads to.
func (f *FileStore) Commit(ctx context.Context, ch Change, _ []Event) (Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.loaded {
		if _, err := f.load(ctx); err != nil {
			return Record{}, err
		}
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	if err := f.compare(ch); err != nil {
		return Record{}, err
	}
	next, err := ch.Apply(f.record)
	if err != nil {
		return Record{}, err
	}
	content, err := encodeRecord(next)
	if err != nil {
		return Record{}, err
	}
	if err := f.write(content); err != nil {
		return Record{}, err
	}
	f.content, f.record = content, next
	return next, nil
}

// compare sees to it that the file is what this store knows (R30).
func (f *FileStore) compare(ch Change) error {
	have, err := f.files.ReadFile(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.doubtful != nil {
		doubtful := f.doubtful
		if bytes.Equal(have, doubtful) {
			record, err := decodeRecord(f.path, have)
			if err != nil {
				return err
			}
			if err := f.files.SyncDir(filepath.Dir(f.path)); err != nil {
				return err
			}
			f.content, f.record = have, record
		}
		f.doubtful = nil
	}
	if !bytes.Equal(have, f.content) {
		return &StaleError{Change: ch.Kind, Stream: StreamID{ch.Epoch, ch.Request}, Epoch: f.record.Epoch, State: f.record.State,
			Want: ch.Before, Detail: fmt.Sprintf("%s was written by somebody else after version %d", f.path, f.record.Version)}
	}
	return nil
}

// write puts the content in the file's place. An error before the rename says
// that nothing changed, a later one that nobody can tell yet.
func (f *FileStore) write(content []byte) error {
	temporary := f.path + ".tmp"
	out, err := f.files.Create(temporary)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	if err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	err = f.files.Rename(temporary, f.path)
	if err == nil {
		err = f.files.SyncDir(filepath.Dir(f.path))
	}
	if err != nil {
		f.doubtful = content
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	return nil
}

func (f *FileStore) read() ([]byte, Record, error) {
	content, err := f.files.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Record{}, nil
	}
	if err != nil {
		return nil, Record{}, err
	}
	record, err := decodeRecord(f.path, content)
	return content, record, err
}

// lock waits for the lock, with a bound, unless this store holds it.
func (f *FileStore) lock(ctx context.Context) (unlock func(), err error) {
	if f.held {
		return func() {}, nil
	}
	deadline := time.Now().Add(lockWait)
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		held, err := f.files.Lock(f.path + ".lock")
		if err == nil {
			return func() { held.Close() }, nil
		}
		if errors.Is(err, osfile.ErrLocked) && time.Now().After(deadline) {
			return nil, &HeldError{Store: f.path}
		}
		if !errors.Is(err, osfile.ErrLocked) {
			return nil, fmt.Errorf("%s.lock: %w", f.path, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// The file is one line that says what it is, the length and the checksum of
// the rest, and the rest, which is JSON.
const fileHead = "reattach record 1 "

// maxRecord bounds the file, in bytes: a longer one is not a record.
const maxRecord = 64 << 20

func encodeRecord(r Record) ([]byte, error) {
	if err := r.Validate(); err != nil {
		panic("reattach: BUG: a record that is not valid is to be written: " + err.Error())
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(body) > maxRecord {
		return nil, fmt.Errorf("the record has %d bytes, and the bound is %d", len(body), maxRecord)
	}
	return sealRecord(body), nil
}

func sealRecord(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(fmt.Appendf(nil, "%s%d %s\n", fileHead, len(body), hex.EncodeToString(sum[:])), body...)
}

func decodeRecord(path string, content []byte) (r Record, err error) {
	corrupt := func(format string, args ...any) (Record, error) {
		return Record{}, &CorruptError{Path: path, Detail: fmt.Sprintf(format, args...)}
	}
	head, body, ok := bytes.Cut(content, []byte("\n"))
	if !ok {
		return corrupt("it has %d bytes and no complete first line", len(content))
	}
	sum := sha256.Sum256(body)
	if want := fmt.Appendf(nil, "%s%d %s", fileHead, len(body), hex.EncodeToString(sum[:])); !bytes.Equal(head, want) {
		return corrupt("its first line does not describe the %d bytes that follow", len(body))
	}
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		return corrupt("its checksum is right, and it cannot be read: %v", err)
	}
	if err := r.Validate(); err != nil {
		return corrupt("its checksum is right, and it contradicts itself: %v", err)
	}
	return r, nil
}

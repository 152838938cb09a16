package filestore

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.com/reattach/impl/internal/osfile"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A Store keeps sessions in a file. What it acknowledged is synced: a change
// costs one sync, and now and then the file is written anew without what is
// past.
//
// Its generation is drawn when the file is made, so a file that was lost and
// made anew is another one. A copy that is put back has the generation of its
// original, and may lack what that acknowledged: call [Store.Renew] then, before
// anybody is served.
//
// Beside path it uses path.tmp and path.lock.
type Store struct {
	path string
	keep time.Duration

	mu    sync.Mutex
	lock  io.Closer
	out   *os.File // where lines are appended; nil: the file has to be written anew first
	lines int
	size  int64
	image int64 // size after it was written anew
	state state
	wrong error // the file could not be written anew
}

// Keep is how long a session, or its end, is kept without an entry: longer than
// any session budget that makes sense.
const Keep = 24 * time.Hour

// slack is how much the file may grow beyond twice what it need be, in bytes.
const slack = 4 << 20

// ErrInUse: another process has the file.
var ErrInUse = errors.New("filestore: the file is in use by another process")

var errClosed = errors.New("filestore: closed")

// Open opens the store of a file, which need not exist. It takes the lock, reads
// the file, and writes it anew without what is older than [Keep]. A line at the
// end that is not whole was never acknowledged and is dropped; one before it is
// damage, a [*CorruptError].
func Open(path string) (*Store, error) {
	lock, err := osfile.Lock(path + ".lock")
	if errors.Is(err, osfile.ErrLocked) {
		err = ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("%s.lock: %w", path, err)
	}
	s := &Store{path: path, keep: Keep, lock: lock}
	if s.state, err = read(path); err == nil {
		if s.state.generation == "" {
			s.state.generation = rand.Text()
		}
		s.state.drop(time.Now().Add(-s.keep).UnixMilli())
		err = s.rewrite()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Renew gives the store another generation: for a file that was put back from a
// copy. Every cursor from before is foreign from then on, and every hold is lost.
func (s *Store) Renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.generation = rand.Text()
	return s.rewrite()
}

// Close gives the file to the next process. What is asked for afterwards fails.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	if s.out != nil {
		s.out.Close()
	}
	err := s.lock.Close()
	s.out, s.lock, s.wrong = nil, nil, errClosed
	return err
}

// Begin makes a session.
func (s *Store) Begin(key session.Key, subject string, at int64) (session.Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.sessions[key] != nil {
		return session.Hold{}, fmt.Errorf("%w: it was begun before", session.ErrConflict)
	}
	if err := s.write(line{Key: key[:], Begin: &begin{subject, at}}); err != nil {
		return session.Hold{}, err
	}
	return s.hold(s.state.sessions[key]), nil
}

// Take reads a session and makes the caller its holder.
func (s *Store) Take(key session.Key, subject string) (session.Hold, session.Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil { // what was under way when a write failed is not in the next file
		if err := s.rewrite(); err != nil {
			return session.Hold{}, session.Image{}, err
		}
	}
	kept := s.state.sessions[key]
	if kept == nil || kept.Image.Subject != subject {
		return session.Hold{}, session.Image{}, session.ErrNoSession
	}
	if kept.Image.State == spec.Live {
		if err := s.write(line{Key: key[:], Take: true}); err != nil {
			return session.Hold{}, session.Image{}, err
		}
	}
	return s.hold(kept), kept.Image.Clone(), nil
}

// Confirm returns nil if the hold is the session's. One process has the file, so
// memory can tell.
func (s *Store) Confirm(key session.Key, h session.Hold) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return errClosed
	}
	kept := s.state.sessions[key]
	if kept == nil || kept.Image.State != spec.Live || s.hold(kept) != h {
		return session.ErrHoldLost
	}
	return nil
}

// Append applies an entry, and syncs it before that is acknowledged.
func (s *Store) Append(key session.Key, h session.Hold, e session.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.state.sessions[key]
	if kept == nil || s.hold(kept) != h {
		return session.ErrHoldLost
	}
	if err := kept.Image.Presumed(e); err != nil {
		return err
	}
	return s.write(line{Key: key[:], Entry: &e})
}

func (s *Store) hold(k *kept) session.Hold {
	return session.Hold{Generation: s.state.generation, Term: k.Term}
}

// write adds a line, syncs it, and only then lets it change what is in memory.
// The caller has seen that it will be applied.
func (s *Store) write(l line) error {
	if s.out == nil || s.size > 2*s.image+slack {
		if err := s.rewrite(); err != nil {
			return fmt.Errorf("%w: %w", session.ErrNotApplied, err) // it is in no file
		}
	}
	text := l.encode(s.lines)
	_, err := s.out.Write(text)
	if err == nil {
		err = s.out.Sync()
	}
	if err != nil {
		// What is behind the last line that was acknowledged is not known: no
		// line may follow it in this file.
		s.out.Close()
		s.out = nil
		return fmt.Errorf("appending to %s: %w", s.path, err)
	}
	s.lines++
	s.size += int64(len(text))
	return s.state.apply(l)
}

// rewrite writes a file beside, syncs it, puts it in the place of the old one,
// and syncs the directory.
func (s *Store) rewrite() error {
	if s.lock == nil {
		return errClosed
	}
	if s.out != nil {
		s.out.Close()
		s.out = nil
	}
	temporary := s.path + ".tmp"
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return err
	}
	out, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	lines, size, err := s.state.writeTo(out)
	if err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary, s.path)
	}
	if err == nil {
		err = osfile.SyncDir(filepath.Dir(s.path))
	}
	if err == nil {
		s.out, err = os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0o600)
	}
	if err != nil {
		return fmt.Errorf("rewriting %s: %w", s.path, err)
	}
	s.lines, s.size, s.image = lines, size, size
	return nil
}

package session

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"example.com/reattach/spec"
)

// A Store keeps sessions beyond the memory of one process (R14). It may be a
// file, a database, or a service that several instances share. Without one,
// sessions live in memory only, and nothing is paid for what is not used.
//
// A store holds an [Image] for each session and changes it by an [Entry] at a
// time; what an entry means is [Image.Apply]'s to say. What it has to promise:
//
//	(1) Append is conditional: on the hold, which is the store's generation and
//	    the term, and on what the entry presumes, which is the newest seq. It
//	    changes all that the entry says, or nothing
//	(2) what Append, Begin and Take acknowledged with nil is found by whoever
//	    asks later, in this process or another one
//	(3) where (2) may be broken, by a restore from a copy or by the loss of a
//	    machine, the generation is another one afterwards. A store that never
//	    loses what it acknowledged may have the generation ""
//	(4) Take ends the terms before it: no Append under an older hold is applied
//	    after it, not even one that is under way
//	(5) Take and Confirm are linearizable: they know of everything that was
//	    acknowledged before they began. A store that cannot know fails
//	(6) a session that has ended stays ended: its key is not begun again, and
//	    Take says how it ended, to its own subject
//	(7) nobody but its subject learns that a session is there (R13)
//
// It may forget a session that nobody wrote to for a time of its own choice,
// longer than the session budget, and an end after another one, or when there
// are too many: then Take says [ErrNoSession]. Keys are of random ids and come
// once, so what is forgotten does not come back.
//
// A store copies what it is given, and what it returns is the caller's. It is
// safe for concurrent use. Its methods are called while the session is locked,
// and events wait for them: each returns within a time that the store bounds
// itself, seconds at most, and none calls back.
type Store interface {
	// Begin makes a session that never was, Live and empty, with its standalone
	// stream. A key that the store has, or had as far as it remembers, is an
	// [ErrConflict]. at is the time, as in Entry.At.
	Begin(key Key, subject string, at int64) (Hold, error)

	// Take reads a session and makes the caller its holder: Hold.Term is one
	// more than before. A session that has ended is returned as it is, and its
	// hold is nobody's. Another subject's session is ErrNoSession, and nothing
	// happens to it.
	Take(key Key, subject string) (Hold, Image, error)

	// Confirm returns nil if the hold is the session's, and it has not ended;
	// [ErrHoldLost] if not.
	Confirm(key Key, h Hold) error

	// Append applies an entry. Its error says what became of it:
	//
	//	ErrNotApplied   not applied, and it never will be: the caller may go on
	//	ErrHoldLost   not applied: the hold is not the session's
	//	ErrConflict     not applied: the session is not as the entry presumes
	//	any other       unknown: only Take can tell
	Append(key Key, h Hold, e Entry) error
}

// What a store says, for errors.Is. An error that is none of these is a failure
// whose outcome nobody knows.
var (
	ErrNoSession  = errors.New("session: the store has no such session")
	ErrNotApplied = errors.New("session: the store did not apply it, and will not")
	ErrHoldLost   = errors.New("session: held by another, or of another generation of the store")
	ErrConflict   = errors.New("session: the store's session is not as the entry presumes")
)

// A Key names a session in a store: a digest of its id. The id is a bearer
// secret, and a store need not have it.
type Key [sha256.Size]byte

// KeyOf returns the key of a session.
func KeyOf(id SessionID) Key { return sha256.Sum256([]byte("reattach session\x00" + id.Text())) }

// A Hold is the right to write to a session, until somebody else takes it.
type Hold struct {
	Generation string // the store's
	Term       uint64 // of the session: 1 after Begin, one more with each Take
}

// A StoreError says that the store kept something from happening. It is
// [spec.ReasonStoreUnavailable] to errors.Is, and what the store said.
//
// Unless Unknown is set nothing has happened: no seq is used up, and nothing
// reaches a wire. Where it is set, the process does not know what the store
// holds and has let go of the session: it is read again when somebody asks for
// it, and a handler that still worked in it is told to stop.
type StoreError struct {
	Unknown bool
	Err     error // what the store said
}

func (e *StoreError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("%s: the session is let go of, its store is to say what holds: %v", spec.ReasonStoreUnavailable, e.Err)
	}
	return fmt.Sprintf("%s: nothing was recorded: %v", spec.ReasonStoreUnavailable, e.Err)
}

// Unwrap returns the reason and the cause.
func (e *StoreError) Unwrap() []error { return []error{spec.ReasonStoreUnavailable, e.Err} }

// Notes carry what belongs to the application through a [Store]: what a session
// and its calls were opened with, as bytes and back. They are called while the
// session is locked, or before anybody else has it: they must not wait.
type Notes interface {
	// Call returns what is kept of what a call was opened with.
	Call(meta any) []byte
	// Restore returns what belongs to a session that came from the store, with
	// the note that [Session.Describe] gave it.
	Restore(s *Session, note []byte) (meta any, err error)
	// RestoreCall does so for a call that was not answered. Its handler is gone,
	// so its stream is about to end with the answer of Options.Unknown.
	RestoreCall(session any, note []byte) (meta any)
	// Restored is told of what Restore returned when all of the session is
	// there, and nobody else has it yet. An error keeps it from coming back for
	// now.
	Restored(meta any) error
}

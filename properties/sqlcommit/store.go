package sqlcommit

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/reattach/impl/client"
)

// A Store keeps a client's record in a row of an SQL database, and applies the
// events of a change in the transaction that writes it.
//
//	(1) an event is applied if and only if the token behind it is durable, in a
//	    crash at any instant too (R20)
//	(2) a change is written only upon the very row that this store read or wrote
//	    last, so epoch, state, lease and token are what it expects (R30)
//	(3) if apply fails, nothing is written, and the event comes again
//
// It holds no lock while it does nothing: what keeps two processes apart is the
// lease, which is part of the record. Safe for concurrent use.
type Store struct {
	db    *sql.DB
	name  string
	apply Apply

	mu     sync.Mutex // all below
	loaded bool
	record client.Record

	commit func(*sql.Tx) error // tests put a database in its place that fails
}

// Apply applies an event within a transaction: what it writes there is durable
// exactly when the event counts as received. What lies outside the transaction,
// such as an e-mail, does not belong here. It must not wait for the client.
type Apply func(context.Context, *sql.Tx, client.Event) error

// The row's version is that of the record, which every change raises: a write
// that names the version it was made for is a write upon that record alone.
const (
	createRecords = `CREATE TABLE IF NOT EXISTS reattach_record (name TEXT PRIMARY KEY, version BIGINT NOT NULL, body BLOB NOT NULL)`
	addRecord     = `INSERT INTO reattach_record (name, version, body) VALUES ($1, 0, $2) ON CONFLICT (name) DO NOTHING`
	readRecord    = `SELECT body FROM reattach_record WHERE name = $1`
	writeRecord   = `UPDATE reattach_record SET version = $1, body = $2 WHERE name = $3 AND version = $4`
	lockRecord    = `UPDATE reattach_record SET version = version WHERE name = $1`
)

// settleTime bounds the search for what became of a commit that failed.
const settleTime = 10 * time.Second

// Open returns the store of the record of that name, and makes its table and its
// row where there is none. apply may be nil: then nothing is applied.
func Open(ctx context.Context, db *sql.DB, name string, apply Apply) (*Store, error) {
	none, err := json.Marshal(client.Record{})
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, createRecords); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, addRecord, name, none); err != nil {
		return nil, err
	}
	if apply == nil {
		apply = func(context.Context, *sql.Tx, client.Event) error { return nil }
	}
	return &Store{db: db, name: name, apply: apply, commit: (*sql.Tx).Commit}, nil
}

var _ client.Store = (*Store)(nil)

// Load reads the record.
func (s *Store) Load(ctx context.Context) (client.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(ctx)
}

func (s *Store) load(ctx context.Context) (client.Record, error) {
	record, err := s.read(ctx, s.db)
	if err == nil {
		s.record, s.loaded = record, true
	}
	return record, err
}

// read reads the row within a transaction, or outside of one.
func (s *Store) read(ctx context.Context, in interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (client.Record, error) {
	var body []byte
	if err := in.QueryRowContext(ctx, readRecord, s.name).Scan(&body); err != nil {
		return client.Record{}, fmt.Errorf("reading the record %s: %w", s.name, err)
	}
	var record client.Record
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	err := strict.Decode(&record)
	if err == nil {
		err = record.Validate()
	}
	if err != nil {
		return client.Record{}, fmt.Errorf("the record %s is not what a store wrote, and is not guessed at: %w", s.name, err)
	}
	return record, nil
}

// Commit writes the record that the change leads to and applies the events, both
// or neither.
func (s *Store) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		if _, err := s.load(ctx); err != nil {
			return client.Record{}, err
		}
	}
	next, err := ch.Apply(s.record)
	if err != nil {
		return client.Record{}, err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return client.Record{}, err
	}
	defer tx.Rollback() // after a commit it does nothing
	// The record comes first: its row is locked from here on, and where it is not
	// the one expected no effect is even begun.
	if err := s.write(ctx, tx, ch, next); err != nil {
		return client.Record{}, err
	}
	for _, ev := range events {
		if err := s.apply(ctx, tx, ev); err != nil {
			return client.Record{}, fmt.Errorf("applying %s of %v: %w", ev.ID, ev.Stream, err)
		}
	}
	if err := s.commit(tx); err != nil {
		return s.settle(context.WithoutCancel(ctx), ch, next, err)
	}
	s.record = next
	return next, nil
}

// write writes the record upon the one that this store knows, or refuses.
func (s *Store) write(ctx context.Context, tx *sql.Tx, ch client.Change, next client.Record) error {
	body, err := json.Marshal(next)
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, writeRecord, int64(next.Version), body, s.name, int64(s.record.Version))
	if err != nil {
		return err
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 1 {
		return err
	}
	have, err := s.read(ctx, tx)
	if err != nil {
		return err
	}
	if _, err := ch.Apply(have); err != nil {
		return err // it says best what is not as expected
	}
	return &client.StaleError{Change: ch.Kind, Stream: client.StreamID{Epoch: ch.Epoch, Request: ch.Request}, Epoch: have.Epoch, State: have.State,
		Lease: ch.Lease, Holder: have.Lease, Want: ch.Before, Detail: fmt.Sprintf("it was written by somebody else after version %d", s.record.Version)}
}

// settle finds out what became of a commit that failed: a connection may break
// after the database heard the word and before it answered. Whatever of it is
// still under way has the row's lock, so that who gets the lock reads the truth.
// Nobody else writes under this lease, so a row of the next version is what was
// to be written; but two that take the lease write the same.
func (s *Store) settle(ctx context.Context, ch client.Change, next client.Record, failed error) (client.Record, error) {
	before := s.record.Version
	s.loaded = false // unless it is found out here, the next change reads first
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	have, err := s.readLocked(ctx)
	switch {
	case err != nil:
		return client.Record{}, fmt.Errorf("%w: %w", client.ErrUncertain, errors.Join(failed, err))
	case have.Version == before:
		s.loaded = true
		return client.Record{}, failed // nothing was written
	case have.Version == next.Version && have.Lease == next.Lease && ch.Kind != client.TakeLease:
		s.record, s.loaded = have, true
		return have, nil
	}
	return client.Record{}, fmt.Errorf("%w: %w", client.ErrUncertain, failed) // somebody else wrote since
}

func (s *Store) readLocked(ctx context.Context) (client.Record, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return client.Record{}, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, lockRecord, s.name); err != nil {
		return client.Record{}, err
	}
	return s.read(ctx, tx)
}

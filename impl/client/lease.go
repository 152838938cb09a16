package client

import (
	"context"
	"errors"
	"fmt"

	"example.com/reattach/impl/internal/osfile"
	"example.com/reattach/spec"
)

// A Holder is a [Store] that keeps a second client out while a first one uses
// it. A store that wraps another one hands it on.
//
// It makes two processes with one record a mistake that is noticed at once. What
// keeps them apart for certain is the lease's generation, which every store has:
// it is part of the record, each holder raises it, and every [Change] compares
// it, so that who lost the lease writes nothing more (R30).
type Holder interface {
	Store
	// Hold takes the store. It does not wait: spec.ReasonLeaseHeld says that
	// another one has it. What holds it ends with the process at the latest.
	Hold(ctx context.Context) (release func() error, err error)
}

// A HeldError says that another client holds the record. It is
// spec.ReasonLeaseHeld to errors.Is.
type HeldError struct{ Store string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by another client: end it first, or give this one a record of its own", e.Store)
}

// Unwrap returns the reason.
func (e *HeldError) Unwrap() error { return spec.ReasonLeaseHeld }

// hold takes a store, if it can be taken.
func hold(ctx context.Context, s Store) (release func() error, err error) {
	if h, ok := s.(Holder); ok {
		return h.Hold(ctx)
	}
	return func() error { return nil }, nil
}

// lease takes the store and raises the record's lease.
func lease(ctx context.Context, s Store) (Record, func() error, error) {
	release, err := hold(ctx, s)
	if err != nil {
		return Record{}, nil, fmt.Errorf("client: taking the record: %w", err)
	}
	record, err := s.Load(ctx)
	if err != nil {
		return Record{}, nil, errors.Join(fmt.Errorf("client: loading the record: %w", err), release())
	}
	if err := record.Validate(); err != nil {
		return Record{}, nil, errors.Join(fmt.Errorf("client: record: %w", err), release())
	}
	record, err = s.Commit(ctx, Change{Kind: TakeLease, Lease: record.Lease}, nil)
	if err != nil {
		return Record{}, nil, errors.Join(fmt.Errorf("client: taking the record: %w", err), release())
	}
	return record, release, nil
}

// Hold takes the store for one client at a time.
func (m *MemoryStore) Hold(context.Context) (release func() error, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held {
		return nil, &HeldError{Store: "the record in memory"}
	}
	m.held = true
	return func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.held = false
		return nil
	}, nil
}

// Hold takes the store beneath.
func (p *repeatOnCrash) Hold(ctx context.Context) (release func() error, err error) {
	return hold(ctx, p.store)
}

// Hold takes the store beneath.
func (p loseOnCrash) Hold(ctx context.Context) (release func() error, err error) {
	return hold(ctx, p.Store)
}

// Hold takes the file's lock until release, or the end of the process, however
// it ends: the lock is the operating system's.
func (f *FileStore) Hold(context.Context) (release func() error, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held, err := f.files.Lock(f.path + ".lock")
	if errors.Is(err, osfile.ErrLocked) {
		return nil, &HeldError{Store: f.path}
	}
	if err != nil {
		return nil, fmt.Errorf("%s.lock: %w", f.path, err)
	}
	f.held = true
	return func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held = false
		return held.Close()
	}, nil
}

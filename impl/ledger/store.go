package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"example.com/reattach/spec"
)

// A Store keeps what a [Ledger] knows, for one ledger at a time. After an error
// of Append or Rewrite the store may hold what was to be written, or not, and
// the ledger rewrites it before it does anything else.
//
//	(1) what Append or Rewrite acknowledged is there whenever Open is called,
//	    or Open refuses, or it gives another name
//	(2) a batch is there as a whole or not at all
//	(3) generations grow with each Open, and the horizon never falls
//	(4) after a later Open, Append and Rewrite of an earlier generation are
//	    refused with ErrSuperseded
//
// One that cannot keep (1) must change its name: entries may have been lost,
// and no key of the old name may ever run again (R28). Never restore one from a
// copy.
type Store interface {
	// Open begins a generation, durably, and returns what is kept.
	Open() (Image, error)
	// Append adds a batch, durably.
	Append(generation uint64, b Batch) error
	// Outdated reports whether Rewrite would free much.
	Outdated() bool
	// Rewrite puts the image in the place of everything, durably.
	Rewrite(Image) error
	// Close ends the use of the store.
	Close() error
}

// An Image is everything that a ledger knows.
type Image struct {
	Name       string
	Generation uint64
	Horizon    uint64
	Entries    []Entry // in no order
}

// A Batch is a change: first the horizon rises, unless it is 0, and entries
// below it are gone; then entries are put in, in the place of the same
// subject's and key's.
type Batch struct {
	Horizon uint64
	Entries []Entry
}

// An Entry is what is kept of one key.
type Entry struct {
	Subject    string          `json:"-"`
	Key        spec.Key        `json:"-"`
	State      State           `json:"t"`
	Digest     string          `json:"d,omitempty"` // of the call; "" for a seal
	Generation uint64          `json:"g,omitempty"` // that started it
	Response   json.RawMessage `json:"r,omitempty"`
	Lost       bool            `json:"l,omitempty"` // done, and the response was too large to keep
}

// A State is what an entry says.
type State string

// The states of an entry. A started one whose generation is over never becomes
// anything else: its outcome is unknown.
const (
	Started State = "started"
	Done    State = "done"
	Sealed  State = "sealed"
)

// NewName returns a new name for a ledger: 64 random bits.
func NewName() string {
	var b [spec.LedgerNameLen / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// apply changes the image by a batch.
func (i *Image) apply(b Batch, at map[ref]int) {
	if b.Horizon > i.Horizon {
		i.Horizon = b.Horizon
		i.Entries = slices.DeleteFunc(i.Entries, func(e Entry) bool { return e.Key.Minted < i.Horizon })
		clear(at)
		for n, e := range i.Entries {
			at[ref{e.Subject, e.Key.String()}] = n
		}
	}
	for _, e := range b.Entries {
		r := ref{e.Subject, e.Key.String()}
		if n, ok := at[r]; ok {
			i.Entries[n] = e
			continue
		}
		at[r] = len(i.Entries)
		i.Entries = append(i.Entries, e)
	}
}

// A MemoryStore keeps a ledger as long as the process: a restart has a new
// name, so that calls of the process before are unknown and never run again.
// It is safe for concurrent use.
type MemoryStore struct {
	mu    sync.Mutex
	image Image
	at    map[ref]int
}

// NewMemoryStore returns an empty store with a new name.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{image: Image{Name: NewName()}, at: map[ref]int{}}
}

// Open begins a generation.
func (m *MemoryStore) Open() (Image, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.image.Generation++
	image := m.image
	image.Entries = slices.Clone(image.Entries)
	return image, nil
}

// Append keeps nothing that a ledger does not have itself, but for the next
// generation in this process.
func (m *MemoryStore) Append(generation uint64, b Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if generation != m.image.Generation {
		return ErrSuperseded
	}
	m.image.apply(b, m.at)
	return nil
}

// Outdated reports false: nothing outdated is kept.
func (m *MemoryStore) Outdated() bool { return false }

// Rewrite replaces what is kept.
func (m *MemoryStore) Rewrite(image Image) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if image.Generation != m.image.Generation {
		return ErrSuperseded
	}
	m.image = image
	clear(m.at)
	for n, e := range image.Entries {
		m.at[ref{e.Subject, e.Key.String()}] = n
	}
	return nil
}

// Close does nothing.
func (m *MemoryStore) Close() error { return nil }

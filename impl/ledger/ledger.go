package ledger

import (
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"example.com/reattach/spec"
)

// A Ledger answers for the keyed calls of one server: it decides what runs,
// hands outcomes to whoever asks again, and forgets by its horizon only. It is
// safe for concurrent use.
//
// Its calls wait for the store: one that syncs to a disk is asked twice for
// each call that runs, and one call after the other.
type Ledger struct {
	store Store
	opts  Options
	log   *slog.Logger

	mu         sync.Mutex
	name       string
	generation uint64
	horizon    uint64 // keys minted below it are unknown, and never executed
	entries    map[ref]*entry
	subjects   map[string]*share // of those that have entries
	bytes      int64
	futures    int    // seals that no clock has reached
	oldest     uint64 // no entry was minted before it
	broken     error  // of the store; nil: what the store holds is what stands here
	closed     bool
	stats      Stats
}

// A ref names an entry: a key means something together with its subject only,
// so that nobody can ask for, or seal, another one's call (R13).
type ref struct{ subject, key string }

// An entry is what stands in the ledger of one key.
type entry struct {
	Entry
	size   int64
	future bool // minted ahead of the clock when it came
	run    *Run // while it runs in this process
}

// A share is what one subject has in the ledger.
type share struct {
	entries int
	bytes   int64
	futures int
	oldest  uint64
}

// Options of a [Ledger]. The zero value is useful and safe.
type Options struct {
	// Entries, Bytes and Age bound what is remembered. At a bound the oldest
	// entries are forgotten behind the horizon, but none that was minted within
	// Keep: if there are only those, the call is refused (ledger_full).
	Entries int           // 0 = DefaultEntries
	Bytes   int64         // of keys, subjects and responses; 0 = DefaultBytes
	Age     time.Duration // 0 = DefaultAge
	Keep    time.Duration // 0 = DefaultKeep; at most Age

	// SubjectEntries and SubjectBytes bound what one subject may have. 0 = a
	// quarter of Entries and Bytes, and all for the subject "", which is
	// everybody where a server tells none apart.
	SubjectEntries int
	SubjectBytes   int64

	// ResponseBytes bounds a response that is kept; of a larger one the ledger
	// remembers that there was one. 0 = DefaultResponseBytes.
	ResponseBytes int
	// Skew is how far ahead of this clock a key may be minted: beyond it the
	// key is sealed and refused. 0 = DefaultSkew.
	Skew time.Duration
	// Orphan is how long the work of a call goes on that lost its stream or
	// its session. 0 = DefaultOrphan.
	Orphan time.Duration

	// Now is the clock; nil = time.Now. No promise depends on it being right.
	Now func() time.Time
	// Logger is told when the store fails, never a key. Nil is silent.
	Logger *slog.Logger
}

// Defaults of [Options].
const (
	DefaultEntries       = 100_000
	DefaultBytes         = 64 << 20
	DefaultAge           = 24 * time.Hour
	DefaultKeep          = 15 * time.Minute
	DefaultResponseBytes = 64 << 10
	DefaultSkew          = 5 * time.Minute
	DefaultOrphan        = spec.DefaultSessionBudget
)

// Stats tells how full a ledger is and what it did since it was opened.
type Stats struct {
	Entries  int
	Bytes    int64
	Subjects int
	Running  int
	Horizon  uint64 // in milliseconds since 1970, as keys are minted
	Store    error  // why the store cannot be used; nil: it can

	Started, Joined, Repeated, Sealed, Refused, Unavailable, Forgotten uint64
}

// New opens the ledger that the store holds, or a new one, and begins a
// generation of it: what earlier ones had started and not finished is unknown
// from now on. An error says which option makes no sense, or is the store's.
func New(store Store, o Options) (*Ledger, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	image, err := store.Open()
	if err != nil {
		return nil, err
	}
	l := &Ledger{
		store: store, opts: o, log: o.Logger,
		name: image.Name, generation: image.Generation, horizon: image.Horizon,
		entries: make(map[ref]*entry, len(image.Entries)), subjects: map[string]*share{}, oldest: math.MaxUint64,
	}
	if !spec.IsLedgerName(l.name) || l.generation == 0 {
		panic(fmt.Sprintf("reattach: BUG: a store gave the name %q and the generation %d", l.name, l.generation))
	}
	now := l.now()
	for _, e := range image.Entries {
		l.put(e, l.ahead(e.Key, now))
	}
	return l, nil
}

func (o Options) withDefaults() (Options, error) {
	number(&o.Entries, DefaultEntries)
	number(&o.Bytes, DefaultBytes)
	number(&o.Age, DefaultAge)
	number(&o.Keep, min(DefaultKeep, o.Age))
	number(&o.ResponseBytes, DefaultResponseBytes)
	number(&o.Skew, DefaultSkew)
	number(&o.Orphan, DefaultOrphan)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Entries < 0 || o.Bytes < 0 || o.Age < 0 || o.Keep < 0 || o.ResponseBytes < 0 || o.Skew < 0 || o.Orphan < 0 || o.SubjectEntries < 0 || o.SubjectBytes < 0 {
		return o, fmt.Errorf("reattach: a bound of a ledger is negative: %+v", o)
	}
	if o.Keep > o.Age {
		return o, fmt.Errorf("reattach: a ledger that keeps what is %v old at least and %v at most", o.Keep, o.Age)
	}
	return o, nil
}

func number[T int | int64 | time.Duration](value *T, is T) {
	if *value == 0 {
		*value = is
	}
}

// Name is the ledger's name, which the answer to initialize tells.
func (l *Ledger) Name() string { return l.name }

// Stats tells how full the ledger is.
func (l *Ledger) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Entries, s.Bytes, s.Subjects, s.Horizon, s.Store = len(l.entries), l.bytes, len(l.subjects), l.horizon, l.broken
	return s
}

// Close closes the store. Calls that still run go on, and are unknown to the
// next generation: drain the server first.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed, l.broken = true, ErrClosed
	return l.store.Close()
}

// now is the clock in a key's terms.
func (l *Ledger) now() uint64 { return uint64(max(0, l.opts.Now().UnixMilli())) }

// ahead reports whether a key was minted further in the future than Skew.
func (l *Ledger) ahead(k spec.Key, now uint64) bool {
	return k.Minted > now && k.Minted-now > uint64(l.opts.Skew.Milliseconds())
}

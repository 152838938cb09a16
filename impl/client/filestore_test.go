package client

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"example.com/reattach/impl/internal/osfile"
	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

// history is a session as a sequence of changes, each of which follows from
// the one before.
func history() []Change {
	advance := func(request uint64, before, after string) Change {
		return Change{Kind: AdvanceToken, Epoch: 1, Request: request, Before: before, After: after}
	}
	return []Change{
		{Kind: BeginEpoch, Session: session, Tag: tag, Standalone: at(0, 0, 0), Meta: []byte("meta")},
		{Kind: AddCall, Epoch: 1, Call: Call{Request: 1, Key: "key", Label: "label"}},
		{Kind: AdvanceToken, Epoch: 1, Request: 1, After: at(0, 1, 0), Opens: 1},
		advance(1, at(0, 1, 0), at(1, 1, 1)),
		advance(0, at(0, 0, 0), at(2, 0, 1)),
		{Kind: AddCall, Epoch: 1, Call: Call{Request: 2}},
		{Kind: AdvanceToken, Epoch: 1, Request: 1, Before: at(1, 1, 1), After: at(3, 1, 2), Answers: true},
		{Kind: FenceEpoch, Epoch: 1, Reason: spec.ReasonSessionUnknown},
		{Kind: BeginEpoch, Epoch: 1, Session: "second", Tag: spec.TagOf("second", "")},
		{Kind: ResolveUnknown, Unknown: StreamID{1, 2}, Decision: DidExecute},
		{Kind: FenceEpoch, Epoch: 2, Closing: true},
	}
}

func mustCommit(t *testing.T, s Store, ch Change) Record {
	t.Helper()
	r, err := s.Commit(context.Background(), ch, nil)
	if err != nil {
		t.Fatalf("%v: %v", ch.Kind, err)
	}
	return r
}

func TestEveryStoreKeepsTheSameHistory(t *testing.T) {
	for name, s := range map[string]Store{
		"memory": NewMemoryStore(Record{}),
		"file":   OpenFile(filepath.Join(t.TempDir(), "record")),
		"repeat": RepeatOnCrash(NewMemoryStore(Record{}), func(Event) error { return nil }),
		"lose":   LoseOnCrash(NewMemoryStore(Record{}), func(Event) {}),
	} {
		t.Run(name, func(t *testing.T) {
			want := Record{}
			for _, ch := range history() {
				var err error
				if want, err = ch.Apply(want); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, mustCommit(t, s, ch)); diff != "" {
					t.Fatalf("after %v (-want +got):\n%s", ch.Kind, diff)
				}
				got, err := s.Load(context.Background())
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Fatalf("loaded after %v: %v, %s", ch.Kind, err, diff)
				}
			}
			_, err := s.Commit(context.Background(), Change{Kind: AdvanceToken, Epoch: 2}, nil)
			if !errors.Is(err, spec.ReasonRecordStale) {
				t.Errorf("a commit after the fence: %v", err)
			}
		})
	}
}

// A crash at any instant of any write, with whatever was not synced dropped,
// torn or in another order: the record before or after it, and nothing else.
func TestACrashLeavesTheRecordBeforeOrAfter(t *testing.T) {
	ctx := context.Background()
	d := newDisk()
	var before, after Record
	states, old := 0, 0
	check := func() {
		for left := range d.crashes {
			states++
			got, err := (&FileStore{path: "dir/record", files: left}).Load(ctx)
			switch {
			case err != nil:
				t.Fatalf("writing version %d: after a crash: %v", after.Version, err)
			case cmp.Equal(got, before):
				old++
			case !cmp.Equal(got, after):
				t.Fatalf("writing version %d: after a crash: %+v", after.Version, got)
			}
		}
	}
	d.step = func() error { check(); return nil }
	s := &FileStore{path: "dir/record", files: d}
	for _, ch := range history() {
		next, err := ch.Apply(before)
		if err != nil {
			t.Fatal(err)
		}
		after = next
		mustCommit(t, s, ch)
		before = after // acknowledged: from now on only this one
		check()
	}
	if old == 0 || old == states || states < 1000 {
		t.Errorf("%d states, %d of them with the record before", states, old)
	}
}

// A store goes on upon whatever a crash left, and a second crash at any instant
// of that leaves the record that was read, or the one after it.
func TestASecondCrashLeavesWhatTheFirstOneDid(t *testing.T) {
	ctx, d := context.Background(), newDisk()
	var before Record
	first, second, gone := 0, 0, 0
	again := func(left *disk, next Change) {
		s := &FileStore{path: "dir/record", files: left}
		read, err := s.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		after, err := next.Apply(read)
		if err != nil {
			return // the change was durable already
		}
		gone++
		left.step = func() error {
			for twice := range left.crashes {
				second++
				if got, err := (&FileStore{path: "dir/record", files: twice}).Load(ctx); err != nil || !cmp.Equal(got, read) && !cmp.Equal(got, after) {
					t.Fatalf("after a second crash: %+v, %v", got, err)
				}
			}
			return nil
		}
		mustCommit(t, s, next)
	}
	s := &FileStore{path: "dir/record", files: d}
	for _, ch := range history() {
		n := 0
		d.step = func() error {
			for left := range d.crashes {
				if first++; n%41 == 0 { // some of them: there are many
					again(left, ch)
				}
				n++
			}
			return nil
		}
		before = mustCommit(t, s, ch)
	}
	if before.State != RecordClosed || gone < 20 || second < 10_000 {
		t.Errorf("%d states of a first crash, gone on from %d, %d states of a second", first, gone, second)
	}
}

// What Load returns lasts, also where the writer died before it had synced the
// directory: the client builds upon it at once.
func TestWhatIsReadSurvivesACrash(t *testing.T) {
	ctx := context.Background()
	d := newDisk()
	s := &FileStore{path: "dir/record", files: d}
	mustCommit(t, s, history()[0])
	d.liesInDirs = true
	want := mustCommit(t, s, history()[1])
	d.liesInDirs = false
	reverted := 0
	for left := range d.crashes {
		if got, err := (&FileStore{path: "dir/record", files: left}).Load(ctx); err != nil || !cmp.Equal(got, want) {
			reverted++
		}
	}
	if reverted == 0 {
		t.Fatal("the writer's crash loses nothing: the test shows nothing")
	}
	if got, err := (&FileStore{path: "dir/record", files: d}).Load(ctx); err != nil || !cmp.Equal(got, want) {
		t.Fatalf("read: %+v, %v", got, err)
	}
	for left := range d.crashes {
		if got, err := (&FileStore{path: "dir/record", files: left}).Load(ctx); err != nil || !cmp.Equal(got, want) {
			t.Fatalf("read again after a crash: %+v, %v; want %+v", got, err, want)
		}
	}
}

// The negative side: the enumeration finds a store that does not sync.
func TestTheEnumerationFindsWhatWasNotSynced(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct{ files, dirs bool }{"the file": {files: true}, "the directory": {dirs: true}} {
		d := newDisk()
		d.lies, d.liesInDirs = c.files, c.dirs
		s := &FileStore{path: "dir/record", files: d}
		mustCommit(t, s, history()[0])
		want := mustCommit(t, s, history()[1])
		torn, lost := 0, 0
		var corrupt *CorruptError
		for left := range d.crashes {
			got, err := (&FileStore{path: "dir/record", files: left}).Load(ctx)
			switch {
			case errors.As(err, &corrupt):
				torn++
			case err == nil && !cmp.Equal(got, want):
				lost++
			}
		}
		if c.files && torn == 0 || c.dirs && lost == 0 {
			t.Errorf("%s not synced: %d torn, %d lost", name, torn, lost)
		}
	}
}

// An operation that fails is no harm: what was durable stays so, and the store
// goes on, however far the operation came.
func TestAFailedOperationLeavesAStoreThatGoesOn(t *testing.T) {
	ctx := context.Background()
	fault := errors.New("disk full")
	uncertain := 0
	for at := 1; ; at++ {
		d := newDisk()
		s := &FileStore{path: "dir/record", files: d}
		mustCommit(t, s, history()[0])
		before := mustCommit(t, s, history()[1])
		n := 0
		d.step = func() error {
			if n++; n == at {
				return fault
			}
			return nil
		}
		ch := history()[2]
		after, _ := ch.Apply(before)
		got, err := s.Commit(ctx, ch, nil)
		if n < at {
			break // every operation had its turn
		}
		if !errors.Is(err, fault) {
			t.Fatalf("operation %d failed, and the commit said %v, %v", at, got, err)
		}
		d.step = func() error { return nil }
		if errors.Is(err, ErrUncertain) {
			uncertain++
		}
		// The fence is always written, upon what is really there.
		fenced, err := s.Commit(ctx, Change{Kind: FenceEpoch, Epoch: 1, Reason: spec.ReasonCommitFailed}, nil)
		if err != nil || fenced.State != RecordFenced {
			t.Fatalf("operation %d failed, then the fence: %v", at, err)
		}
		if fenced.Version != before.Version+1 && fenced.Version != after.Version+1 {
			t.Errorf("operation %d failed: version %d", at, fenced.Version)
		}
		loaded, err := (&FileStore{path: "dir/record", files: d}).Load(ctx)
		if err != nil || !cmp.Equal(loaded, fenced) {
			t.Errorf("operation %d failed: loaded %+v, %v", at, loaded, err)
		}
	}
	if uncertain == 0 {
		t.Error("no failure left anything uncertain")
	}
}

// Two holders of one record: the one that did not write last is refused (R30).
func TestTwoHoldersOfOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	first, second := OpenFile(path), OpenFile(path)
	mustCommit(t, first, history()[0])
	if _, err := second.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, first, history()[1])
	for name, ch := range map[string]Change{
		"an advance": {Kind: AdvanceToken, Epoch: 1, Before: at(0, 0, 0), After: at(1, 0, 1)},
		"a fence":    {Kind: FenceEpoch, Epoch: 1},
		"a call":     {Kind: AddCall, Epoch: 1, Call: Call{Request: 9}},
	} {
		if _, err := second.Commit(context.Background(), ch, nil); !errors.Is(err, spec.ReasonRecordStale) {
			t.Errorf("%s by the second: %v", name, err)
		}
	}
	mustCommit(t, first, history()[2])
	// Once it reads what is there, it may write, and the first may not.
	if _, err := second.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, second, history()[3])
	if _, err := first.Commit(context.Background(), history()[4], nil); !errors.Is(err, spec.ReasonRecordStale) {
		t.Errorf("the first, afterwards: %v", err)
	}
}

func TestAWriteWaitsForTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	held, err := osfile.Lock(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := osfile.Lock(path + ".lock"); !errors.Is(err, osfile.ErrLocked) {
		t.Fatalf("locked twice: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := OpenFile(path).Commit(ctx, history()[0], nil); !errors.Is(err, context.Canceled) {
		t.Errorf("while the lock is held: %v", err)
	}
	held.Close()
	mustCommit(t, OpenFile(path), history()[0])
}

func TestOnlyTheOwnerReadsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(path+".tmp", []byte("left by a crash"), 0o666); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, OpenFile(path), history()[0])
	for _, name := range []string{path, path + ".lock"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// What was damaged is never guessed at.
func TestADamagedFileIsRefused(t *testing.T) {
	r := Record{}
	for _, ch := range history()[:6] {
		r, _ = ch.Apply(r)
	}
	good, err := encodeRecord(r)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeRecord("record", good); err != nil || !cmp.Equal(got, r) {
		t.Fatalf("read back: %+v, %v", got, err)
	}
	refused := func(what string, content []byte) {
		t.Helper()
		var corrupt *CorruptError
		if got, err := decodeRecord("record", content); !errors.As(err, &corrupt) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	for i := range good {
		refused("cut", good[:i])
		for _, flip := range []byte{0x01, 0x20, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[i] ^= flip
			refused("flipped", bad)
		}
	}
	refused("empty", nil)
	refused("longer", append(bytes.Clone(good), '\n'))
	refused("twice", append(bytes.Clone(good), good...))
	body := bytes.Clone(good[bytes.IndexByte(good, '\n')+1:])
	refused("a field that is none", sealRecord(bytes.Replace(body, []byte(`"version"`), []byte(`"vursion"`), 1)))
	refused("a call that cannot be", sealRecord(bytes.Replace(body, []byte(`"next_request":3`), []byte(`"next_request":2`), 1)))
}

// RepeatOnCrash: applied, then recorded. LoseOnCrash: the other way round.
func TestWhatACrashBetweenTheTwoDoes(t *testing.T) {
	ctx := context.Background()
	changes := history()
	ev := Event{Stream: StreamID{1, 1}, ID: at(1, 1, 1), HasID: true, Payload: []byte("x")}
	start := func() *crashing {
		s := &crashing{Store: NewMemoryStore(Record{})}
		for _, ch := range changes[:3] {
			mustCommit(t, s, ch)
		}
		return s
	}
	t.Run("repeat", func(t *testing.T) {
		s, applied := start(), 0
		apply := func(Event) error { applied++; return nil }
		p := RepeatOnCrash(s, apply)
		p.Load(ctx)
		s.down = true // the process dies after apply
		if _, err := p.Commit(ctx, changes[3], []Event{ev}); err == nil || applied != 1 {
			t.Fatalf("%v, applied %d", err, applied)
		}
		s.down = false
		p = RepeatOnCrash(s, apply) // a new process
		p.Load(ctx)
		if _, err := p.Commit(ctx, changes[3], []Event{ev}); err != nil || applied != 2 {
			t.Errorf("after the restart: %v, applied %d, want a repeat", err, applied)
		}
	})
	t.Run("repeat, without a crash it does not", func(t *testing.T) {
		s, applied := start(), 0
		p := RepeatOnCrash(s, func(Event) error { applied++; return nil })
		p.Load(ctx)
		s.down = true
		p.Commit(ctx, changes[3], []Event{ev})
		s.down = false
		if _, err := p.Commit(ctx, changes[3], []Event{ev}); err != nil || applied != 1 {
			t.Errorf("%v, applied %d", err, applied)
		}
	})
	t.Run("repeat, what cannot be applied is not recorded", func(t *testing.T) {
		s, fault := start(), errors.New("no")
		p := RepeatOnCrash(s, func(Event) error { return fault })
		before, _ := p.Load(ctx)
		_, err := p.Commit(ctx, changes[3], []Event{ev})
		if after, _ := p.Load(ctx); !errors.Is(err, fault) || !cmp.Equal(before, after) {
			t.Errorf("%v, %+v", err, after)
		}
	})
	t.Run("repeat, what comes after the fence is not applied", func(t *testing.T) {
		s, applied := start(), 0
		p := RepeatOnCrash(s, func(Event) error { applied++; return nil })
		p.Load(ctx)
		mustCommit(t, p, Change{Kind: FenceEpoch, Epoch: 1})
		if _, err := p.Commit(ctx, changes[3], []Event{ev}); !errors.Is(err, spec.ReasonRecordStale) || applied != 0 {
			t.Errorf("%v, applied %d", err, applied)
		}
	})
	t.Run("lose", func(t *testing.T) {
		s, applied := start(), 0
		p := LoseOnCrash(s, func(Event) { applied++; panic("the process dies") })
		func() {
			defer func() { recover() }()
			p.Commit(ctx, changes[3], []Event{ev})
		}()
		// After the restart the record stands behind the event: it never comes again.
		r, _ := s.Load(ctx)
		if token, _ := r.Token(1); token.LastEventID != ev.ID || applied != 1 {
			t.Errorf("token %v, applied %d", token, applied)
		}
		s.down = true
		if _, err := LoseOnCrash(s, func(Event) { applied++ }).Commit(ctx, changes[4], []Event{ev}); err == nil || applied != 1 {
			t.Errorf("not recorded, and applied: %v, %d", err, applied)
		}
	})
}

// crashing is a store that can be down.
type crashing struct {
	Store
	down bool
}

func (c *crashing) Commit(ctx context.Context, ch Change, events []Event) (Record, error) {
	if c.down {
		return Record{}, errors.New("down")
	}
	return c.Store.Commit(ctx, ch, events)
}

// R30: one store passes from client to client, the next of which may be at it
// while the last one lets go; the race detector watches.
func TestFilePassesFromClientToClient(t *testing.T) {
	const clients, turns = 4, 10
	s := OpenFile(filepath.Join(t.TempDir(), "record"))
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for took := 0; took < turns; {
				_, release, err := lease(t.Context(), s)
				if errors.Is(err, spec.ReasonLeaseHeld) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				took++
				if err := release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if r, err := s.Load(t.Context()); err != nil || r.Lease != clients*turns {
		t.Errorf("lease %d, %v: want %d", r.Lease, err, clients*turns)
	}
}

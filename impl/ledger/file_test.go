package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/reattach/spec"
)

func onDisk(d *disk) *FileStore { return &FileStore{path: "dir/ledger", files: d} }

// Over the real file system: what was acknowledged is there in the next
// process, byte for byte, and the lock keeps a second one away meanwhile.
func TestAFileKeepsTheLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	r := newRig(t, OpenFile(path), Options{})
	name, subject := r.Name(), "a \xff\n\"subject\" <&>"
	k := r.key(1, 0)
	a, err := r.Arrive(subject, k, "digest")
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"result":{"text":"<b>&amp;"}}`
	if err := a.Execute.Finish([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(path).Open(); !errors.Is(err, ErrInUse) {
		t.Errorf("a second process: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	r.Close()
	r.restart()
	if r.Name() != name {
		t.Errorf("the name changed from %s to %s", name, r.Name())
	}
	if got, err := r.Query(subject, k); err != nil || string(got.Response) != text {
		t.Errorf("%s, %v", got.Response, err)
	}
	if got, err := r.Query("a", k); err != nil || got.State != spec.KeyNotExecuted {
		t.Errorf("another subject: %+v, %v", got, err)
	}
	r.Close()
}

// A ledger that is gone is another ledger (R28).
func TestAFileThatIsMissingHasAnotherName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	r := newRig(t, OpenFile(path), Options{})
	k := r.key(1, 0)
	finish(t, r.start(k))
	r.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.restart()
	defer r.Close()
	r.is(k, spec.KeyUnknown)
	r.refused(k, spec.ReasonKeyUnknown)
}

// Each process is a generation of its own: what the one before had started is
// unknown to the next.
func TestAFileBeginsAGeneration(t *testing.T) {
	d := newDisk()
	r := newRig(t, onDisk(d), Options{})
	k := r.key(1, 0)
	r.start(k)
	r.Close()
	r.restart()
	r.is(k, spec.KeyUnknown)
	r.refused(k, spec.ReasonKeyUnknown)
}

// Behind a line that was not acknowledged none follows: what is at the end of
// the file is not known.
func TestNothingIsAppendedBehindALineThatFailed(t *testing.T) {
	d := newDisk()
	f := onDisk(d)
	image, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	d.step = func() error { return errDisk }
	if err := f.Append(image.Generation, Batch{Horizon: 1}); !errors.Is(err, errDisk) {
		t.Fatal(err)
	}
	d.step = func() error { return nil }
	if err := f.Append(image.Generation, Batch{Horizon: 1}); err == nil {
		t.Fatal("a line was appended")
	}
	if err := f.Rewrite(image); err != nil {
		t.Fatal(err)
	}
	if err := f.Append(image.Generation, Batch{Horizon: 1}); err != nil {
		t.Fatalf("after a rewrite: %v", err)
	}
	if err := f.Append(image.Generation+1, Batch{Horizon: 2}); !errors.Is(err, ErrSuperseded) {
		t.Errorf("of another generation: %v", err)
	}
}

// A file is rewritten when most of it is outdated.
func TestAFileIsCompacted(t *testing.T) {
	d := newDisk()
	r := newRig(t, onDisk(d), Options{Entries: 8, Age: time.Hour, Keep: time.Second, ResponseBytes: 1 << 20, Bytes: 16 << 20})
	large := []byte(`{"result":"` + strings.Repeat("x", 200_000) + `"}`)
	for n := range 40 {
		r.now = r.now.Add(time.Minute)
		if err := r.start(r.key(n, 0)).Finish(large); err != nil {
			t.Fatal(err)
		}
		if size := len(d.names["dir/ledger"].data); size > 3*8*200_000+2*slack {
			t.Fatalf("after %d calls the file has %d bytes", n+1, size)
		}
	}
	r.Close()
	r.restart()
	r.is(r.key(39, 0), spec.KeyExecuted)
}

// The history of the crash tests: every kind of change, with what each step
// promised when it was acknowledged.
func (r *rig) history(acknowledged func(key spec.Key, state State)) {
	keys := make([]spec.Key, 6)
	for n := range keys {
		keys[n] = r.key(n, time.Duration(10-n)*time.Minute)
	}
	for n, k := range keys[:3] {
		run := r.start(k)
		acknowledged(k, Started)
		if n != 1 {
			finish(r.t, run)
			acknowledged(k, Done)
		}
	}
	r.is(keys[3], spec.KeyNotExecuted)
	acknowledged(keys[3], Sealed)
	finish(r.t, r.start(keys[4])) // the ledger is full: the horizon rises
	acknowledged(keys[4], Done)
	r.broken = errDisk // the store is rewritten
	r.start(keys[5])
	acknowledged(keys[5], Started)
}

var small = Options{Entries: 4, Age: time.Hour, Keep: time.Minute}

// A crash at any instant of any change, with whatever was not synced dropped or
// torn: what was acknowledged is true of what is found, or the ledger has
// another name. And the horizon never falls.
func TestACrashKeepsWhatWasAcknowledged(t *testing.T) {
	d := newDisk()
	known := map[spec.Key]State{}
	name, states, less, more := "", 0, 0, 0
	var horizon uint64
	check := func() error {
		for left := range d.crashes {
			states++
			store := onDisk(left)
			image, err := store.Open()
			if err != nil {
				t.Fatalf("after a crash: %v", err)
			}
			if name == "" {
				continue // nobody was told the name yet
			}
			if image.Name != name || image.Horizon < horizon {
				t.Fatalf("after a crash: name %s, horizon %d; had %s and %d", image.Name, image.Horizon, name, horizon)
			}
			found := map[spec.Key]State{}
			for _, e := range image.Entries {
				found[e.Key] = e.State
			}
			for k, state := range known {
				got := found[k]
				switch {
				case k.Minted < image.Horizon: // unknown
				case got == state:
				case state == Started && got == Done: // its outcome was being written
				default:
					t.Fatalf("after a crash: %s is %q, it was %q", k, got, state)
				}
			}
			if len(found) > len(known) {
				more++
			} else {
				less++
			}
		}
		return nil
	}
	d.step = check
	r := newRig(t, onDisk(d), small)
	name = r.Name()
	r.history(func(k spec.Key, s State) {
		known[k], horizon = s, r.horizon
		check()
	})
	if states < 1000 || less == 0 || more == 0 || horizon == 0 {
		t.Errorf("%d states, %d with what was being written, %d without, horizon %d", states, more, less, horizon)
	}
	t.Logf("%d states", states)
}

// A second crash, at any instant of the opening after the first one, takes
// nothing of what that opening found.
func TestASecondCrashTakesNothing(t *testing.T) {
	d := newDisk()
	first, second, torn := 0, 0, 0
	d.step = func() error {
		for left := range d.crashes {
			if first++; first%47 != 0 || left.names["dir/ledger"] == nil { // some of them: there are many
				continue
			}
			found, cut, err := decodeFile("ledger", left.names["dir/ledger"].data)
			if err != nil {
				t.Fatal(err)
			}
			if cut {
				torn++
			}
			left.step = func() error {
				for twice := range left.crashes {
					second++
					image, err := onDisk(twice).Open()
					if err != nil || image.Name != found.Name || image.Horizon != found.Horizon || len(image.Entries) != len(found.Entries) ||
						image.Generation <= found.Generation {
						t.Fatalf("after a second crash: %+v, %v; the first one left %+v", image, err, found)
					}
				}
				return nil
			}
			if _, err := onDisk(left).Open(); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	r := newRig(t, onDisk(d), small)
	r.history(func(spec.Key, State) {})
	if first < 1000 || second < 10_000 || torn == 0 {
		t.Errorf("%d states of a first crash, %d of them torn, %d states of a second", first, torn, second)
	}
}

// The tests above notice a store that does not sync, and one that does not
// sync the directory.
func TestAStoreThatDoesNotSyncIsNoticed(t *testing.T) {
	for _, lie := range []func(*disk){func(d *disk) { d.lies = true }, func(d *disk) { d.liesInDirs = true }} {
		d := newDisk()
		r := newRig(t, onDisk(d), small)
		lie(d)
		k := r.key(1, 0)
		finish(t, r.start(k))
		r.broken = errDisk
		r.start(r.key(2, 0))
		lost := 0
		for left := range d.crashes {
			image, err := onDisk(left).Open()
			if err != nil || len(image.Entries) != 2 {
				lost++
			}
		}
		if lost == 0 {
			t.Error("nothing was lost")
		}
	}
}

// Every operation of the file system fails once, everywhere in the history: no
// promise is broken by it, and the ledger works again afterwards.
func TestEveryOperationFailsOnce(t *testing.T) {
	failed := 0
	for at := range 200 {
		d := newDisk()
		r := newRig(t, onDisk(d), small)
		n := 0
		d.step = func() error {
			if n++; n == at+1 {
				failed++
				return errDisk
			}
			return nil
		}
		ran, done, sealed := map[spec.Key]int{}, map[spec.Key]bool{}, map[spec.Key]bool{}
		for try := range 3 {
			for n := range 3 {
				k := r.key(n, time.Duration(n)*time.Second)
				a, err := r.Arrive("", k, "digest")
				switch {
				case err == nil && a.Execute != nil:
					if ran[k]++; ran[k] > 1 || sealed[k] {
						t.Fatalf("operation %d failed: %s ran again", at, k)
					}
					done[k] = a.Execute.Finish(response) == nil
				case err != nil && !errors.Is(err, spec.ReasonLedgerUnavailable) && !errors.Is(err, spec.ReasonKeyUnknown):
					t.Fatalf("operation %d failed: %v", at, err)
				}
			}
			q := r.key(10+try, 0)
			if got, err := r.Query("", q); err == nil && got.State == spec.KeyNotExecuted {
				sealed[q] = true
			}
			if try == 1 {
				r.Close()
				r.store.Store = onDisk(d)
				l, err := New(r.store, r.opts)
				if err != nil { // once, and then it works
					l, err = New(r.store, r.opts)
				}
				if err != nil {
					t.Fatal(err)
				}
				r.Ledger = l
			}
		}
		for k := range done {
			if got, err := r.Query("", k); err != nil || got.State != spec.KeyExecuted && (done[k] || got.State != spec.KeyUnknown) {
				t.Fatalf("operation %d failed: %s is %+v, %v", at, k, got, err)
			}
		}
		for k := range sealed {
			r.refused(k, spec.ReasonKeySealed)
		}
		if n < at {
			break
		}
	}
	if failed < 20 {
		t.Errorf("%d operations failed", failed)
	}
}

// content is a file with an image of two lines and three lines appended.
func content(t testing.TB) []byte {
	d := newDisk()
	r := newRig(t, onDisk(d), Options{})
	finish(t, r.start(r.key(1, 0)))
	r.is(r.key(2, 0), spec.KeyNotExecuted)
	r.Close()
	r.restart()
	finish(t, r.start(r.key(3, 0)))
	r.is(r.key(4, 0), spec.KeyNotExecuted)
	return bytes.Clone(d.names["dir/ledger"].data)
}

// Damage is refused, wherever it is but in the last line's end; there it is a
// line that was being written.
func TestDamageIsRefused(t *testing.T) {
	whole := content(t)
	lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	if len(lines) != 6 {
		t.Fatalf("%d lines", len(lines))
	}
	without := func(n int) []byte { return bytes.Join(append(append([][]byte{}, lines[:n]...), lines[n+1:]...), nil) }
	damaged := map[string][]byte{
		"empty": {}, "zeros": make([]byte, 100), "no head": without(0), "half an image": bytes.Join(lines[:2], nil),
		"torn in the image": whole[:len(lines[0])+len(lines[1])/2],
		"two lines changed": append(bytes.Join([][]byte{lines[0], lines[1], lines[3], lines[2], lines[4], lines[5]}, nil), '\n'),
		"a line twice":      append(bytes.Join(append(lines, lines[5]), []byte{}), '\n'),
	}
	for n := 1; n < 5; n++ {
		damaged[fmt.Sprint("without line ", n)] = append(without(n), '\n')
	}
	for at := range whole {
		if at == len(whole)-1 {
			continue // the last end of a line: it may not have been written yet
		}
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1
		damaged[fmt.Sprint("a bit of byte ", at)] = flipped
	}
	for name, text := range damaged {
		d := newDisk()
		d.names["dir/ledger"] = &inode{text, text}
		var corrupt *CorruptError
		if _, err := onDisk(d).Open(); !errors.As(err, &corrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if len(d.locks) != 0 {
			t.Fatalf("%s: the lock is kept", name)
		}
		image, err := onDisk(d).ReplaceDamaged().Open()
		if err != nil || len(image.Entries) != 0 || bytes.Contains(whole, []byte(image.Name)) {
			t.Errorf("%s: replaced by %+v, %v", name, image, err)
		}
		if kept := d.names["dir/ledger.damaged"]; kept == nil || !bytes.Equal(kept.data, text) {
			t.Errorf("%s: the damaged file is not kept", name)
		}
	}
	last := len(whole) - len(lines[5]) - 1
	for cut := last; cut < len(whole); cut++ {
		for _, zeros := range []int{0, len(whole) - cut} {
			d := newDisk()
			text := append(bytes.Clone(whole[:cut]), make([]byte, zeros)...)
			d.names["dir/ledger"] = &inode{text, text}
			if image, err := onDisk(d).Open(); err != nil || len(image.Entries) != 3 {
				t.Fatalf("cut at %d, %d zeros: %d entries, %v", cut, zeros, len(image.Entries), err)
			}
		}
	}
}

// A file that was not written here is refused typed and never makes a ledger
// that contradicts itself; one that is taken reads the same when it is written
// again.
func FuzzLedgerFile(f *testing.F) {
	// Short seeds: a fuzzer minimizes what it finds, byte by byte.
	d := newDisk()
	r := newRig(f, onDisk(d), Options{})
	f.Add(bytes.Clone(d.names["dir/ledger"].data))
	r.is(r.key(1, 0), spec.KeyNotExecuted)
	f.Add(bytes.Clone(d.names["dir/ledger"].data))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, sealed := range [][]byte{text, reseal(text)} {
			image, _, err := decodeFile("ledger", sealed)
			if err != nil {
				var corrupt *CorruptError
				if !errors.As(err, &corrupt) {
					t.Fatalf("an untyped refusal: %v", err)
				}
				continue
			}
			again, _, err := encodeImage(image)
			if err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
			if other, torn, err := decodeFile("ledger", again); err != nil || torn || len(other.Entries) != len(image.Entries) || other.Horizon != image.Horizon {
				t.Fatalf("written again it reads %+v, %v; it was %+v", other, err, image)
			}
		}
	})
}

// reseal gives every line a checksum and a number that fit, so that a fuzzer
// gets behind them.
func reseal(text []byte) (sealed []byte) {
	for n, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		if i := bytes.IndexByte(line, '{'); i >= 0 {
			line = line[i:]
		}
		rest := fmt.Appendf(nil, "%d %s", n, line)
		sealed = fmt.Appendf(sealed, "%s %s\n", checksum(rest), rest)
	}
	return sealed
}

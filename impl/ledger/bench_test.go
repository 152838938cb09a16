package ledger

import (
	"path/filepath"
	"testing"
	"time"
)

// What a call costs the ledger: its start and its outcome, with a response of
// 200 bytes.
func BenchmarkCall(b *testing.B) {
	stores := map[string]func(*testing.B) Store{
		"memory": func(*testing.B) Store { return NewMemoryStore() },
		"file":   func(b *testing.B) Store { return OpenFile(filepath.Join(b.TempDir(), "ledger")) },
	}
	response := append(append([]byte(`{"result":"`), make([]byte, 0, 200)...), `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`...)
	for name, open := range stores {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, open(b), Options{Keep: time.Millisecond})
			defer r.Close()
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				r.now = r.now.Add(time.Millisecond)
				if err := r.start(r.key(n, 0)).Finish(response); err != nil {
					b.Fatal(err)
				}
			}
			if r.Stats().Entries > DefaultEntries {
				b.Fatal("the bound does not hold")
			}
		})
	}
}

// What a full ledger costs to open and to rewrite.
func BenchmarkOpenFull(b *testing.B) {
	path := filepath.Join(b.TempDir(), "ledger")
	store := OpenFile(path)
	image, err := store.Open()
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{now: time.UnixMilli(1_800_000_000_000), Ledger: &Ledger{name: image.Name}}
	for n := range DefaultEntries {
		image.Entries = append(image.Entries, Entry{Key: r.key(n, 0), State: Done, Digest: "d", Generation: image.Generation, Response: response})
	}
	if err := store.Rewrite(image); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(store.size)
	store.Close()
	for b.Loop() {
		s := OpenFile(path)
		if i, err := s.Open(); err != nil || len(i.Entries) != DefaultEntries {
			b.Fatal(err)
		}
		s.Close()
	}
}

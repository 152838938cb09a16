package storetest_test

import (
	"os"
	"path/filepath"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/session/filestore"
	"example.com/reattach/impl/session/storetest"
)

func TestMemoryStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Harness {
		s := session.NewMemoryStore()
		open := func(testing.TB) session.Store { return s }
		return storetest.Harness{Open: open, Beside: open}
	})
}

// A file is one process's at a time. What is lost is what was written after a
// copy was made of it, and whoever puts a copy back says so.
func TestFileStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		path := filepath.Join(t.TempDir(), "sessions")
		var last *filestore.Store
		open := func(t testing.TB) session.Store {
			if last != nil {
				last.Close()
			}
			s, err := filestore.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			last = s
			t.Cleanup(func() { s.Close() })
			return s
		}
		return storetest.Harness{Open: open, Lose: func(t testing.TB) session.Store {
			last.Close()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, withoutLastLine(text), 0o600); err != nil {
				t.Fatal(err)
			}
			open(t)
			if err := last.Renew(); err != nil {
				t.Fatal(err)
			}
			return last
		}}
	})
}

func withoutLastLine(text []byte) []byte {
	for end := len(text) - 1; end > 0; end-- {
		if text[end-1] == '\n' {
			return text[:end]
		}
	}
	return nil
}

// Each way to get a store wrong is noticed, and by the check that is named for
// it. Without a fault the same store passes.
func TestWrongStoresFail(t *testing.T) {
	for _, c := range []struct {
		fault   fault
		noticed string
	}{
		{fault: none},
		{unconditional, "an append is conditional on the seq"},
		{holdUnchecked, "an append is conditional on the hold"},
		{generationUnchecked, "an append is conditional on the hold"},
		{failureUsesSeq, "what fails changes nothing"},
		{beginsAnew, "what fails changes nothing"},
		{notDurable, "what is acknowledged is durable"},
		{generationStays, "what was lost changes the generation"},
		{takeFencesNothing, "a take ends the terms before it"},
		{lags, "a read knows what was acknowledged"},
		{confirmsFromMemory, "a read knows what was acknowledged"},
		{tombstonesForgotten, "an end stays"},
		{revived, "an end stays"},
		{subjectUnchecked, "another subject finds nothing"},
		{strangerTakes, "another subject finds nothing"},
		{aliased, "what is given is copied"},
		{lendsItsOwn, "what is given is copied"},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			var noticed []string
			for _, check := range storetest.Checks() {
				if err := check.Fails(t, newWrong(c.fault).harness()); err != nil {
					noticed = append(noticed, check.Name)
					if check.Name == c.noticed {
						t.Log(err)
						return
					}
				}
			}
			if c.noticed != "" || noticed != nil {
				t.Errorf("noticed by %q, want by %q", noticed, c.noticed)
			}
		})
	}
}

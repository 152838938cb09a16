package storetest_test

import (
	"path/filepath"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/client/storetest"
)

func TestMemoryStore(t *testing.T) {
	s := client.NewMemoryStore(client.Record{})
	storetest.Run(t, func(*testing.T) client.Store { return s })
}

func TestFileStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	storetest.Run(t, func(*testing.T) client.Store { return client.OpenFile(path) })
}

// The policies of a crash keep what the store beneath promises, its lock too.
func TestPolicies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	storetest.Run(t, func(*testing.T) client.Store {
		return client.RepeatOnCrash(client.OpenFile(path), func(client.Event) error { return nil })
	})
	storetest.Run(t, func(*testing.T) client.Store {
		return client.LoseOnCrash(client.OpenFile(path), func(client.Event) {})
	})
}

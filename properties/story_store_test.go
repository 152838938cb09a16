package properties

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// Stories of the client's record, and of when it is written.

// The session ends at the server after the fence is durable, and not before
// (R22). The store shows the order.
type orderedStore struct {
	client.Store
	server *scripted
	early  atomic.Int32
}

func (o *orderedStore) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	if ch.Kind == client.FenceEpoch {
		time.Sleep(50 * time.Millisecond)
		o.server.mu.Lock()
		o.early.Add(int32(o.server.deletes))
		o.server.mu.Unlock()
	}
	return o.Store.Commit(ctx, ch, events)
}

func TestStoryDeleteComesAfterTheFence(t *testing.T) {
	s := newScripted(t)
	s.begins(1)
	s.onResume = func(w http.ResponseWriter, n int, cursor string) { w.WriteHeader(http.StatusConflict) }
	store := &orderedStore{Store: client.NewMemoryStore(client.Record{}), server: s}
	c, _ := dial(t, s.URL, streamhttp.DialOptions{Store: store})
	if _, err := work(c); err == nil {
		t.Error("the call was answered")
	}
	for range 2000 {
		if s.count(&s.deletes) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if n := s.count(&s.deletes); n != 1 || store.early.Load() != 0 {
		t.Errorf("%d DELETEs, %d of them before the fence was durable", n, store.early.Load())
	}
}

// What the record of the stories below begins with: an epoch whose standalone
// stream stands at position 0.
var (
	recordTag  = spec.TagOf("s", "")
	beginEpoch = client.Change{Kind: client.BeginEpoch, Session: "s", Tag: recordTag, Standalone: idOfRecord(0)}
)

func idOfRecord(n uint64) string {
	return spec.EventID{Tag: spec.TagOf("s", ""), Seq: n, Ordinal: n}.String()
}

// The file of a record: its owner's only; of two who hold it one writes; what
// was changed in it is refused and never guessed at (R20, R30).
func TestStoryFileOfARecord(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "record")
	a, b := client.OpenFile(path), client.OpenFile(path)
	if _, err := b.Load(ctx); err != nil {
		t.Fatal(err)
	}
	want, err := a.Commit(ctx, beginEpoch, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(ctx, beginEpoch, nil); !errors.Is(err, spec.ReasonRecordStale) {
		t.Errorf("the other holder's write: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o600 {
		t.Errorf("the file's mode is %v", mode)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range content {
		damaged := slices.Clone(content)
		damaged[i] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		var corrupt *client.CorruptError
		if _, err := client.OpenFile(path).Load(ctx); !errors.As(err, &corrupt) {
			t.Fatalf("byte %d of %d changed: %v", i, len(content), err)
		}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := client.OpenFile(path).Load(ctx); err != nil || got.SessionID != want.SessionID {
		t.Errorf("and as it was: %+v, %v", got, err)
	}
}

// A failing store fails when it is told to, and notes when it commits.
type failingStore struct {
	client.Store
	fail  bool
	order *[]string
}

func (f *failingStore) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	if f.fail {
		return client.Record{}, io.ErrShortWrite
	}
	*f.order = append(*f.order, "commit")
	return f.Store.Commit(ctx, ch, events)
}

// What the two policies of a crash mean: the one applies first and commits
// then, the other commits first; neither applies what comes too late (R20, R22).
func TestStoryCrashPolicies(t *testing.T) {
	ctx := t.Context()
	advance := func(n uint64) (client.Change, []client.Event) {
		return client.Change{Kind: client.AdvanceToken, Epoch: 1, Before: idOfRecord(n - 1), After: idOfRecord(n)},
			[]client.Event{{Stream: client.StreamID{Epoch: 1}, ID: idOfRecord(n), HasID: true, Payload: []byte("x")}}
	}
	for name, policy := range map[string]func(client.Store, func(string)) client.Store{
		"repeat": func(s client.Store, apply func(string)) client.Store {
			return client.RepeatOnCrash(s, func(ev client.Event) error { apply(ev.ID); return nil })
		},
		"lose": func(s client.Store, apply func(string)) client.Store {
			return client.LoseOnCrash(s, func(ev client.Event) { apply(ev.ID) })
		},
	} {
		var order []string
		inner := &failingStore{Store: client.NewMemoryStore(client.Record{}), order: &order}
		s := policy(inner, func(id string) { order = append(order, "apply "+id) })
		if _, err := s.Load(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(ctx, beginEpoch, nil); err != nil {
			t.Fatal(err)
		}
		order = nil
		ch, events := advance(1)
		inner.fail = true
		if _, err := s.Commit(ctx, ch, events); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s: a commit that fails: %v", name, err)
		}
		inner.fail = false
		if _, err := s.Commit(ctx, ch, events); err != nil {
			t.Errorf("%s: and again: %v", name, err)
		}
		want := []string{"apply " + idOfRecord(1), "commit"} // applied by the first try, once
		if name == "lose" {
			want = []string{"commit", "apply " + idOfRecord(1)}
		}
		same(t, name, order, want)

		order = nil
		if _, err := s.Commit(ctx, client.Change{Kind: client.FenceEpoch, Epoch: 1}, nil); err != nil {
			t.Fatal(err)
		}
		late, events := advance(2)
		if _, err := s.Commit(ctx, late, events); !errors.Is(err, spec.ReasonRecordStale) {
			t.Errorf("%s: what comes after the fence: %v", name, err)
		}
		same(t, name+", after the fence", order, []string{"commit", "commit"}[:len(order)])
	}
}

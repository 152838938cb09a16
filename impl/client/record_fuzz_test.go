package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Whatever a record's file says, with a checksum that is right: it is refused,
// or it is a record that a core starts from and that is written as it is.
func FuzzARecordFromOutside(f *testing.F) {
	r := Record{}
	for _, ch := range history() {
		r, _ = ch.Apply(r)
		content, err := encodeRecord(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content[len(content)-len(body(content)):])
	}
	f.Add([]byte(`{"version":1,"epoch":1,"state":1,"session":"x","tag":"0123456789abcdef0123456789abcdef","next_request":3,"calls":[{"request":1},{"request":2}],"streams":[{"request":1,"last_event_id":"opaque"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decodeRecord("record", sealRecord(body))
		if err != nil {
			return
		}
		if _, _, err := NewCore(r, CoreOptions{}); err != nil {
			t.Fatalf("no core of %+v: %v", r, err)
		}
		content, err := encodeRecord(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeRecord("record", content)
		if err != nil || !cmp.Equal(r, again, cmpopts.EquateEmpty()) { // none is none, however it was written
			t.Fatalf("written and read: %v\n%s", err, cmp.Diff(r, again, cmpopts.EquateEmpty()))
		}
	})
}

func body(content []byte) []byte {
	for i, b := range content {
		if b == '\n' {
			return content[i+1:]
		}
	}
	return nil
}

// One event through the core and the memory store's change.
func BenchmarkDeliver(b *testing.B) {
	g := newRig(b, Record{}, CoreOptions{})
	g.open()
	id, conn := g.streaming(1)
	events := make([]Event, 1024)
	b.ReportAllocs()
	n := uint64(0)
	for b.Loop() {
		i := n % uint64(len(events))
		if i == 0 {
			b.StopTimer()
			for k := range events {
				events[k] = message(at(n+uint64(k)+1, 1, n+uint64(k)+1))
			}
			b.StartTimer()
		}
		actions, err := g.core.EventArrives(id, conn, events[i])
		if err != nil {
			b.Fatal(err)
		}
		if g.durable, err = actions[0].Change.Apply(g.durable); err != nil {
			b.Fatal(err)
		}
		if _, err := g.core.StreamCommitted(id, g.durable); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

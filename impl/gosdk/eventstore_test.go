package gosdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	"example.com/reattach/spec"
)

func newStore(t *testing.T, o gosdk.EventStoreOptions) *gosdk.EventStore {
	t.Helper()
	s, err := gosdk.NewEventStore(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// after returns what a store has behind an index.
func after(s *gosdk.EventStore, session, stream string, index int) (events []string, err error) {
	for data, err := range s.After(context.Background(), session, stream, index) {
		if err != nil {
			return events, err
		}
		events = append(events, string(data))
	}
	return events, nil
}

func fill(t *testing.T, s *gosdk.EventStore, session, stream string, events ...string) {
	t.Helper()
	if err := s.Open(context.Background(), session, stream); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := s.Append(context.Background(), session, stream, []byte(e)); err != nil {
			t.Fatal(err)
		}
	}
}

// What is behind a position comes whole and in order; what is not, is refused
// before anything is yielded (R4, R5), also with nothing retained at all.
func TestEventStoreKeepsToPositions(t *testing.T) {
	s := newStore(t, gosdk.EventStoreOptions{WindowEvents: 4})
	fill(t, s, "a", "x", "x0", "x1")
	fill(t, s, "a", "y", "y0", "y1", "y2")   // evicts x0
	fill(t, s, "b", "x", "0", "1", "2", "3") // another session's traffic evicts nothing here
	for _, test := range []struct {
		session, stream string
		index           int
		want            []string
		err             error
	}{
		{"a", "x", -1, nil, mcp.ErrEventsPurged},
		{"a", "x", 0, []string{"x1"}, nil},
		{"a", "x", 1, nil, nil},
		{"a", "x", 2, nil, spec.ReasonCursorAhead},
		{"a", "x", 1 << 40, nil, spec.ReasonCursorAhead},
		{"a", "y", -1, []string{"y0", "y1", "y2"}, nil},
		{"a", "y", 0, []string{"y1", "y2"}, nil},
		{"a", "z", 0, nil, spec.ReasonCursorUnissued},
		{"c", "x", 0, nil, spec.ReasonSessionUnknown},
		{"b", "x", 2, []string{"3"}, nil},
	} {
		got, err := after(s, test.session, test.stream, test.index)
		if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%s %s after %d: %q, %v; want %q, %v", test.session, test.stream, test.index, got, err, test.want, test.err)
		}
	}
	fill(t, s, "a", "y", "y3", "y4", "y5", "y6")
	if got, err := after(s, "a", "x", 0); !errors.Is(err, spec.ReasonCursorEvicted) {
		t.Errorf("an evicted cursor: %q, %v", got, err)
	}
	if got, err := after(s, "a", "x", 1); err != nil || len(got) > 0 {
		t.Errorf("a cursor at the head of a stream of which nothing is retained: %q, %v; nothing was missed", got, err)
	}
}

// What is yielded is the caller's: the window's memory is not lent out.
func TestEventStoreLendsNothing(t *testing.T) {
	s := newStore(t, gosdk.EventStoreOptions{WindowEvents: 2})
	fill(t, s, "a", "x", "first", "second")
	var got [][]byte
	for data := range s.After(context.Background(), "a", "x", -1) {
		got = append(got, data)
		fill(t, s, "a", "x", "other") // changes the window while somebody reads
	}
	if !bytes.Equal(got[0], []byte("first")) || !bytes.Equal(got[1], []byte("second")) {
		t.Errorf("got %q", got)
	}
}

// Ends are final, caps refuse, ages evict (R3, R6).
func TestEventStoreIsBounded(t *testing.T) {
	ctx := context.Background()
	now := time.Now()
	s := newStore(t, gosdk.EventStoreOptions{
		Sessions: 2, Streams: 3, WindowAge: time.Minute, SessionBudget: time.Hour, Now: func() time.Time { return now },
	})
	fill(t, s, "a", "", "standalone")
	fill(t, s, "a", "x", "x0")
	fill(t, s, "a", "y")
	fill(t, s, "a", "z", "z0") // x, the oldest call, makes room
	if _, err := after(s, "a", "x", 0); !errors.Is(err, spec.ReasonCursorUnissued) {
		t.Errorf("a forgotten stream: %v", err)
	}
	if err := s.Append(ctx, "a", "x", nil); err == nil {
		t.Error("a forgotten stream takes events")
	}
	if got, err := after(s, "a", "", -1); err != nil || len(got) != 1 {
		t.Errorf("the standalone stream: %q, %v", got, err)
	}
	now = now.Add(2 * time.Minute)
	if _, err := after(s, "a", "z", -1); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("behind an event that was too old: %v", err)
	}
	if got, err := after(s, "a", "z", 0); err != nil || len(got) > 0 {
		t.Errorf("at the head, when everything was too old: %q, %v", got, err)
	}

	fill(t, s, "b", "")
	if err := s.Open(ctx, "c", ""); !errors.Is(err, spec.ReasonTooManySessions) {
		t.Errorf("a third session: %v", err)
	}
	if err := s.SessionClosed(ctx, "b"); err != nil {
		t.Error(err)
	}
	if err := s.Open(ctx, "b", ""); !errors.Is(err, spec.ReasonSessionTerminated) {
		t.Errorf("an ended session, opened again: %v", err)
	}
	fill(t, s, "c", "")
	now = now.Add(2 * time.Hour) // a is over its budget
	fill(t, s, "d", "")
	if err := s.Append(ctx, "a", "z", nil); !errors.Is(err, spec.ReasonSessionUnknown) {
		t.Errorf("a session over its budget: %v", err)
	}
}

// An event that is too large is not recorded, and the positions behind it stay
// where the SDK counts them; what would need it is refused.
func TestEventStoreCountsWhatItCannotKeep(t *testing.T) {
	s := newStore(t, gosdk.EventStoreOptions{EventBytes: 8, WindowBytes: 64})
	fill(t, s, "a", "x", "0")
	err := s.Append(context.Background(), "a", "x", []byte("much too large"))
	if !errors.Is(err, spec.ReasonEventTooLarge) {
		t.Fatalf("a large event: %v", err)
	}
	fill(t, s, "a", "x", "2")
	if got, err := after(s, "a", "x", 0); !errors.Is(err, mcp.ErrEventsPurged) {
		t.Errorf("behind 0: %q, %v", got, err)
	}
	if got, err := after(s, "a", "x", 1); err != nil || fmt.Sprint(got) != "[2]" {
		t.Errorf("behind the large one: %q, %v", got, err)
	}
}

func TestEventStoreOptions(t *testing.T) {
	for _, o := range []gosdk.EventStoreOptions{{WindowEvents: -1}, {WindowAge: -1}, {Sessions: -1}, {Streams: 1}, {SessionBudget: -1}, {EventBytes: -5}} {
		if _, err := gosdk.NewEventStore(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	newStore(t, gosdk.EventStoreOptions{}) // the zero value is useful
}

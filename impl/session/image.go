package session

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"sort"

	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// An Image is a session as a [Store] holds it: what outlives views, handlers
// and processes. It retains what the session's window does, and at most one
// event and the streams that were forgotten lately beside.
type Image struct {
	Subject string     // who opened it (R13)
	Note    []byte     // the application's
	State   spec.State // Live; Expired or Terminated: then the rest is empty
	At      int64      // of its newest entry, in milliseconds of Unix time
	Seq     uint64     // the newest one issued
	Evicted uint64     // all seqs up to this one are evicted
	Next    uint64     // number of the next stream
	Streams []StreamImage
	Events  []EventImage // of seq Evicted+1 … Seq
}

// A StreamImage is a stream that has a record; they are in order of Number.
type StreamImage struct {
	Number      uint64
	Finished    bool
	Floor, Head window.Position
	Attempt     spec.Attempt // the newest one that was granted (R10)
	Note        []byte       // of its call
}

// An EventImage is a retained event. Its seq is its place in Image.Events.
type EventImage struct {
	Stream, Ordinal uint64
	At              int64
	Payload         []byte
}

// An EntryKind says what an entry does.
type EntryKind uint8

const (
	OpensStream      EntryKind = 1 + iota // stream Stream opens, for the call that Data notes; Forgets is forgotten (R2, R3)
	AppendsEvent                          // the event (Seq+1, Stream, Ordinal, Data); with Last the stream is finished (R11)
	GrantsView                            // a view of Stream was granted to Attempt (R10)
	DescribesSession                      // Data is the session's note
	EndsSession                           // in State: a tombstone remains (R6)
)

var entryKindNames = [...]string{OpensStream: "OpensStream", AppendsEvent: "AppendsEvent", GrantsView: "GrantsView", DescribesSession: "DescribesSession", EndsSession: "EndsSession"}

func (k EntryKind) String() string {
	if int(k) < len(entryKindNames) && entryKindNames[k] != "" {
		return entryKindNames[k]
	}
	return fmt.Sprintf("EntryKind(%d)", uint8(k))
}

// An Entry is one change of a session's image.
type Entry struct {
	Kind    EntryKind
	Seq     uint64 // the newest one before it: what the entry presumes
	Evicted uint64 // all seqs up to this one are evicted
	At      int64  // when, in milliseconds of Unix time

	Stream  uint64
	Ordinal uint64
	Last    bool
	Forgets uint64 // number of a stream; 0: none, for that one is never forgotten
	Attempt spec.Attempt
	State   spec.State
	Data    []byte
}

// NewImage returns the image of a session that has just begun.
func NewImage(subject string, at int64) Image {
	return Image{Subject: subject, State: spec.Live, At: at, Next: 1, Streams: make([]StreamImage, 1)}
}

// Apply changes the image as the entry says, with copies of what it brings. If
// the image is not as the entry presumes nothing changes, and the error is an
// [ErrConflict].
func (m *Image) Apply(e Entry) error {
	if err := m.Presumed(e); err != nil {
		return err
	}
	s := m.stream(e.Stream)
	switch e.Kind {
	case OpensStream:
		m.forget(e.Forgets)
		m.Next++
		at := window.Position{Stream: e.Stream}
		m.Streams = append(m.Streams, StreamImage{Number: e.Stream, Floor: at, Head: at, Note: bytes.Clone(e.Data)})
	case AppendsEvent:
		m.Seq++
		s.Head, s.Finished = window.Position{Seq: m.Seq, Stream: e.Stream, Ordinal: e.Ordinal}, e.Last
		m.Events = append(m.Events, EventImage{e.Stream, e.Ordinal, e.At, bytes.Clone(e.Data)})
	case GrantsView:
		if s != nil && e.Attempt.Compare(s.Attempt) > 0 { // else its events are all evicted, and it lives for a view's sake
			s.Attempt = e.Attempt
		}
	case DescribesSession:
		m.Note = bytes.Clone(e.Data)
	case EndsSession:
		*m = Image{Subject: m.Subject, State: e.State, At: m.At, Seq: m.Seq}
	}
	m.At = max(m.At, e.At)
	m.evict(e.Evicted)
	return nil
}

// Presumed returns nil if the image is as the entry presumes, so that Apply
// would change it, and an [ErrConflict] if not.
func (m *Image) Presumed(e Entry) error {
	ok := m.State == spec.Live && e.Seq == m.Seq && e.Evicted <= e.Seq
	switch e.Kind {
	case OpensStream:
		ok = ok && e.Stream == m.Next && e.Stream != lastStream
	case AppendsEvent:
		s := m.stream(e.Stream)
		ok = ok && s != nil && !s.Finished && e.Ordinal == s.Head.Ordinal+1 && m.Seq != math.MaxUint64
	case EndsSession:
		ok = ok && (e.State == spec.Expired || e.State == spec.Terminated)
	case GrantsView, DescribesSession:
	default:
		ok = false
	}
	if !ok {
		return m.conflict(e)
	}
	return nil
}

func (m *Image) conflict(e Entry) error {
	return fmt.Errorf("%w: %v of stream %d presumes seq %d, it is %v at seq %d with %d streams opened",
		ErrConflict, e.Kind, e.Stream, e.Seq, m.State, m.Seq, m.Next)
}

// stream returns the stream of that number, or nil.
func (m *Image) stream(n uint64) *StreamImage {
	i := sort.Search(len(m.Streams), func(i int) bool { return m.Streams[i].Number >= n })
	if i == len(m.Streams) || m.Streams[i].Number != n {
		return nil
	}
	return &m.Streams[i]
}

func (m *Image) forget(n uint64) {
	m.Streams = slices.DeleteFunc(m.Streams, func(s StreamImage) bool { return s.Number == n && n != 0 })
}

// evict drops the events up to a seq, and the finished streams that retain none
// any more (R11).
func (m *Image) evict(seq uint64) {
	if seq <= m.Evicted || m.State != spec.Live {
		return
	}
	for m.Evicted < seq {
		m.Evicted++
		ev := m.Events[0]
		m.Events[0] = EventImage{}
		m.Events = m.Events[1:]
		if s := m.stream(ev.Stream); s != nil {
			s.Floor = window.Position{Seq: m.Evicted, Stream: ev.Stream, Ordinal: ev.Ordinal}
		}
	}
	m.Streams = slices.DeleteFunc(m.Streams, func(s StreamImage) bool { return s.Finished && s.Head.Seq <= seq })
}

// Clone returns an image that shares nothing with this one.
func (m Image) Clone() Image {
	m.Note = bytes.Clone(m.Note)
	m.Streams = slices.Clone(m.Streams)
	for i := range m.Streams {
		m.Streams[i].Note = bytes.Clone(m.Streams[i].Note)
	}
	m.Events = slices.Clone(m.Events)
	for i := range m.Events {
		m.Events[i].Payload = bytes.Clone(m.Events[i].Payload)
	}
	return m
}

// Check returns what is wrong with an image of a live session, or nil: a
// session is not made of what no session ever was.
func (m *Image) Check() error {
	if m.State != spec.Live || m.Next == 0 || m.Evicted > m.Seq || uint64(len(m.Events)) != m.Seq-m.Evicted || m.stream(0) == nil {
		return fmt.Errorf("session: the store's image is none: %v, seq %d, evicted %d, %d events, %d streams opened", m.State, m.Seq, m.Evicted, len(m.Events), m.Next)
	}
	heads := make(map[uint64]window.Position)
	for i, s := range m.Streams {
		if s.Number >= m.Next || i > 0 && s.Number <= m.Streams[i-1].Number || s.Finished && s.Number == 0 ||
			s.Floor.Stream != s.Number || (s.Floor.Seq == 0) != (s.Floor.Ordinal == 0) || s.Floor.Ordinal > s.Floor.Seq || s.Floor.Seq > m.Evicted {
			return fmt.Errorf("session: the store's image has a stream %d with floor %v that no session has", s.Number, s.Floor)
		}
		heads[s.Number] = s.Floor
	}
	for i, ev := range m.Events {
		seq := m.Evicted + uint64(i) + 1
		head, known := heads[ev.Stream]
		if ev.Stream >= m.Next || ev.Ordinal == 0 || ev.Ordinal > seq || known && ev.Ordinal != head.Ordinal+1 {
			return fmt.Errorf("session: the store's image has event %d:%d:%d behind %v", seq, ev.Stream, ev.Ordinal, head)
		}
		if known {
			heads[ev.Stream] = window.Position{Seq: seq, Stream: ev.Stream, Ordinal: ev.Ordinal}
		}
	}
	for _, s := range m.Streams {
		if heads[s.Number] != s.Head {
			return fmt.Errorf("session: the store's image has a stream %d with head %v whose events end at %v", s.Number, s.Head, heads[s.Number])
		}
	}
	return nil
}

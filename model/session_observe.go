package model

import (
	"maps"
	"slices"

	"example.com/reattach/spec"
)

// A SessionView is what can be seen of a session from outside: what a lockstep
// suite compares after every step.
type SessionView struct {
	State      spec.State
	LastSeq    uint64 // the highest seq ever issued
	NextStream uint64
	Retained   int // events
	Bytes      int // their payloads
	Streams    []StreamView
}

// A StreamView is what can be seen of a stream that has a record.
type StreamView struct {
	Number   uint64
	State    spec.State
	Floor    spec.EventID
	Head     spec.EventID
	Handed   uint64 // highest ordinal ever handed to a view
	Retained uint64 // events of this stream
	Position uint64 // ordinal up to which its view has taken events; 0 without a view
}

// Observe returns what can be seen of the session, its streams by number.
func (s *Session) Observe() SessionView {
	load := s.load()
	view := SessionView{State: s.state, LastSeq: s.lastSeq, NextStream: s.next, Retained: load.Events, Bytes: load.Bytes}
	for _, n := range slices.Sorted(maps.Keys(s.streams)) {
		st, floor, head := s.streams[n], s.floor(n), s.head(n)
		of := StreamView{Number: n, State: s.StateOf(n), Floor: s.id(floor), Head: s.id(head), Handed: st.handed,
			Retained: head.ordinal - floor.ordinal}
		if st.attached {
			of.Position = st.position
		}
		view.Streams = append(view.Streams, of)
	}
	return view
}

// Tag returns the session's tag.
func (s *Session) Tag() spec.Tag { return s.tag }

// State returns the session's state by its name in package spec.
func (s *Session) State() spec.State { return s.state }

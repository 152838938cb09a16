package client

import (
	"time"

	"example.com/reattach/spec"
)

// A stream is one logical stream as its reader sees it.
type stream struct {
	id    StreamID
	state spec.State
	conn  uint64 // the connection that may speak, 0 for none (R21)

	call     Call
	payload  []byte // until the POST is handed out
	recorded bool   // the call is in the record, or was
	settled  bool   // the call has its outcome

	cursor string       // the token: "" for none
	at     spec.EventID // the cursor, if ours
	ours   bool         // the cursor can be ordered
	high   spec.EventID // after an explicit empty id: nothing may fall behind it (R25)
	ids    []string     // of this connection, where ids cannot be ordered: what must not come again

	hand     inHand
	profile  *Profile
	attempts int // resumptions in a row without progress (R26)
	retry    time.Duration
}

// inHand is the transaction that a stream waits for. The zero value is none.
type inHand struct {
	change  Change
	event   Event
	applies bool // it applies event
	to      place
}

// A place is where a change puts a stream.
type place struct {
	cursor string
	at     spec.EventID
	ours   bool
}

// maxForeignID bounds the ids of others that a client keeps, in bytes: they go
// into the durable record. maxForeignIDs bounds how many it remembers of one
// connection, to recognise a repeat.
const (
	maxForeignID  = 1024
	maxForeignIDs = 256
)

// reads returns the event as one of this stream. What an answer means besides
// that the call ran is the word of a ledger, so it counts for a call that has a
// key.
func (s *stream) reads(ev Event) Event {
	ev.Stream, ev.Resolves = s.id, StreamID{}
	if !ev.Answer || !s.call.isKeyed() {
		ev.Means, ev.Reason = MeansRan, ""
	}
	if ev.Answer && ev.Means != MeansUnknown {
		ev.Resolves = s.call.Resends
	}
	return ev
}

func (s *stream) isCall() bool     { return s.id.Request != 0 }
func (s *stream) positioned() bool { return s.cursor != "" }

// orderable reports whether the cursor can be ordered, so that what comes
// after it can be proved: it is ours, or one of the profile's.
func (s *stream) orderable() bool {
	return s.ours || s.positioned() && s.profile.orders(s.cursor, s.isCall())
}

// moveTo puts the stream at a cursor that the record holds.
func (s *stream) moveTo(cursor string, tag spec.Tag) {
	s.cursor, s.at, s.ours = cursor, spec.EventID{}, false
	if id, err := spec.ParseEventID(cursor); err == nil && id.Tag == tag {
		s.at, s.ours = id, true
	}
}

// move carries out what a durable change did to the cursor.
func (s *stream) move(to place) {
	if to.cursor == "" && s.ours {
		s.high = s.at
	}
	if to.cursor != "" && !to.ours && to.cursor != s.cursor {
		if len(s.ids) == maxForeignIDs {
			s.ids = append(s.ids[:0], s.ids[1:]...)
		}
		s.ids = append(s.ids, to.cursor)
	}
	s.cursor, s.at, s.ours = to.cursor, to.at, to.ours
}

// standing is what the stream's own knowledge makes true, whatever happens.
func (s *stream) standing() spec.Facts {
	var facts spec.Facts
	return facts.
		With(spec.IsCall, s.isCall()).
		With(spec.Positioned, s.positioned()).
		With(spec.Orderable, s.orderable()).
		With(spec.AppliesEvent, s.hand.applies).
		With(spec.IsAnswer, s.hand.applies && s.hand.event.Answer).
		With(spec.MarksUnknown, s.hand.change.Kind == DoubtCall)
}

// endReason says why certainty ends if the stream is cut here and cannot be
// resumed.
func (s *stream) endReason() spec.Reason {
	switch {
	case s.positioned() && !s.orderable():
		return spec.ReasonEventUnorderable
	case !s.positioned():
		return spec.ReasonEventWithoutID // there is no position to go on from (R24)
	default:
		return spec.ReasonStreamTruncated
	}
}

func (s *stream) outcome(kind OutcomeKind, why spec.Reason) *Outcome {
	return &Outcome{Stream: s.id, Kind: kind, Reason: why, Call: s.call}
}

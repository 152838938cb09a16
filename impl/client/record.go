package client

import (
	"fmt"
	"slices"

	"example.com/reattach/spec"
)

// A Record is everything durable that a client knows: one value for an epoch,
// written as a whole, so that session id and cursors can never come apart
// (R20). The zero Record is that of a client that never had a session.
//
// A Record is a value: its slices are sorted and never changed in place, and
// every change is a [Change].
type Record struct {
	Version     uint64      `json:"version"`         // grows by one with each write
	Lease       uint64      `json:"lease,omitempty"` // generation: grows with each holder of the record (R30)
	Epoch       uint64      `json:"epoch"`           // 0: there was none yet
	State       RecordState `json:"state"`
	Reason      spec.Reason `json:"reason,omitempty"` // why the epoch was fenced
	SessionID   string      `json:"session,omitempty"`
	Tag         spec.Tag    `json:"tag,omitempty"`       // what stands for the session in event ids
	Announced   bool        `json:"announced,omitempty"` // the server issued the standalone stream's position, so its ids are ours
	Meta        []byte      `json:"meta,omitempty"`      // the transport's own word about the session
	Ledger      string      `json:"ledger,omitempty"`    // the name of the session's ledger, "" if it has none (R28)
	NextRequest uint64      `json:"next_request"`        // no call was ever sent with this id or a later one (R29)
	Streams     []Token     `json:"streams,omitempty"`
	Calls       []Call      `json:"calls,omitempty"`    // in flight
	Unknowns    []Unknown   `json:"unknowns,omitempty"` // unresolved, of this and of earlier epochs (R23)
	Seen        []Span      `json:"seen,omitempty"`     // stream numbers of the server that calls had (R21)
}

// A RecordState says what is durably true of the record's epoch.
type RecordState uint8

const (
	RecordNone   RecordState = iota // there is no epoch
	RecordOpen                      // events may be applied
	RecordFenced                    // abandoned: nothing is applied any more (R22)
	RecordClosed                    // fenced by the caller's wish
)

var recordStateNames = [...]string{"none", "open", "fenced", "closed"}

func (s RecordState) String() string {
	if int(s) < len(recordStateNames) {
		return recordStateNames[s]
	}
	return fmt.Sprintf("?%d", uint8(s))
}

// A Token is the cursor of one stream. Together with the record's session id
// it is a [spec.ResumeToken].
type Token struct {
	Request     uint64 `json:"request"`
	LastEventID string `json:"last_event_id"`
	High        string `json:"high,omitempty"` // after an explicit empty id: the position that nothing may fall behind
}

// A Call is a call in flight. It enters the record before its POST leaves.
type Call struct {
	Request uint64 `json:"request"`
	Key     string `json:"key,omitempty"`    // idempotency key, fixed when the call enters the record (R28)
	Method  string `json:"method,omitempty"` // what was called
	Digest  string `json:"digest,omitempty"` // of its arguments: spec.DigestCall where the transport speaks JSON-RPC
	Label   string `json:"label,omitempty"`  // for people: which tool, which file

	Query   bool     `json:"query,omitempty"`  // a status query: nothing has to be known of it when it is lost
	Resends StreamID `json:"resends,omitzero"` // the unknown outcome that it re-sends, under the same key
}

// isKeyed reports whether a ledger answers for the call itself.
func (c Call) isKeyed() bool { return c.Key != "" && !c.Query }

// An Unknown is a call of which nobody can say whether it ran.
type Unknown struct {
	Stream StreamID    `json:"stream"`
	Key    string      `json:"key,omitempty"`    // what a status query asks for
	Method string      `json:"method,omitempty"` // what was called
	Digest string      `json:"digest,omitempty"` // of its arguments: a re-send has the same
	Label  string      `json:"label,omitempty"`
	Reason spec.Reason `json:"reason,omitempty"` // why certainty ended
}

// Token returns the resume token of a stream. It reports false if the stream
// has no position.
func (r Record) Token(request uint64) (spec.ResumeToken, bool) {
	i, ok := r.findToken(request)
	if !ok || r.Streams[i].LastEventID == "" {
		return spec.ResumeToken{}, false
	}
	return spec.ResumeToken{SessionID: r.SessionID, LastEventID: r.Streams[i].LastEventID}, true
}

// Call returns the call in flight with that request id.
func (r Record) Call(request uint64) (Call, bool) {
	if i, ok := r.findCall(request); ok {
		return r.Calls[i], true
	}
	return Call{}, false
}

// Unknown returns the unresolved unknown outcome of that call.
func (r Record) Unknown(id StreamID) (Unknown, bool) {
	if i, ok := r.findUnknown(id); ok {
		return r.Unknowns[i], true
	}
	return Unknown{}, false
}

// UnknownsBefore reports whether an unknown outcome of an epoch before the
// given one is unresolved: what keeps that epoch in quarantine (R23).
func (r Record) UnknownsBefore(epoch uint64) bool {
	return len(r.Unknowns) > 0 && r.Unknowns[0].Stream.Epoch < epoch
}

func (r Record) findToken(request uint64) (int, bool) {
	return slices.BinarySearchFunc(r.Streams, request, func(t Token, n uint64) int { return order(t.Request, n) })
}

func (r Record) findCall(request uint64) (int, bool) {
	return slices.BinarySearchFunc(r.Calls, request, func(c Call, n uint64) int { return order(c.Request, n) })
}

func (r Record) findUnknown(id StreamID) (int, bool) {
	return slices.BinarySearchFunc(r.Unknowns, id, func(u Unknown, id StreamID) int { return u.Stream.compare(id) })
}

// Clone returns a record that shares nothing with r.
func (r Record) Clone() Record {
	r.Meta = slices.Clone(r.Meta)
	r.Streams = slices.Clone(r.Streams)
	r.Calls = slices.Clone(r.Calls)
	r.Unknowns = slices.Clone(r.Unknowns)
	r.Seen = slices.Clone(r.Seen)
	return r
}

// Validate returns the first thing that makes r a record which no sequence of
// changes produces. A store that reads a record from outside asks it, so that
// what was damaged or edited is refused and never guessed at.
func (r Record) Validate() error {
	none := r.State == RecordNone
	switch {
	case r.State > RecordClosed:
		return fmt.Errorf("state %v", r.State)
	case none != (r.Epoch == 0) || none != (r.SessionID == ""):
		return fmt.Errorf("state %v, epoch %d and the presence of a session id contradict each other", r.State, r.Epoch)
	case none && (r.NextRequest > 0 || len(r.Unknowns) > 0):
		return fmt.Errorf("calls, and no epoch")
	case r.Ledger != "" && (none || !spec.IsLedgerName(r.Ledger)):
		return fmt.Errorf("ledger %q in state %v", r.Ledger, r.State)
	case !none && !r.Tag.Valid():
		return fmt.Errorf("tag %q", r.Tag)
	case r.State != RecordOpen && len(r.Streams)+len(r.Calls)+len(r.Seen) > 0:
		return fmt.Errorf("streams or calls in state %v", r.State)
	case !ascending(r.Streams, func(a, b Token) int { return order(a.Request, b.Request) }):
		return fmt.Errorf("streams out of order")
	case !ascending(r.Calls, func(a, b Call) int { return order(a.Request, b.Request) }):
		return fmt.Errorf("calls out of order")
	case !ascending(r.Unknowns, func(a, b Unknown) int { return a.Stream.compare(b.Stream) }):
		return fmt.Errorf("unknown outcomes out of order")
	case !ascending(r.Seen, func(a, b Span) int { return order(a.Last, b.First) }):
		return fmt.Errorf("stream numbers out of order")
	}
	for _, c := range r.Calls {
		if c.Request == 0 || c.Request >= r.NextRequest {
			return fmt.Errorf("call %d, and the next request id is %d", c.Request, r.NextRequest)
		}
		if c.Resends != (StreamID{}) && (c.Query || c.Key == "") {
			return fmt.Errorf("call %d re-sends %v without its key", c.Request, c.Resends)
		}
		if _, ok := r.findUnknown(StreamID{r.Epoch, c.Request}); ok {
			return fmt.Errorf("call %d is in flight and an unknown outcome at once", c.Request)
		}
	}
	for _, t := range r.Streams {
		if _, ok := r.findCall(t.Request); !ok && t.Request != 0 {
			return fmt.Errorf("a stream of call %d, which is not in flight", t.Request)
		}
	}
	for _, u := range r.Unknowns {
		if u.Stream.Request == 0 || u.Stream.Request >= r.NextRequest || u.Stream.Epoch == 0 || u.Stream.Epoch > r.Epoch {
			return fmt.Errorf("unknown outcome of call %v in epoch %d, and the next request id is %d", u.Stream, r.Epoch, r.NextRequest)
		}
	}
	for _, s := range r.Seen {
		if s.First == 0 || s.First > s.Last {
			return fmt.Errorf("stream numbers %d to %d", s.First, s.Last)
		}
	}
	return nil
}

// ascending reports whether s is strictly ascending.
func ascending[T any](s []T, compare func(a, b T) int) bool {
	for i := 1; i < len(s); i++ {
		if compare(s[i-1], s[i]) >= 0 {
			return false
		}
	}
	return true
}

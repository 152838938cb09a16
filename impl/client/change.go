package client

import (
	"fmt"
	"slices"

	"example.com/reattach/spec"
)

// A Change is one write of the record, with what must be true for it (R30).
// It is data, so that a store can apply it inside a transaction of its own.
//
// Every kind asks that the lease is the one under which its client holds the
// record; every kind but TakeLease, BeginEpoch and ResolveUnknown that the
// record's epoch is Epoch and that it is open; AdvanceToken asks for the
// stream's token as well. So a commit that comes after the fence fails, and of
// two processes that hold the same record only one can apply an event, or end
// the epoch.
type Change struct {
	Kind    ChangeKind
	Lease   uint64 // that the record must be held under; of TakeLease: the one that it follows
	Epoch   uint64 // the epoch that the record must be in; of BeginEpoch: the one that it ends
	Request uint64 // whose stream or call

	Before  string // AdvanceToken: the token that must be there, "" for none
	After   string // AdvanceToken: the token that takes its place, "" for none
	Answers bool   // AdvanceToken: the call is answered: it leaves the record, and its stream; so does the unknown outcome that it re-sent
	Unsure  bool   // AdvanceToken: the answer is that the server cannot tell: the call is an unknown outcome
	Opens   uint64 // AdvanceToken: the server's number for the call's stream, if it became known just now

	Call Call // AddCall

	Session    string   // BeginEpoch
	Tag        spec.Tag // BeginEpoch
	Standalone string   // BeginEpoch: position 0 of the standalone stream, "" if none was announced
	Meta       []byte   // BeginEpoch
	Ledger     string   // BeginEpoch

	Closing  bool        // FenceEpoch: the caller wished it
	Reason   spec.Reason // FenceEpoch, DoubtCall, AdvanceToken
	Decision Decision    // ResolveUnknown
	Unknown  StreamID    // ResolveUnknown
}

// A ChangeKind says what a change does.
type ChangeKind uint8

const (
	_              ChangeKind = iota
	BeginEpoch                // begins the next epoch's record, and carries every unresolved unknown over (R23)
	AddCall                   // a call is in flight from now on (R20)
	AdvanceToken              // the stream's token moves, with the events of the same transaction (R20)
	RemoveCall                // the call is known not to have run
	DoubtCall                 // the call is an unknown outcome, and the epoch lives (R24)
	FenceEpoch                // nothing is applied any more; what is in flight is unknown (R22, R23)
	ResolveUnknown            // the caller or the ledger decided
	TakeLease                 // another holder has the record from now on (R30)
)

var changeKindNames = [...]string{"?0", "BeginEpoch", "AddCall", "AdvanceToken", "RemoveCall", "DoubtCall", "FenceEpoch", "ResolveUnknown", "TakeLease"}

func (k ChangeKind) String() string {
	if int(k) < len(changeKindNames) {
		return changeKindNames[k]
	}
	return fmt.Sprintf("?%d", uint8(k))
}

// A Decision is what a caller says that an unknown outcome was (R23).
type Decision uint8

const (
	GaveUp        Decision = iota // the caller does not know either, and goes on
	DidExecute                    // the caller found out that the call ran
	DidNotExecute                 // the caller found out that the call never ran
)

var decisionNames = [...]string{"gave_up", "did_execute", "did_not_execute"}

func (d Decision) String() string {
	if int(d) < len(decisionNames) {
		return decisionNames[d]
	}
	return fmt.Sprintf("?%d", uint8(d))
}

// Apply returns the record after the change, whose Version is one higher, or a
// [*StaleError] if the record is not what the change expects. It is pure.
//
// A fence that is already there is not an error: the outcome of its first
// write may have been unknown.
func (ch Change) Apply(r Record) (Record, error) {
	next, err := ch.apply(r)
	if err != nil {
		return Record{}, err
	}
	next.Version = r.Version + 1
	return next, nil
}

func (ch Change) apply(r Record) (Record, error) {
	if r.Lease != ch.Lease {
		return r, ch.stale(r, "")
	}
	switch ch.Kind {
	case TakeLease:
		r.Lease++
		return r, nil
	case BeginEpoch:
		return ch.beginEpoch(r)
	case FenceEpoch:
		return ch.fence(r)
	case ResolveUnknown:
		i, ok := r.findUnknown(ch.Unknown)
		if !ok {
			return r, fmt.Errorf("%w: %v", ErrNoUnknown, ch.Unknown)
		}
		r.Unknowns = removed(r.Unknowns, i)
		return r, nil
	}
	if r.Epoch != ch.Epoch || r.State != RecordOpen {
		return r, ch.stale(r, "")
	}
	if ch.Kind == AddCall {
		return ch.addCall(r)
	}
	at, inFlight := r.findCall(ch.Request)
	if !inFlight && (ch.Request != 0 || ch.Kind != AdvanceToken) {
		return r, ch.stale(r, "no such call is in flight")
	}
	switch ch.Kind {
	case AdvanceToken:
		return ch.advance(r)
	case RemoveCall:
		return r.without(ch.Request), nil
	case DoubtCall:
		return r.doubting(r.Calls[at], ch.Reason).without(ch.Request), nil
	}
	panic(fmt.Sprintf("reattach: BUG: change of kind %v", ch.Kind))
}

func (ch Change) beginEpoch(r Record) (Record, error) {
	if r.Epoch != ch.Epoch || r.State == RecordOpen {
		return r, ch.stale(r, "an epoch may begin only where none is open")
	}
	next := Record{
		Version: r.Version, Lease: r.Lease, Ledger: ch.Ledger, Epoch: r.Epoch + 1, State: RecordOpen, SessionID: ch.Session, Tag: ch.Tag,
		Announced: ch.Standalone != "", Meta: ch.Meta, NextRequest: max(r.NextRequest, 1), Unknowns: r.Unknowns,
	}
	if len(ch.Meta) == 0 {
		next.Meta = nil
	}
	if ch.Standalone != "" {
		next.Streams = []Token{{LastEventID: ch.Standalone}}
	}
	return next, nil
}

func (ch Change) addCall(r Record) (Record, error) {
	if ch.Call.Request < r.NextRequest {
		return r, fmt.Errorf("%w: %d, and the next one is %d", ErrRequestUsed, ch.Call.Request, r.NextRequest)
	}
	r.Calls = append(slices.Clip(r.Calls), ch.Call) // ids grow, so it is the last one
	r.NextRequest = ch.Call.Request + 1
	return r, nil
}

func (ch Change) advance(r Record) (Record, error) {
	i, ok := r.findToken(ch.Request)
	have := Token{Request: ch.Request}
	if ok {
		have = r.Streams[i]
	}
	if have.LastEventID != ch.Before {
		return r, ch.stale(r, "the token is another one")
	}
	if ch.Opens != 0 {
		if seen(r.Seen, ch.Opens) {
			return r, ch.stale(r, "another call had that stream")
		}
		r.Seen = addSeen(r.Seen, ch.Opens)
	}
	if ch.Answers {
		call, _ := r.Call(ch.Request)
		if ch.Unsure {
			r = r.doubting(call, ch.Reason)
		} else if i, ok := r.findUnknown(call.Resends); ok {
			r.Unknowns = removed(r.Unknowns, i)
		}
		return r.without(ch.Request), nil
	}
	if ch.After == ch.Before {
		return r, nil // payloads without ids move nothing
	}
	token := Token{Request: ch.Request, LastEventID: ch.After}
	if ch.After == "" {
		token.High = ch.Before
	}
	r.Streams = slices.Clone(r.Streams)
	if ok {
		r.Streams[i] = token
	} else {
		r.Streams = slices.Insert(r.Streams, i, token)
	}
	return r, nil
}

func (ch Change) fence(r Record) (Record, error) {
	if r.Epoch != ch.Epoch || r.State == RecordNone {
		return r, ch.stale(r, "")
	}
	if r.State == RecordOpen {
		r.Reason = ch.Reason
	}
	for _, call := range r.Calls {
		r = r.doubting(call, ch.Reason)
	}
	r.Streams, r.Calls, r.Seen = nil, nil, nil
	if ch.Closing || r.State == RecordClosed {
		r.State = RecordClosed
	} else {
		r.State = RecordFenced
	}
	return r, nil
}

// without returns the record without a call and its stream.
func (r Record) without(request uint64) Record {
	if i, ok := r.findCall(request); ok {
		r.Calls = removed(r.Calls, i)
	}
	if i, ok := r.findToken(request); ok {
		r.Streams = removed(r.Streams, i)
	}
	return r
}

// removed returns s without its element i: nil if nothing is left, so that a
// record has one form.
func removed[T any](s []T, i int) []T {
	if len(s) == 1 {
		return nil
	}
	return slices.Delete(slices.Clone(s), i, i+1)
}

// doubting returns the record in which a call in flight is an unknown outcome
// too. A status query asks for one and is none. What re-sends one that is still
// unresolved adds none: they have one key, and so one outcome.
func (r Record) doubting(call Call, why spec.Reason) Record {
	if _, ok := r.findUnknown(call.Resends); ok || call.Query {
		return r
	}
	u := Unknown{Stream: StreamID{r.Epoch, call.Request}, Key: call.Key, Method: call.Method, Digest: call.Digest, Label: call.Label, Reason: why}
	i, there := r.findUnknown(u.Stream)
	if there {
		panic(fmt.Sprintf("reattach: BUG: call %v is in flight and an unknown outcome at once", u.Stream))
	}
	r.Unknowns = slices.Insert(slices.Clone(r.Unknowns), i, u)
	return r
}

func (ch Change) stale(r Record, detail string) error {
	have := ""
	if i, ok := r.findToken(ch.Request); ok {
		have = r.Streams[i].LastEventID
	}
	return &StaleError{Change: ch.Kind, Stream: StreamID{ch.Epoch, ch.Request}, Epoch: r.Epoch, State: r.State,
		Lease: ch.Lease, Holder: r.Lease, Want: ch.Before, Have: have, Detail: detail}
}

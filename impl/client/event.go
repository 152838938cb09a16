package client

import (
	"strconv"
	"time"

	"example.com/reattach/spec"
)

// A StreamID names a stream of a client: the epoch, and the request id of the
// call whose response the stream carries. Request 0 is the standalone stream.
// Request ids start at 1, and none is sent twice, not in another epoch and not
// after a restart (R29).
type StreamID struct {
	Epoch   uint64 `json:"epoch"`
	Request uint64 `json:"request"`
}

func (id StreamID) String() string {
	return strconv.FormatUint(id.Epoch, 10) + "/" + strconv.FormatUint(id.Request, 10)
}

// before orders ids by epoch, then request.
func (id StreamID) compare(other StreamID) int {
	switch {
	case id.Epoch != other.Epoch:
		return order(id.Epoch, other.Epoch)
	default:
		return order(id.Request, other.Request)
	}
}

func order(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// An Event is one whole event of a stream. Without a payload it is a position
// or a control message, never a delivery (R8); without anything it is a sign
// of life, such as a comment.
type Event struct {
	Stream   StreamID // filled in by the core
	ID       string   // the event id as it stood on the wire
	HasID    bool     // with ID "" it is the explicit empty id, which clears the cursor (R25)
	Payload  []byte   // not to be changed by anybody
	Answer   bool     // the payload is the response to the call of this stream
	Retry    time.Duration
	HasRetry bool

	Means    Meaning     // of an answer, as the transport reads it
	Reason   spec.Reason // why an answer means what it does, unless it is MeansRan
	Resolves StreamID    // the unknown outcome that this answer settles (R23); filled in by the core
}

// A Meaning is what an answer says of its call, where the server has a ledger
// (R28).
type Meaning uint8

const (
	MeansRan     Meaning = iota // the call ran, and this came of it
	MeansNotRun                 // its key is sealed: it did not run, and never will
	MeansLost                   // it ran, and its response is lost
	MeansUnknown                // the server cannot tell
)

package model

import (
	"math/bits"

	"example.com/reattach/spec"
)

// A State is one state of the closed system: server, network, client. It is a
// plain value without pointers: copying it is cloning it, and == compares it.
// With one stream its fields are the variables of the TLA+ module, one to one.
type State struct {
	// The server.
	Sessions [MaxSessions]ServerSession
	Views    [MaxSessions][MaxStreams][2]View // the views of a stream; R10 says at most one
	Executed [MaxCalls]uint8                  // how often the call's work ran

	// The network and the client's volatile side, for each stream.
	Lines [MaxStreams]Line
	Posts [MaxCalls]uint8 // session in which the call's POST is under way, 0: none

	// The client: durable.
	Record  Record
	Calls   [MaxCalls]CallState
	Applied [MaxSessions][MaxStreams]Run // what the application applied, in order
}

// A ServerSession is a session as its server knows it. The ordinal of an event
// is its rank among the issued ones of its stream, its seq the rank among all.
type ServerSession struct {
	Life     Life
	Finished uint8             // set of streams that have ended
	Issued   [MaxEvents]Issue  // every event ever issued, in order; behind the last: zero
	Evicted  uint8             // set of events ever evicted, by index in Issued
	Handed   [MaxStreams]uint8 // highest ordinal ever handed to a view (R7)
}

// A Life says whether a session was opened and still is.
type Life uint8

const (
	Unborn Life = iota
	Living      // serves
	Gone        // ended, or lost with its process: everything that it knew is lost (R6)

)

// An Issue is one issued event: its stream and its payload, the answer to a
// call or, with call 0, something else.
type Issue uint8

func issue(stream, call int) Issue { return Issue(stream+1)<<4 | Issue(call) }

func (i Issue) stream() int { return int(i>>4) - 1 }
func (i Issue) call() uint8 { return uint8(i & 15) }

// A View is one live response: on which connection, and the last ordinal that
// was written on it.
type View struct{ Conn, Position uint8 }

// Conn says whose connection carries a view.
const (
	NoConn  = iota // there is no view
	Current        // the client's present connection of this stream
	Dead           // one that the client has left and the server has not noticed
	Other          // one of another client of the same subject
	numConns
)

// A Line is one stream as its client and the network hold it.
type Line struct {
	Phase   Phase
	Hand    Hand               // the event taken from the wire and not yet committed
	Request Request            // in flight on the present connection
	Late    Request            // a resumption of a connection that the client has left
	Wire    [MaxWire + 1]Frame // in flight to the client on its present connection; behind the last: zero
}

// A Phase is what the client is doing about one stream.
type Phase uint8

const (
	PhaseIdle      Phase = iota // no epoch
	PhaseOpening                // initialize is under way
	PhaseDetached               // no connection
	PhaseResuming               // a resumption is under way
	PhaseStreaming              // a proven view is read
	PhaseComplete               // 204: nothing will come
	PhaseDoubt                  // certainty has ended, the fence is not durable yet
	numPhases
)

// A Request is an initialize, or a resumption after a position.
type Request struct{ Kind, Session, Ordinal uint8 }

// Kinds of requests.
const (
	NoRequest = iota
	AskOpen
	AskResume
)

// A Frame is one thing on its way to the client.
type Frame struct{ Kind, Session, Ordinal, Call uint8 }

// Kinds of frames.
const (
	NoFrame  = iota
	Opened   // the answer to initialize: a session
	Accepted // a view: the session and the position that it announces
	Complete // 204
	Refused  // a final refusal
	Event    // an event
	End      // the end of the connection, clean or not
	numFrames
)

// A Hand is an event that was taken from the wire; Ordinal 0: none.
type Hand struct{ Session, Ordinal, Call uint8 }

// A Record is the client's durable record of its epoch: state, session, and
// one token a stream.
type Record struct {
	State   RecordState
	Session uint8
	Token   [MaxStreams]uint8
}

// A RecordState is the state of the record: Idle, Quarantined, Open or
// Abandoned of package spec; zero stands for Idle.
type RecordState uint8

// Spec returns the state by its name in package spec.
func (s RecordState) Spec() spec.State {
	if s == 0 {
		return spec.Idle
	}
	return spec.State(s)
}

// A Run is a sequence of ordinals, each 1 to 15, at most eight of them.
type Run uint32

// Len returns the number of ordinals in the run.
func (r Run) Len() int { return (bits.Len32(uint32(r)) + 3) / 4 }

// At returns the i-th ordinal of the run.
func (r Run) At(i int) uint8 { return uint8(r >> (4 * i) & 15) }

// Then returns the run with n behind it.
func (r Run) Then(n uint8) Run { return r | Run(n)<<(4*r.Len()) }

// issued returns the number of events that the session ever issued: its last seq.
func (s *ServerSession) issued() int {
	for i, ev := range s.Issued {
		if ev == 0 {
			return i
		}
	}
	return MaxEvents
}

// head returns the highest issued ordinal of a stream: how many of the issued
// events are its.
func (s *ServerSession) head(stream int) (n uint8) {
	for _, ev := range s.Issued {
		if ev.stream() == stream {
			n++
		}
	}
	return n
}

// floor returns the highest evicted ordinal of a stream.
func (s *ServerSession) floor(stream int) (floor uint8) {
	var ordinal uint8
	for i, ev := range s.Issued {
		if ev.stream() != stream {
			continue
		}
		if ordinal++; s.Evicted>>i&1 == 1 {
			floor = ordinal
		}
	}
	return floor
}

// seqOf returns the seq that was issued with an ordinal of a stream, or 0.
func (s *ServerSession) seqOf(stream int, ordinal uint8) uint8 {
	for i, ev := range s.Issued {
		if ev.stream() != stream {
			continue
		}
		if ordinal--; ordinal == 0 {
			return uint8(i + 1)
		}
	}
	return 0
}

// evict puts the oldest retained event into the set of the evicted ones.
func (s *ServerSession) evict() { s.Evicted = s.Evicted<<1 | 1 }

// retained returns how many issued events were never evicted.
func (s *ServerSession) retained() int { return s.issued() - bits.OnesCount8(s.Evicted) }

// frames returns how many frames are in flight.
func (l *Line) frames() int {
	for i, f := range l.Wire {
		if f.Kind == NoFrame {
			return i
		}
	}
	return len(l.Wire)
}

// put appends a frame to the wire.
func (l *Line) put(f Frame) {
	n := l.frames()
	if n == len(l.Wire) {
		panic("reattach: BUG: the wire of the closed system is full")
	}
	l.Wire[n] = f
}

// take removes the first frame from the wire.
func (l *Line) take() {
	copy(l.Wire[:], l.Wire[1:])
	l.Wire[len(l.Wire)-1] = Frame{}
}

// count returns how many of the calls are in a state.
func (s *State) count(c CallState) (n int) {
	for _, is := range s.Calls {
		if is == c {
			n++
		}
	}
	return n
}

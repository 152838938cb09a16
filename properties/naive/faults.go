package naive

import (
	"math/bits"
	"strings"
)

// A ServerFault is a set of wrong decisions of a server.
type ServerFault uint

const (
	// ReplayInclusive sends the cursor's own event again: "from here" is read
	// as "including this". The client has applied that event already.
	ReplayInclusive ServerFault = 1 << iota

	// ReplayFromStart answers a cursor that it does not find, for whatever
	// reason, with all it has. A miss that could have been reported becomes
	// side effects that happen twice.
	ReplayFromStart

	// KeepEverything evicts no event and forgets no session, just in case that
	// its client returns. Memory then grows with all that was ever emitted.
	KeepEverything

	// MintOnResume answers a resumption of a session that it has never seen
	// with a new session and 200, its ids counting from 1. That is how the
	// next instance of a rolling deploy looks when it means to be helpful.
	MintOnResume

	// RestartIDs numbers the events of each response from 1. A cursor then
	// names a different event on each connection.
	RestartIDs

	// AcceptAnyCursor looks at the number in a cursor and not at the session
	// that issued it, and takes a number that was never issued for the newest.
	AcceptAnyCursor
)

// A ClientFault is a set of wrong decisions of a client.
type ClientFault uint

const (
	// TrustStatus takes 200 for proof that the stream goes on: the session id
	// of the answer is adopted, not compared.
	TrustStatus ClientFault = 1 << iota

	// AppendBlindly applies whatever arrives: ids are kept for the next
	// request, never compared with the last one.
	AppendBlindly

	// RenewOn404 takes "no such session" for a hiccup: it opens a new session,
	// sends the call in flight again, and goes on writing in the same log.
	RenewOn404

	// TokenFirst moves the token when it reads an id, before the event is
	// whole and before it is applied. What is lost in between stays lost.
	TokenFirst

	// ApplyPartial applies what has arrived of an event when the connection
	// breaks inside it.
	ApplyPartial

	// RetryPOST sends a call again when its stream ended without the answer,
	// as if a call that was not answered had not been executed.
	RetryPOST
)

var serverNames = []string{
	"ReplayInclusive", "ReplayFromStart", "KeepEverything", "MintOnResume", "RestartIDs", "AcceptAnyCursor",
}

var clientNames = []string{
	"TrustStatus", "AppendBlindly", "RenewOn404", "TokenFirst", "ApplyPartial", "RetryPOST",
}

// Has reports whether all of the faults in g are in f.
func (f ServerFault) Has(g ServerFault) bool { return f&g == g }

// Has reports whether all of the faults in g are in f.
func (f ClientFault) Has(g ClientFault) bool { return f&g == g }

// String returns the names of the faults joined with "+", or "none".
func (f ServerFault) String() string { return join(uint(f), serverNames) }

// String returns the names of the faults joined with "+", or "none".
func (f ClientFault) String() string { return join(uint(f), clientNames) }

func join(set uint, names []string) string {
	if set == 0 {
		return "none"
	}
	var in []string
	for ; set != 0; set &= set - 1 {
		in = append(in, names[bits.TrailingZeros(set)])
	}
	return strings.Join(in, "+")
}

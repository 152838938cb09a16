package model

import "example.com/reattach/spec"

// A CallState is what the client's record says about one call.
type CallState uint8

const (
	CallNew      CallState = iota // never made
	CallInFlight                  // in the record, its response not applied
	CallUnknown                   // certainty ended: neither done nor not done
	CallAnswered                  // its response was applied
	CallResolved                  // the caller decided what the unknown outcome was
	numCallStates
)

var callStates = [numCallStates]string{"new", "inflight", "unknown", "answered", "resolved"}

func (c CallState) String() string { return callStates[c] }

// WhenCertaintyEnds is what becomes of a call by a fence, or when its stream
// is complete without its response (R23): in flight turns into an unknown
// outcome, in the same transaction; nothing else changes.
func WhenCertaintyEnds(c CallState) CallState {
	if c == CallInFlight {
		return CallUnknown
	}
	return c
}

// WhenAnswered is what becomes of a call in the transaction that applies its
// answer (R20, R29): one in flight is answered; to any other the answer comes
// too late and settles nothing.
func WhenAnswered(c CallState) CallState {
	if c == CallInFlight {
		return CallAnswered
	}
	return c
}

// StateAtOpening is the state of a new epoch's record (R23): in quarantine
// while any unknown outcome, of whatever epoch, is unresolved.
func StateAtOpening(unknowns int) spec.State {
	if unknowns > 0 {
		return spec.Quarantined
	}
	return spec.Open
}

// WhenResolved is the state of the record after a resolution (R23): the last
// one ends the quarantine.
func WhenResolved(record spec.State, unknowns int) spec.State {
	if record == spec.Quarantined && unknowns == 0 {
		return spec.Open
	}
	return record
}

// MayCall reports whether a call may be sent (R23): it never was before, and
// the epoch is open. In quarantine no call leaves, and an unknown outcome is
// never sent again.
func MayCall(record spec.State, c CallState) bool { return record == spec.Open && c == CallNew }

package model

import "example.com/reattach/spec"

// A Mark is a token or an event in hand as the client's rules see it: which
// session it belongs to, and the event's numbers in its stream.
type Mark struct{ Session, Seq, Ordinal uint64 }

// TokenWhenTaken is the token after an event was taken from the wire (R20): it
// stays where it is, because nothing has been applied yet.
func TokenWhenTaken(token, taken uint64) uint64 { return token }

// TokenWhenApplied is the token in the transaction that applies the event
// (R20): never earlier, never separately.
func TokenWhenApplied(token, taken uint64) uint64 { return taken }

// CursorSent is what a resumption carries (R25): the token as it stands in the
// record, however many connections delivered nothing.
func CursorSent(token uint64) uint64 { return token }

// Committable reports whether the record is still the one that the event in
// hand continues: the epoch is not fenced, and its token is the event's
// predecessor (R20, R30). Otherwise the transaction fails and applies nothing.
func Committable(record spec.State, token, hand Mark) bool {
	return EpochLives(record) && token.Session == hand.Session && token.Ordinal+1 == hand.Ordinal
}

// EpochLives reports whether an epoch in this state may still apply events.
func EpochLives(record spec.State) bool { return record == spec.Open || record == spec.Quarantined }

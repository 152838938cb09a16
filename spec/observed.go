package spec

// RowID is the id of a [Row], such as SS10: what logs, traces and metrics name
// a move by.
type RowID = string

// An Observed is one move of a machine, or one that was refused, as an observer
// is told of it: both cores and their bindings report in these words, so that
// one adapter makes metrics of all of them. It holds no secret and no payload.
type Observed struct {
	Row     RowID  // the row that fired or refused; "" where the table at work has none
	Machine string // session, stream, epoch or clientstream
	Trigger Trigger
	From    State
	To      State   // From if it was refused
	Refused bool    // nothing changed
	Reason  Reason  // why it was refused, why a cursor was, or why an epoch was abandoned; else ""
	Verdict Verdict // of ClientResumes only
	Stream  uint64  // number of the stream; 0 in rows of the session's and the epoch's machine
}

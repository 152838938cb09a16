package client

import (
	"time"

	"example.com/reattach/spec"
)

// An Action is one effect of a row, as data: Do says which, the other fields
// are its parameters. A core hands actions out in the order in which they are
// to begin; whoever drives it reports the outcome of those that have one.
//
//	Do                                                parameters                        reported by
//	SendInitialize                                    Conn                              Opened, OpeningFails
//	SendPost                                          Stream Conn Session Request       Accepts … ConnectionBreaks
//	SendGet, SendResume                               Stream Conn Session Cursor        Accepts … ConnectionBreaks
//	SendMessage, SendDelete                           Epoch Session Payload             (Contradict, if it casts doubt)
//	CommitEpoch, CommitFence, CommitResolution        Change Events                     EpochCommitted …
//	CommitCall, CommitRemoval, CommitToken, Commit,   Stream Change Events              CallCommitted, StreamCommitted …
//	CommitUnknown
//	CloseConnection                                   Stream Conn
//	ScheduleResume                                    Stream Attempt Wait               Reconnect
//	RefreshCredentials                                Stream
//	ReturnEvent, ReturnNothing                        Stream Events Outcome
//	ReportUnknown, ReportNotRun, ReportPending,       Stream Outcome Reason
//	ReportGap, ReportStandalone
//	ReportUnknowns, ReportYielded                     Epoch Outcomes Reason
//	ReportOpen, ReportFailure                         Epoch State Reason Unknown
//
// The effects EndClientStreams, OpenClientStream, Abandon and Yield are carried out
// by the core itself and show as what they lead to.
type Action struct {
	Do     spec.Effect
	Epoch  uint64
	Stream StreamID
	Conn   uint64 // the connection that the request opens, or that is to be closed

	Session Session
	Cursor  string // never with another session than the one that issued it (R25)
	Call    Call
	Payload []byte

	Change Change
	Events []Event // what the same transaction applies; what was applied

	Numbered spec.Attempt // SendGet, SendResume: the number of the request, none where the record has no lease (R10)

	Attempt int           // ScheduleResume: resumptions in a row without progress; CommitFence: failures so far
	Wait    time.Duration // ScheduleResume: what the server asked for, at least

	State    spec.State // ReportOpen: Open or Quarantined
	Reason   spec.Reason
	Unknown  StreamID  // ReportFailure of a resolution
	Outcome  *Outcome  // final, of the stream's call; nil if this is not its end
	Outcomes []Outcome // ReportUnknowns
}

// An Outcome is how a call ended. A call has exactly one (R26).
type Outcome struct {
	Stream StreamID
	Kind   OutcomeKind
	Answer Event       // OutcomeAnswered
	Reason spec.Reason // otherwise
	Call   Call
}

// An OutcomeKind says what is known of a call that ended.
type OutcomeKind uint8

const (
	OutcomeAnswered OutcomeKind = iota // its response is applied
	OutcomeNotRun                      // it did not run, and this is known (R23)
	OutcomeUnknown                     // nobody can say whether it ran: see Record.Unknowns
	OutcomeLost                        // it ran, and what came of it is lost: the ledger says so (R28)
)

var outcomeNames = [...]string{"answered", "not_run", "unknown", "lost"}

func (k OutcomeKind) String() string {
	if int(k) < len(outcomeNames) {
		return outcomeNames[k]
	}
	return "?"
}

// A Session is what every request of an open epoch carries.
type Session struct {
	ID   string
	Meta []byte // as the transport gave it when the session was opened
}

// String returns the session's tag: the id is a bearer secret and stays out of
// logs.
func (s Session) String() string { return "session " + string(spec.TagOf(s.ID, "")) }

package spec

// A State says what is true now of a session, a stream, an epoch or a client
// stream. No two machines share a state.
type State uint8

const (
	noState State = iota

	// States of a server's session.
	Absent     // no such session is known, to this subject
	Live       // serves
	Draining   // takes nothing new; running calls may finish
	Expired    // ended by its budget; never lives again
	Terminated // ended by its client; never lives again

	// States of a server's stream.
	Unopened         // its number was never assigned
	Detached         // unfinished, without a view
	Attached         // unfinished, with a view
	FinishedDetached // its last event is recorded; no view
	FinishedAttached // its last event is recorded; a view has not carried it yet
	Forgotten        // it has no record any more

	// States of a client's epoch.
	Idle        // no session, and nothing unresolved from an earlier one
	Opening     // initialize has been sent
	Quarantined // open, but unknown outcomes of earlier epochs are unresolved
	Open        // calls may be made
	Fencing     // abandoned in memory; the fence is not durable yet
	Abandoned   // fenced, and its calls in flight are unknown outcomes; or left to another holder (R30)
	Closed      // fenced by the caller's wish

	// States of a client's stream.
	Unsent      // nothing has been recorded or sent
	Recording   // the call is on its way into the record; its POST has not left
	Requested   // the request has left; no answer yet
	Streaming   // a proven view is being read
	Committing  // an event is in hand, its transaction is open
	Ended       // the view ended cleanly; resumable
	Truncated   // the view broke; resumable from the persisted token
	Resuming    // a resumption request has been sent
	Unproven    // accepted without an announced position: the first event must prove it
	Suspended   // the attempts are used up; the call is pending
	Completed   // answered, or finished
	NotExecuted // known not to have run
	Lost        // nothing more will be applied; its call is an unknown outcome, or the epoch is over

	numStates
)

var stateNames = [numStates]string{
	Absent: "Absent", Live: "Live", Draining: "Draining", Expired: "Expired", Terminated: "Terminated",
	Unopened: "Unopened", Detached: "Detached", Attached: "Attached", FinishedDetached: "FinishedDetached",
	FinishedAttached: "FinishedAttached", Forgotten: "Forgotten",
	Idle: "Idle", Opening: "Opening", Quarantined: "Quarantined", Open: "Open", Fencing: "Fencing",
	Abandoned: "Abandoned", Closed: "Closed",
	Unsent: "Unsent", Recording: "Recording", Requested: "Requested", Streaming: "Streaming", Committing: "Committing",
	Ended: "Ended", Truncated: "Truncated", Resuming: "Resuming", Unproven: "Unproven", Suspended: "Suspended",
	Completed: "Completed", NotExecuted: "NotExecuted", Lost: "Lost",
}

func (s State) String() string { return nameOf(stateNames[:], int(s)) }

// NumStates bounds every State: tables compiled to arrays use it as a length.
const NumStates = int(numStates)

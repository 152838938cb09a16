package spec

// A Trigger says what happened, named by who did what.
type Trigger uint8

const (
	noTrigger Trigger = iota

	// Triggers of a server's session.
	ClientInitializes    // an initialize request
	ClientCalls          // a request in a POST: it wants a stream of its own
	ClientNotifies       // a notification, or an answer to a request of the server
	ClientResumes        // a request for a view, with or without a cursor
	ClientTerminates     // DELETE
	SessionBudgetElapses // nothing kept the session alive for its budget
	ServerDrains         // shutdown has begun

	// Triggers of a server's stream.
	StreamOpens         // a number is assigned
	HandlerEmits        // an event that is not the last one
	HandlerAnswers      // the last event of the stream
	HandlerEndsView     // the server ends the view on purpose; the client may resume
	ClientAttaches      // verdict attach
	ClientReattaches    // verdict reattach
	ClientCompletes     // verdict complete
	ClientIsRefused     // verdict refuse
	ViewDelivers        // the view takes the next event to its wire
	ViewOvertaken       // the next event of the view is evicted
	ViewStalls          // data was pending on the view for the stall budget, and too little of it was accepted
	ViewBreaks          // the connection of the view is gone
	DetachBudgetElapses // the stream was without a view for its budget
	RetentionEnds       // the last retained event of the stream is evicted
	RecordsCapped       // the session has no room for another stream's record
	SessionEnds         // expired or terminated

	// Triggers of a client's epoch.
	CallerOpens            // open a session
	ServerOpens            // initialize was answered with a session id
	OpeningFails           // initialize failed or named no session, or the new record could not be written
	EpochCommitted         // the record of the new epoch is durable
	CallerCalls            // a call; in quarantine only of the kinds that pass
	CallerNotifies         // a message that is not a call
	CallerResolves         // the caller decides what an unknown outcome was
	ResolutionCommitted    // that decision is durable
	ResolutionCommitFailed // it is not
	ServerContradicts      // any doubt of R21 and R22
	AnotherTakesOver       // another holder of the record goes on with the session (R10, R30)
	CallerAbandons         // the caller gives the epoch up
	CallerTerminates       // the caller ends the session
	FenceCommitted         // the fence is durable
	FenceCommitFailed      // it is not

	// Triggers of a client's stream.
	CallerSends        // a call is to be sent on a stream of its own
	CallCommitted      // the call is in the record
	CallCommitFailed   // it is not
	StandaloneOffered  // initialize was answered with the standalone stream's position 0
	CallerListens      // ask for the standalone stream without a cursor
	DialFails          // the request, a call's or a resumption's, never left this process
	ServerAccepts      // 200 and an event stream
	ServerAnswersOnce  // 200 and a single message instead of a stream
	ServerCompletes    // 204: nothing was missed, nothing will come
	ServerDefers       // not now: 408, 425, 429, 5xx to a resumption
	ServerChallenges   // 401 to a resumption
	ServerRefuses      // any final refusal
	EventArrives       // an event that arrived whole
	StreamEnds         // a clean end, between two events
	ConnectionBreaks   // an end anywhere else
	ClientReconnects   // it is time to resume
	CallerResumes      // the caller wants a suspended stream resumed
	StreamCommitted    // the transaction in hand is durable
	StreamCommitFailed // it is not, and the event was not applied
	EpochEnds          // the epoch was abandoned or closed

	numTriggers
)

var triggerNames = [numTriggers]string{
	ClientInitializes: "ClientInitializes", ClientCalls: "ClientCalls", ClientNotifies: "ClientNotifies",
	ClientResumes: "ClientResumes", ClientTerminates: "ClientTerminates", SessionBudgetElapses: "SessionBudgetElapses",
	ServerDrains: "ServerDrains",
	StreamOpens:  "StreamOpens", HandlerEmits: "HandlerEmits", HandlerAnswers: "HandlerAnswers", HandlerEndsView: "HandlerEndsView",
	ClientAttaches: "ClientAttaches", ClientReattaches: "ClientReattaches", ClientCompletes: "ClientCompletes", ClientIsRefused: "ClientIsRefused",
	ViewDelivers: "ViewDelivers", ViewOvertaken: "ViewOvertaken", ViewStalls: "ViewStalls", ViewBreaks: "ViewBreaks",
	DetachBudgetElapses: "DetachBudgetElapses", RetentionEnds: "RetentionEnds", RecordsCapped: "RecordsCapped", SessionEnds: "SessionEnds",
	CallerOpens: "CallerOpens", ServerOpens: "ServerOpens", OpeningFails: "OpeningFails", EpochCommitted: "EpochCommitted",
	CallerCalls: "CallerCalls", CallerNotifies: "CallerNotifies", CallerResolves: "CallerResolves",
	ResolutionCommitted: "ResolutionCommitted", ResolutionCommitFailed: "ResolutionCommitFailed",
	ServerContradicts: "ServerContradicts", AnotherTakesOver: "AnotherTakesOver", CallerAbandons: "CallerAbandons", CallerTerminates: "CallerTerminates",
	FenceCommitted: "FenceCommitted", FenceCommitFailed: "FenceCommitFailed",
	CallerSends: "CallerSends", CallCommitted: "CallCommitted", CallCommitFailed: "CallCommitFailed",
	StandaloneOffered: "StandaloneOffered", CallerListens: "CallerListens", DialFails: "DialFails",
	ServerAccepts: "ServerAccepts", ServerAnswersOnce: "ServerAnswersOnce", ServerCompletes: "ServerCompletes",
	ServerDefers: "ServerDefers", ServerChallenges: "ServerChallenges", ServerRefuses: "ServerRefuses",
	EventArrives: "EventArrives", StreamEnds: "StreamEnds", ConnectionBreaks: "ConnectionBreaks",
	ClientReconnects: "ClientReconnects", CallerResumes: "CallerResumes",
	StreamCommitted: "StreamCommitted", StreamCommitFailed: "StreamCommitFailed", EpochEnds: "EpochEnds",
}

func (t Trigger) String() string { return nameOf(triggerNames[:], int(t)) }

// NumTriggers bounds every Trigger: tables compiled to arrays use it as a length.
const NumTriggers = int(numTriggers)

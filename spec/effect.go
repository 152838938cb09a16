package spec

// An Effect is an imperative: what must be done because a row fired. Effects
// are data; they run, in the order of the row, in one place of each core.
type Effect uint8

const (
	noEffect Effect = iota

	// Effects at the server.
	IssueSession     // mint the id, begin the session
	OpenStandalone   // open stream 0 and issue its position 0 (R7)
	OpenStream       // open a stream for the call
	DecideCursor     // run the decision function
	EndStreams       // fire SessionEnds for every stream
	EndViews         // end every view on which no call waits for its answer cleanly, with retry
	Bury             // remember that and how the session ended (R6)
	AssignNumber     // the next stream number
	AnnouncePosition // begin a view, tell session and position first (R8)
	Record           // put the event into the window (R11)
	Finish           // nothing will follow
	Deliver          // hand the next event to the view
	SupersedeView    // the older view writes nothing more (R10)
	EndView          // end the view between two events
	CutView          // end the view, resumption required (R9)
	DropView         // forget a view whose connection is gone
	AnswerComplete   // 204
	RefuseCursor     // answer with the reason, before any event (R5)
	CancelWork       // the handler's context ends
	RecordUnknown    // record the typed error answer: outcome unknown (R9b)
	ForgetStream     // drop the record

	// Effects at the client.
	SendInitialize     // open a session
	CommitEpoch        // begin the new record, carry every unknown over (R23)
	OpenClientStream   // give the call a stream and an id
	SendMessage        // POST without a stream
	CommitResolution   // resolve an unknown in the record
	CommitFence        // fence the epoch, turn calls in flight into unknowns (R22, R23)
	EndClientStreams   // fire EpochEnds for every stream
	SendDelete         // best effort
	ReportUnknowns     // tell every waiting caller
	ReportYielded      // tell every waiting caller: the call is in the record, and another holder goes on with it (R30)
	ReportOpen         // tell the caller that calls may be made
	ReportFailure      // tell the caller that the write failed
	CommitCall         // put the call into the record (R20)
	SendPost           // send the call
	SendGet            // ask for the standalone stream
	CommitRemoval      // take the call out of the record: it did not run
	CommitToken        // a position without a delivery becomes the token
	Commit             // apply the event and advance the token in one transaction (R20)
	CommitUnknown      // the call becomes an unknown outcome; the epoch lives (R24)
	CloseConnection    // fence the connection: nothing of it is read any more (R21)
	SendResume         // GET with session id and cursor
	ScheduleResume     // now, or after retry, or after backoff (R26)
	RefreshCredentials // get new ones; the token stays (R26)
	Abandon            // fire ServerContradicts
	Yield              // fire AnotherTakesOver: no fence, no DELETE (R10)
	ReturnEvent        // the event is applied: hand it on
	ReturnNothing      // the event was not applied
	ReportUnknown      // tell the caller: unknown outcome
	ReportNotRun       // tell the caller: known not to have run
	ReportPending      // tell the caller: suspended, pending (R26)
	ReportGap          // tell the caller: no proof of what the stream carried meanwhile
	ReportStandalone   // tell the caller: there is no standalone stream

	numEffects
)

var effectNames = [numEffects]string{
	IssueSession: "IssueSession", OpenStandalone: "OpenStandalone", OpenStream: "OpenStream", DecideCursor: "DecideCursor",
	EndStreams: "EndStreams", EndViews: "EndViews", Bury: "Bury", AssignNumber: "AssignNumber", AnnouncePosition: "AnnouncePosition",
	Record: "Record", Finish: "Finish", Deliver: "Deliver", SupersedeView: "SupersedeView", EndView: "EndView", CutView: "CutView",
	DropView: "DropView", AnswerComplete: "AnswerComplete", RefuseCursor: "RefuseCursor", CancelWork: "CancelWork",
	RecordUnknown: "RecordUnknown", ForgetStream: "ForgetStream",
	SendInitialize: "SendInitialize", CommitEpoch: "CommitEpoch", OpenClientStream: "OpenClientStream", SendMessage: "SendMessage",
	CommitResolution: "CommitResolution", CommitFence: "CommitFence", EndClientStreams: "EndClientStreams", SendDelete: "SendDelete",
	ReportUnknowns: "ReportUnknowns", ReportYielded: "ReportYielded", ReportOpen: "ReportOpen", ReportFailure: "ReportFailure",
	CommitCall: "CommitCall", SendPost: "SendPost", SendGet: "SendGet", CommitRemoval: "CommitRemoval", CommitToken: "CommitToken",
	Commit: "Commit", CommitUnknown: "CommitUnknown", CloseConnection: "CloseConnection", SendResume: "SendResume",
	ScheduleResume: "ScheduleResume", Abandon: "Abandon", Yield: "Yield", RefreshCredentials: "RefreshCredentials", ReturnEvent: "ReturnEvent", ReturnNothing: "ReturnNothing",
	ReportUnknown: "ReportUnknown", ReportNotRun: "ReportNotRun", ReportPending: "ReportPending", ReportGap: "ReportGap",
	ReportStandalone: "ReportStandalone",
}

func (e Effect) String() string { return nameOf(effectNames[:], int(e)) }

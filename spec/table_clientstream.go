package spec

// ClientStreamTable is the client's ephemeral machine: one logical stream as
// its reader sees it.
//
// What arrives on a connection that is not the stream's current one never
// reaches the table (R21): the core refuses it first.
func ClientStreamTable() Table { return clientStreamTable }

var clientStreamTable = parseTable("clientstream", 97, Unsent, []State{
	Unsent, Recording, Requested, Streaming, Committing, Ended, Truncated, Resuming, Unproven, Suspended, Completed, NotExecuted, Lost,
}, []Trigger{
	CallerSends, CallCommitted, CallCommitFailed, StandaloneOffered, CallerListens, DialFails, ServerAccepts, ServerAnswersOnce,
	ServerCompletes, ServerDefers, ServerChallenges, ServerRefuses, EventArrives, StreamEnds, ConnectionBreaks, ClientReconnects,
	CallerResumes, StreamCommitted, StreamCommitFailed, EpochEnds,
}, `
| ID   | From               | Trigger            | Guard                                                 | To                      | Effects                                            | Cites       |
| CS01 | Unsent             | CallerSends        |                                                       | Recording               | CommitCall                                         | R20         |
| CS02 | *                  | CallerSends        |                                                       | forbid out_of_turn      |                                                    | R23 R29     |
| CS03 | Recording          | CallCommitted      |                                                       | Requested               | SendPost                                           | R20         |
| CS04 | Lost               | CallCommitted      |                                                       | =                       |                                                    | R22 R23     |
| CS05 | *                  | CallCommitted      |                                                       | forbid out_of_turn      |                                                    | R20         |
| CS06 | Recording          | CallCommitFailed   | !RecordStale                                          | NotExecuted             | ReportNotRun                                       | R20 R23     |
| CS07 | Recording          | CallCommitFailed   | RecordStale                                           | NotExecuted             | ReportNotRun Abandon                               | R23 R30     |
| CS08 | Lost               | CallCommitFailed   |                                                       | =                       |                                                    | R22         |
| CS09 | *                  | CallCommitFailed   |                                                       | forbid out_of_turn      |                                                    | R20         |
| CS10 | Unsent             | StandaloneOffered  |                                                       | Ended                   | ScheduleResume                                     | R7          |
| CS11 | *                  | StandaloneOffered  |                                                       | forbid out_of_turn      |                                                    | R7          |
| CS12 | Unsent             | CallerListens      |                                                       | Requested               | SendGet                                            | R7          |
| CS13 | *                  | CallerListens      |                                                       | forbid out_of_turn      |                                                    | R7          |
| CS14 | Requested          | DialFails          | IsCall                                                | NotExecuted             | CommitRemoval ReportNotRun                         | R23         |
| CS15 | Requested          | DialFails          | !IsCall                                               | Lost                    | ReportGap                                          | R24         |
| CS94 | Resuming           | DialFails          |                                                       | Truncated               | CloseConnection ScheduleResume                     | R25 R26     |
| CS16 | *                  | DialFails          |                                                       | forbid no_connection    |                                                    | R23         |
| CS17 | Requested          | ServerAccepts      | SameSession PositionAnnounced PositionExpected        | Committing              | CommitToken                                        | R21 R24     |
| CS18 | Requested          | ServerAccepts      | SameSession PositionAnnounced !PositionExpected       | Lost                    | CloseConnection Abandon                            | R21 R22     |
| CS19 | Requested          | ServerAccepts      | SameSession !PositionAnnounced                        | Streaming               |                                                    | R21         |
| CS20 | Requested,Resuming | ServerAccepts      | !SameSession                                          | Lost                    | CloseConnection Abandon                            | R21 R22     |
| CS21 | Resuming           | ServerAccepts      | SameSession PositionAnnounced PositionExpected        | Streaming               |                                                    | R21         |
| CS22 | Resuming           | ServerAccepts      | SameSession PositionAnnounced !PositionExpected       | Lost                    | CloseConnection Abandon                            | R21 R22     |
| CS23 | Resuming           | ServerAccepts      | SameSession !PositionAnnounced                        | Unproven                |                                                    | R21         |
| CS24 | *                  | ServerAccepts      |                                                       | forbid no_connection    |                                                    | R21         |
| CS25 | Requested          | ServerAnswersOnce  | SameSession IsCall                                    | Committing              | Commit                                             | R20         |
| CS26 | Requested          | ServerAnswersOnce  | !SameSession                                          | Lost                    | CloseConnection Abandon                            | R22         |
| CS93 | Requested          | ServerAnswersOnce  | SameSession !IsCall                                   | Lost                    | CloseConnection Abandon                            | R22         |
| CS27 | Resuming           | ServerAnswersOnce  |                                                       | Lost                    | CloseConnection Abandon                            | R21 R22     |
| CS28 | *                  | ServerAnswersOnce  |                                                       | forbid no_connection    |                                                    | R21         |
| CS29 | Requested,Resuming | ServerCompletes    | SameSession IsCall                                    | Lost                    | CloseConnection CommitUnknown                      | R21 R23     |
| CS30 | Requested,Resuming | ServerCompletes    | SameSession !IsCall                                   | Completed               | CloseConnection ReportStandalone                   | R21         |
| CS31 | Requested,Resuming | ServerCompletes    | !SameSession                                          | Lost                    | CloseConnection Abandon                            | R21 R22     |
| CS32 | *                  | ServerCompletes    |                                                       | forbid no_connection    |                                                    | R21         |
| CS33 | Resuming           | ServerDefers       |                                                       | Ended                   | CloseConnection ScheduleResume                     | R26         |
| CS34 | *                  | ServerDefers       |                                                       | forbid no_connection    |                                                    | R26         |
| CS35 | Resuming           | ServerChallenges   |                                                       | Ended                   | CloseConnection RefreshCredentials ScheduleResume  | R26         |
| CS36 | *                  | ServerChallenges   |                                                       | forbid no_connection    |                                                    | R26         |
| CS37 | Resuming           | ServerRefuses      | !AttemptSuperseded                                    | Lost                    | CloseConnection Abandon                            | R22         |
| CS38 | Requested          | ServerRefuses      | SessionGone !ProvesNotExecuted !AttemptSuperseded     | Lost                    | CloseConnection Abandon                            | R22 R23     |
| CS39 | Requested          | ServerRefuses      | SessionGone ProvesNotExecuted !AttemptSuperseded      | NotExecuted             | CloseConnection CommitRemoval ReportNotRun Abandon | R22 R23     |
| CS40 | Requested          | ServerRefuses      | !SessionGone ProvesNotExecuted !AttemptSuperseded     | NotExecuted             | CloseConnection CommitRemoval ReportNotRun         | R23         |
| CS41 | Requested          | ServerRefuses      | !SessionGone !ProvesNotExecuted IsCall !AttemptSuperseded | Lost                    | CloseConnection CommitUnknown                      | R23         |
| CS42 | Requested          | ServerRefuses      | !SessionGone !ProvesNotExecuted !IsCall !AttemptSuperseded | Completed               | CloseConnection ReportStandalone                   | R22         |
| CS97 | Requested,Resuming | ServerRefuses      | AttemptSuperseded                                     | Lost                    | CloseConnection Yield                              | R10 R30     |
| CS43 | *                  | ServerRefuses      |                                                       | forbid no_connection    |                                                    | R22         |
| CS44 | Streaming,Unproven | EventArrives       | HasPayload InOrder                                    | Committing              | Commit                                             | R20 R21     |
| CS45 | Streaming,Unproven | EventArrives       | !HasPayload InOrder MovesPosition                     | Committing              | CommitToken                                        | R24 R25     |
| CS46 | Streaming          | EventArrives       | !HasPayload InOrder !MovesPosition                    | =                       |                                                    | R21         |
| CS95 | Unproven           | EventArrives       | !HasPayload InOrder !MovesPosition PositionAnnounced  | Streaming               |                                                    | R21         |
| CS96 | Unproven           | EventArrives       | !HasPayload InOrder !MovesPosition !PositionAnnounced | =                       |                                                    | R8 R21      |
| CS47 | Streaming,Unproven | EventArrives       | !InOrder                                              | Lost                    | CloseConnection Abandon                            | R21 R22     |
| CS48 | Committing         | EventArrives       |                                                       | forbid commit_in_hand   |                                                    | R20         |
| CS49 | Completed          | EventArrives       |                                                       | forbid stream_completed |                                                    | R29         |
| CS50 | Lost               | EventArrives       |                                                       | forbid stream_lost      |                                                    | R22         |
| CS51 | *                  | EventArrives       |                                                       | forbid no_connection    |                                                    | R21         |
| CS52 | Streaming,Unproven | StreamEnds         | Positioned Orderable                                  | Ended                   | CloseConnection ScheduleResume                     | R24 R25     |
| CS53 | Streaming,Unproven | StreamEnds         | Positioned !Orderable                                 | Lost                    | CloseConnection Abandon                            | R22         |
| CS54 | Streaming,Unproven | StreamEnds         | !Positioned IsCall                                    | Lost                    | CloseConnection CommitUnknown                      | R23 R24     |
| CS55 | Streaming,Unproven | StreamEnds         | !Positioned !IsCall                                   | Lost                    | CloseConnection ReportGap                          | R24         |
| CS56 | Committing         | StreamEnds         |                                                       | forbid commit_in_hand   |                                                    | R20         |
| CS57 | *                  | StreamEnds         |                                                       | forbid no_connection    |                                                    | R21         |
| CS58 | Streaming,Unproven | ConnectionBreaks   | Positioned Orderable !Strict                          | Truncated               | CloseConnection ScheduleResume                     | R24 R25     |
| CS59 | Streaming,Unproven | ConnectionBreaks   | Positioned Orderable Strict                           | Lost                    | CloseConnection Abandon                            | R24         |
| CS60 | Streaming,Unproven | ConnectionBreaks   | Positioned !Orderable                                 | Lost                    | CloseConnection Abandon                            | R22         |
| CS61 | Streaming,Unproven | ConnectionBreaks   | !Positioned IsCall                                    | Lost                    | CloseConnection CommitUnknown                      | R23 R24     |
| CS62 | Streaming,Unproven | ConnectionBreaks   | !Positioned !IsCall                                   | Lost                    | CloseConnection ReportGap                          | R24         |
| CS63 | Requested          | ConnectionBreaks   | IsCall                                                | Lost                    | CloseConnection CommitUnknown                      | R23 R24     |
| CS64 | Requested          | ConnectionBreaks   | !IsCall                                               | Lost                    | CloseConnection ReportGap                          | R24         |
| CS65 | Resuming           | ConnectionBreaks   |                                                       | Truncated               | CloseConnection ScheduleResume                     | R25 R26     |
| CS66 | Committing         | ConnectionBreaks   |                                                       | forbid commit_in_hand   |                                                    | R20         |
| CS67 | *                  | ConnectionBreaks   |                                                       | forbid no_connection    |                                                    | R21         |
| CS68 | Ended,Truncated    | ClientReconnects   | AttemptsLeft                                          | Resuming                | CloseConnection SendResume                         | R21 R25 R26 |
| CS69 | Ended,Truncated    | ClientReconnects   | !AttemptsLeft                                         | Suspended               | ReportPending                                      | R26         |
| CS70 | *                  | ClientReconnects   |                                                       | forbid out_of_turn      |                                                    | R26         |
| CS71 | Suspended          | CallerResumes      |                                                       | Resuming                | CloseConnection SendResume                         | R26         |
| CS72 | *                  | CallerResumes      |                                                       | forbid out_of_turn      |                                                    | R26         |
| CS73 | Committing         | StreamCommitted    | AppliesEvent IsAnswer                                 | Completed               | CloseConnection ReturnEvent                        | R20         |
| CS74 | Committing         | StreamCommitted    | AppliesEvent !IsAnswer                                | Streaming               | ReturnEvent                                        | R20         |
| CS75 | Committing         | StreamCommitted    | !AppliesEvent                                         | Streaming               |                                                    | R20 R24     |
| CS76 | Lost               | StreamCommitted    | AppliesEvent                                          | =                       | ReturnEvent                                        | R20 R22     |
| CS77 | Lost               | StreamCommitted    | !AppliesEvent MarksUnknown                            | =                       | ReportUnknown                                      | R23         |
| CS78 | Lost               | StreamCommitted    | !AppliesEvent !MarksUnknown                           | =                       |                                                    | R22         |
| CS79 | NotExecuted        | StreamCommitted    |                                                       | =                       |                                                    | R23         |
| CS80 | *                  | StreamCommitted    |                                                       | forbid out_of_turn      |                                                    | R20         |
| CS81 | Committing         | StreamCommitFailed | RecordStale                                           | Lost                    | CloseConnection ReturnNothing Abandon              | R30         |
| CS82 | Committing         | StreamCommitFailed | !RecordStale Positioned Orderable                     | Truncated               | CloseConnection ReturnNothing ScheduleResume       | R20 R24     |
| CS83 | Committing         | StreamCommitFailed | !RecordStale Positioned !Orderable                    | Lost                    | CloseConnection ReturnNothing Abandon              | R20 R22     |
| CS84 | Committing         | StreamCommitFailed | !RecordStale !Positioned IsCall                       | Lost                    | CloseConnection ReturnNothing CommitUnknown        | R20 R23     |
| CS85 | Committing         | StreamCommitFailed | !RecordStale !Positioned !IsCall                      | Lost                    | CloseConnection ReturnNothing ReportGap            | R20 R24     |
| CS86 | Lost               | StreamCommitFailed | AppliesEvent                                          | =                       | ReturnNothing                                      | R22 R30     |
| CS87 | Lost               | StreamCommitFailed | !AppliesEvent MarksUnknown                            | =                       | ReportUnknown                                      | R23         |
| CS88 | Lost               | StreamCommitFailed | !AppliesEvent !MarksUnknown                           | =                       |                                                    | R22         |
| CS89 | NotExecuted        | StreamCommitFailed |                                                       | =                       |                                                    | R23         |
| CS90 | *                  | StreamCommitFailed |                                                       | forbid out_of_turn      |                                                    | R20         |
| CS91 | Completed,NotExecuted,Lost | EpochEnds  |                                                       | =                       |                                                    | R22         |
| CS92 | Unsent,Recording,Requested,Streaming,Committing,Ended,Truncated,Resuming,Unproven,Suspended | EpochEnds |  | Lost         | CloseConnection                                    | R22         |
`)

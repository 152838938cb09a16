package spec

// StreamTable is the server's ephemeral machine: one logical stream.
//
// The verdict on a request for a view selects its trigger one to one
// ([Verdict.Trigger]); the table says what the stream does about it.
func StreamTable() Table { return streamTable }

var streamTable = parseTable("stream", 68, Unopened, []State{Unopened, Detached, Attached, FinishedDetached, FinishedAttached, Forgotten}, []Trigger{
	StreamOpens, HandlerEmits, HandlerAnswers, HandlerEndsView, ClientAttaches, ClientReattaches, ClientCompletes, ClientIsRefused,
	ViewDelivers, ViewOvertaken, ViewStalls, ViewBreaks, DetachBudgetElapses, RetentionEnds, RecordsCapped, SessionEnds,
}, `
| ID   | From                              | Trigger             | Guard                  | To                       | Effects                         | Cites     |
| ST01 | Unopened                          | StreamOpens         | WithView               | Attached                 | AssignNumber AnnouncePosition   | R2 R7 R8  |
| ST02 | Unopened                          | StreamOpens         | !WithView              | Detached                 | AssignNumber                    | R2 R7     |
| ST03 | Detached,Attached,FinishedDetached,FinishedAttached,Forgotten | StreamOpens | | forbid out_of_turn      |                                 | R2        |
| ST04 | Detached,Attached                 | HandlerEmits        | EventFits              | =                        | Record                          | R11 R3    |
| ST05 | Detached,Attached                 | HandlerEmits        | !EventFits             | forbid event_too_large   |                                 | R3        |
| ST06 | Unopened                          | HandlerEmits        |                        | forbid stream_unopened   |                                 | R7        |
| ST07 | FinishedDetached,FinishedAttached | HandlerEmits        |                        | forbid stream_finished   |                                 | R11       |
| ST08 | Forgotten                         | HandlerEmits        |                        | forbid stream_forgotten  |                                 | R6        |
| ST09 | Detached                          | HandlerAnswers      | EventFits !Standalone  | FinishedDetached         | Record Finish                   | R11       |
| ST10 | Attached                          | HandlerAnswers      | EventFits !Standalone  | FinishedAttached         | Record Finish                   | R11       |
| ST11 | Detached,Attached                 | HandlerAnswers      | !EventFits !Standalone | forbid event_too_large   |                                 | R3        |
| ST12 | Detached,Attached                 | HandlerAnswers      | Standalone             | forbid stream_standalone |                                 | R9b       |
| ST13 | Unopened                          | HandlerAnswers      |                        | forbid stream_unopened   |                                 | R7        |
| ST14 | FinishedDetached,FinishedAttached | HandlerAnswers      |                        | forbid stream_finished   |                                 | R11       |
| ST15 | Forgotten                         | HandlerAnswers      |                        | forbid stream_forgotten  |                                 | R6        |
| ST16 | Attached                          | HandlerEndsView     |                        | Detached                 | EndView                         | R9b R12   |
| ST17 | FinishedAttached                  | HandlerEndsView     |                        | FinishedDetached         | EndView                         | R9b R12   |
| ST18 | Unopened,Detached,FinishedDetached,Forgotten | HandlerEndsView |                | forbid no_view           |                                 | R9        |
| ST19 | Detached                          | ClientAttaches      |                        | Attached                 | AnnouncePosition                | R7 R8     |
| ST20 | Attached                          | ClientAttaches      |                        | =                        | SupersedeView AnnouncePosition  | R7 R8 R10 |
| ST21 | FinishedDetached,FinishedAttached | ClientAttaches      |                        | forbid stream_finished   |                                 | R7        |
| ST22 | Unopened                          | ClientAttaches      |                        | forbid cursor_unissued   |                                 | R7        |
| ST23 | Forgotten                         | ClientAttaches      |                        | forbid cursor_evicted    |                                 | R7        |
| ST24 | Detached                          | ClientReattaches    |                        | Attached                 | AnnouncePosition                | R4 R8     |
| ST25 | Attached                          | ClientReattaches    |                        | =                        | SupersedeView AnnouncePosition  | R4 R8 R10 |
| ST26 | FinishedDetached                  | ClientReattaches    |                        | FinishedAttached         | AnnouncePosition                | R4 R8 R11 |
| ST27 | FinishedAttached                  | ClientReattaches    |                        | =                        | SupersedeView AnnouncePosition  | R4 R8 R10 |
| ST28 | Unopened                          | ClientReattaches    |                        | forbid cursor_unissued   |                                 | R1 R5     |
| ST29 | Forgotten                         | ClientReattaches    |                        | forbid cursor_evicted    |                                 | R5        |
| ST30 | FinishedDetached                  | ClientCompletes     |                        | =                        | AnswerComplete                  | R11       |
| ST31 | FinishedAttached                  | ClientCompletes     |                        | FinishedDetached         | SupersedeView AnswerComplete    | R11 R10   |
| ST32 | Unopened,Detached,Attached,Forgotten | ClientCompletes  |                        | forbid stream_unfinished |                                 | R11       |
| ST33 | Unopened,Detached,Attached,FinishedDetached,FinishedAttached,Forgotten | ClientIsRefused | | =      | RefuseCursor                    | R1 R5 R10 |
| ST34 | Attached                          | ViewDelivers        |                        | =                        | Deliver                         | R4 R11    |
| ST35 | FinishedAttached                  | ViewDelivers        | !DeliversLast          | =                        | Deliver                         | R4 R11    |
| ST36 | FinishedAttached                  | ViewDelivers        | DeliversLast           | FinishedDetached         | Deliver EndView                 | R4 R11    |
| ST37 | Unopened,Detached,FinishedDetached,Forgotten | ViewDelivers |                    | forbid no_view           |                                 | R10       |
| ST38 | Attached                          | ViewOvertaken       |                        | Detached                 | CutView                         | R9        |
| ST39 | FinishedAttached                  | ViewOvertaken       |                        | FinishedDetached         | CutView                         | R9        |
| ST40 | Unopened,Detached,FinishedDetached,Forgotten | ViewOvertaken |                   | forbid no_view           |                                 | R9        |
| ST41 | Attached                          | ViewBreaks          |                        | Detached                 | DropView                        | R9b R11   |
| ST42 | FinishedAttached                  | ViewBreaks          |                        | FinishedDetached         | DropView                        | R9b R11   |
| ST43 | Unopened,Detached,FinishedDetached,Forgotten | ViewBreaks |                      | forbid no_view           |                                 | R10       |
| ST44 | Detached                          | DetachBudgetElapses | !Standalone            | FinishedDetached         | CancelWork RecordUnknown Finish | R9b       |
| ST45 | Detached                          | DetachBudgetElapses | Standalone             | forbid stream_standalone |                                 | R9b       |
| ST46 | Attached,FinishedAttached         | DetachBudgetElapses |                        | forbid view_in_the_way   |                                 | R9b       |
| ST47 | FinishedDetached                  | DetachBudgetElapses |                        | forbid stream_finished   |                                 | R9b R11   |
| ST48 | Unopened                          | DetachBudgetElapses |                        | forbid stream_unopened   |                                 | R9b       |
| ST49 | Forgotten                         | DetachBudgetElapses |                        | forbid stream_forgotten  |                                 | R9b       |
| ST50 | FinishedDetached                  | RetentionEnds       |                        | Forgotten                | ForgetStream                    | R9b R11   |
| ST51 | FinishedAttached                  | RetentionEnds       |                        | forbid view_in_the_way   |                                 | R9        |
| ST52 | Detached,Attached                 | RetentionEnds       |                        | forbid stream_unfinished |                                 | R9b       |
| ST53 | Unopened                          | RetentionEnds       |                        | forbid stream_unopened   |                                 | R9b       |
| ST54 | Forgotten                         | RetentionEnds       |                        | forbid stream_forgotten  |                                 | R9b       |
| ST55 | FinishedDetached                  | RecordsCapped       |                        | Forgotten                | ForgetStream                    | R3        |
| ST56 | FinishedAttached                  | RecordsCapped       |                        | forbid view_in_the_way   |                                 | R3        |
| ST57 | Detached,Attached                 | RecordsCapped       |                        | forbid stream_unfinished |                                 | R3        |
| ST58 | Unopened                          | RecordsCapped       |                        | forbid stream_unopened   |                                 | R3        |
| ST59 | Forgotten                         | RecordsCapped       |                        | forbid stream_forgotten  |                                 | R3        |
| ST60 | Detached                          | SessionEnds         |                        | Forgotten                | CancelWork ForgetStream         | R6        |
| ST61 | Attached                          | SessionEnds         |                        | Forgotten                | EndView CancelWork ForgetStream | R6        |
| ST62 | FinishedDetached                  | SessionEnds         |                        | Forgotten                | ForgetStream                    | R6        |
| ST63 | FinishedAttached                  | SessionEnds         |                        | Forgotten                | EndView ForgetStream            | R6        |
| ST64 | Unopened                          | SessionEnds         |                        | forbid stream_unopened   |                                 | R6        |
| ST65 | Forgotten                         | SessionEnds         |                        | forbid stream_forgotten  |                                 | R6        |
| ST66 | Attached                          | ViewStalls          |                        | Detached                 | CutView                         | R9        |
| ST67 | FinishedAttached                  | ViewStalls          |                        | FinishedDetached         | CutView                         | R9        |
| ST68 | Unopened,Detached,FinishedDetached,Forgotten | ViewStalls |                      | forbid no_view           |                                 | R9        |
`)

package spec

// EpochTable is the client's durable machine: one epoch, the client's word for
// one session.
func EpochTable() Table { return epochTable }

var epochTable = parseTable("epoch", 54, Idle, []State{Idle, Opening, Quarantined, Open, Fencing, Abandoned, Closed}, []Trigger{
	CallerOpens, ServerOpens, OpeningFails, EpochCommitted, CallerCalls, CallerNotifies, CallerResolves, ResolutionCommitted,
	ResolutionCommitFailed, ServerContradicts, AnotherTakesOver, CallerAbandons, CallerTerminates, FenceCommitted, FenceCommitFailed,
}, `
| ID   | From                  | Trigger                | Guard                      | To                     | Effects                     | Cites       |
| EP01 | Idle,Abandoned,Closed | CallerOpens            |                            | Opening                | SendInitialize              | R6 R22      |
| EP02 | Opening,Quarantined,Open | CallerOpens         |                            | forbid epoch_open      |                             | R22         |
| EP03 | Fencing               | CallerOpens            |                            | forbid epoch_fencing   |                             | R22 R23     |
| EP04 | Opening               | ServerOpens            |                            | =                      | CommitEpoch                 | R23         |
| EP05 | Closed                | ServerOpens            |                            | =                      | SendDelete                  | R22         |
| EP06 | Idle,Quarantined,Open,Fencing,Abandoned | ServerOpens |                     | forbid out_of_turn     |                             | R22         |
| EP07 | Opening               | OpeningFails           | !UnknownsCarried           | Idle                   | SendDelete ReportFailure    | R22         |
| EP08 | Opening               | OpeningFails           | UnknownsCarried            | Abandoned              | SendDelete ReportFailure    | R22 R23     |
| EP09 | Closed                | OpeningFails           |                            | =                      | SendDelete ReportFailure    | R22         |
| EP10 | Idle,Quarantined,Open,Fencing,Abandoned | OpeningFails |                    | forbid out_of_turn     |                             | R22         |
| EP11 | Opening               | EpochCommitted         | !UnknownsCarried           | Open                   | ReportOpen                  | R23         |
| EP12 | Opening               | EpochCommitted         | UnknownsCarried            | Quarantined            | ReportOpen                  | R23         |
| EP13 | Closed                | EpochCommitted         |                            | Fencing                | CommitFence                 | R22 R23     |
| EP14 | Idle,Quarantined,Open,Fencing,Abandoned | EpochCommitted |                  | forbid out_of_turn     |                             | R23         |
| EP15 | Open                  | CallerCalls            | !LedgerForeign             | =                      | OpenClientStream            | R20 R23     |
| EP16 | Quarantined           | CallerCalls            | PassesQuarantine !LedgerForeign | =                 | OpenClientStream            | R23         |
| EP17 | Quarantined           | CallerCalls            | !PassesQuarantine !LedgerForeign | forbid quarantined |                           | R23         |
| EP51 | Quarantined,Open      | CallerCalls            | LedgerForeign              | forbid ledger_foreign  |                             | R23 R28     |
| EP18 | Idle,Opening          | CallerCalls            |                            | forbid epoch_not_open  |                             | R22         |
| EP19 | Fencing,Abandoned     | CallerCalls            |                            | forbid epoch_abandoned |                             | R22         |
| EP20 | Closed                | CallerCalls            |                            | forbid epoch_closed    |                             | R22         |
| EP21 | Open                  | CallerNotifies         |                            | =                      | SendMessage                 | R23         |
| EP22 | Quarantined           | CallerNotifies         | PassesQuarantine           | =                      | SendMessage                 | R23         |
| EP23 | Quarantined           | CallerNotifies         | !PassesQuarantine          | forbid quarantined     |                             | R23         |
| EP24 | Idle,Opening          | CallerNotifies         |                            | forbid epoch_not_open  |                             | R22         |
| EP25 | Fencing,Abandoned     | CallerNotifies         |                            | forbid epoch_abandoned |                             | R22         |
| EP26 | Closed                | CallerNotifies         |                            | forbid epoch_closed    |                             | R22         |
| EP27 | Idle,Quarantined,Open,Abandoned,Closed | CallerResolves |                   | =                      | CommitResolution            | R23         |
| EP28 | Opening               | CallerResolves         |                            | forbid epoch_not_open  |                             | R23         |
| EP29 | Fencing               | CallerResolves         |                            | forbid epoch_fencing   |                             | R23         |
| EP30 | Quarantined           | ResolutionCommitted    | !UnknownsCarried           | Open                   | ReportOpen                  | R23         |
| EP31 | Quarantined           | ResolutionCommitted    | UnknownsCarried            | =                      |                             | R23         |
| EP32 | Idle,Opening,Open,Fencing,Abandoned,Closed | ResolutionCommitted |          | =                      |                             | R23         |
| EP33 | Idle,Opening,Quarantined,Open,Fencing,Abandoned,Closed | ResolutionCommitFailed | | =                  | ReportFailure               | R23         |
| EP34 | Quarantined,Open      | ServerContradicts      |                            | Fencing                | EndClientStreams CommitFence | R21 R22 R23 |
| EP35 | Fencing,Abandoned,Closed | ServerContradicts   |                            | =                      |                             | R22         |
| EP36 | Idle,Opening          | ServerContradicts      |                            | forbid epoch_not_open  |                             | R22         |
| EP52 | Quarantined,Open      | AnotherTakesOver       |                            | Abandoned              | EndClientStreams ReportYielded | R10 R30  |
| EP53 | Fencing,Abandoned,Closed | AnotherTakesOver    |                            | =                      |                             | R30         |
| EP54 | Idle,Opening          | AnotherTakesOver       |                            | forbid epoch_not_open  |                             | R30         |
| EP37 | Quarantined,Open      | CallerAbandons         |                            | Fencing                | EndClientStreams CommitFence | R22 R23     |
| EP38 | Fencing               | CallerAbandons         |                            | =                      | CommitFence                 | R22         |
| EP39 | Idle,Opening,Abandoned,Closed | CallerAbandons |                            | forbid epoch_not_open  |                             | R22         |
| EP40 | Quarantined,Open      | CallerTerminates       |                            | Fencing                | EndClientStreams CommitFence | R22 R23     |
| EP41 | Idle,Opening,Abandoned | CallerTerminates      |                            | Closed                 |                             | R22         |
| EP42 | Fencing               | CallerTerminates       |                            | =                      |                             | R22         |
| EP43 | Closed                | CallerTerminates       |                            | forbid epoch_closed    |                             | R22         |
| EP44 | Fencing               | FenceCommitted         | !ClosingWished             | Abandoned              | ReportUnknowns SendDelete   | R22 R23     |
| EP45 | Fencing               | FenceCommitted         | ClosingWished              | Closed                 | ReportUnknowns SendDelete   | R22 R23     |
| EP46 | Idle,Opening,Quarantined,Open,Abandoned,Closed | FenceCommitted |           | forbid out_of_turn     |                             | R22         |
| EP47 | Fencing               | FenceCommitFailed      | !RecordStale AttemptsLeft  | =                      | CommitFence                 | R22         |
| EP48 | Fencing               | FenceCommitFailed      | !RecordStale !AttemptsLeft | =                      | ReportUnknowns              | R22         |
| EP49 | Fencing               | FenceCommitFailed      | RecordStale                | Abandoned              | ReportYielded               | R30         |
| EP50 | Idle,Opening,Quarantined,Open,Abandoned,Closed | FenceCommitFailed |        | forbid out_of_turn     |                             | R22         |
`)

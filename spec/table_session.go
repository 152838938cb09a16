package spec

// SessionTable is the server's durable machine: one session.
//
// A session that another subject opened is looked up as Absent, so R13 is the
// same rows, and the same code, as R6.
func SessionTable() Table { return sessionTable }

var sessionTable = parseTable("session", 33, Absent, []State{Absent, Live, Draining, Expired, Terminated}, []Trigger{
	ClientInitializes, ClientCalls, ClientNotifies, ClientResumes, ClientTerminates, SessionBudgetElapses, ServerDrains,
}, `
| ID   | From          | Trigger              | Guard                         | To                         | Effects                     | Cites   |
| SS01 | Absent        | ClientInitializes    | !ServerFull !ServerDraining   | Live                       | IssueSession OpenStandalone | R6 R7   |
| SS02 | Absent        | ClientInitializes    | ServerFull !ServerDraining    | forbid too_many_sessions   |                             | R3      |
| SS03 | Absent        | ClientInitializes    | ServerDraining                | forbid draining            |                             | R12     |
| SS04 | Live,Draining | ClientInitializes    |                               | forbid already_initialized |                             | R6      |
| SS05 | Live          | ClientCalls          | !RequestsCapped !StreamsCapped | =                         | OpenStream                  | R3 R7   |
| SS06 | Live          | ClientCalls          | RequestsCapped                | forbid too_many_requests   |                             | R3      |
| SS07 | Live          | ClientCalls          | !RequestsCapped StreamsCapped | forbid too_many_streams    |                             | R3      |
| SS08 | Draining      | ClientCalls          |                               | forbid draining            |                             | R12     |
| SS09 | Live,Draining | ClientNotifies       |                               | =                          |                             | R9b R12 |
| SS10 | Live          | ClientResumes        | !ViewsCapped                  | =                          | DecideCursor                | R4 R5   |
| SS11 | Live          | ClientResumes        | ViewsCapped                   | forbid too_many_views      |                             | R3      |
| SS12 | Draining      | ClientResumes        |                               | forbid draining            |                             | R12     |
| SS13 | Live,Draining | ClientTerminates     |                               | Terminated                 | EndStreams Bury             | R6      |
| SS14 | Live,Draining | SessionBudgetElapses | !InUse                        | Expired                    | EndStreams Bury             | R9b R6  |
| SS15 | Live,Draining | SessionBudgetElapses | InUse                         | forbid session_in_use      |                             | R9b     |
| SS16 | Live          | ServerDrains         |                               | Draining                   | EndViews                    | R12     |
| SS17 | Draining      | ServerDrains         |                               | =                          |                             | R12     |
| SS18 | Absent        | ClientCalls          |                               | forbid session_unknown     |                             | R6 R13  |
| SS19 | Absent        | ClientNotifies       |                               | forbid session_unknown     |                             | R6 R13  |
| SS20 | Absent        | ClientResumes        |                               | forbid session_unknown     |                             | R6 R13  |
| SS21 | Absent        | ClientTerminates     |                               | forbid session_unknown     |                             | R6 R13  |
| SS22 | Expired       | ClientInitializes    |                               | forbid session_expired     |                             | R6      |
| SS23 | Expired       | ClientCalls          |                               | forbid session_expired     |                             | R6      |
| SS24 | Expired       | ClientNotifies       |                               | forbid session_expired     |                             | R6      |
| SS25 | Expired       | ClientResumes        |                               | forbid session_expired     |                             | R6      |
| SS26 | Expired       | ClientTerminates     |                               | forbid session_expired     |                             | R6      |
| SS27 | Terminated    | ClientInitializes    |                               | forbid session_terminated  |                             | R6      |
| SS28 | Terminated    | ClientCalls          |                               | forbid session_terminated  |                             | R6      |
| SS29 | Terminated    | ClientNotifies       |                               | forbid session_terminated  |                             | R6      |
| SS30 | Terminated    | ClientResumes        |                               | forbid session_terminated  |                             | R6      |
| SS31 | Terminated    | ClientTerminates     |                               | forbid session_terminated  |                             | R6      |
| SS32 | Absent,Expired,Terminated | SessionBudgetElapses |                   | forbid out_of_turn         |                             | R6      |
| SS33 | Absent,Expired,Terminated | ServerDrains         |                   | forbid out_of_turn         |                             | R6      |
`)

package spec

import "time"

// Defaults of the bounds that R3 puts on what a server keeps. Every one is a
// setting; the names here are the ones used in docs and metrics.
const (
	DefaultWindowEvents     = 256             // events retained per session
	DefaultWindowAge        = 5 * time.Minute // age of a retained event
	DefaultWindowBytes      = 8 << 20         // payload bytes retained per session
	DefaultEventBytes       = 4 << 20         // one event's payload; also less than the window's bytes
	DefaultSessions         = 10_000          // sessions per server
	DefaultSubjectSessions  = 1_000           // sessions of one subject
	DefaultStreams          = 1_024           // streams with a record per session
	DefaultViews            = 128             // views open at once per session: a call each, the standalone stream, finished ones read again
	DefaultRequests         = 64              // calls in flight per session
	DefaultMessageBytes     = 4 << 20         // body of one POST
	DefaultRememberedEnds   = 10_000          // ended sessions remembered by reason
	DefaultRememberedEndAge = time.Hour       // and for how long
)

// Defaults of the budgets of R9, R9b, R12 and R15.
const (
	DefaultDetachBudget   = 5 * time.Minute  // a stream without a view stays resumable
	DefaultSessionBudget  = 30 * time.Minute // a session without request, view or call lives on
	DefaultKeepAlive      = 15 * time.Second // a quiet view carries a comment
	DefaultReadBudget     = 30 * time.Second // in which the body of a POST arrives
	DefaultStallBudget    = 30 * time.Second // data may be pending on a view at less than the lowest rate
	DefaultMinRate        = 1 << 10          // bytes a second: the lowest rate of a reader
	DefaultViewLife       = 10 * time.Minute // a view of a client that resumes is ended, cleanly
	DefaultViewLifeOthers = 2 * time.Hour    // and one of a client that might not
	DefaultGracePeriod    = 30 * time.Second // a drain is over
	DefaultRetryHint      = time.Second      // `retry` on a view that is ended on purpose
	DefaultRetryAfter     = 5 * time.Second  // Retry-After of a refusal that may pass
)

// Defaults of the client's persistence (R26).
const (
	DefaultResumeAttempts = 8               // in a row without progress
	DefaultResumeTime     = 2 * time.Minute // in a row without progress
	DefaultBackoffBase    = 250 * time.Millisecond
	DefaultBackoffMax     = 15 * time.Second
	DefaultMaxRetryHint   = time.Minute // a longer `retry` is cut to this
	DefaultFenceAttempts  = 5           // writes of a fence before its caller is told
)

package spec

import "slices"

// A Reason says why a move was refused, a cursor was not accepted, or an epoch
// was abandoned. Its text is part of the wire and of every log and metric.
//
// A Reason is also an error, so that errors.Is(err, spec.ReasonCursorEvicted)
// asks the question that matters of any error of this module.
type Reason string

// Error returns the reason's text.
func (r Reason) Error() string { return string(r) }

// Reasons that a server gives to a client, with the status of the answer.
const (
	ReasonSessionRequired    Reason = "session_required"
	ReasonAlreadyInitialized Reason = "already_initialized"
	ReasonCursorMalformed    Reason = "cursor_malformed"
	ReasonCursorWithMessage  Reason = "cursor_with_message"
	ReasonAttemptMalformed   Reason = "attempt_malformed"

	ReasonSessionUnknown    Reason = "session_unknown"
	ReasonSessionExpired    Reason = "session_expired"
	ReasonSessionTerminated Reason = "session_terminated"

	ReasonCursorForeign      Reason = "cursor_foreign"
	ReasonCursorUnissued     Reason = "cursor_unissued"
	ReasonCursorEvicted      Reason = "cursor_evicted"
	ReasonCursorAhead        Reason = "cursor_ahead"
	ReasonAttemptSuperseded  Reason = "attempt_superseded"
	ReasonReplayNotPermitted Reason = "replay_not_permitted"

	ReasonTooManySessions  Reason = "too_many_sessions"
	ReasonTooManyStreams   Reason = "too_many_streams"
	ReasonTooManyViews     Reason = "too_many_views"
	ReasonTooManyRequests  Reason = "too_many_requests"
	ReasonDraining         Reason = "draining"
	ReasonStoreUnavailable Reason = "store_unavailable"
)

// Reasons with which a ledger refuses a keyed call (R28). They travel in a
// JSON-RPC error of their own and have no status: the POST itself was served.
const (
	ReasonKeySealed         Reason = "key_sealed"         // known as not executed
	ReasonKeyReused         Reason = "key_reused"         // the key of other arguments
	ReasonKeyUnknown        Reason = "key_unknown"        // outcome unknown, and never executed
	ReasonKeyMalformed      Reason = "key_malformed"      // no key
	ReasonKeyFuture         Reason = "key_future"         // sealed: minted ahead of the server's clock
	ReasonLedgerFull        Reason = "ledger_full"        // sealed: no room for its outcome
	ReasonLedgerUnavailable Reason = "ledger_unavailable" // proves nothing
	ReasonResponseLost      Reason = "response_lost"      // executed, and the response was too large to keep
)

// Reasons that stay at the server: they answer the application's own calls.
const (
	ReasonStreamUnopened   Reason = "stream_unopened"
	ReasonStreamFinished   Reason = "stream_finished"
	ReasonStreamForgotten  Reason = "stream_forgotten"
	ReasonStreamStandalone Reason = "stream_standalone"
	ReasonStreamUnfinished Reason = "stream_unfinished"
	ReasonEventTooLarge    Reason = "event_too_large"
	ReasonNoView           Reason = "no_view"
	ReasonViewInTheWay     Reason = "view_in_the_way"
	ReasonSessionInUse     Reason = "session_in_use"
	ReasonOutOfTurn        Reason = "out_of_turn"
	// ReasonNoRow: the table at work, which somebody edited, has no row for
	// what happened. It is refused like everything that is not allowed.
	ReasonNoRow Reason = "no_row"
)

// Reasons that stay at the client: why a move was refused there.
const (
	ReasonEpochNotOpen    Reason = "epoch_not_open"
	ReasonEpochOpen       Reason = "epoch_open"
	ReasonEpochFencing    Reason = "epoch_fencing"
	ReasonEpochAbandoned  Reason = "epoch_abandoned"
	ReasonEpochClosed     Reason = "epoch_closed"
	ReasonQuarantined     Reason = "quarantined"
	ReasonCommitInHand    Reason = "commit_in_hand"
	ReasonNoConnection    Reason = "no_connection"
	ReasonStreamCompleted Reason = "stream_completed"
	ReasonStreamLost      Reason = "stream_lost"
	ReasonStreamSuspended Reason = "stream_suspended"
	ReasonNotExecuted     Reason = "not_executed"
	ReasonLedgerForeign   Reason = "ledger_foreign" // the key is of a ledger that this session's server did not name
	ReasonLeaseHeld       Reason = "lease_held"     // another process holds the record
	ReasonLeaseLost       Reason = "lease_lost"     // another process took the record over
)

// Reasons for which a client abandons its epoch (R21, R22, R24), beside the
// reason that a server gave.
const (
	ReasonSessionMissing     Reason = "session_missing"
	ReasonSessionChanged     Reason = "session_changed"
	ReasonPositionUnexpected Reason = "position_unexpected"
	ReasonEventRepeated      Reason = "event_repeated"
	ReasonEventOutOfOrder    Reason = "event_out_of_order"
	ReasonEventSkipped       Reason = "event_skipped"
	ReasonEventUnorderable   Reason = "event_unorderable"
	ReasonEventWithoutID     Reason = "event_without_id"
	ReasonStreamTruncated    Reason = "stream_truncated"
	ReasonRefused            Reason = "refused"
	ReasonRedirected         Reason = "redirected"
	ReasonCallerDecided      Reason = "caller_decided"
	ReasonCommitFailed       Reason = "commit_failed"
	ReasonRecordStale        Reason = "record_stale"
)

// The statuses that a refusal may have. They are spelled out here so that the
// vocabulary, and every core that imports it, does without net/http.
const (
	statusBadRequest         = 400
	statusNotFound           = 404
	statusConflict           = 409
	statusTooManyRequests    = 429
	statusServiceUnavailable = 503
)

var statuses = map[Reason]int{
	ReasonSessionRequired:    statusBadRequest,
	ReasonAlreadyInitialized: statusBadRequest,
	ReasonCursorMalformed:    statusBadRequest,
	ReasonCursorWithMessage:  statusBadRequest,
	ReasonAttemptMalformed:   statusBadRequest,
	ReasonSessionUnknown:     statusNotFound,
	ReasonSessionExpired:     statusNotFound,
	ReasonSessionTerminated:  statusNotFound,
	ReasonCursorForeign:      statusConflict,
	ReasonCursorUnissued:     statusConflict,
	ReasonCursorEvicted:      statusConflict,
	ReasonCursorAhead:        statusConflict,
	ReasonAttemptSuperseded:  statusConflict,
	ReasonReplayNotPermitted: statusConflict,
	ReasonTooManySessions:    statusServiceUnavailable,
	ReasonTooManyStreams:     statusTooManyRequests,
	ReasonTooManyViews:       statusTooManyRequests,
	ReasonTooManyRequests:    statusTooManyRequests,
	ReasonDraining:           statusServiceUnavailable,
	ReasonStoreUnavailable:   statusServiceUnavailable,
}

// Status returns the HTTP status that carries r, or 0 for a reason that never
// reaches a peer.
func (r Reason) Status() int { return statuses[r] }

// RetryLater reports whether the answer carries Retry-After: nothing is wrong
// with the request, only with the moment.
func (r Reason) RetryLater() bool {
	s := r.Status()
	return s == statusServiceUnavailable || s == statusTooManyRequests
}

// WireReasons lists the reasons that have a status, sorted by text.
func WireReasons() []Reason {
	all := make([]Reason, 0, len(statuses))
	for r := range statuses {
		all = append(all, r)
	}
	slices.Sort(all)
	return all
}

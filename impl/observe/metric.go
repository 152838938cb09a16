package observe

// A Kind says how a metric moves.
type Kind uint8

const (
	Counter   Kind = iota // grows
	Gauge                 // goes up and down
	Histogram             // of single values
)

// A Metric is one instrument. Its name ends in its unit or in _total, as those
// of Prometheus do.
type Metric struct {
	Name   string
	Help   string
	Kind   Kind
	Labels []string
	// Bounds of the buckets of a histogram.
	Bounds []float64
}

// The instruments, by index: what a [Backend] is called with.
const (
	Moves = iota
	Refusals
	Resumes
	Sessions
	Streams
	Superseded
	Cuts
	Broken
	Cancelled
	Events
	EventBytes
	Lag
	Abandoned
	Outcomes
	Resolved
	Resumed
	Suspended
	numMetrics
)

// Metrics lists every instrument, in the order of the constants.
func Metrics() []Metric { return metrics[:] }

var metrics = [numMetrics]Metric{
	Moves:      {"reattach_moves_total", "Rows of the transition tables that fired.", Counter, []string{"machine", "row"}, nil},
	Refusals:   {"reattach_refusals_total", "Moves that a table refused, with the reason.", Counter, []string{"machine", "reason"}, nil},
	Resumes:    {"reattach_resumes_total", "Requests for a view, by verdict and, where it is refuse, by reason.", Counter, []string{"verdict", "reason"}, nil},
	Sessions:   {"reattach_sessions", "Sessions that have not ended, by state.", Gauge, []string{"state"}, nil},
	Streams:    {"reattach_streams", "Streams with a record, by state; those in an attached state have a view.", Gauge, []string{"state"}, nil},
	Superseded: {"reattach_views_superseded_total", "Views that a newer one of the same stream took over from (R10).", Counter, nil, nil},
	Cuts:       {"reattach_views_cut_total", "Views that were cut because their reader was too slow (R9), by cause.", Counter, []string{"cause"}, nil},
	Broken:     {"reattach_views_broken_total", "Views whose connection was gone.", Counter, nil, nil},
	Cancelled:  {"reattach_calls_cancelled_total", "Calls whose work was cancelled because nobody came back for them (R9b).", Counter, nil, nil},
	Events:     {"reattach_events_total", "Events that were recorded.", Counter, nil, nil},
	EventBytes: {"reattach_event_bytes_total", "Payload bytes of the events that were recorded.", Counter, nil, nil},
	Lag:        {"reattach_view_lag_events", "Events behind which a view stood when it took one.", Histogram, nil, []float64{0, 1, 4, 16, 64, 128, 255}},
	Abandoned:  {"reattach_client_epochs_ended_total", "Epochs of clients that ended, by reason; empty: by the caller's wish.", Counter, []string{"reason"}, nil},
	Outcomes:   {"reattach_client_outcomes_total", "Calls of clients that ended, by outcome and, where there is no answer, reason.", Counter, []string{"outcome", "reason"}, nil},
	Resolved:   {"reattach_client_unknowns_resolved_total", "Unknown outcomes that were resolved, by decision.", Counter, []string{"decision"}, nil},
	Resumed:    {"reattach_client_resumed_total", "Streams of clients that a proven view continued.", Counter, nil, nil},
	Suspended:  {"reattach_client_suspended_total", "Streams of clients that were suspended: the attempts were used up (R26).", Counter, nil, nil},
}

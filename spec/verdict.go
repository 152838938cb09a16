package spec

// A Verdict is what the server decides about a request for a view. The
// decision is one pure function of the request, the session and what the
// deployment can guarantee; each verdict selects exactly one trigger of
// [StreamTable].
type Verdict uint8

const (
	// VerdictRefuse: no view, for a stated [Reason] (R5, R6).
	VerdictRefuse Verdict = iota
	// VerdictAttach: begin without a cursor (R7, R8).
	VerdictAttach
	// VerdictReattach: continue strictly after a proven cursor (R4, R8).
	VerdictReattach
	// VerdictComplete: the stream is finished and its client missed nothing.
	VerdictComplete
	// VerdictReplay: re-send what is retained and leave deduplication to a
	// client that declared it. No deployment declares it yet: see
	// docs/rough-edges.md.
	VerdictReplay
)

var verdictNames = [...]string{"refuse", "attach", "reattach", "complete", "replay"}

func (v Verdict) String() string { return nameOf(verdictNames[:], int(v)) }

// Verdicts lists every verdict.
func Verdicts() []Verdict {
	return []Verdict{VerdictRefuse, VerdictAttach, VerdictReattach, VerdictComplete, VerdictReplay}
}

// Trigger returns the one trigger of [StreamTable] that v selects.
func (v Verdict) Trigger() Trigger {
	switch v {
	case VerdictAttach:
		return ClientAttaches
	case VerdictReattach:
		return ClientReattaches
	case VerdictComplete:
		return ClientCompletes
	default:
		return ClientIsRefused
	}
}

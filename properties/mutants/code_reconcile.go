package mutants

// Reconciliation and the lease at the client (R10, R23, R28, R30): what passes
// quarantine and goes where, what an answer means, and who may write the record.

const (
	changeOfGo     = "impl/client/change.go"
	reconcileGo    = "impl/client/reconcile.go"
	leaseGo        = "impl/client/lease.go"
	callGo         = "impl/client/call.go"
	wireKeysGo     = "impl/streamhttp/reconcile.go"
	wireRefusalGo  = "impl/streamhttp/refusal.go"
	wireTransferGo = "impl/streamhttp/transport.go"
)

var reconcileMutants = []Mutant{
	edit("lease-not-compared", "R30", "epoch, state and token say enough",
		changeOfGo, `if r.Lease != ch.Lease {`, `if r.Lease < ch.Lease {`),
	edit("lease-not-raised", "R30", "who takes a record over need not leave a mark",
		changeOfGo, "r.Lease++\n", "_ = r.Lease\n"),
	edit("lease-file-not-held", "R30", "two processes will not meet",
		leaseGo, "f.held = true\n\treturn func() error {\n\t\tf.mu.Lock()\n\t\tdefer f.mu.Unlock()\n\t\tf.held = false\n\t\treturn held.Close()\n\t}, nil", "return func() error { return nil }, held.Close()"),
	edit("lease-forgotten-between-epochs", "R30", "a new epoch has a new lease",
		changeOfGo, "Lease: r.Lease, Ledger: ch.Ledger", "Ledger: ch.Ledger"),
	edit("superseded-abandons", "R10 R30", "409 is 409",
		arrivalsGo, "f.Reason == spec.ReasonAttemptSuperseded && ", "f.Reason == spec.ReasonAttemptSuperseded && f.Sealed && "),
	edit("attempts-not-counted", "R10", "the generation says who is newer",
		runGo, "c.gets++\n", "c.gets = 1\n"),
	edit("reconcile-foreign-ledger-asked", "R23 R28", "any ledger may know",
		epochGo, `With(spec.LedgerForeign, asks && !c.names(call.Key))`, `With(spec.LedgerForeign, false)`),
	edit("reconcile-resend-of-another-call", "R28", "a key names the call, whatever its arguments",
		epochGo, ` || u.Method != call.Method || u.Digest != call.Digest`, ``),
	edit("reconcile-query-becomes-unknown", "R23", "a query is a call like any other",
		changeOfGo, `ok || call.Query {`, `ok {`),
	edit("reconcile-resend-leaves-unknown", "R23", "the answer to a re-send is the re-send's",
		changeOfGo, "} else if i, ok := r.findUnknown(call.Resends); ok {", "} else if i, ok := r.findUnknown(call.Resends); ok && call.Query {"),
	edit("reconcile-unsure-is-answered", "R23 R28", "an error response is an answer",
		changeOfGo, "if ch.Unsure {", "if ch.Unsure && ch.Reason == \"\" {"),
	edit("reconcile-quarantine-outlives-resend", "R23", "only the caller ends a quarantine",
		streamsGo, "more, err := c.ResolutionCommitted(durable)\n\treturn append(actions, more...), err", "return actions, err"),
	edit("reconcile-unknown-is-not-executed", "R23 R28", "what the ledger cannot tell did not run",
		reconcileGo, "case told.State == spec.KeyNotExecuted:", "case told.State != spec.KeyExecuted:"),
	edits("reconcile-does-not-wait", "R23", "a call that runs is as good as unknown",
		Edit{reconcileGo, "case err == nil && told.State != spec.KeyRunning:", "case err == nil:"},
		Edit{reconcileGo, "case err == nil:\n\t\t\tsince = c.now()", "case err != nil && since.IsZero():\n\t\t\tsince = c.now()"}),
	edit("reconcile-answer-outside-the-transaction", "R20 R23", "an answer that a ledger hands over needs no transaction",
		runGo, "if r.event.Answer {\n\t\t\tevents", "if r.event.Answer && r.event.HasID {\n\t\t\tevents"),
	edit("reconcile-never-asks-by-itself", "R23", "a call that was cut is lost",
		reconcileGo, "if o == nil || o.Kind != OutcomeUnknown", "if o == nil || o.Kind == OutcomeUnknown"),
	edit("wire-any-refusal-of-a-ledger-is-a-seal", "R23 R28", "what a ledger refuses did not run",
		wireKeysGo, `case why.KnownNotExecuted():`, `case why != spec.ReasonResponseLost:`),
	edit("wire-seal-of-another-key", "R23 R28", "sealed is sealed",
		wireTransferGo, `answer.Sealed = key != "" && refused.sealed == key`, `answer.Sealed = refused.sealed != ""`),
	edit("wire-key-in-a-header", "R28", "HTTP has a header for that",
		wireKeysGo, "out := append([]byte(`{\"`+spec.MetaKey+`\":`), quoted...)", "out := append([]byte(`{\"key\":`), quoted...)"),
	edit("wire-attempt-not-sent", "R10", "the server knows which request is newer",
		wireTransferGo, `if !get.Attempt.IsZero() {`, `if get.Attempt.IsZero() && hasBody {`),
	edit("reconcile-before-the-doubt", "R23", "what is not in the record yet is not unknown",
		reconcileGo, "return !c.core.doubting()", "return c.core != nil"),
	edit("call-of-an-epoch-that-is-gone", "R23", "whatever keeps a call from being sent is the same to its caller",
		callGo, "if errors.Is(err, ErrNoStream) {", "if errors.Is(err, ErrClosed) {"),
}

package mutants

// The server's half of attempts, drain, stalled and long views.

var attemptMutants = []Mutant{
	edit("attempt-ignored", "R10", "whoever comes last is the newest",
		decideGo, `if attempt.Compare(c.glance(d.Position.Stream).newest) < 0 {`, `if attempt.Compare(c.glance(d.Position.Stream).newest) < -1 {`),
	edit("attempt-same-is-late", "R10", "a number is used once",
		decideGo, `if attempt.Compare(c.glance(d.Position.Stream).newest) < 0 {`, `if attempt.Compare(c.glance(d.Position.Stream).newest) <= 0 {`),
	edit("attempt-none-is-late", "R10", "a client without numbers is an old one",
		decideGo, `if d.Verdict == spec.VerdictRefuse || attempt.IsZero() {`, `if d.Verdict == spec.VerdictRefuse {`),
	edit("attempt-malformed-is-none", "R10", "a number that cannot be read was not sent",
		decideGo, "if err != nil {\n\t\treturn refuse(spec.ReasonAttemptMalformed, Decision{})", "if err != nil && len(r.Attempts) > 1 {\n\t\treturn refuse(spec.ReasonAttemptMalformed, Decision{})"),
	edit("attempt-first-of-two", "R10", "of two numbers the first counts",
		decideGo, "\tcase 1:\n\t\treturn spec.ParseAttempt", "\tcase 1, 2:\n\t\treturn spec.ParseAttempt"),
	edit("attempt-falls", "R10", "the last number is the newest",
		viewstateGo, `if d.Attempt.Compare(rec.newest) > 0 {`, `if d.Attempt != rec.newest {`),
	edit("attempt-complete-forgets", "R10", "what is complete needs no number",
		effectGo, "\t\t\trec.grant(op.decision) // and the decision says it all\n", ""),
	edit("attempt-counter-first", "R10 R30", "the counter counts, whoever counted",
		"spec/attempt.go", `return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Counter, b.Counter))`, `return cmp.Or(cmp.Compare(a.Counter, b.Counter), cmp.Compare(a.Generation, b.Generation))`),
	edit("attempt-late-ends-session", "R10", "a 409 is a miss",
		handlerGo, `miss := r.Status == http.StatusConflict && r.Reason != spec.ReasonAttemptSuperseded`, `miss := r.Status == http.StatusConflict`),
}

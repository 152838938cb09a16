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
		missGo, `if r.Status != http.StatusConflict || r.Reason == spec.ReasonAttemptSuperseded {`, `if r.Status != http.StatusConflict {`),
}

const (
	paceGo  = "impl/streamhttp/pace.go"
	drainGo = "impl/streamhttp/drain.go"
)

var paceMutants = []Mutant{
	edit("pace-never-over", "R9", "a reader that takes something reads",
		paceGo, `now.Sub(p.since) >= p.budget }`, `now.Sub(p.since) >= p.budget && p.took == 0 }`),
	edit("pace-no-breaks", "R9", "who was behind is behind",
		viewGo, "\t\tv.pace.rest()\n", ""),
	edit("pace-each-write-its-budget", "R9", "what a write may take, every write may take",
		paceGo, `if p.took >= p.quota || p.took >= p.quota/2 &&`, `if p.took > 0 || p.took >= p.quota/2 &&`),
	edit("pace-twice-the-rate", "R9", "faster is better",
		paceGo, `quota := max(1, int(budget.Seconds()*float64(rate)))`, `quota := max(1, int(2*budget.Seconds()*float64(rate)))`),
	edit("pace-told-inside", "R9", "a comment harms nobody, wherever it stands",
		paceGo, `if from == edge {`, `if from >= edge {`),
	edit("pace-stall-is-an-end", "R9", "a view that is cut has ended",
		viewGo, `case errors.Is(err, session.ErrOvertaken), errors.Is(err, session.ErrStalled):`, `case errors.Is(err, session.ErrOvertaken):`),
	edit("pace-stands-elsewhere", "R9", "what was taken was written",
		paceGo, "v.at, edge = ends[whole-1].id, ends[whole-1].offset", "v.at, edge = v.ends[len(v.ends)-1].id, ends[whole-1].offset"),
	edit("view-lives-for-ever", "R9b", "a view that is read is wanted",
		viewGo, "\t\t\t_ = v.core.End()\n", ""),
	edit("view-of-others-cut-early", "R9b", "every client resumes",
		viewGo, `if comesBack(r.Header, s.Version()) {`, `if comesBack(r.Header, s.Version()) || s.Version() != "" {`),
	edit("view-of-ours-not-known", "R9b", "only the revision tells",
		viewGo, `if h.Get(name) != "" {`, `if h.Get(name) == "?" {`),
}

var drainMutants = []Mutant{
	edit("drain-cuts-running-calls", "R12", "a drain ends views",
		effectGo, `func isIdle(rec *record) bool { return rec.view != nil && rec.number == 0 }`, `func isIdle(rec *record) bool { return rec.view != nil }`),
	edit("drain-waits-for-calls-only", "R12", "an answer that is recorded is delivered",
		drainGo, `[]*tally{&h.calls, &h.views}`, `[]*tally{&h.calls}`),
	edit("drain-leaves-views", "R12", "views end with their connections",
		drainGo, "\th.registry.EndViews() // of those that are quiet there are none\n", ""),
	edit("drain-without-limit", "R12", "calls end some time",
		drainGo, `context.WithTimeout(ctx, h.opts.GracePeriod)`, `context.WithTimeout(ctx, 1000*h.opts.GracePeriod)`),
	edit("drain-no-parting", "R12", "the grace period is for the calls",
		drainGo, `time.NewTimer(left - min(left/8, parting))`, `time.NewTimer(left)`),
	edit("ask-ends-untyped", "R16", "the context says why",
		"impl/streamhttp/stream.go", `unknown = fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))`, `unknown = context.Cause(ctx)`),
}

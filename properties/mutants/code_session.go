package mutants

// The server's session: the decision, its streams and views, and the registry.

const (
	decideGo    = "impl/session/decide.go"
	coreGo      = "impl/session/core.go"
	effectGo    = "impl/session/effect.go"
	triggerGo   = "impl/session/trigger.go"
	recordGo    = "impl/session/record.go"
	viewstateGo = "impl/session/viewstate.go"
	sessionGo   = "impl/session/session.go"
	registryGo  = "impl/session/registry.go"
	ownerGo     = "impl/session/owner.go"
	sweepGo     = "impl/session/sweep.go"
)

// evictedAccepted lets the decision have nothing against an evicted cursor.
var evictedAccepted = Edit{decideGo, `case window.NoRecord, window.Evicted:`, `case window.NoRecord:`}

var decisionMutants = []Mutant{
	edit("decide-floor-unchecked", "R5", "an evicted cursor is just an old one",
		evictedAccepted.File, evictedAccepted.Old, evictedAccepted.New),
	edits("decide-clamp-announced", "R5", "who comes too late is told where it goes on",
		evictedAccepted,
		Edit{decideGo, "\td.Position = cursor\n", "\td.Position = cursor\n\tif d.Floor.Ordinal > cursor.Ordinal {\n\t\td.Position = d.Floor\n\t}\n"}),
	edits("decide-clamp-silent", "R5", "who comes too late gets what there is",
		evictedAccepted,
		Edit{viewstateGo, "\tv.At = v.Start\n", "\tv.At = v.Start\n\tif floor, ok := c.window.Floor(rec.number); ok && v.At.Ordinal < floor.Ordinal {\n\t\tv.At = floor\n\t}\n"}),
	edits("decide-evicted-is-fresh", "R5 R7", "a cursor that is gone is no cursor",
		evictedAccepted,
		Edit{decideGo, "\td.Position = cursor\n", "\td.Position = cursor\n\tif d.Floor.Ordinal > cursor.Ordinal {\n\t\treturn c.decideFresh()\n\t}\n"}),
	edit("decide-tag-unchecked", "R1 R5", "a cursor with good numbers is a good cursor",
		decideGo, `if cursor.Tag != c.Tag() {`, `if len(cursor.Tag) != len(c.Tag()) {`),
	edit("decide-unissued-accepted", "R1 R5", "an id that was never issued harms nobody",
		decideGo, "case window.Unissued:\n\t\treturn refuse(spec.ReasonCursorUnissued, d)\n", "case window.Unissued:\n"),
	edit("decide-ahead-accepted", "R5", "the cursor will become good in time",
		decideGo, "case window.Ahead:\n\t\treturn refuse(spec.ReasonCursorAhead, d)\n", "case window.Ahead:\n"),
	edit("decide-next-stream-is-evicted", "R1 R5", "the number that comes next was assigned",
		decideGo, `if cursor.Stream >= c.NextStream() {`, `if cursor.Stream > c.NextStream() {`),
	edit("decide-first-of-two-cursors", "R5", "of two cursors the first counts",
		decideGo, `if len(r.Cursors) > 1 {`, `if len(r.Cursors) > 2 {`),
	edit("decide-empty-cursor-is-none", "R5", "an empty cursor is no cursor",
		decideGo, `if len(r.Cursors) == 0 {`, `if len(r.Cursors) == 0 || r.Cursors[0] == "" {`),
	edit("decide-malformed-is-none", "R5", "what cannot be read was not said",
		decideGo, "if err != nil {\n\t\treturn refuse(spec.ReasonCursorMalformed, Decision{})", "if err != nil {\n\t\treturn c.decideFresh()"),
	edit("decide-form-before-session", "R6", "a malformed cursor is malformed whoever presents it",
		decideGo, `if reason := c.closedFor(); reason != "" {`, `if reason := c.closedFor(); reason != "" && len(r.Cursors) < 2 {`),
	edit("decide-complete-while-unfinished", "R11", "who has everything has everything",
		decideGo, `if p == head && finished(c.glance(p.Stream).state) {`, `if p == head {`),
	edit("decide-never-complete", "R11", "there is always a view to give",
		decideGo, `if p == head && finished(c.glance(p.Stream).state) {`, `if p == head && c.state == spec.Absent {`),
	edit("decide-fresh-from-floor", "R7", "without a cursor everything retained is new",
		decideGo, `start := c.glance(0).handed`, `start, _ := c.window.Floor(0)`),
	edit("decide-fresh-from-head", "R7", "without a cursor only the future counts",
		decideGo, `start := c.glance(0).handed`, `start, _ := c.window.Head(0)`),
	edit("decide-fresh-below-floor", "R7", "without a cursor a stream begins where it was left, whatever is gone",
		decideGo, `floor.Ordinal > start.Ordinal {`, `floor.Ordinal < start.Ordinal {`),
	edit("decide-before-evicting", "R3 R5", "eviction can wait for the next event",
		coreGo, "c.evictDue(now)\n\td := Decide(r, c)", "d := Decide(r, c)"),
}

var viewMutants = []Mutant{
	edit("view-inclusive", "R4 R5", "the event that the cursor names is the first one to send",
		viewstateGo, "\tv.At = v.Start\n",
		"\tv.At = v.Start\n\tif before, ok := c.window.Lookup(v.Stream, v.Start.Ordinal-1); ok && v.Start.Ordinal > 0 {\n\t\tv.At.Seq, v.At.Ordinal = before, v.Start.Ordinal-1\n\t}\n"),
	edit("view-from-start", "R4 R5", "an old client wants everything that is retained",
		viewstateGo, "\tv.At = v.Start\n", "\tv.At, _ = c.window.Floor(rec.number)\n"),
	edit("view-from-head", "R4", "a resumed view begins with what is emitted from now on",
		viewstateGo, "\tv.At = v.Start\n", "\tv.At, _ = c.window.Head(rec.number)\n"),
	edit("view-superseded-still-takes", "R10", "the older view will find out by itself",
		triggerGo, "if v.End != StillOpen {\n\t\treturn Taken{}, c.over(v)", "if v.End != StillOpen && v.End != EndSuperseded {\n\t\treturn Taken{}, c.over(v)"),
	edits("view-two-of-a-stream", "R10", "two readers are better than one",
		Edit{effectGo, `case spec.SupersedeView, spec.EndView,`, `case spec.SupersedeView:
		case spec.EndView,`},
		Edit{triggerGo, "\tif err := c.take(rec, step, err, &op); err != nil {\n\t\treturn Taken{}, err", "\tv.At = op.at\n\tif err := c.take(rec, step, err, &op); err != nil {\n\t\treturn Taken{}, err"}),
	edit("view-overtaken-is-moved", "R9", "a reader that is too slow goes on where there is something",
		triggerGo, "if c.window.Classify(v.At).Good() {\n\t\treturn nil", "if floor, _ := c.window.Floor(v.Stream); v.At.Ordinal < floor.Ordinal {\n\t\tv.At = floor\n\t}\n\tif c.window.Classify(v.At).Good() {\n\t\treturn nil"),
	edit("view-overtaken-waits", "R9", "a reader that was overtaken just has nothing to read",
		triggerGo, "if c.window.Classify(v.At).Good() {\n\t\treturn nil", "if v.rec.view == v {\n\t\treturn nil"),
	edit("view-last-too-early", "R4 R11", "the first event of a finished stream is the last",
		triggerGo, `last := ev.Seq == rec.last && finished(rec.state)`, `last := finished(rec.state)`),
	edit("view-refusal-detaches", "R5 R10", "who is refused had a view, which can go",
		triggerGo, "rec := c.glance(d.Cursor.Stream)\n", "_ = c.fire(c.at(d.Cursor.Stream), spec.ViewBreaks, 0, op)\n\t\trec := c.glance(d.Cursor.Stream)\n"),
	edit("view-handed-not-noted", "R7", "what was handed over need not be remembered",
		effectGo, `if at.Ordinal > rec.handed.Ordinal {`, `if op.at.Ordinal > rec.handed.Ordinal && rec.number != 0 {`),
	edit("view-handed-goes-back", "R7", "the last view knows best what was handed over",
		effectGo, `if at.Ordinal > rec.handed.Ordinal {`, `if op.at.Ordinal != rec.handed.Ordinal {`),
	edit("view-wake-lost", "R4", "whoever waits looks again by itself",
		"impl/session/stream.go", "rec.view.wait.wake()", "_ = rec.view.wait"),
}

var sessionMutants = []Mutant{
	edit("session-unread-is-unrecorded", "R11", "what nobody reads need not be kept",
		effectGo, "case spec.Record:\n\t\t\tc.record(rec, op)", "case spec.Record:\n\t\t\tif rec.view != nil {\n\t\t\t\tc.record(rec, op)\n\t\t\t}"),
	edit("session-finished-forgotten-early", "R11", "the oldest event of the window is as good as gone",
		triggerGo, `b.finished[i].last <= evicted;`, `b.finished[i].last <= evicted+1;`),
	edit("session-finished-never-forgotten", "R3 R9b", "a record more or less does not matter",
		triggerGo, `b.finished[i].last <= evicted;`, `b.finished[i].last < evicted-evicted;`),
	edit("session-stream-number-reused", "R1 R2", "a number that nobody uses any more is free",
		recordGo, "delete(b.more, rec.number)\n", "delete(b.more, rec.number)\n\tif rec.number == b.next-1 {\n\t\tb.next--\n\t}\n"),
	edit("session-newest-record-goes", "R3", "it does not matter which record makes room",
		recordGo, `for _, rec := range c.body.finished {`, `for _, rec := range slices.Backward(c.body.finished) {`),
	edit("session-one-call-more", "R3", "the cap on calls is reached after it is passed",
		coreGo, `c.inFlight() >= c.cfg.Requests`, `c.inFlight() > c.cfg.Requests`),
	edit("session-one-view-more", "R3", "the cap on views is reached after it is passed",
		coreGo, `c.body.views < c.cfg.Views ||`, `c.body.views <= c.cfg.Views ||`),
	edit("session-one-stream-more", "R3", "the standalone stream has no record",
		recordGo, `1+len(c.body.more) >= c.cfg.Streams`, `len(c.body.more) >= c.cfg.Streams`),
	edit("session-half-open-locks-out", "R10", "at the cap nobody gets a view, not even in the place of his own",
		coreGo, `return c.glance(d.Position.Stream).view == nil`, `return true`),
	edit("session-detach-never", "R9b", "somebody will come back some day",
		triggerGo, "if at <= now {\n", "if at <= now && rec.number == 0 {\n"),
	edit("session-detach-too-early", "R9b", "half of the budget is time enough",
		triggerGo, `at := rec.since + c.cfg.DetachBudget`, `at := rec.since + c.cfg.DetachBudget/2`),
	edit("session-detach-since-ever", "R9b", "the budget is one for the whole life of a stream",
		recordGo, "\t\trec.since = now\n", "\t\tif rec.since == 0 {\n\t\t\trec.since = now\n\t\t}\n"),
	edit("session-detach-says-nothing", "R9b", "nobody was there to be told how the call ended",
		effectGo, `if c.fits(op.payload) {`, `if c.fits(op.payload) && rec.view != nil {`),
	edit("session-cancel-not-told", "R9b", "the work will notice by itself",
		sessionGo, "n.rec.handle.cancel()", "_ = n.rec.handle"),
	edit("session-request-is-no-life", "R9b", "only views and calls keep a session alive",
		coreGo, `return c.requests > 0 || `, `return `),
	edit("session-call-is-no-life", "R9b", "only requests and views keep a session alive",
		coreGo, `(c.body.views > 0 || c.body.inFlight > 0)`, `(c.body.views > 0)`),
	edit("session-emitting-is-life", "R9b", "whoever emits is alive",
		"impl/session/stream.go", "err := s.core.emitByRow(rec, t, payload, now, e)\n", "err := s.core.emitByRow(rec, t, payload, now, e)\n\ts.active = now\n"),
	edit("session-generation-not-in-the-tag", "R14", "a store's generation is its own business",
		coreGo, `spec.TagOf(c.id.Text(), c.cfg.Generation)`, `spec.TagOf(c.id.Text(), "")`),
	edit("session-drain-of-new-ones-only", "R12", "who is in may go on as ever",
		registryGo, `r.each(func(s *Session) { s.drain() })`, `_ = r.each`),
	edit("session-drain-keeps-views", "R12", "views end by themselves",
		effectGo, `err = c.all(spec.HandlerEndsView, isIdle, op)`, `_ = isIdle`),
}

var registryMutants = []Mutant{
	edit("registry-any-subject", "R13", "who knows the id may have the session",
		registryGo, `if s == nil || s.owner.subject != subject {`, `if s == nil {`),
	edit("registry-any-subject-learns-the-end", "R13", "how a session ended is no secret",
		"impl/session/tombstone.go", `if !ok || t.subject != subject {`, `if !ok {`),
	edit("registry-end-forgotten", "R6", "gone is gone, whyever",
		"impl/session/tombstone.go", "\tg.known[id] = t\n", "\tt.state = spec.Absent\n\tg.known[id] = t\n"),
	edit("registry-ends-kept-for-ever", "R14", "ends are small",
		"impl/session/tombstone.go", `if len(g.known) == g.count {`, `if len(g.known) == 0 && g.count == 0 {`),
	edit("registry-mints-on-resume", "R6", "a client whose session is gone is given another",
		"impl/streamhttp/handler.go", "s, refused := h.lookup(r.Header, subject, spec.ClientResumes)\n",
		"s, refused := h.lookup(r.Header, subject, spec.ClientResumes)\n\tif refused != nil {\n\t\tif core, err := h.registry.Open(subject, nil); err == nil {\n\t\t\ts, refused = &Session{core: core, id: core.ID(), version: Version20251125}, nil\n\t\t\tcore.SetMeta(s)\n\t\t\tr.Header.Del(HeaderLastEventID)\n\t\t}\n\t}\n"),
	edit("registry-one-session-more", "R3", "the cap on sessions is reached after it is passed",
		ownerGo, `r.sessions >= r.options.Sessions`, `r.sessions > r.options.Sessions`),
	edit("registry-subject-uncapped", "R3", "one subject may have all of them",
		ownerGo, `o != nil && o.sessions >= r.options.SubjectSessions`, `o != nil && o.sessions < 0`),
	edit("registry-drain-opens", "R12", "a new session may still come while others go",
		registryGo, "\tr.draining = true\n", ""),
	edit("registry-short-ids", "R6", "four random bytes are random",
		"impl/session/id.go", `rand.Read(id[:])`, `rand.Read(id[12:])`),
	edit("registry-never-expires", "R9b", "sessions end when their clients say so",
		sweepGo, `if now < s.active+budget {`, `if now < s.active+budget || budget > 0 {`),
	edits("registry-expires-in-use", "R9b", "a budget is a budget",
		Edit{sweepGo, "case s.core.Busy():\n\t\treturn", "case s.core.Busy() && s.core.requests < 0:\n\t\treturn"},
		Edit{coreGo, "With(spec.InUse, inUse || c.Busy())", "With(spec.InUse, inUse)"}),
}

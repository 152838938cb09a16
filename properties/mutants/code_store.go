package mutants

// The store: what it has not is on no wire, and what it says is not guessed.

const (
	heldGo    = "impl/session/held.go"
	restoreGo = "impl/session/restore.go"
	imageGo   = "impl/session/image.go"
)

var storeMutants = []Mutant{
	edit("store-refusal-ignored", "R14", "the window has the event, the store will come round",
		coreGo, "if err := c.persistStream(step, rec, op); err != nil {\n\t\t\treturn err\n\t\t}", "_ = c.persistStream(step, rec, op)"),
	edit("store-streams-unasked", "R2 R14", "a number is used up in memory",
		"impl/session/persist.go", "\t\t\treturn c.persist(e)\n\t\tcase spec.DecideCursor:", "\t\t\t_ = e\n\t\t\treturn nil\n\t\tcase spec.DecideCursor:"),
	edit("store-silence-is-a-no", "R14", "what was not acknowledged has not happened",
		heldGo, `return h.settle(e, err)`, `return &StoreError{Err: err}`),
	edit("store-silence-is-a-yes", "R11 R14", "the store will have it",
		heldGo, `return h.settle(e, err)`, `return nil`),
	edit("store-contradiction-is-a-no", "R1 R14", "a store that has lost events just did not like this one",
		heldGo, "case errors.Is(err, ErrConflict):\n\t\treturn h.lose(err, true)", "case errors.Is(err, ErrConflict):\n\t\treturn &StoreError{Err: err}"),
	edit("store-stale-copy-decides", "R14", "what this process knows is what is",
		registryGo, "if current, err := s.confirm(); current || err != nil {\n\t\t\t\treturn s, err\n\t\t\t}", "return s, nil"),
	edit("store-generation-not-in-the-tag", "R14", "a session is the same in whatever its store has become",
		heldGo, "\t\tcfg.Generation = generation\n", ""),
	edit("store-numbers-begin-again", "R2 R14", "a restored session opens its streams from the first number",
		restoreGo, `b.next, b.more = m.Next, `, `b.next, b.more = 1, `),
	edit("store-let-go-is-an-end", "R6 R14", "what is not here has ended",
		registryGo, `if !s.core.lost() || s.core.body.held.broken {`, `if s.core.body != nil {`),
	edit("store-ends-with-the-process", "R12 R14", "who closes ends everything",
		registryGo, `_ = s.close()`, `_ = s.Terminate()`),
	edit("store-running-call-waits", "R9b R14", "the call that ran elsewhere will be answered one day",
		restoreGo, `if err := c.ElapseDetach(stream.Number, now); err != nil {`, `if err := c.Describe(m.Note); err != nil && now > 0 {`),
	edit("store-fresh-view-repeats", "R7 R14", "nobody has seen what is in the store",
		restoreGo, "\t\t\tb.zero.handed = s.Head\n", ""),
	edit("store-unconditional", "R14", "an append comes when it is due",
		imageGo, `m.State == spec.Live && e.Seq == m.Seq && e.Evicted <= e.Seq`, `m.State == spec.Live`),
}

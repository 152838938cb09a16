package mutants

// The HTTP server, the HTTP transport of the client, and the framing.

const (
	handlerGo   = "impl/streamhttp/handler.go"
	postGo      = "impl/streamhttp/post.go"
	workGo      = "impl/streamhttp/work.go"
	viewGo      = "impl/streamhttp/view.go"
	transportGo = "impl/streamhttp/transport.go"
	eventsGo    = "impl/streamhttp/events.go"
	readerGo    = "impl/sse/reader.go"
	fillGo      = "impl/sse/fill.go"
)

var serverMutants = []Mutant{
	edit("http-position-not-announced", "R8", "a client knows what it asked for",
		viewGo, "\th.Set(HeaderPosition, position)\n", ""),
	edit("http-session-not-announced", "R8", "a client knows whose answer this is",
		viewGo, "\th.Set(HeaderSessionID, v.session.id)\n", ""),
	edit("http-primes-a-finished-stream", "R8", "every view begins with a position event",
		viewGo, `if !v.core.Finished() && primes(`, `if primes(`),
	edit("http-primes-everybody", "R8", "every client takes an event with empty data",
		"impl/streamhttp/header.go", `return version >= Version20251125`, `return version != ""`),
	edit("http-control-carries-an-id", "R8", "every event has an id",
		viewGo, `sse.AppendEvent(v.buf, "", "", payload)`, `sse.AppendEvent(v.buf, position, "", payload)`),
	edit("http-notifies-everybody", "R8", "every client likes to be told",
		viewGo, "if v.notify {\n\t\tv.controlMessage(MethodResumed", "if position != \"\" {\n\t\tv.controlMessage(MethodResumed"),
	edit("http-complete-names-no-session", "R8 R21", "an answer without a body needs no session",
		handlerGo, "w.Header().Set(HeaderSessionID, s.id)\n\t\tw.Header().Set(HeaderPosition", "w.Header().Set(HeaderPosition"),
	edit("http-superseded-writes-on", "R10", "the older writer will notice when it next looks",
		viewGo, "\t\tolder.supersede()\n", ""),
	edit("http-cut-looks-like-an-end", "R9 R24", "an answer that is cut may end as any other",
		viewGo, "panic(http.ErrAbortHandler)", "return"),
	edit("http-end-without-retry", "R9 R12", "the client knows when to come back",
		viewGo, "case errors.Is(err, session.ErrViewEnded):\n\t\tv.buf = sse.AppendRetry(v.buf, v.retryHint())", "case errors.Is(err, session.ErrViewEnded):"),
	edit("http-overtaken-is-not-told", "R9", "a reader that is cut need not know why",
		viewGo, "\t\tv.comment(commentRequired)\n", ""),
	edit("http-quiet", "R15", "silence means that all is well",
		viewGo, "\t\t\tv.comment(commentKeepAlive)\n", ""),
	edit("http-drop-is-cancel", "R9b", "who drops the connection wants nothing any more",
		workGo, `context.WithoutCancel(r.Context())`, `r.Context()`),
	edit("http-work-never-ends", "R9b", "work ends when it is done",
		workGo, "\t\t\tcancel(ErrWorkOver)\n", ""),
	edit("http-cursor-with-message", "R5", "a message with a cursor is a message",
		postGo, "case resuming:\n\t\t\trefused = refusal(spec.ReasonCursorWithMessage", "case resuming && e.kind == Response:\n\t\t\trefused = refusal(spec.ReasonCursorWithMessage"),
	edit("http-initialize-with-cursor", "R6", "an initialize with a cursor is an initialize",
		postGo, `if named || resuming {`, `if named {`),
	edit("http-initialize-names-a-session", "R6", "who names a session that is gone gets another",
		postGo, `if named || resuming {`, `if (named || resuming) && resuming {`),
	edit("http-id-for-nobody", "R6", "a client that is gone still wants its session",
		postGo, `if !opened || r.Context().Err() != nil {`, `if !opened {`),
	edit("http-no-retry-after", "R12", "the client knows how long to wait",
		handlerGo, "if reason.RetryLater() {\n", "if reason.RetryLater() && r.Status == 0 {\n"),
	edit("http-refusal-without-data", "R5", "why and where is nobody's business",
		handlerGo, "\t\tr.Cursor, r.Floor, r.Head = text(d.Cursor), text(d.Floor), text(d.Head)\n", ""),
	edit("http-foreign-pages", "R13", "a browser asks for its user",
		handlerGo, "if err := h.guard.check(r); err != nil {", "if err := h.guard.check(r); err != nil && r.Host == \"\" {"),
	edit("http-post-does-not-resume", "R4", "a resumption is a GET",
		postGo, `if len(body) == 0 && resuming {`, `if len(body) == 0 && resuming && r.Method != http.MethodPost {`),
}

var transportMutants = []Mutant{
	edit("transport-follows-redirects", "R25", "the server knows where it lives",
		transportGo, `return http.ErrUseLastResponse`, `return nil`),
	edit("transport-never-sends-the-cursor", "R25", "the server knows where it was",
		transportGo, `if get.Cursor != "" {`, `if get.Cursor != "" && s.ID == "" {`),
	edit("transport-broken-is-not-sent", "R23", "a connection that failed carried nothing",
		transportGo, `errors.As(err, &dial) && dial.Op == "dial"`, `errors.As(err, &dial) || err != nil`),
	edit("transport-any-response-answers", "R29", "a response is the answer to what was asked",
		transportGo, `return e.kind == Response && bytes.Equal(e.id, id)`, `return e.kind == Response`),
	edit("transport-delivers-control", "R8", "every notification is a delivery",
		eventsGo, `case e.isControl():`, `case e.isControl() && ev.HasID:`),
	edit("transport-waits-for-ever", "R15", "a server that says nothing has nothing to say",
		eventsGo, "\t\tcancel(ErrSilent)\n", ""),
	edit("transport-two-ids-are-one", "R21", "of two session ids the first counts",
		transportGo, `if id, ok := one(h, HeaderSessionID); ok && isSessionID(id) {`, `if id := h.Get(HeaderSessionID); isSessionID(id) {`),
	edits("transport-reads-without-bound", "R3", "a server sends what is good for us",
		Edit{transportGo, `io.LimitReader(body, int64(t.opts.MaxEvent)+1)`, `body`},
		Edit{transportGo, `if len(text) > t.opts.MaxEvent {`, `if len(text) < 0 {`}),
}

var framingMutants = []Mutant{
	edit("framing-half-an-event", "R24", "what has arrived has arrived",
		readerGo, "\t\t\tr.fill()\n", "\t\t\tif r.srcErr != nil && r.open && r.dispatch() {\n\t\t\t\treturn r.ev, nil\n\t\t\t}\n\t\t\tr.fill()\n"),
	edit("framing-truncated-is-an-end", "R24", "the end is the end, wherever it is",
		fillGo, `r.err = &TruncatedError{Pending: pending, Err: io.ErrUnexpectedEOF}`, `r.err = io.EOF`),
	edit("framing-broken-is-an-end", "R24", "the end is the end, however it comes",
		fillGo, `r.err = &TruncatedError{Pending: pending, Err: r.srcErr}`, `r.err = io.EOF`),
	edit("framing-id-before-the-event", "R20 R24", "an id counts as soon as it is read",
		readerGo, "r.id = append(r.id[:0], value...)\n", "r.id = append(r.id[:0], value...)\n\t\t\tr.lastID = append(r.lastID[:0], value...)\n"),
	edit("framing-empty-id-is-none", "R25", "an empty id says nothing",
		readerGo, "\t\t\tr.ev.HasID = true\n", "\t\t\tr.ev.HasID = len(value) > 0\n"),
	edit("framing-event-one-byte-smaller", "R3", "the bound on one event is reached before it is",
		readerGo, `case size > r.max:`, `case size >= r.max:`),
	edit("framing-lines-run-together", "R4", "lines are one payload",
		readerGo, "\t\tr.buf[r.dataTo] = '\\n'\n", "\t\tr.buf[r.dataTo] = ' '\n"),
	edit("framing-two-blank-lines", "R4", "CR and LF are two line ends",
		readerGo, "\t\tr.skipLF = true\n", "\t\tr.skipLF = false\n"),
	edit("framing-ids-in-two-forms", "R1", "a number is a number, however it is written",
		"spec/eventid.go", ` || (field.text[0] == '0' && len(field.text) > 1)`, ``),
}

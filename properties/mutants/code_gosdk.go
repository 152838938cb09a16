package mutants

// The binding to the official Go SDK, the server's half: what is routed where,
// who is told what at the end, and what stands beside the SDK's handler.

const (
	gosdkCallGo    = "impl/gosdk/call.go"
	gosdkConnGo    = "impl/gosdk/conn.go"
	gosdkGuardGo   = "impl/gosdk/guard.go"
	gosdkInboxGo   = "impl/gosdk/inbox.go"
	gosdkHandlerGo = "impl/gosdk/handler.go"
	gosdkLaterGo   = "impl/gosdk/later.go"
	gosdkPaceGo    = "impl/gosdk/pace.go"
	gosdkSessionGo = "impl/gosdk/session.go"
	gosdkStoreGo   = "impl/gosdk/eventstore.go"
)

var gosdkMutants = []Mutant{
	edit("gosdk-call-of-another-session", "R4", "a call is a call, whatever session is written to",
		gosdkConnGo, `ok && k.conn == c {`, `ok {`),
	edit("gosdk-behind-the-answer", "R11", "what is sent behind an answer may be dropped without a word",
		gosdkConnGo, `if k != nil && k.isAnswered() {`, `if k != nil && k.conn != c {`),
	edit("gosdk-own-calls-hang", "R16", "the client may still answer when its session is over",
		gosdkConnGo, `lost = append(lost, id)`, `_ = id`),
	edit("gosdk-own-calls-untyped", "R16", "a tool that was cancelled knows enough",
		gosdkSessionGo, `return result, fmt.Errorf("%w: %w", streamhttp.ErrOutcomeUnknown, err)`, `return result, fmt.Errorf("over: %w", err)`),
	edit("gosdk-session-outlives-the-sdk", "R6", "the client's session goes on when the SDK's has ended",
		gosdkConnGo, `_ = c.session.End()`, `_ = c.session.Tag()`),
	edit("gosdk-first-caller-for-ever", "R13", "who opened the session is who calls",
		gosdkSessionGo, `server.Connect(context.Background(), transport{c}, nil)`, `server.Connect(context.WithoutCancel(ctx), transport{c}, nil)`),
	edit("gosdk-secret-in-the-log", "R13", "the SDK's name for the session is the session's id",
		gosdkConnGo, `string(c.session.Tag())`, `c.session.ID()`),
	edit("gosdk-hidden-middleware", "R4", "the middleware will be where it was put",
		gosdkCallGo, `m.Error == nil && !k.seen.Load()`, `m.Error == nil && k.id.Raw() == nil`),
	edit("gosdk-work-not-cancelled", "R9b", "the SDK will notice that nobody reads",
		gosdkCallGo, `c.push(&jsonrpc.Request{Method: methodCancelled, Params: reason})`, `_ = reason`),
	edit("gosdk-ids-used-again", "R29", "the client's calls have the client's ids",
		gosdkConnGo, `c.last++`, `c.last = 1`),
	edit("gosdk-large-result-dropped", "R3", "a result that cannot be sent is no result",
		gosdkCallGo, `_, err = k.stream.Fail(streamhttp.CodeInternal, message, nil)`, `_ = message`),
	edit("gosdk-dead-streams-disturb", "R22", "a tool whose client is gone may fail because of that",
		gosdkConnGo, `case !errors.Is(err, spec.ReasonEventTooLarge) && !errors.Is(err, streamhttp.ErrPayload):`, `case errors.Is(err, context.Canceled):`),
	edit("gosdk-unpaced", "R9", "a tool may run as fast as it can",
		gosdkPaceGo, `if k.pace == nil || !e.Attached {`, `if k.pace != nil || !e.Attached {`),
	edit("gosdk-window-not-shared", "R3 R9", "each call has half a window of its own",
		gosdkPaceGo, `uint64(max(n, 1))`, `uint64(1)`),
	edit("gosdk-inbox-unbounded", "R3", "notifications are small",
		gosdkInboxGo, `if b.waiting < inboxSize {`, `if b.waiting < 1000*inboxSize {`),
	edit("gosdk-drain-without-end", "R12", "a drain of the later era ends when it ends",
		gosdkHandlerGo, `h.later.wait(ctx))`, `h.later.wait(context.WithoutCancel(ctx)))`),
	edit("gosdk-user-not-asked", "R13", "a session belongs to whoever knows its id, tokens or not",
		gosdkHandlerGo, `return info.UserID, nil`, `return "", nil`),
	edit("gosdk-later-from-anywhere", "R13", "the later era has its own protection",
		gosdkHandlerGo, `if !h.http.Admits(w, r) {`, `if r.Method == "" {`),
	edit("gosdk-later-by-anybody", "R13", "without sessions there is nobody to ask for",
		gosdkHandlerGo, `if _, err := h.subject(r); err != nil {`, `if _, err := h.subject(r); err != nil && r.Method == "" {`),
	edit("gosdk-later-not-drained", "R12", "what has no session need not be drained",
		gosdkLaterGo, "if l.draining {\n\t\treturn false", "if l.draining && l.sdk == nil {\n\t\treturn false"),
	edit("eventstore-ahead-is-empty", "R5", "nothing is behind what was not issued",
		gosdkStoreGo, `return p, spec.ReasonCursorAhead`, `return window.Position{Seq: head.Seq, Stream: head.Stream, Ordinal: head.Ordinal}, nil`),
	edit("eventstore-hole-forgotten", "R4", "what was too large is not missed",
		gosdkStoreGo, `!ok || ordinal < stream.hole`, `!ok`),
	edit("eventstore-ended-lives-again", "R6", "an id may be used again when nothing is left of it",
		gosdkStoreGo, `if _, ok := s.ended[sessionID]; ok {`, `if _, ok := s.ended[sessionID]; ok && sessionID == "" {`),
	edit("guard-asks-the-older-one-to-stay", "R10", "the older response will end by itself",
		gosdkGuardGo, "\tolder.stop()\n", ""),
	edit("guard-stuck-writer", "R10", "a writer notices that its request was cancelled",
		gosdkGuardGo, `.SetWriteDeadline(time.Unix(1, 0))`, `.SetWriteDeadline(time.Time{})`),
	edit("guard-tells-sessions-apart", "R13", "the SDK refuses other users itself",
		gosdkGuardGo, `if sessionID != "" && g.store.isForeign(sessionID, owner) {`, `if sessionID == "-" && g.store.isForeign(sessionID, owner) {`),
	edit("guard-lets-cursors-through", "R5", "the SDK refuses cursors itself",
		gosdkGuardGo, `reason != "" {`, `reason == "-" {`),
}

package spec

// What a server owes its clients.
var serverRules = []Rule{
	{
		ID: "R1", Name: "co-issuance",
		Text: "An event id names its session (by a tag), its seq, its stream and its ordinal. A cursor is accepted only if the session " +
			"that it is presented to issued exactly that combination, or if it is position 0 of a stream that this session opened. " +
			"Every other combination is refused, however plausible.",
		Source: sourceResume + "; docs/decisions/0003",
		Holds:  Whole,
		Where:  "the form in spec.ParseEventID, the judgement in impl/session (Decide), the refusal in ST33",
	},
	{
		ID: "R2", Name: "monotonic",
		Text: "Seqs and ordinals only grow, by one, for as long as the session lives: across streams, connections and, with a durable " +
			"store, processes. They do not begin again when every event has been evicted.",
		Source: sourceResume + "; " + sourceReplay,
		Holds:  Whole,
		Where:  "impl/window, the only place that assigns them",
	},
	{
		ID: "R3", Name: "bounded window",
		Text: "A session retains at most a number of events (256), an age (5 minutes) and a number of bytes (8 MiB), and evicts the oldest " +
			"first. One event is at most 4 MiB and less than the window; a larger one is refused before it has a seq. Recording waits for no " +
			"reader and fails for no reader, and no session evicts another's events. Sessions (10,000), one subject's sessions (1,000), the streams with a " +
			"record in one session (1,024; finished ones are forgotten first), its views and its calls in flight are capped. A full server " +
			"refuses newcomers; it never forgets whom it has.",
		Source: sourceReplay,
		Holds:  Whole,
		Where:  "impl/window (events, bytes, age) and the registry in impl/session (caps)",
	},
	{
		ID: "R4", Name: "strictly after",
		Text: "An accepted re-attach delivers the events of its stream whose ordinal is greater than the cursor's: all of them, in order, each " +
			"once, the retained ones first and then the live ones, with neither gap nor repeat where the two meet, whatever is emitted meanwhile.",
		Source: sourceResume + "; " + sourceReplay,
		Holds:  Whole,
	},
	{
		ID: "R5", Name: "refuse, never replay",
		Text: "A cursor that is malformed, foreign, evicted, ahead of everything, or never issued is answered with an explicit refusal before " +
			"any event: not with the start of the history, not with a success without events, not from the nearest position. The session lives on, unless the " +
			"deployment says otherwise.",
		Source: sourceReplay + "; docs/decisions/0004",
		Holds:  Whole,
		Where:  "impl/session (Decide) chooses the reason",
	},
	{
		ID: "R6", Name: "terminal absence",
		Text: "A session that is unknown, expired or terminated is 404 whatever the method. No resumption request brings a session into being, " +
			"and an id that has ended never lives again.",
		Source: sourceSession + "; " + sourceDeploy,
		Holds:  Whole,
	},
	{
		ID: "R7", Name: "fresh attach",
		Text: "Without a cursor a stream begins after the last of its events that any view was ever handed, or at its floor where that is " +
			"later: what was never sent is no history, and nothing is repeated. The position is announced; what was skipped is counted and logged; " +
			"retention never makes it fail. The answer to initialize issues position 0 of the standalone stream, so that a client can re-attach there and miss nothing, " +
			"and the stream of a POST opens together with its view, before its handler may emit.",
		Source: sourceMulti + "; " + sourceReplay,
		Holds:  Whole,
	},
	{
		ID: "R8", Name: "announced position",
		Text: "Before anything else an accepted view says which session and which position it attached at, and how: in the headers " +
			"Mcp-Session-Id, Reattach-Position and Reattach-Mode, in a comment, and, on an unfinished stream and for clients that expect it, as an " +
			"event with that id and no data; as a notification too where the request asks for it. Control messages take no new id and no seq, " +
			"and no client takes one for a delivery.",
		Source: sourceResume + " (priming event); " + sourceSSE,
		Holds:  Whole,
		Where:  "impl/streamhttp writes what AnnouncePosition asks for",
	},
	{
		ID: "R9", Name: "backpressure",
		Text: "A view that has data pending for the whole stall budget (30 s) and takes less than 1 KiB/s is cut: with the comment resumption-required " +
			"and a retry if it stands between two events, else by aborting the connection, for nothing is ever written inside an event. An event " +
			"that was begun is finished. A reader is overtaken when the next event to begin is no longer retained: it is cut in the same way and refused afterwards (R5). " +
			"Whoever emits is told how far readers lag and what was evicted.",
		Source: sourceReplay,
		Holds:  Whole,
		Where:  "impl/streamhttp (pace) measures the rate; the stream's rows cut",
	},
	{
		ID: "R9b", Name: "life and death",
		Text: "A stream without a view that is unfinished, or not delivered to its end, stays resumable for the detach budget (5 minutes). Then its work is " +
			"cancelled, it ends with a typed error answer (outcome unknown), and it is forgotten when that answer is no longer retained. A call " +
			"that another waits for is attended. The standalone stream has the session's budget only. A session without request, view or call " +
			"expires after the session budget (30 minutes). Open views, running calls and POSTs are life; but each view whose client can resume is ended " +
			"cleanly after a bounded time (10 minutes; of clients that cannot, after 2 hours), so that no proxy keeps the dead alive.",
		Source: sourceReplay,
		Holds:  Whole,
		Where:  "the sweeper of impl/session, which fires what is due",
	},
	{
		ID: "R10", Name: "one view per stream",
		Text: "A newer attach supersedes the stream's older view at once, so that a half-open connection locks nobody out; the older view " +
			"writes nothing more, and no event is on two streams. Attempts of a client of ours carry a number: an equal or newer one supersedes, " +
			"an older one is refused (attempt_superseded), and the client that sent it stops without fence or DELETE.",
		Source: sourceMulti + "; field observation: a second GET refused while the first was half-open, which ended the client's session",
		Holds:  Whole,
		Where:  "impl/session (Decide) compares the attempts; impl/streamhttp silences the older writer before the newer one begins",
	},
	{
		ID: "R11", Name: "store first",
		Text: "An event is in the window before it is on a wire, also when nobody reads. A finished stream stays resumable while its events are " +
			"retained.",
		Source: sourceResume,
		Holds:  Whole,
	},
	{
		ID: "R12", Name: "drain",
		Text: "A server that shuts down refuses new sessions, new calls and resumptions (503 with Retry-After), still takes the answers to its own " +
			"requests, lets running calls finish or ends their views cleanly with retry, and is done within its grace period. It loses nothing " +
			"that a durable store holds. Elsewhere its sessions are 404, never minted anew.",
		Source: sourceDeploy,
		Holds:  Whole,
	},
	{
		ID: "R13", Name: "its subject only",
		Text: "A session belongs to the stable subject that opened it. Any other subject sees what an unknown session shows, for every method and " +
			"cursor, by the same code.",
		Source: "MCP 2025-11-25, security best practices: session hijacking; docs/decisions/0002",
		Holds:  Without + "shares of one server among its subjects",
		Where:  "the registry in impl/session looks a stranger's session up as Absent",
	},
	{
		ID: "R14", Name: "durable stores",
		Text: "An append is conditional on the store's generation and the seq. One that failed uses up no seq and reaches no wire; one whose " +
			"outcome is unknown ends the session or is settled by reading, not by guessing. Where a store can lose acknowledged events, its generation is " +
			"part of the session's tag. Reads that decide are linearizable, or the answer is 503. Ended sessions leave tombstones, in memory bounded by " +
			"count and age. One suite checks every store, that in memory too.",
		Source: "R1, R2 and R11, carried over to stores that outlive a process",
		Holds:  Without + "stores that lose something and do not change their generation: those are found out only by who knows better",
		Where:  "impl/session: nothing fires before its Store has it; impl/session/storetest checks stores; docs/stores.md",
	},
	{
		ID: "R15", Name: "keep-alive",
		Text: "A quiet view carries a comment every 15 s and announces the interval (Reattach-Keepalive); writes have deadlines, and dead views are found. " +
			"A client of ours that waited to read for three intervals and received no byte treats that as an interruption.",
		Source: sourceSSE + " (comments against idle proxies); field observation: balancers that drop connections idle for 60 s",
		Holds:  Without + "the other forms of a dead line: the client watches where the interval is announced, the server's writes have deadlines",
		Where:  "impl/streamhttp",
	},
	{
		ID: "R16", Name: "the server's own calls",
		Text: "Requests from the server to its client (sampling, elicitation, roots) that are open when the session ends get a typed unknown outcome " +
			"at the server.",
		Source: "the mirror of R23: MCP 2025-11-25, client features",
		Holds:  Whole,
		Where:  "Stream.Request of impl/streamhttp; impl/gosdk for the calls of the SDK",
	},
}

package spec

// What a client owes its application, and what reconciliation asks of both
// sides (R28). The numbers from R17 to R19 were never given.
var clientRules = []Rule{
	{
		ID: "R20", Name: "atomic token",
		Text: "The token advances in the very transaction that applies its event: not earlier, not apart, and not by an event that did not " +
			"arrive whole. There is one seam for it, Commit(change, events). An application that cannot do this chooses by name: repeat on crash, or lose on " +
			"crash. A call is in the record, with its request id, before its POST leaves; the transaction that applies its answer takes the call and " +
			"its stream out.",
		Source: sourceDeploy + "; docs/decisions/0006",
		Holds:  Whole,
		Where:  "client.Store and client.Change in impl/client",
	},
	{
		ID: "R21", Name: "proof before use",
		Text: "Before a resumption is sent, the old connection is fenced. The client goes on only with an answer of 200 (or 204, complete) that " +
			"carries the same session id and whose announced position is the cursor that was sent; without an announced position, the first event with a payload must " +
			"be the next one. A 204 while the stream's call is unanswered makes the call unknown. A fresh view carries the tag of the record's session, and a " +
			"POST's view opens an unseen stream at position 0. With ids of this project, next is ordinal + 1 and a greater seq, and so for every " +
			"later event: a hole is as fatal as a repeat.",
		Source: sourceDeploy,
		Holds:  Whole,
		Where:  "impl/client computes InOrder and PositionExpected",
	},
	{
		ID: "R22", Name: "abandon on doubt",
		Text: "A different or missing session id; an id that repeats, goes back, leaps or cannot be ordered; a payload without an id; in answer to a " +
			"resumption 400, 403, 404, 409 or any other final refusal; in answer to a POST 404: each abandons the epoch, for all its streams at once, behind " +
			"one durable fence, and nothing that arrives later is applied. (405 to the first GET only says that there is no standalone stream.) " +
			"After the fence is durable the old session gets a DELETE, best effort. There is never a silent retry under a new session.",
		Source: sourceSession + "; " + sourceDeploy + "; docs/decisions/0005",
		Holds:  Whole,
	},
	{
		ID: "R23", Name: "unknown outcome",
		Text: "The transaction that fences turns each call in flight into an unknown outcome; the one that begins the next epoch's record " +
			"carries every unresolved unknown over, through any number of epochs. The next epoch opens in quarantine: only initialize and its " +
			"notification, pings, answers to the server, status queries and keyed re-sends pass, until each unknown is resolved, by status, by key or by the caller's " +
			"explicit decision. A POST with a call is not sent again in any other way. Known not to have run is only: a dial that never connected; a refusal that says that the key is " +
			"sealed; and, where the deployment declares that no intermediary re-sends POSTs, a typed refusal of a POST that left once. Any other 404 proves nothing.",
		Source: sourceDeploy,
		Holds:  Whole,
		Where:  "client.Record in impl/client holds the unknowns; Client.Reconcile, Client.Resend and Client.Resolve end them",
	},
	{
		ID: "R24", Name: "an end is not a truncation",
		Text: "A clean end of stream can be resumed. A body that stops inside an event, or a connection that breaks, yields nothing of the unfinished " +
			"event, its id included; the client resumes from the token that it persisted, or, under the strict policy, abandons. A position announced in " +
			"headers is a token. With no token there is nothing to resume: that call is an unknown outcome, and the epoch lives on.",
		Source: sourceSSE + " (an incomplete event is discarded); " + sourceDeploy,
		Holds:  Whole,
		Where:  "the reader in impl/sse tells the two apart",
	},
	{
		ID: "R25", Name: "a cursor belongs to its stream",
		Text: "It survives any number of connections that deliver nothing. It is not sent with another session's id, not to another origin " +
			"(redirects are not followed), and not after its epoch. An explicit empty id clears it.",
		Source: sourceSSE + " (last event id); field observation: cursors lost when a resumed connection delivered nothing",
		Holds:  Whole,
		Where:  "impl/client keeps it in the record, impl/streamhttp follows no redirect",
	},
	{
		ID: "R26", Name: "bounded persistence",
		Text: "Resumptions, and only they, are retried: on network errors, 408, 425, 429 and 5xx; 401 refreshes credentials and keeps the token. The first " +
			"attempt is immediate unless the stream's retry says otherwise; then backoff with jitter, limited in number and time. Progress is a cursor that " +
			"advanced, or a proven view that lived for a keep-alive interval and received bytes. At the limit the stream is suspended and its caller told: the call is pending, not " +
			"unknown, stays in the record, and gets exactly one final outcome, by a later resume, by the ledger, or by an abandonment that the " +
			"caller demands.",
		Source: sourceSSE + " (retry); field observation: clients that resumed for ever, and clients that hung",
		Holds:  Whole,
		Where:  "the driver in impl/client waits and counts",
	},
	{
		ID: "R27", Name: "defence in depth",
		Text:   "In replay mode repeats are recognised by their id over a bounded memory, dropped and counted.",
		Source: sourceReplay + "; docs/decisions/0008",
		Holds:  NotYet + ": no deployment replays",
	},
	{
		ID: "R28", Name: "ledger",
		Text: "A server that offers reconciliation remembers outcomes by subject and idempotency key. That a call has started is durable before its handler " +
			"runs; one whose server generation ended without an outcome is unknown, otherwise it is running. A second arrival joins the first or gets its outcome; the " +
			"same key with other arguments is refused; a query for an unknown key seals it, and what arrives later is refused. The answer to initialize names the ledger, by a " +
			"name that changes whenever entries may be lost; a key carries that name and its own minting time, both fixed when its call enters the client's " +
			"record. About a key of another name a ledger answers unknown and never executes, and a keyed re-send goes only to a server that gave the name. " +
			"The horizon is one durable value that never decreases; entries, seals too, are forgotten only below it, and every key minted below it is answered unknown and never " +
			"executed, so that no clock has to be right. A key from the future is executed, or sealed before it is refused. Keys travel in _meta, never in a header.",
		Source: "field observation: idempotency keys scoped to a request and not to its delivery; RFC 9110 9.2.2 (what an HTTP stack may re-send)",
		Holds:  Whole,
		Where:  "impl/ledger at the server; impl/client fixes the key and asks, impl/streamhttp words it",
	},
	{
		ID: "R29", Name: "request ids",
		Text: "Within a session a client uses no request id twice, across restarts too. A late or repeated response is dropped and counted, and " +
			"never matched to another call.",
		Source: "MCP 2025-11-25, base protocol: requests",
		Holds:  Without + "a count by kind: request ids continue across restarts, late and repeated responses are dropped and counted together (Client.Dropped)",
		Where:  "client.Record in impl/client keeps the next id",
	},
	{
		ID: "R30", Name: "one holder of the record",
		Text: "The durable record is held under an exclusive lease with a durable generation, and each of its writes (advance, call, fence) compares " +
			"lease generation, state and token. So two processes with one record cannot both apply, and one that lost its lease neither abandons " +
			"nor deletes.",
		Source: "field observation: two processes started from one record; docs/decisions/0006",
		Holds:  Whole,
		Where:  "client.Change in impl/client carries what a write expects, client.Holder keeps a second process out",
	},
}

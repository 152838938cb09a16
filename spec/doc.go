// Package spec is the vocabulary of resumption: what can be true, what can
// happen, what must be done about it, and why.
//
// It holds the event id and its text form, verdicts and reasons, the four
// transition tables as data, the defaults and bounds, and every rule R1… as a
// sentence with its source. It has no behaviour beyond looking a row up: no
// I/O, no clock, no goroutine, and it imports the standard library only.
// Nothing in it knows MCP or HTTP beyond the status that belongs to a reason, and
// the words in which a call's outcome is asked for (key.go).
//
// On each side of the wire one machine stands for the durable thing and one,
// per logical stream, for the ephemeral thing:
//
//	side    durable                      ephemeral, one per logical stream
//	server  session  (SessionTable)      stream        (StreamTable)
//	client  epoch    (EpochTable)        client stream (ClientStreamTable)
//
// Read [Row] first, then the tables in table_*.go, then package fsm, which
// makes machines of them.
package spec

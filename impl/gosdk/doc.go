// Package gosdk binds reattach to the official Go SDK,
// github.com/modelcontextprotocol/go-sdk v1.8.0: what is written for the SDK's
// Streamable HTTP gets the resumption contract by changing one line.
//
//	handler := gosdk.NewStreamableHTTPHandler(getServer, nil) // was: mcp.NewStreamableHTTPHandler
//
// [Handler] is the server's side. One URL serves both eras of MCP: requests of
// revision 2026-07-28, which has neither sessions nor resumption, are passed to
// the SDK's own handler, everything older is served with sessions by
// impl/streamhttp. Tools, sampling, elicitation, progress and logging work as
// with the SDK's handler; what differs is listed at [Handler].
//
// Who has to keep the SDK's handler can give it an [EventStore] on the window of
// this module and put a [Guard] in front of it. Both say which rules of the
// contract they cannot keep.
//
// The files whose names begin with client are the client's side.
//
// It may import spec, fsm and impl, the SDK and the standard library; no core
// package may import it. Read [Handler] first, then conn.go, which is the seam;
// the package to read next is impl/streamhttp.
package gosdk

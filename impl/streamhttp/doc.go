// Package streamhttp is MCP Streamable HTTP over net/http: an [http.Handler]
// for servers and a transport with a small client for clients. It turns
// requests into triggers and effects into answers, and decides nothing: what a
// request deserves is said by impl/session, what an answer means by
// impl/client.
//
// It is for the protocol revisions 2025-03-26, 2025-06-18 and 2025-11-25. A
// request of a later revision, which has neither sessions nor resumption, is
// refused with 400 and the list of revisions that are served.
//
// Batches of JSON-RPC, which revision 2025-03-26 knew, are refused: the last
// answer finishes a stream, so several calls on one would share one fate.
//
// A server is one function:
//
//	app := func(ctx context.Context, m *streamhttp.Message) { … m.Stream.Answer(result) … }
//	handler, err := streamhttp.NewHandler(app, streamhttp.Options{})
//
// It receives every JSON-RPC message with its session and a stream to emit on,
// and never sees HTTP. A client is [Dial], then [Client.Call].
//
// It may import spec, fsm, impl/session, impl/client, impl/sse and the
// standard library. Read [Handler] first, then [App] and [Message], then
// [Transport] and [Client]; the package to read next is impl/session.
package streamhttp

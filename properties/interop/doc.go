// Package interop sets reattach against clients, servers and tests that other
// people wrote: the public conformance suite, the official SDKs for Go and
// TypeScript, mcp-go, and the MCP inspector.
//
//	everything.go  the server that the conformance suite wants
//	tools.go       the telling tools: slow, counter, burst, closer, forget, silent
//	server.go      a server of ours, with each way to answer a cursor that is gone
//	wire.go        a proxy that breaks streams where a seed or a mark says
//
// What each client does is measured by .ci/conformance, which runs the commands
// below this directory, and written to docs/interop.md.
//
// It may import everything but package main; `reattach serve` and the commands
// below it import it. Read Toolbox first, then Wire; the package to read next
// is impl/gosdk.
package interop

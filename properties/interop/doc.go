// Package interop sets reattach against clients, servers and tests that other
// people wrote: the public conformance suite, the official SDKs for Go and
// TypeScript, mcp-go, and the MCP inspector.
//
//	everything.go  the server that the conformance suite wants
//	tools.go       the telling tools: slow, counter, burst, closer, forget, silent
//	server.go      a server of ours, with each way to answer a cursor that is gone
//	wire.go        a proxy that breaks streams where a seed or a mark says
//	bench.go       both together
//	client.go      the clients that are tried; trial.go what is tried with each
//	foreign.go     the servers of others that our client is tried with
//	suite.go       what the conformance suite said, judged
//	results.go     what a run of everything said; page.go writes docs/interop.md
//	measure        the command that runs everything
//	suiteclient    the client that the conformance suite tests
//	sdkserver      the Go SDK's own server, for comparison
//	mcpgo          a server of mcp-go, a module of its own
//
// What each client does is measured by .ci/conformance, which runs the commands
// below this directory, and written to docs/interop.md.
//
// It may import everything but package main; `reattach serve` and the commands
// below it import it. Read Toolbox first, then Wire; the package to read next
// is impl/gosdk.
package interop

//go:generate go run ./measure -page -root ../..

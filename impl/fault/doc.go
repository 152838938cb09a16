// Package fault breaks connections on purpose, so that whoever builds on this
// module can test what happens then. Nothing in it knows MCP.
//
// There are two places at which it breaks things:
//
//	Proxy      a loopback address in front of a server: bytes of TCP, in both
//	           directions, for any client and any server in any language
//	Transport  an http.RoundTripper around another one: requests that are
//	           doubled, late or lost, answers that are lost or changed
//
// What befalls a connection is a [Plan], what befalls one direction of it a
// [Direction]; both are plain data. [Seeded] draws them from a seed, so that a
// run that failed can be run again: the n-th connection of a seed always gets
// the same plan.
//
// It imports the standard library only, and is for tests: it holds no secret
// back and bounds no memory. Read Plan first, then Proxy.
package fault

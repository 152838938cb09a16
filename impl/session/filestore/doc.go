// Package filestore is a [session.Store] in one file, for one process at a time:
// sessions outlive a restart and a crash of the server (R14).
//
// It is small on purpose, and shows how little a store has to do: it keeps the
// images in memory, and a log of what made them what they are. Every change is
// one line, synced before it is acknowledged; nothing is batched. Somebody who
// needs more than some hundred events a second needs another store.
//
// It imports impl/session, impl/window's and spec's types, and the standard
// library. Read [Store].
package filestore

// Command peers measures reattach beside what else can hold a resumable window
// of events in Go, on the same work, in one run:
//
//	go run .            # everything, medians of six rounds; a quarter of an hour
//	go run . --quick    # one round, under a minute
//	go run . --rows append,read --rounds 10
//	go run . --write ../../docs/performance.md
//	go run . --plots ../../docs
//
// It prints a table for each row, marks each target as met or missed, and ends with
// "targets met: N of M". Absolute times on a shared machine mean nothing: every
// target is a ratio between medians of one run, whose rounds are interleaved, so
// that what disturbs one disturbs all.
//
// The bounds are written here: what a lock, a copy, a coarse clock and a look-up
// cost, and nothing else. A peer is adapted in one file, peer_*.go, and keeps a
// copy of its own of what it is given, as everybody has to.
//
// The module is nested so that no peer reaches those who import reattach.
// Read row.go first, then rows_store.go.
package main

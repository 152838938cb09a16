// Package sqlcommit is the example of the one seam by which an application
// applies events: the effect of an event and the client's record, which holds
// its resume token, commit in one SQL transaction (R20).
//
// [Store] is a client.Store over database/sql, for any database; [Ledger] is an
// application on it, the accounts of a bank's customer. The tests run both in a
// process that the operating system kills at random instants, over a real server
// and a network that cuts: each event is applied exactly once.
//
// It is an example to copy, not a package to import: its module is nested so
// that no database driver reaches those who import reattach. The driver here is
// modernc.org/sqlite, which needs no C compiler. What each policy of committing
// costs in a crash is in docs/commit.md.
//
// It imports impl/client, impl/streamhttp, spec, modernc.org/sqlite and the
// standard library; its tests package killed. Read [Store] first.
package sqlcommit

// Package killed kills a client process at random instants and judges what it
// left: whether what the application applied and what its record says are still
// one.
//
// A [Bank] is the server: it tells of its bookings by events, behind a ledger.
// [Main] is the client process. [Run] starts it, kills it, reads what is there and
// judges, many times; then it lets the last one finish and compares with the
// bank's books. How much a crash may do depends on the
// [Policy] under which the client commits.
//
// It is for tests: those of package properties, with files, and of package
// sqlcommit, with a database. It imports impl and spec. Read [Run] first.
package killed

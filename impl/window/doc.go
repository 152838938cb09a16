// Package window holds the bounded run of recent events that a server retains
// for one session (R3), and answers the questions that resumption asks of it.
//
// It is a plain data structure: no lock, no clock, no goroutine, no I/O, and
// nothing outside the standard library. Whoever owns a [Window] guards it with
// a lock of its own. Time enters as stamps in units of the caller's choice.
//
// What it guarantees, whatever the order of calls:
//
//	(1) seq and ordinal grow by one with every append and are never issued
//	    twice, also after every event has been evicted        (R2)
//	(2) the retained events are a suffix of the issued ones    (R3, oldest first)
//	(3) for a stream with a record, floor ≤ head; the events floor+1 … head,
//	    and only those, are retained                           (R4, R5)
//	(4) Len ≤ Limits.Events, Bytes ≤ Limits.Bytes after every call
//	(5) a refused append changes nothing and uses up no number (R3)
//
// (2) is what keeps it small: the retained seqs are one interval, so an index
// entry needs no seq, and a cursor, which names its seq, is checked in constant
// time.
//
// Read [Window] first, then arena.go for how payloads are kept. The package to
// read next is impl/session, which owns one window for each session.
package window

// Package sse is the framing of event streams, text/event-stream as the WHATWG
// HTML standard defines it: functions that append events to a buffer, and a
// [Reader] that gives back whole events or nothing.
//
// It differs from what a browser does in four places, all on the side of
// caution:
//
//   - The reader tells a clean end from truncation (R24), and an unfinished
//     event leaves nothing behind: no data, no id, no retry (R20).
//   - Events without payload are told apart from messages: they are positions
//     (R8), never deliveries.
//   - An event has a largest size, whatever the peer sends.
//   - Bytes are not decoded: what is valid UTF-8 arrives as it was, and what is
//     not is not repaired.
//
// What the format can carry byte for byte is every payload that is not empty and
// has no carriage return. JSON needs none: inside its strings they are escaped,
// outside they are white space. A payload with one is refused by the writer, as
// the reader at the other end would see a line feed.
//
// Standard library only. Read [Event] first, then [Reader]. The package to read
// next is impl/streamhttp, which puts these bytes on the wire.
package sse

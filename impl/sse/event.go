package sse

import (
	"bytes"
	"fmt"
	"time"
)

// An Event is what a [Reader] gives: a message, a position or a comment.
//
// ID, Data and Comment are lent: they are valid until the next call of Next.
type Event struct {
	Kind Kind

	// ID is the event's id; HasID tells that there was one. An id that is
	// present and empty clears the stream's last event id (R25).
	ID    []byte
	HasID bool

	// Name is the event's type, "" where none was given, which means "message".
	Name string

	// Data is the payload of a message, its lines joined by line feeds. It is
	// never empty in a message and always in the other kinds.
	Data []byte

	// Retry is the reconnection time that the server asks for, from 0 to
	// [MaxRetry]; HasRetry tells that there was one.
	Retry    time.Duration
	HasRetry bool

	// Comment is the text of a comment, without the colon and one space.
	Comment []byte
}

// A Kind tells what an [Event] is.
type Kind uint8

const (
	// Message is an event with payload: a delivery.
	Message Kind = iota + 1
	// Position is an event without payload: an id, a retry or a name alone, or
	// with empty data. Nothing is delivered by it.
	Position
	// Comment is a comment line, a keep-alive for instance. It is given only
	// with Options.Comments, and also where it stands inside an event, before it.
	Comment
)

var kindNames = [...]string{"", "Message", "Position", "Comment"}

// String returns the name of the constant.
func (k Kind) String() string {
	if k >= Message && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MaxRetry is the longest reconnection time that a reader reports; a longer one
// is reported as this.
const MaxRetry = 24 * time.Hour

// Clone returns the event with bytes of its own.
func (e Event) Clone() Event {
	e.ID, e.Data, e.Comment = bytes.Clone(e.ID), bytes.Clone(e.Data), bytes.Clone(e.Comment)
	return e
}

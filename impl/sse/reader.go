package sse

import (
	"bytes"
	"io"
	"iter"
	"time"
)

// DefaultMaxEvent is the largest payload that a reader accepts by default. It
// is what a server may retain for one event (R3).
const DefaultMaxEvent = 4 << 20

const (
	maxField   = 16 << 10       // bytes of an id or a name
	lineSlack  = maxField + 64  // what a line may have beyond MaxEvent
	firstBuf   = 4 << 10        // bytes of the buffer to begin with
	leastRead  = 512            // bytes of room to read into
	smallBuf   = 64 << 10       // a buffer up to this size is kept for good
	noProgress = 100            // empty reads in a row that are borne
	bom        = "\xEF\xBB\xBF" // may open a stream
	maxMS      = uint64(MaxRetry / time.Millisecond)
)

// Options of a [Reader].
type Options struct {
	// MaxEvent is the largest payload of one event in bytes; 0 is
	// [DefaultMaxEvent]. A reader holds at most this and about 20 KiB.
	MaxEvent int
	// Comments says that comments are given too.
	Comments bool
}

// A Reader reads an event stream. It is for one goroutine.
type Reader struct {
	src      io.Reader
	max      int
	comments bool
	err      error // what Next will go on to return
	srcErr   error // what src said when it had no more bytes

	// buf[pos:end] is unread. The payload of the event that is being read is
	// buf[dataFrom:dataTo], before pos: a first line is left where it is, and
	// further ones are moved down to it, over the field names between them.
	buf              []byte
	pos, end         int
	dataFrom, dataTo int
	// No CR is in buf[pos:crClear], no LF in buf[pos:lf]; at lf there is one if
	// hasLF. So no byte is looked at twice for the same purpose.
	crClear, lf int
	hasLF       bool
	lineEnd     int  // where the last line ended, before its CR or LF
	skipLF      bool // a CR ended the last line: an LF at pos belongs to it
	begun       bool // the first line of the stream was seen

	// The event that is being read.
	done    bool // it was given, and what it lent ends with the next call
	open    bool // it has a field line
	known   bool // it has one that means something
	hasData bool
	pending int // bytes of its lines that were taken from buf
	ev      Event
	id      []byte // its id, in memory of its own
	lastID  []byte // that of the last whole event with one
	names   string // the last name, so that repeated ones cost nothing
	quiet   int    // small events in a row, with a large buffer
}

// NewReader returns a reader of the event stream in src.
func NewReader(src io.Reader, o Options) *Reader {
	if o.MaxEvent <= 0 {
		o.MaxEvent = DefaultMaxEvent
	}
	return &Reader{src: src, max: o.MaxEvent, comments: o.Comments}
}

// Next returns the next whole event. Its bytes are lent until the next call.
//
// At a clean end, between two events, it returns io.EOF. Every other end is a
// [*TruncatedError] (R24), or a [*TooLargeError], and stays the answer. An event
// is whole when its blank line has begun, be it with the CR of a CRLF: nothing
// that could still arrive would change it.
func (r *Reader) Next() (Event, error) {
	if r.done {
		r.reset()
	}
	for r.err == nil {
		line, ok := r.line()
		if !ok {
			r.fill()
			continue
		}
		if len(line) == 0 {
			if r.dispatch() {
				return r.ev, nil
			}
			continue
		}
		if line[0] == ':' {
			if r.comments {
				return Event{Kind: Comment, Comment: bytes.TrimPrefix(line[1:], []byte(" "))}, nil
			}
			continue
		}
		r.field(line)
	}
	return Event{}, r.err
}

// Events returns the events that Next returns. A clean end just ends it, any
// other end is its last pair.
func (r *Reader) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			ev, err := r.Next()
			if err == io.EOF || !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// LastID returns the last event id: that of the last whole event which had one.
// It returns false before there was one, and after an empty one cleared it
// (R25). The id is lent until the next call of Next.
func (r *Reader) LastID() (id []byte, ok bool) { return r.lastID, len(r.lastID) > 0 }

// line takes the next line that is complete from the buffer.
func (r *Reader) line() (line []byte, ok bool) {
	if r.skipLF && r.pos < r.end {
		r.skipLF = false
		if r.buf[r.pos] == '\n' {
			r.advance(r.pos + 1)
		}
	}
	if !r.hasLF {
		if i := bytes.IndexByte(r.buf[r.lf:r.end], '\n'); i >= 0 {
			r.lf, r.hasLF = r.lf+i, true
		} else {
			r.lf = r.end
		}
	}
	from, to := r.pos, r.lf
	if i := bytes.IndexByte(r.buf[r.crClear:r.lf], '\r'); i >= 0 {
		to = r.crClear + i
		r.skipLF = true
	} else if !r.hasLF {
		r.crClear = r.end
		return nil, false
	}
	r.lineEnd = to
	r.advance(to + 1)
	line = r.buf[from:to]
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte(bom))
	}
	return line, true
}

// advance moves pos, and what was known of the bytes before it.
func (r *Reader) advance(pos int) {
	r.pos, r.crClear = pos, pos
	if r.lf < pos {
		r.lf, r.hasLF = pos, false
	}
}

// field takes a line that is neither blank nor a comment.
func (r *Reader) field(line []byte) {
	r.open = true
	r.pending += len(line) + 1
	name, value, _ := bytes.Cut(line, []byte(":"))
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	known := true
	switch string(name) {
	case "data":
		r.data(value)
	case "id":
		switch {
		case len(value) > maxField:
			r.err = &TooLargeError{Field: "id", Max: maxField}
		case bytes.IndexByte(value, 0) < 0:
			r.id = append(r.id[:0], value...)
			r.ev.HasID = true
		}
	case "event":
		if len(value) > maxField {
			r.err = &TooLargeError{Field: "event", Max: maxField}
		} else if r.names != string(value) {
			r.names = string(value)
		}
		r.ev.Name = r.names
	case "retry":
		if d, ok := parseRetry(value); ok {
			r.ev.Retry, r.ev.HasRetry = d, true
		}
	default:
		known = false
	}
	r.known = r.known || known
}

// data adds a line to the payload. The payload so far ends before the line's own
// "data:", or, where the colon is missing and nothing is added, before a line
// end: so there is room for the line feed between them.
func (r *Reader) data(value []byte) {
	size := len(value)
	if r.hasData {
		size += r.dataTo - r.dataFrom + 1
	}
	switch {
	case size > r.max:
		r.err = &TooLargeError{Field: "data", Max: r.max}
	case r.hasData:
		r.buf[r.dataTo] = '\n'
		r.dataTo += 1 + copy(r.buf[r.dataTo+1:], value)
	default:
		r.hasData = true
		r.dataFrom, r.dataTo = r.lineEnd-size, r.lineEnd
	}
}

// dispatch ends the event at its blank line and reports whether it is one. Only
// now its id becomes the last one (R20).
func (r *Reader) dispatch() bool {
	if !r.known {
		r.reset()
		return false
	}
	r.done = true
	r.ev.Kind = Position
	if r.hasData && r.dataTo > r.dataFrom {
		r.ev.Kind = Message
		r.ev.Data = r.buf[r.dataFrom:r.dataTo:r.dataTo]
	}
	if r.ev.HasID {
		r.id, r.lastID = r.lastID, r.id
		r.ev.ID = r.lastID
	}
	return true
}

// reset begins a new event.
func (r *Reader) reset() {
	if len(r.buf) > smallBuf && r.pending < len(r.buf)/8 {
		r.quiet++
	} else {
		r.quiet = 0
	}
	r.done, r.open, r.known, r.hasData, r.pending = false, false, false, false, 0
	r.dataFrom, r.dataTo = 0, 0
	r.ev = Event{}
}

// parseRetry accepts digits only, as the standard says.
func parseRetry(value []byte) (time.Duration, bool) {
	ms := uint64(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		ms = min(ms*10+uint64(c-'0'), maxMS)
	}
	return time.Duration(ms) * time.Millisecond, len(value) > 0
}

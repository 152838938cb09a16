package main

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// A tap reads along with the responses on one connection and knows where in
// them it is: between two responses, inside one, inside which event.
type tap struct {
	where  place
	line   []byte // what has arrived of a line of the head or of a chunk's size
	status int
	chunks bool
	left   int // bytes of the body or of the chunk that are still to come

	events bool   // the body is an event stream
	field  []byte // what has arrived of a line of the event stream
	data   []byte // what has arrived of the event's data
}

// A place is a part of a response.
type place int

const (
	inStatus    place = iota // or before it
	inHead                   //
	inBody                   // of known length
	inChunkSize              //
	inChunk                  //
	inChunkEnd               // the line end after a chunk
	inTrailer                //
	inRest                   // a body that ends with the connection
)

// A moment is something that a tap saw happen with the last byte.
type moment int

const (
	nothingNew   moment = iota
	dataArrived         // data, a byte more of it
	eventArrived        // data is whole: the event's blank line is here
	responseOver        //
)

// next takes the next byte.
func (t *tap) next(b byte) moment {
	switch t.where {
	case inBody, inRest, inChunk:
		return t.body(b)
	}
	if b != '\n' {
		t.line = append(t.line, b)
		return nothingNew
	}
	line := string(bytes.TrimSuffix(t.line, []byte("\r")))
	t.line = t.line[:0]
	switch t.where {
	case inStatus:
		*t = tap{where: inHead, left: -1, line: t.line}
		if _, rest, ok := strings.Cut(line, " "); ok && len(rest) >= 3 {
			t.status, _ = strconv.Atoi(rest[:3])
		}
	case inHead:
		if line == "" {
			return t.headOver()
		}
		t.header(line)
	case inChunkSize:
		size, _, _ := strings.Cut(line, ";")
		n, _ := strconv.ParseInt(strings.TrimSpace(size), 16, 32)
		t.left = int(n)
		t.where = inChunk
		if n == 0 {
			t.where = inTrailer
		}
	case inChunkEnd:
		t.where = inChunkSize
	case inTrailer:
		if line == "" {
			return t.over()
		}
	}
	return nothingNew
}

func (t *tap) header(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.ToLower(strings.TrimSpace(value))
	switch http.CanonicalHeaderKey(name) {
	case "Content-Length":
		t.left, _ = strconv.Atoi(value)
	case "Transfer-Encoding":
		t.chunks = value == "chunked"
	case "Content-Type":
		t.events = strings.HasPrefix(value, "text/event-stream")
	}
}

func (t *tap) headOver() moment {
	switch {
	case t.status < 200:
		t.where = inStatus
	case t.status == http.StatusNoContent, t.status == http.StatusNotModified, t.left == 0 && !t.chunks:
		return t.over()
	case t.chunks:
		t.where = inChunkSize
	case t.left > 0:
		t.where = inBody
	default:
		t.where = inRest
	}
	return nothingNew
}

func (t *tap) over() moment {
	t.where = inStatus
	return responseOver
}

func (t *tap) body(b byte) moment {
	seen := nothingNew
	if t.events {
		seen = t.stream(b)
	}
	if t.where == inRest {
		return seen
	}
	if t.left--; t.left > 0 {
		return seen
	}
	if t.where == inBody {
		return t.over()
	}
	t.where = inChunkEnd
	return seen
}

// stream takes the next byte of an event stream.
func (t *tap) stream(b byte) moment {
	const data = "data:"
	if b != '\n' {
		t.field = append(t.field, b)
		if len(t.field) > len(data) && bytes.HasPrefix(t.field, []byte(data)) {
			t.data = append(t.data, b)
			return dataArrived
		}
		return nothingNew
	}
	blank := len(bytes.TrimSuffix(t.field, []byte("\r"))) == 0
	t.field = t.field[:0]
	if !blank {
		return nothingNew
	}
	if len(bytes.TrimSpace(t.data)) == 0 {
		t.data = t.data[:0]
		return nothingNew
	}
	return eventArrived
}

// taken forgets the data of the event that arrived.
func (t *tap) taken() { t.data = t.data[:0] }

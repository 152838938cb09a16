package naive

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// writeEvent writes one event. Messages are JSON on one line.
func writeEvent(w io.Writer, id string, msg []byte) error {
	var b bytes.Buffer
	b.WriteString("id: ")
	b.WriteString(id)
	b.WriteString("\ndata: ")
	b.Write(msg)
	b.WriteString("\n\n")
	_, err := w.Write(b.Bytes())
	return err
}

// errCut says that a stream stopped without its end: the connection broke, or
// the body ended inside an event.
var errCut = errors.New("naive: the stream was cut")

// A reader takes a stream apart into events.
type reader struct {
	in *bufio.Reader
	// sawID, if set, hears of an id as soon as its line has arrived.
	sawID func(id string)
}

// next returns the next event, io.EOF after a clean end, or errCut together
// with whatever had arrived of the event that was cut.
func (r *reader) next() (id string, data []byte, err error) {
	begun := false
	for {
		line, err := r.in.ReadString('\n')
		whole := err == nil
		line = strings.TrimRight(line, "\r\n")
		switch {
		case !whole && err == io.EOF && line == "" && !begun:
			return "", nil, io.EOF
		case line == "" && whole && data != nil:
			return id, data, nil
		case strings.HasPrefix(line, "id:"):
			begun = true
			if id = strings.TrimPrefix(line[3:], " "); whole && r.sawID != nil {
				r.sawID(id)
			}
		case strings.HasPrefix(line, "data:"):
			begun = true
			data = append(data, strings.TrimPrefix(line[5:], " ")...)
		}
		if !whole {
			return id, data, errCut
		}
	}
}

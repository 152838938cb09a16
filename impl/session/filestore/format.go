package filestore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// The file is lines of
//
//	<crc32, 8 digits> <number of the line> <JSON>
//
// The first one names the format and the generation. The sum covers what is
// behind it, and the number keeps a line from standing where another belongs.

// format is what this package reads and writes. States are numbers in it.
const format = 1

// A line is one change. Key, where there is one, is the session's.
type line struct {
	Key        []byte         `json:"key,omitempty"`
	Format     int            `json:"format,omitempty"`
	Generation string         `json:"generation,omitempty"`
	Begin      *begin         `json:"begin,omitempty"`
	Take       bool           `json:"take,omitempty"`
	Entry      *session.Entry `json:"entry,omitempty"`
	Kept       *kept          `json:"kept,omitempty"`
}

type begin struct {
	Subject string
	At      int64
}

// kept is a session as the file has it.
type kept struct {
	Term  uint64
	Image session.Image
}

// state is what a file says.
type state struct {
	generation string
	sessions   map[session.Key]*kept
}

// A CorruptError says that a file is damaged.
type CorruptError struct {
	Path string
	Line int // from 1
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("filestore: %s is damaged at line %d: %v", e.Path, e.Line, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

func (l line) encode(number int) []byte {
	text, err := json.Marshal(l)
	if err != nil {
		panic("reattach: BUG: filestore: a line that is not JSON: " + err.Error())
	}
	text = fmt.Appendf(nil, "%d %s", number, text)
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text)
}

func decode(text []byte, number int) (l line, err error) {
	sum, rest, ok := bytes.Cut(text, []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(rest)) {
		return l, errors.New("its sum is wrong")
	}
	n, rest, ok := bytes.Cut(rest, []byte(" "))
	if !ok || string(n) != fmt.Sprint(number) {
		return l, fmt.Errorf("it says that it is line %s", n)
	}
	return l, json.Unmarshal(rest, &l)
}

// apply makes the state what it is after a line.
func (s *state) apply(l line) error {
	if l.Format != 0 {
		s.generation = l.Generation
		return nil
	}
	if len(l.Key) != len(session.Key{}) {
		return fmt.Errorf("a key of %d bytes", len(l.Key))
	}
	key := session.Key(l.Key)
	k := s.sessions[key]
	switch {
	case l.Kept != nil && k == nil:
		if l.Kept.Image.State == spec.Live {
			if err := l.Kept.Image.Check(); err != nil {
				return err
			}
		}
		s.sessions[key] = l.Kept
	case l.Begin != nil && k == nil:
		s.sessions[key] = &kept{Term: 1, Image: session.NewImage(l.Begin.Subject, l.Begin.At)}
	case l.Take && k != nil:
		k.Term++
	case l.Entry != nil && k != nil:
		return k.Image.Apply(*l.Entry)
	default:
		return errors.New("it fits nothing before it")
	}
	return nil
}

// drop forgets what had no entry since.
func (s *state) drop(since int64) {
	for key, k := range s.sessions {
		if k.Image.At < since {
			delete(s.sessions, key)
		}
	}
}

func (s *state) writeTo(w io.Writer) (lines int, size int64, err error) {
	put := func(l line) {
		if err == nil {
			text := l.encode(lines)
			_, err = w.Write(text)
			lines, size = lines+1, size+int64(len(text))
		}
	}
	put(line{Format: format, Generation: s.generation})
	for key, k := range s.sessions {
		put(line{Key: slices.Clone(key[:]), Kept: k})
	}
	return lines, size, err
}

// read reads a file; one that is not there is empty.
func read(path string) (state, error) {
	s := state{sessions: make(map[session.Key]*kept)}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for number := 0; ; number++ {
		text, err := r.ReadBytes('\n')
		if err == io.EOF {
			if number == 0 { // a file is put in its place with its first line
				return s, &CorruptError{path, 1, io.ErrUnexpectedEOF}
			}
			return s, nil // the rest, if there is one, was never acknowledged
		}
		if err != nil {
			return s, err
		}
		l, err := decode(text[:len(text)-1], number)
		if err == nil && (l.Format == format) != (number == 0) {
			err = fmt.Errorf("the first line, and no other, says that the format is %d", format)
		}
		if err == nil {
			err = s.apply(l)
		}
		if err == nil {
			continue
		}
		if _, end := r.Peek(1); end == io.EOF && number > 0 {
			return s, nil // torn, with the end of a line behind it
		}
		return s, &CorruptError{path, number + 1, err}
	}
}

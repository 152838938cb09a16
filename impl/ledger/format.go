package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"example.com/reattach/spec"
)

// The file of a ledger is lines. Each is a checksum of the rest of the line, a
// space, the line's number from 0, a space, and JSON:
//
//	line 0   {"reattach_ledger":1,"name":…,"generation":…,"horizon":…,"lines":n}
//	then     n lines of the image that was written with it, one batch each
//	then     what was appended since, one batch a line
//
// The first n+1 lines came into the place of an older file as a whole: they are
// there, or the file is damaged. Of what was appended the last line may be torn
// by a crash: it is short, or part of it is zeros, which JSON never contains,
// and nothing follows. It was not acknowledged, so it is dropped. Everything
// else that is wrong is damage, and refused: a line that is missing in the
// middle by its number, a changed one by its checksum.
const formatVersion = 1

// checksumLen is the length of a line's checksum: 64 bits of SHA-256 in hex.
const checksumLen = 16

type fileHead struct {
	Format     int    `json:"reattach_ledger"`
	Name       string `json:"name"`
	Generation uint64 `json:"generation"`
	Horizon    uint64 `json:"horizon"`
	Lines      int    `json:"lines"`
}

// A fileEntry is an entry with its key as text, and its subject in a form that
// no encoding changes: two subjects must not become one.
type fileEntry struct {
	Key     string `json:"k"`
	Subject string `json:"s"` // as strconv.QuoteToASCII writes it
	Entry
}

type fileBatch struct {
	Horizon uint64      `json:"h,omitempty"`
	Entries []fileEntry `json:"e,omitempty"`
}

// A CorruptError says that a ledger's file is not what a store wrote, so that
// entries may have been lost.
type CorruptError struct {
	Path   string
	Line   int // from 0
	Detail string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged in line %d: %s; entries may have been lost: move it away, and a new ledger with another name "+
		"takes its place, to which every earlier call is unknown", e.Path, e.Line, e.Detail)
}

// appendLine appends a line with the number to dst.
func appendLine(dst []byte, number int, v any) ([]byte, error) {
	var line bytes.Buffer
	fmt.Fprintf(&line, "%d ", number)
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false) // a response stays as it was answered
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("reattach: what is to be recorded is not JSON: %w", err)
	}
	rest := line.Bytes() // with the end of the line
	dst = append(dst, checksum(rest[:len(rest)-1])...)
	dst = append(dst, ' ')
	return append(dst, rest...), nil
}

func checksum(rest []byte) string {
	sum := sha256.Sum256(rest)
	return hex.EncodeToString(sum[:checksumLen/2])
}

func fileBatchOf(b Batch) fileBatch {
	f := fileBatch{Horizon: b.Horizon}
	for _, e := range b.Entries {
		f.Entries = append(f.Entries, fileEntry{e.Key.String(), strconv.QuoteToASCII(e.Subject), e})
	}
	return f
}

// encodeImage returns the content of a file, and the number of its lines.
func encodeImage(i Image) (content []byte, lines int, err error) {
	content, err = appendLine(nil, 0, fileHead{formatVersion, i.Name, i.Generation, i.Horizon, len(i.Entries)})
	for n := 0; n < len(i.Entries) && err == nil; n++ {
		content, err = appendLine(content, n+1, fileBatchOf(Batch{Entries: i.Entries[n : n+1]}))
	}
	return content, len(i.Entries) + 1, err
}

// decodeFile reads what a file says. torn tells that its last line was dropped.
func decodeFile(path string, content []byte) (image Image, torn bool, err error) {
	corrupt := func(line int, format string, args ...any) (Image, bool, error) {
		return Image{}, false, &CorruptError{path, line, fmt.Sprintf(format, args...)}
	}
	var head fileHead
	at := map[ref]int{}
	rest := content
	number := 0
	for ; len(rest) > 0; number++ {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		body, sound := openLine(line, number)
		if !whole || !sound {
			if number > head.Lines && number > 0 && isTorn(rest) {
				return image, true, nil
			}
			return corrupt(number, "its %d bytes do not have the checksum, or the number, that they begin with", len(line))
		}
		rest = after
		if number == 0 {
			if err := strict(body, &head); err != nil {
				return corrupt(0, "%v", err)
			}
			if head.Format != formatVersion || !spec.IsLedgerName(head.Name) || head.Generation == 0 || head.Generation == math.MaxUint64 || head.Lines < 0 {
				return corrupt(0, "format %d, name %q, generation %d, %d lines", head.Format, head.Name, head.Generation, head.Lines)
			}
			image = Image{Name: head.Name, Generation: head.Generation, Horizon: head.Horizon}
			continue
		}
		b, err := decodeBatch(body, head.Name)
		if err == nil {
			err = image.check(b, at, number <= head.Lines)
		}
		if err != nil {
			return corrupt(number, "%v", err)
		}
		image.apply(b, at)
	}
	if number == 0 {
		return corrupt(0, "it is empty")
	}
	if number <= head.Lines {
		return corrupt(number, "%d lines are missing", head.Lines+1-number)
	}
	return image, false, nil
}

// openLine returns the JSON of a line that is sound.
func openLine(line []byte, number int) (body []byte, sound bool) {
	if len(line) < checksumLen+1 || line[checksumLen] != ' ' || string(line[:checksumLen]) != checksum(line[checksumLen+1:]) {
		return nil, false
	}
	return bytes.CutPrefix(line[checksumLen+1:], fmt.Appendf(nil, "%d ", number))
}

// isTorn reports whether the end of a file looks as a crash leaves a line that
// was being appended: its end is missing, or zeros.
func isTorn(rest []byte) bool {
	text := bytes.TrimRight(rest, "\x00")
	newline := bytes.IndexByte(text, '\n')
	return newline < 0 || newline == len(text)-1 && bytes.IndexByte(text, 0) >= 0
}

func decodeBatch(body []byte, name string) (b Batch, err error) {
	var f fileBatch
	if err := strict(body, &f); err != nil {
		return b, err
	}
	b.Horizon = f.Horizon
	for _, e := range f.Entries {
		if e.Entry.Key, err = spec.ParseKey(e.Key); err != nil {
			return b, fmt.Errorf("%q: %w", e.Key, err)
		}
		if e.Entry.Subject, err = strconv.Unquote(e.Subject); err != nil {
			return b, fmt.Errorf("%q is no subject: %w", e.Subject, err)
		}
		b.Entries = append(b.Entries, e.Entry)
	}
	return b, nil
}

// check refuses a batch that no ledger can have written.
func (i *Image) check(b Batch, at map[ref]int, ofImage bool) error {
	if b.Horizon != 0 && (b.Horizon <= i.Horizon || ofImage) {
		return fmt.Errorf("the horizon goes from %d to %d", i.Horizon, b.Horizon)
	}
	for _, e := range b.Entries {
		switch {
		case e.Key.Ledger != i.Name:
			return fmt.Errorf("%s is another ledger's", e.Key)
		case e.Key.Minted < max(i.Horizon, b.Horizon):
			return fmt.Errorf("%s lies below the horizon %d", e.Key, max(i.Horizon, b.Horizon))
		case e.State != Started && e.State != Done && e.State != Sealed:
			return fmt.Errorf("%s is %q", e.Key, e.State)
		case e.Generation > i.Generation || (e.Generation == 0) != (e.State == Sealed):
			return fmt.Errorf("%s is %s by generation %d of %d", e.Key, e.State, e.Generation, i.Generation)
		case e.State != Done && (e.Response != nil || e.Lost), e.Lost && e.Response != nil:
			return fmt.Errorf("%s is %s and has a response", e.Key, e.State)
		}
		if n, ok := at[ref{e.Subject, e.Key.String()}]; ok {
			if was := i.Entries[n]; ofImage || was.State != Started || e.State != Done || was.Generation != e.Generation || was.Digest != e.Digest {
				return fmt.Errorf("%s was %s and becomes %s", e.Key, was.State, e.State)
			}
		}
	}
	return nil
}

func strict(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more than one value")
	}
	return nil
}

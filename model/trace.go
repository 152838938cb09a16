package model

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/reattach/spec"
)

// TraceVersion is the version of the trace format that [AcceptTrace] reads. The
// format is described in docs/traces.md.
const TraceVersion = 1

// Bounds of a trace, so that one from anywhere can be judged. What goes beyond
// them is refused with an error that wraps ErrTraceLimit.
const (
	MaxTraceLine     = 4096      // bytes of a line
	MaxTraceSessions = 10_000    // sessions in one trace
	MaxTraceWindow   = 4096      // events that a session may retain, by the header
	MaxTraceWork     = 1 << 32   // looks at an event or a stream, for the whole trace
	MaxTraceLines    = 1_000_000 // lines in one trace
)

// ErrTraceLimit is what an error wraps if a trace goes beyond a bound.
var ErrTraceLimit = errors.New("larger than what is judged")

// A TraceHeader is the first line of a trace.
type TraceHeader struct {
	Reattach string      `json:"reattach"` // "trace"
	Version  int         `json:"version"`
	Limits   TraceLimits `json:"limits"`
}

// TraceLimits are the bounds that the traced server works within (R3). All are
// at least 1.
type TraceLimits struct {
	Events     int `json:"events"`
	Bytes      int `json:"bytes"`
	EventBytes int `json:"event_bytes"`
	Streams    int `json:"streams"`
	Views      int `json:"views"`
	Requests   int `json:"requests"`
}

// A TraceLine says that one row of a session's tables fired, or was refused,
// and what the session held before.
type TraceLine struct {
	Session spec.Tag    `json:"session"`
	N       uint64      `json:"n"` // 1, 2, … within the session
	Row     string      `json:"row"`
	Trigger string      `json:"trigger"`
	Stream  *uint64     `json:"stream"` // nil: a row of the session's table
	From    string      `json:"from"`
	To      string      `json:"to"`      // "" if it was refused
	Refused spec.Reason `json:"refused"` // "" if it fired

	Seq     uint64 `json:"seq"`     // the newest one issued
	Evicted uint64 `json:"evicted"` // the newest one evicted: all up to it are
	Bytes   int    `json:"bytes"`   // payloads retained
	Head    uint64 `json:"head"`    // the stream's newest ordinal
	Handed  uint64 `json:"handed"`  // its highest one that a view ever took
	View    uint64 `json:"view"`    // the one that its view stands at

	Size     int            `json:"size"`     // HandlerEmits, HandlerAnswers: of the payload
	Event    spec.EventID   `json:"event"`    // ViewDelivers: what the view takes
	Decision *TraceDecision `json:"decision"` // ClientResumes
}

// A TraceDecision is what was decided about a request for a view. Without a
// cursor there was none, or, with the reason cursor_malformed, not a good one.
type TraceDecision struct {
	Verdict  string       `json:"verdict"`
	Reason   spec.Reason  `json:"reason"`
	Cursor   spec.EventID `json:"cursor"`
	Position spec.EventID `json:"position"`
	Skipped  uint64       `json:"skipped"`
	Floor    spec.EventID `json:"floor"`
	Head     spec.EventID `json:"head"`
	Attempt  string       `json:"attempt"` // "" without one, and with the reason attempt_malformed
}

// String returns what a line says, without its numbers.
func (l *TraceLine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", l.Row, l.Trigger)
	if l.Stream != nil {
		fmt.Fprintf(&b, " of stream %d", *l.Stream)
	}
	fmt.Fprintf(&b, " in %s", l.From)
	if l.Refused != "" {
		fmt.Fprintf(&b, ", refused: %s", string(l.Refused))
	} else {
		fmt.Fprintf(&b, ", to %s", l.To)
	}
	return b.String()
}

// A TraceFormError says that a line is not one of a trace, or goes beyond a
// bound: then it wraps ErrTraceLimit.
type TraceFormError struct {
	Line int // from 1
	Why  string
	Err  error // or nil
}

func (e *TraceFormError) Error() string {
	text := fmt.Sprintf("line %d: %s", e.Line, e.Why)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause, or nil.
func (e *TraceFormError) Unwrap() error { return e.Err }

// A TraceError is the first step of a trace that the model does not allow.
type TraceError struct {
	Line    int // of the trace, from 1
	Session spec.Tag
	N       uint64   // the step's number within its session
	Did     string   // what the line says
	Why     string   // what is wrong with it
	Allowed []string // what would have been allowed instead, as the model sees it
}

func (e *TraceError) Error() string {
	return fmt.Sprintf("line %d, step %d of session %s: %s: %s", e.Line, e.N, e.Session, e.Did, e.Why)
}

// A TraceReport says what an accepted trace, or its accepted beginning, holds.
type TraceReport struct {
	Lines    int // the header not counted
	Sessions int
	Refusals int
	Rows     map[string]int // how often each row fired or refused
}

// AcceptTrace replays a trace on the model, one [Session] for each of its
// sessions, and returns a [*TraceError] for the first step that is not allowed,
// a [*TraceFormError] for what is no trace, or the error of the reader or ctx.
//
// A trace has no clock. Its word is taken for when events grew too old and
// budgets elapsed; everything else is computed: numbers, verdicts, positions,
// what fits, what overflows, what is forgotten. What the window retains is
// checked line by line.
func AcceptTrace(ctx context.Context, r io.Reader) (TraceReport, error) {
	lines := bufio.NewReaderSize(r, MaxTraceLine)
	report := TraceReport{Rows: map[string]int{}}
	header, err := readTraceHeader(lines)
	if err != nil {
		return report, err
	}
	judge := NewTraceJudge(header.Limits)
	for number := 2; ; number++ {
		if err := ctx.Err(); err != nil {
			return report, err
		}
		text, err := readTraceLine(lines, number)
		if err == io.EOF {
			return report, nil
		}
		if err != nil {
			return report, err
		}
		if report.Lines >= MaxTraceLines {
			return report, &TraceFormError{number, fmt.Sprintf("more than %d lines", MaxTraceLines), ErrTraceLimit}
		}
		var line TraceLine
		if err := decodeTraceLine(text, &line); err != nil {
			return report, &TraceFormError{number, "no step of a trace", err}
		}
		if err := judge.Accept(&line); err != nil {
			var wrong *TraceError
			var form *TraceFormError
			switch {
			case errors.As(err, &wrong):
				wrong.Line = number
			case errors.As(err, &form):
				form.Line = number
			}
			return report, err
		}
		report.Lines++
		report.Sessions = len(judge.sessions)
		report.Rows[line.Row]++
		if line.Refused != "" {
			report.Refusals++
		}
	}
}

func readTraceHeader(lines *bufio.Reader) (h TraceHeader, err error) {
	text, err := readTraceLine(lines, 1)
	if err == io.EOF {
		return h, &TraceFormError{1, "empty, and a trace begins with its header", nil}
	}
	if err != nil {
		return h, err
	}
	if err := decodeTraceLine(text, &h); err != nil {
		return h, &TraceFormError{1, "no header of a trace", err}
	}
	switch {
	case h.Reattach != "trace":
		return h, &TraceFormError{1, fmt.Sprintf("no header of a trace: it is a %.32q", h.Reattach), nil}
	case h.Version != TraceVersion:
		return h, &TraceFormError{1, fmt.Sprintf("version %d of the format, want %d", h.Version, TraceVersion), nil}
	}
	if err := h.Limits.check(); err != nil {
		return h, &TraceFormError{1, "limits that cannot be judged", err}
	}
	return h, nil
}

func (l TraceLimits) check() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"events", l.Events}, {"bytes", l.Bytes}, {"event_bytes", l.EventBytes}, {"streams", l.Streams}, {"views", l.Views}, {"requests", l.Requests}} {
		if n.value < 1 {
			return fmt.Errorf("%s is %d, want at least 1", n.name, n.value)
		}
	}
	if l.Events > MaxTraceWindow {
		return fmt.Errorf("events is %d: %w: at most %d", l.Events, ErrTraceLimit, MaxTraceWindow)
	}
	return nil
}

// readTraceLine returns the next line without its end, io.EOF after the last.
func readTraceLine(lines *bufio.Reader, number int) ([]byte, error) {
	text, err := lines.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, &TraceFormError{number, fmt.Sprintf("more than %d bytes", MaxTraceLine), ErrTraceLimit}
	case err == io.EOF && len(text) > 0:
		return nil, &TraceFormError{number, "the line has no end: the trace was cut", io.ErrUnexpectedEOF}
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// decodeTraceLine reads one JSON object and nothing else.
func decodeTraceLine(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if rest, _ := io.ReadAll(d.Buffered()); len(bytes.TrimSpace(rest)) > 0 {
		return fmt.Errorf("something behind it: %.32q", rest)
	}
	return nil
}

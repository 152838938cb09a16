package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"example.com/reattach/spec"
)

// A Tracer writes what a registry's sessions do as a trace: one line of JSON
// for each row that fired or was refused, with the number that it has within
// its session. The numbers are given while the session is locked, so they are
// the order in which things happened. docs/traces.md describes the format;
// `reattach trace` says whether the reference model allows it.
//
// It is for runs that are to be judged, not for permanent operation: it
// remembers a number for every session, and every line is written while its
// session is locked and all others that have something to tell wait. Give it a
// writer that does not block.
type Tracer struct {
	mu    sync.Mutex
	w     io.Writer
	buf   bytes.Buffer
	lines map[spec.Tag]uint64
	err   error
}

// TraceVersion is the version of the trace format that a [Tracer] writes.
const TraceVersion = 1

type traceHeader struct {
	Reattach string      `json:"reattach"`
	Version  int         `json:"version"`
	Limits   traceLimits `json:"limits"`
}

type traceLimits struct {
	Events     int `json:"events"`
	Bytes      int `json:"bytes"`
	EventBytes int `json:"event_bytes"`
	Streams    int `json:"streams"`
	Views      int `json:"views"`
	Requests   int `json:"requests"`
}

// traceLine is one observation. Stream is nil in rows of the session's machine.
type traceLine struct {
	Session  spec.Tag       `json:"session"`
	N        uint64         `json:"n"`
	Row      string         `json:"row"`
	Trigger  string         `json:"trigger"`
	Stream   *uint64        `json:"stream,omitempty"`
	From     string         `json:"from"`
	To       string         `json:"to,omitempty"`
	Refused  spec.Reason    `json:"refused,omitempty"`
	Seq      uint64         `json:"seq"`
	Evicted  uint64         `json:"evicted"`
	Bytes    int            `json:"bytes"`
	Head     uint64         `json:"head,omitempty"`
	Handed   uint64         `json:"handed,omitempty"`
	View     uint64         `json:"view,omitempty"`
	Size     int            `json:"size,omitempty"`
	Event    spec.EventID   `json:"event,omitzero"`
	Decision *traceDecision `json:"decision,omitempty"`
}

type traceDecision struct {
	Verdict  string       `json:"verdict"`
	Reason   spec.Reason  `json:"reason,omitempty"`
	Cursor   spec.EventID `json:"cursor,omitzero"`
	Position spec.EventID `json:"position,omitzero"`
	Skipped  uint64       `json:"skipped,omitempty"`
	Floor    spec.EventID `json:"floor,omitzero"`
	Head     spec.EventID `json:"head,omitzero"`
	Attempt  string       `json:"attempt,omitempty"`
}

// NewTracer returns a tracer for a registry with these options, whose limits
// stand in the first line: set Observe to its method of that name. The error is
// one of [NewRegistry]'s, or the writer's.
func NewTracer(w io.Writer, o Options) (*Tracer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Tracer{w: w, lines: map[spec.Tag]uint64{}}
	t.write(traceHeader{"trace", TraceVersion, traceLimits{
		Events: o.WindowEvents, Bytes: o.WindowBytes, EventBytes: o.EventBytes,
		Streams: o.Streams, Views: o.Views, Requests: o.Requests}})
	return t, t.err
}

// Observe writes one line. What concerns no session, such as the refusal of an
// id that nobody knows, is no part of a trace.
func (t *Tracer) Observe(o Observation) {
	if o.Tag == "" {
		return
	}
	line := traceLine{Session: o.Tag, Seq: o.Seq, Evicted: o.Evicted, Bytes: o.Bytes,
		Head: o.Head, Handed: o.Handed, View: o.View, Size: o.Size}
	if r := o.Refused; r != nil {
		line.Row, line.Trigger, line.From, line.Refused = r.Row, r.Trigger.String(), r.State.String(), r.Reason
	} else {
		line.Row, line.Trigger = o.Step.Row.ID, o.Step.Row.Trigger.String()
		line.From, line.To = o.Step.From.String(), o.Step.To.String()
	}
	if o.Machine == spec.StreamTable().Machine {
		line.Stream = &o.Stream
	}
	if o.Event > 0 {
		line.Event = spec.EventID{Tag: o.Tag, Seq: o.EventSeq, Stream: o.Stream, Ordinal: o.Event}
	}
	if d := o.Decision; d != nil {
		line.Decision = &traceDecision{d.Verdict.String(), d.Reason, d.Cursor, d.Position, d.Skipped, d.Floor, d.Head, d.Attempt.String()}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines[o.Tag]++
	line.N = t.lines[o.Tag]
	t.write(line)
}

// Err returns the first error of the writer. Nothing was written after it.
func (t *Tracer) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *Tracer) write(line any) {
	if t.err != nil {
		return
	}
	t.buf.Reset()
	if err := json.NewEncoder(&t.buf).Encode(line); err != nil {
		bug("a line of a trace is no JSON: %v", err)
	}
	if _, err := t.w.Write(t.buf.Bytes()); err != nil {
		t.err = fmt.Errorf("session: writing the trace: %w", err)
	}
}

package properties

import (
	"bytes"
	"fmt"
	"slices"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// A ledger is what the suite itself knows of a session: what was emitted, byte
// for byte, and what each view was handed. It knows neither the ring nor the
// model, and judges deliveries alone: in order, each once, none missing, the
// right bytes (R2, R4, R7, R10).
type ledger struct {
	tag     spec.Tag
	seq     uint64 // the last one issued
	streams map[uint64]*page
	numbers []uint64 // of the streams, ascending
}

// A page is one stream in the ledger.
type page struct {
	number uint64
	base   uint64 // ordinals up to this were issued before the ledger began
	origin spec.EventID
	events []entered
	handed uint64 // the highest ordinal that any view took
	view   *session.ViewState
	at     uint64               // ordinal that the view stands at
	past   []*session.ViewState // views that have ended
}

type entered struct {
	seq     uint64
	payload []byte
}

func newLedger(tag spec.Tag, seq uint64) *ledger {
	return &ledger{tag: tag, seq: seq, streams: map[uint64]*page{}}
}

// opened enters a new stream, whose numbers go on behind a position.
func (l *ledger) opened(origin spec.EventID, view *session.ViewState) error {
	n := origin.Stream
	if _, ok := l.streams[n]; ok {
		return fmt.Errorf("ledger: stream %d was opened twice", n)
	}
	l.streams[n] = &page{number: n, base: origin.Ordinal, origin: origin, at: origin.Ordinal, view: view}
	l.numbers = append(l.numbers, n)
	slices.Sort(l.numbers)
	return nil
}

func (p *page) head() uint64 { return p.base + uint64(len(p.events)) }

// id returns the event id that was issued with an ordinal, which must have been.
func (l *ledger) id(p *page, ordinal uint64) spec.EventID {
	switch {
	case ordinal == p.base:
		return p.origin
	case ordinal < p.base || ordinal > p.head():
		return spec.EventID{Tag: l.tag, Seq: ordinal, Stream: p.number, Ordinal: ordinal} // forgotten, or still to come
	}
	return spec.EventID{Tag: l.tag, Seq: p.events[ordinal-p.base-1].seq, Stream: p.number, Ordinal: ordinal}
}

// emitted enters an event, which must have the next numbers there are (R2).
func (l *ledger) emitted(id spec.EventID, payload []byte) error {
	p := l.streams[id.Stream]
	if p == nil {
		return fmt.Errorf("ledger: %v was issued on a stream that was never opened", id)
	}
	if want := (spec.EventID{Tag: l.tag, Seq: l.seq + 1, Stream: p.number, Ordinal: p.head() + 1}); id != want {
		return fmt.Errorf("ledger: the event got the id %v, the next one is %v", id, want)
	}
	l.seq++
	p.events = append(p.events, entered{id.Seq, payload})
	return nil
}

// attached enters a view that begins at a position. One that has no cursor
// must not go back behind what a view took (R7).
func (l *ledger) attached(at spec.EventID, v *session.ViewState, fresh bool) error {
	p := l.streams[at.Stream]
	switch {
	case p == nil:
		return fmt.Errorf("ledger: a view of stream %d, which was never opened", at.Stream)
	case at.Ordinal < p.base || at.Ordinal > p.head() || at != l.id(p, at.Ordinal):
		return fmt.Errorf("ledger: a view begins at %v, which was never issued", at)
	case fresh && at.Ordinal < p.handed:
		return fmt.Errorf("ledger: a fresh view begins at %v, and %d was handed over before", at, p.handed)
	}
	l.detached(p)
	p.view, p.at = v, at.Ordinal
	return nil
}

// detached enters that the stream's view is over.
func (l *ledger) detached(p *page) {
	if p.view != nil {
		p.past = append(p.past, p.view)
	}
	p.view = nil
}

// delivered enters what a view took: strictly the next event, with its bytes.
func (l *ledger) delivered(v *session.ViewState, ev window.Event) error {
	p := l.streams[v.Stream]
	id := spec.EventID{Tag: l.tag, Seq: ev.Seq, Stream: ev.Stream, Ordinal: ev.Ordinal}
	switch {
	case p == nil || p.view != v:
		return fmt.Errorf("ledger: %v was handed to a view that is not its stream's", id)
	case ev.Stream != p.number:
		return fmt.Errorf("ledger: %v was handed to a view of stream %d", id, p.number)
	case ev.Ordinal <= p.at:
		return fmt.Errorf("ledger: duplicate: %v was handed over at %d", id, p.at)
	case ev.Ordinal != p.at+1:
		return fmt.Errorf("ledger: gap: %v was handed over at %d", id, p.at)
	case ev.Ordinal > p.head() || id != l.id(p, ev.Ordinal):
		return fmt.Errorf("ledger: %v was handed over and never issued", id)
	case !bytes.Equal(ev.Payload, p.events[ev.Ordinal-p.base-1].payload):
		return fmt.Errorf("ledger: %v was handed over as %q, and emitted as %q", id, ev.Payload, p.events[ev.Ordinal-p.base-1].payload)
	}
	p.at = ev.Ordinal
	p.handed = max(p.handed, ev.Ordinal)
	return nil
}

// holds compares everything that a window retains with what was emitted, and
// its load with its limits (R3).
func (l *ledger) holds(w *window.Window) error {
	limits, count, size := w.Limits(), 0, 0
	for ev := range w.All() {
		count, size = count+1, size+len(ev.Payload)
		id := spec.EventID{Tag: l.tag, Seq: ev.Seq, Stream: ev.Stream, Ordinal: ev.Ordinal}
		p := l.streams[ev.Stream]
		if p == nil || ev.Ordinal <= p.base || ev.Ordinal > p.head() || id != l.id(p, ev.Ordinal) {
			return fmt.Errorf("ledger: the window holds %v, which was never issued", id)
		}
		if want := p.events[ev.Ordinal-p.base-1].payload; !bytes.Equal(ev.Payload, want) {
			return fmt.Errorf("ledger: the window holds %v as %q, and it was emitted as %q", id, ev.Payload, want)
		}
	}
	if w.Len() > limits.Events || w.Bytes() > limits.Bytes || count > w.Len() || size > w.Bytes() {
		return fmt.Errorf("ledger: the window says %d events of %d bytes, holds %d of %d, and may hold %d of %d",
			w.Len(), w.Bytes(), count, size, limits.Events, limits.Bytes)
	}
	return nil
}

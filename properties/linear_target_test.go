package properties

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// What is asked of a session by several at once, and what it tells them.

type asked struct {
	do      string
	id      int // of this operation; a view is named by the one that it came from
	stream  uint64
	size    int
	cursors []string
	view    int
}

type told struct {
	reason   spec.Reason // why it was refused
	id       spec.EventID
	attached bool
	lag      uint64
	evicted  int
	stream   uint64 // of a call
	verdict  spec.Verdict
	position spec.EventID
	skipped  uint64
	took     bool   // a view took an event
	last     bool   // the last one
	over     string // how the view that was asked had ended
}

func (a asked) String() string {
	switch a.do {
	case "emit", "answer":
		return fmt.Sprintf("%s(%d)", a.do, a.stream)
	case "resume":
		return fmt.Sprintf("resume%q as v%d", a.cursors, a.id)
	case "call":
		return fmt.Sprintf("call as v%d", a.id)
	case "deliver", "break":
		return fmt.Sprintf("%s v%d", a.do, a.view)
	case "end view":
		return fmt.Sprintf("end view(%d)", a.stream)
	}
	return a.do
}

func (o told) String() string {
	switch {
	case o.reason != "":
		return string(o.reason)
	case o.over != "":
		return "over: " + o.over
	case o.took, o.id.Valid():
		return fmt.Sprintf("%d:%d:%d last %v lag %d evicted %d", o.id.Seq, o.id.Stream, o.id.Ordinal, o.last, o.lag, o.evicted)
	case o.position.Valid():
		return fmt.Sprintf("%v at %d:%d:%d", o.verdict, o.position.Seq, o.position.Stream, o.position.Ordinal)
	}
	return fmt.Sprintf("ok %d", o.stream)
}

// A linearTarget is a session that several ask at once. A view is whatever it
// gives out.
type linearTarget interface {
	tag() spec.Tag
	ask(a asked, view any) (told, any)
}

// endName says how a view ended, from what it tells its reader.
func endName(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, io.EOF):
		return "delivered"
	case errors.Is(err, session.ErrSuperseded):
		return "superseded"
	case errors.Is(err, session.ErrOvertaken):
		return "overtaken"
	case errors.Is(err, session.ErrViewEnded):
		return "ended"
	case errors.Is(err, session.ErrSessionOver):
		return "session over"
	case errors.Is(err, session.ErrBroken):
		return "broken"
	}
	return err.Error()
}

func toldOf(e session.Emitted, err error) told {
	if err != nil {
		return told{reason: reasonIn(err)}
	}
	return told{id: e.ID, attached: e.Attached, lag: e.Lag, evicted: e.Evicted}
}

func decidedOf(d session.Decision) told {
	if d.Verdict == spec.VerdictRefuse {
		return told{verdict: d.Verdict, reason: d.Reason}
	}
	return told{verdict: d.Verdict, position: d.Position, skipped: d.Skipped}
}

// The real thing: a session of a registry, with its locks.
type realTarget struct{ s *session.Session }

func (r realTarget) tag() spec.Tag { return r.s.Tag() }

func (r realTarget) ask(a asked, view any) (o told, v any) {
	switch a.do {
	case "emit":
		return toldOf(r.s.Stream(a.stream).Emit(make([]byte, a.size))), nil
	case "answer":
		return toldOf(r.s.Stream(a.stream).Answer(make([]byte, a.size))), nil
	case "call":
		stream, view, err := r.s.Call(nil)
		if err != nil {
			return told{reason: reasonIn(err)}, nil
		}
		return told{stream: stream.Number()}, view
	case "resume":
		view, d, _ := r.s.Resume(session.Request{Cursors: a.cursors})
		if view == nil {
			return decidedOf(d), nil
		}
		return decidedOf(d), view
	case "deliver":
		d, ok, err := view.(*session.View).TryNext(nil)
		return told{took: ok, id: d.ID, last: d.Last, over: endName(err)}, nil
	case "break":
		return told{reason: reasonIn(view.(*session.View).Break())}, nil
	case "end view":
		return told{reason: reasonIn(r.s.Stream(a.stream).EndView())}, nil
	case "notify":
		return told{reason: reasonIn(r.s.Notify())}, nil
	case "terminate":
		return told{reason: reasonIn(r.s.Terminate())}, nil
	}
	panic("reattach: BUG: nobody said how to " + a.do)
}

// A lockedTarget is a bare core behind one lock. With a seam it lets go of the
// lock between the decision about a cursor and what is done about it: each half
// is locked, the race detector is content, and the whole is wrong.
type lockedTarget struct {
	mu   sync.Mutex
	core *session.Core
	seam bool
}

func (l *lockedTarget) tag() spec.Tag { return l.core.Tag() }

func (l *lockedTarget) ask(a asked, view any) (o told, v any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch a.do {
	case "emit":
		return toldOf(l.core.Emit(a.stream, make([]byte, a.size), 0)), nil
	case "answer":
		return toldOf(l.core.Answer(a.stream, make([]byte, a.size), 0)), nil
	case "call":
		view, err := l.core.Call(nil)
		if err != nil {
			return told{reason: reasonIn(err)}, nil
		}
		return told{stream: view.Stream}, view
	case "resume":
		return l.resume(a)
	case "deliver":
		taken, err := l.core.DeliverTo(view.(*session.ViewState), 0)
		o := told{took: taken.OK, last: taken.Last, over: endName(err)}
		if taken.OK {
			o.id = spec.EventID{Tag: l.core.Tag(), Seq: taken.Event.Seq, Stream: taken.Event.Stream, Ordinal: taken.Event.Ordinal}
		}
		return o, nil
	case "break":
		if v := view.(*session.ViewState); v.End == session.StillOpen {
			return told{reason: reasonIn(l.core.Break(v.Stream, 0))}, nil
		}
		return told{}, nil
	case "end view":
		return told{reason: reasonIn(l.core.EndView(a.stream, 0))}, nil
	case "notify":
		return told{reason: reasonIn(l.core.Notify())}, nil
	case "terminate":
		return told{reason: reasonIn(l.core.Terminate())}, nil
	}
	panic("reattach: BUG: nobody said how to " + a.do)
}

func (l *lockedTarget) resume(a asked) (told, any) {
	if !l.seam || l.core.State() != spec.Live {
		d, v, _ := l.core.Resume(session.Request{Cursors: a.cursors}, 0)
		if v == nil {
			return decidedOf(d), nil
		}
		return decidedOf(d), v
	}
	d := session.Decide(session.Request{Cursors: a.cursors}, l.core)
	l.mu.Unlock()
	runtime.Gosched()
	l.mu.Lock()
	v, err := l.core.Apply(d, 0)
	switch {
	case err != nil:
		return told{verdict: spec.VerdictRefuse, reason: reasonIn(err)}, nil
	case v == nil:
		return decidedOf(d), nil
	}
	return decidedOf(d), v
}

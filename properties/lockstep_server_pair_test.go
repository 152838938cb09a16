package properties

import (
	"errors"
	"fmt"
	"io"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/window"
	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// A serverPair is one session three times: the real core with its real ring,
// the model, and the ledger. Every method is one trigger, taken by all three.
type serverPair struct {
	core   *session.Core
	twin   *model.Session
	book   *ledger
	world  *serverWorld
	id     session.SessionID
	since  map[uint64]int64 // when a stream was last left without a view
	before map[uint64]spec.State
	// attempt is the newest one that this session's client has sent (R10).
	attempt spec.Attempt

	// What the last call, resumption or delivery gave, for the composed suite.
	view     *session.ViewState
	decision session.Decision
	taken    session.Taken
	refusal  spec.Reason
}

// reasonIn returns the reason inside an error of a core, "" for none.
func reasonIn(err error) spec.Reason {
	var refused *fsm.RefusedError
	var decided *session.RefusalError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return refused.Reason
	case errors.As(err, &decided):
		return decided.Decision.Reason
	}
	return spec.Reason("untyped: " + err.Error())
}

// answered compares a core's answer to a trigger with the model's.
func (p *serverPair) answered(what string, err error, want spec.Reason) (refused bool, fault error) {
	got := reasonIn(err)
	if want != "" {
		p.world.hits.hit("refused %s", want)
	}
	if got != want && !p.world.ledgerOnly {
		return true, fmt.Errorf("%s: the core says %q (%v), the model %q", what, got, err, want)
	}
	return got != "", nil
}

func newServerPair(w *serverWorld, number uint16) *serverPair {
	p := &serverPair{world: w, id: session.SessionID{1, byte(number >> 8), byte(number)}, since: map[uint64]int64{}, before: map[uint64]spec.State{}}
	tag := spec.TagOf(p.id.Text(), "")
	p.core, p.book = session.NewCore(w.cfg), newLedger(tag, w.start)
	p.twin = model.NewSession(tag, w.limits, model.TheRules())
	return p
}

func (p *serverPair) initialize(full, draining bool) error {
	absent := p.core.State() == spec.Absent && !full && !draining
	if absent {
		p.twin.StartAt(p.world.start)
	}
	err := p.core.Initialize(p.id, nil, full, draining)
	refused, fault := p.answered("Initialize", err, p.twin.Initialize(full, draining))
	if fault != nil || refused {
		return fault
	}
	// A core of its own begins at seq 0. Where the numbers are to go on behind
	// others it gets, before anything happened, the window that a session read
	// back from a durable store would have.
	if p.world.start > 0 {
		*p.core.Window() = window.Resume(&p.world.cfg.Window, p.world.start)
		p.core.Window().Open(0)
	}
	return p.book.opened(spec.PositionZero(p.book.tag, 0), nil)
}

func (p *serverPair) call() error {
	next := p.core.NextStream()
	v, err := p.core.Call(nil)
	p.view, p.refusal = v, reasonIn(err)
	number, want := p.twin.Call()
	refused, fault := p.answered("Call", err, want)
	if fault != nil || refused {
		return fault
	}
	if v == nil || v.Stream != number || number != next {
		return fmt.Errorf("Call: the core opens %+v, the model stream %d, the next number was %d", v, number, next)
	}
	return p.book.opened(spec.PositionZero(p.book.tag, number), v)
}

// open opens a stream without the caps of a call; where numbers are high, as
// one that had events before.
func (p *serverPair) open(n uint64, withView, late bool) error {
	if s := p.core.State(); s != spec.Live && s != spec.Draining {
		return p.call() // as a call it is refused
	}
	next := p.core.NextStream()
	if n > next {
		n = next // an application cannot choose numbers
	}
	if start := p.world.start; late && start > 1<<32 && n == next && n < 1<<16 {
		origin := spec.EventID{Tag: p.book.tag, Seq: start - n, Stream: n, Ordinal: start - 3*n - 1}
		if _, err := p.core.OpenStream(n, false, nil); err != nil {
			return err
		}
		p.core.Window().Forget(n)
		p.core.Window().OpenAt(window.Position{Seq: origin.Seq, Stream: n, Ordinal: origin.Ordinal})
		p.twin.OpenStreamAt(origin)
		p.world.hits.hit("opened with high numbers")
		return p.book.opened(origin, nil)
	}
	v, err := p.core.OpenStream(n, withView, nil)
	refused, fault := p.answered("OpenStream", err, p.twin.OpenStream(n, withView))
	if fault != nil || refused {
		return fault
	}
	return p.book.opened(spec.PositionZero(p.book.tag, n), v)
}

func (p *serverPair) emit(n uint64, payload []byte, now int64, last bool) error {
	if st := p.core.Stream(n).State; st != spec.Detached && st != spec.Attached {
		if err := p.sweep(now); err != nil { // it will be refused, and so evicts nothing by itself
			return err
		}
	}
	sent := append([]byte(nil), payload...)
	emit, want := p.core.Emit, p.twin.Emit
	if last {
		emit, want = p.core.Answer, p.twin.Answer
	}
	got, err := emit(n, sent, now)
	clear(sent) // the copy must be the window's own
	wanted, r := want(n, len(payload), now)
	refused, fault := p.answered(fmt.Sprintf("Emit(%d, %d bytes)", n, len(payload)), err, r)
	if fault != nil {
		return fault
	}
	if refused {
		var tooLarge *window.TooLargeError
		var exhausted *window.ExhaustedError
		p.world.hits.when(errors.As(err, &tooLarge), "too large")
		p.world.hits.when(errors.As(err, &exhausted), "numbers exhausted")
		if r == spec.ReasonEventTooLarge && tooLarge == nil && exhausted == nil {
			return fmt.Errorf("Emit: %v does not say which bound it was", err)
		}
		p.core.EvictDue(now) // a refused event evicts nothing; the model does so at every stamp
		return nil
	}
	if !p.world.ledgerOnly && (got.ID != wanted.ID || got.Attached != wanted.Attached || got.Lag != wanted.Lag || got.Evicted != len(wanted.Evicted)) {
		return fmt.Errorf("Emit(%d): the core says %+v, the model %+v", n, got, wanted)
	}
	p.world.hits.when(got.Evicted > 1, "evicted several to make room")
	p.world.hits.when(got.Evicted == 1, "evicted one to make room")
	p.world.hits.when(got.Lag > 1, "told of a reader that lags")
	p.world.hits.when(len(payload) == 0, "empty event")
	return p.book.emitted(got.ID, payload)
}

// resume asks for a view with cursors. What reaches the core may be tampered
// with, to show that the suite notices.
func (p *serverPair) resume(attempts, cursors []string, now int64) error {
	asked := cursors
	if f := p.world.fault.ask; f != nil {
		asked = f(p, cursors)
	}
	d, v, err := p.core.Resume(session.Request{Cursors: asked, Attempts: attempts}, now)
	if f := p.world.fault.decided; f != nil {
		f(p, cursors, &d)
	}
	p.view, p.decision = v, d
	want := p.twin.ResumeAs(now, attempts, cursors...)
	p.world.hits.hit("verdict %v %s", want.Verdict, want.Reason)
	same := d.Verdict == want.Verdict && d.Reason == want.Reason && d.Position == want.Position && d.Skipped == want.Skipped && d.Attempt == want.Attempt
	if d.Verdict == spec.VerdictRefuse {
		same = same && d.Cursor == want.Cursor && d.Floor == want.Floor && d.Head == want.Head && err != nil && v == nil
		same = same && errors.Is(err, d.Reason)
	} else {
		same = same && err == nil && (v != nil) == (d.Verdict != spec.VerdictComplete)
	}
	if !same && !p.world.ledgerOnly {
		return fmt.Errorf("Resume(%q, %q): the core says %+v (%v), the model %+v", attempts, cursors, d, err, want)
	}
	if d.Verdict == spec.VerdictRefuse {
		return nil
	}
	page := p.book.streams[d.Position.Stream]
	if page == nil {
		return fmt.Errorf("Resume(%q): a view of stream %d, which was never opened", cursors, d.Position.Stream)
	}
	older := page.view
	p.world.hits.when(older != nil, "superseded a view")
	if older != nil && older.End != session.EndSuperseded {
		return fmt.Errorf("Resume(%q): the older view is %v", cursors, older.End)
	}
	if d.Verdict == spec.VerdictComplete {
		p.book.detached(page)
		return nil
	}
	if d.Verdict == spec.VerdictReattach && (len(cursors) != 1 || d.Position.String() != cursors[0]) {
		return fmt.Errorf("Resume(%q): the view begins at %v: clamped", cursors, d.Position)
	}
	floor := p.core.Stream(d.Position.Stream).Floor.Ordinal
	p.world.hits.when(d.Verdict == spec.VerdictReattach && floor > page.base, "re-attached to a stream that has lost events")
	p.world.hits.when(d.Verdict == spec.VerdictReattach && floor > page.base && d.Position.Ordinal == floor, "re-attached at the floor")
	p.world.hits.when(d.Verdict == spec.VerdictReattach && d.Position.Ordinal < page.head(), "re-attached with events to replay")
	p.world.hits.when(d.Skipped > 0, "skipped events at a fresh attach")
	return p.book.attached(d.Position, v, d.Verdict == spec.VerdictAttach)
}

// deliver lets a stream's view take its next event.
func (p *serverPair) deliver(n uint64, now int64) error {
	if err := p.sweep(now); err != nil {
		return err
	}
	page := p.book.streams[n]
	var view *session.ViewState
	if page != nil {
		view = page.view
	}
	got, err := p.core.Deliver(n, now)
	p.taken = got
	if f := p.world.fault.taken; f != nil && err == nil {
		f(p, n, &got)
	}
	want, r := p.twin.Deliver(n, now)
	if want.Overtaken {
		p.twin.Overtake(n, now)
		p.world.hits.hit("overtaken by eviction")
		if !p.world.ledgerOnly && !errors.Is(err, session.ErrOvertaken) {
			return fmt.Errorf("Deliver(%d): the core says %+v (%v), the model that it is overtaken", n, got, err)
		}
	} else if refused, fault := p.answered("Deliver", err, r); fault != nil || refused {
		return fault
	}
	if errors.Is(err, session.ErrOvertaken) {
		p.book.detached(page)
		return nil
	}
	id := spec.EventID{}
	if got.OK {
		id = spec.EventID{Tag: p.book.tag, Seq: got.Event.Seq, Stream: got.Event.Stream, Ordinal: got.Event.Ordinal}
	}
	if !p.world.ledgerOnly && (got.OK != want.OK || got.Last != want.Last || id != want.ID || len(got.Event.Payload) != want.Size) {
		return fmt.Errorf("Deliver(%d): the core hands over %v %v, the model %+v", n, id, got.Last, want)
	}
	if !got.OK {
		if page.at != page.head() {
			return fmt.Errorf("ledger: gap: the view of stream %d stands at %d of %d and is told that there is nothing", n, page.at, page.head())
		}
		p.world.hits.hit("waited at the head")
		return nil
	}
	p.world.hits.when(got.Last, "delivered to its end")
	if err := p.book.delivered(view, got.Event); err != nil {
		return err
	}
	if got.Last {
		if _, err := p.core.DeliverTo(view, now); err != io.EOF {
			return fmt.Errorf("Deliver(%d): after the last event the view says %v", n, err)
		}
		p.book.detached(page)
	}
	return nil
}

// late has a view that is over ask for more: it gets nothing (R10).
func (p *serverPair) late(n uint64, which int, now int64) error {
	page := p.book.streams[n]
	if page == nil || len(page.past) == 0 {
		return p.deliver(n, now)
	}
	v := page.past[which%len(page.past)]
	got, err := p.core.DeliverTo(v, now)
	if f := p.world.fault.late; f != nil {
		f(p, n, &got, &err)
	}
	p.world.hits.hit("a view asked after it was %v", v.End)
	if got.OK || err == nil {
		return fmt.Errorf("ledger: a view of stream %d that was %v took %v", n, v.End, got.Event.Position)
	}
	return nil
}

// sweep evicts what is due. The core does it with every append and every
// resumption, the model whenever it is told the time; in between the core's
// surroundings do it.
func (p *serverPair) sweep(now int64) error {
	at := now
	if f := p.world.fault.due; f != nil {
		at = f(now)
	}
	got, want := p.core.EvictDue(at), p.twin.EvictDue(now)
	if got != want && !p.world.ledgerOnly {
		return fmt.Errorf("EvictDue(%d): the core evicts %d, the model %d", now, got, want)
	}
	p.world.hits.when(got > 0, "evicted for age")
	p.world.hits.when(got > 1, "evicted several for age")
	return nil
}

func (p *serverPair) evictOldest() error {
	got, want := p.core.EvictOldest(), p.twin.EvictOldest()
	if got != want && !p.world.ledgerOnly {
		return fmt.Errorf("EvictOldest: the core says %v, the model %v", got, want)
	}
	return nil
}

// both fires a trigger that answers nothing but whether it happened.
func (p *serverPair) both(what string, now int64, core func() error, twin func() spec.Reason) error {
	if err := p.sweep(now); err != nil {
		return err
	}
	_, fault := p.answered(what, core(), twin())
	return fault
}

// elapse cancels the work of a stream nobody came back for; its typed answer
// is an event like any other.
func (p *serverPair) elapse(n uint64, now int64) error {
	text := lostAnswer(n, p.world.cfg.Window.MaxPayload())
	seq := p.core.Window().Seq()
	if err := p.both("ElapseDetach", now,
		func() error { return p.core.ElapseDetach(n, now) },
		func() spec.Reason { return p.twin.ElapseDetach(n, len(text), now) }); err != nil {
		return err
	}
	if p.core.Window().Seq() == seq {
		return nil
	}
	return p.lost(n, text)
}

// lost enters the typed answer of a call whose work was cancelled. Its stream
// may be forgotten already, if the answer was evicted at once.
func (p *serverPair) lost(n uint64, text []byte) error {
	id := spec.EventID{Tag: p.book.tag, Seq: p.book.seq + 1, Stream: n, Ordinal: p.book.streams[n].head() + 1}
	if s := p.core.Stream(n); s.State != spec.Forgotten && s.Head != (window.Position{Seq: id.Seq, Stream: n, Ordinal: id.Ordinal}) {
		return fmt.Errorf("ledger: stream %d ended at %v, the next id is %v", n, s.Head, id)
	}
	p.world.hits.hit("ended with an unknown outcome")
	return p.book.emitted(id, text)
}

// lostAnswer is the payload of that answer, within what a window may retain.
func lostAnswer(n uint64, limit int) []byte {
	if text := fmt.Sprintf("nobody knows about %d", n); len(text) <= limit {
		return []byte(text)
	}
	return []byte(session.UnknownText[:min(limit, len(session.UnknownText))])
}

// tick fires everything that is due by now: the core finds it by itself, the
// model is told stream by stream.
func (p *serverPair) tick(now int64) error {
	p.core.Tick(now)
	p.twin.EvictDue(now)
	for _, s := range p.twin.Observe().Streams {
		if s.Number == 0 || s.State != spec.Detached || p.since[s.Number]+p.world.cfg.DetachBudget > now {
			continue
		}
		text := lostAnswer(s.Number, p.world.cfg.Window.MaxPayload())
		seq := p.twin.Observe().LastSeq
		p.twin.ElapseDetach(s.Number, len(text), now)
		p.world.hits.hit("detach budget elapsed")
		if p.twin.Observe().LastSeq > seq {
			if err := p.lost(s.Number, text); err != nil {
				return err
			}
		}
	}
	return nil
}

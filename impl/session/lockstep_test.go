package session_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"pgregory.net/rapid"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// The core in lockstep with an oracle that remembers every event ever emitted
// and never forgets one: what is evicted it works out from the bounds of the
// window alone, what a cursor deserves from the list of events alone.

type oracleEvent struct {
	seq, stream, ordinal uint64
	payload              string
}

type oracleStream struct {
	events    []oracleEvent // all, in order
	finished  bool
	forgotten bool
	handed    uint64
	view      *session.ViewState
	at        uint64 // the ordinal up to which its view has taken
}

type oracle struct {
	events  []oracleEvent // all of the session
	evicted int           // so many of them are gone, oldest first
	streams []*oracleStream
}

// retained reports whether the event is in the window.
func (o *oracle) retained(e oracleEvent) bool { return e.seq > uint64(o.evicted) }

// floor is the highest evicted ordinal of a stream, and its seq.
func (o *oracle) floor(n uint64) (ordinal, seq uint64) {
	for _, e := range o.streams[n].events {
		if !o.retained(e) {
			ordinal, seq = e.ordinal, e.seq
		}
	}
	return ordinal, seq
}

// lose evicts down to so many events, and forgets the finished streams that
// have nothing left and no view.
func (o *oracle) lose(keep int) {
	o.evicted = max(o.evicted, len(o.events)-keep)
	o.forget()
}

func (o *oracle) forget() {
	for _, s := range o.streams {
		if s.finished && s.view == nil && len(s.events) > 0 && !o.retained(s.events[len(s.events)-1]) {
			s.forgotten = true
		}
	}
}

// decide says what a cursor deserves: the verdict, or the reason for refusing.
func (o *oracle) decide(seq, stream, ordinal uint64) (spec.Verdict, spec.Reason) {
	if stream >= uint64(len(o.streams)) {
		return spec.VerdictRefuse, spec.ReasonCursorUnissued
	}
	s := o.streams[stream]
	floor, floorSeq := o.floor(stream)
	head := uint64(len(s.events))
	switch {
	case s.forgotten || ordinal < floor:
		return spec.VerdictRefuse, spec.ReasonCursorEvicted
	case ordinal > head && seq > uint64(len(o.events)):
		return spec.VerdictRefuse, spec.ReasonCursorAhead
	case ordinal > head:
		return spec.VerdictRefuse, spec.ReasonCursorUnissued
	}
	issued := floorSeq
	if ordinal > floor {
		issued = s.events[ordinal-1].seq
	}
	switch {
	case seq != issued:
		return spec.VerdictRefuse, spec.ReasonCursorUnissued
	case s.finished && ordinal == head:
		return spec.VerdictComplete, ""
	}
	return spec.VerdictReattach, ""
}

// lockstep is one run.
type lockstep struct {
	t    *rapid.T
	core *session.Core
	cfg  *session.Config
	o    oracle
	old  []*session.ViewState // superseded, broken, cut
	seen map[string]int       // how often each outcome was reached
}

// stream draws a stream: mostly one that something can happen to.
func (l *lockstep) stream(worth func(*oracleStream) bool) uint64 {
	var some []uint64
	for n, s := range l.o.streams {
		if worth(s) {
			some = append(some, uint64(n))
		}
	}
	if len(some) == 0 || rapid.IntRange(0, 9).Draw(l.t, "any") == 0 {
		return uint64(rapid.IntRange(0, len(l.o.streams)-1).Draw(l.t, "stream"))
	}
	return rapid.SampledFrom(some).Draw(l.t, "stream")
}

func unfinished(s *oracleStream) bool { return !s.finished }
func viewed(s *oracleStream) bool     { return s.view != nil }

func (l *lockstep) open() {
	full := len(l.core.Streams()) >= l.cfg.Streams
	inFlight := 0
	for n, s := range l.o.streams {
		if n > 0 && (!s.finished || s.view != nil) && !s.forgotten {
			inFlight++
		}
	}
	v, err := l.core.Call(nil)
	switch {
	case inFlight >= l.cfg.Requests:
		if !errors.Is(err, spec.ReasonTooManyRequests) {
			l.t.Fatalf("call with %d in flight: %v", inFlight, err)
		}
		l.seen["requests capped"]++
		return
	case err != nil:
		l.t.Fatalf("call: %v", err)
	case full: // one that is finished gave way: the one whose last event is the oldest
		var oldest *oracleStream
		for _, s := range l.o.streams {
			if s.finished && s.view == nil && !s.forgotten &&
				(oldest == nil || s.events[len(s.events)-1].seq < oldest.events[len(oldest.events)-1].seq) {
				oldest = s
			}
		}
		oldest.forgotten = true
		l.seen["record gave way"]++
	}
	if v.Stream != uint64(len(l.o.streams)) {
		l.t.Fatalf("stream %d opened, want %d", v.Stream, len(l.o.streams))
	}
	l.o.streams = append(l.o.streams, &oracleStream{view: v})
}

func (l *lockstep) emit(last bool) {
	n := l.stream(unfinished)
	s := l.o.streams[n]
	payload := fmt.Sprint("payload ", len(l.o.events))
	emit := l.core.Emit
	if last {
		emit = l.core.Answer
	}
	e, err := emit(n, []byte(payload), 0)
	want := spec.Reason("")
	switch {
	case s.forgotten:
		want = spec.ReasonStreamForgotten
	case s.finished:
		want = spec.ReasonStreamFinished
	case last && n == 0:
		want = spec.ReasonStreamStandalone
	}
	if want != "" {
		if !errors.Is(err, want) {
			l.t.Fatalf("emit on stream %d: %v, want %s", n, err, want)
		}
		l.seen["emit refused"]++
		return
	}
	ev := oracleEvent{uint64(len(l.o.events)) + 1, n, uint64(len(s.events)) + 1, payload}
	if err != nil || e.ID.Seq != ev.seq || e.ID.Ordinal != ev.ordinal || e.ID.Stream != n {
		l.t.Fatalf("emit: %v, %v, want %+v", e.ID, err, ev)
	}
	l.o.events = append(l.o.events, ev)
	s.events = append(s.events, ev)
	s.finished = last
	before := l.o.evicted
	l.o.lose(l.cfg.Window.Events)
	lag := uint64(0)
	if s.view != nil {
		lag = uint64(len(s.events)) - s.at
	}
	if e.Evicted != l.o.evicted-before || e.Attached != (s.view != nil) || e.Lag != lag {
		l.t.Fatalf("the emitter is told %+v, want %d evicted and a lag of %d", e, l.o.evicted-before, lag)
	}
}

func (l *lockstep) evict() {
	if ok := l.core.EvictOldest(); ok != (l.o.evicted < len(l.o.events)) {
		l.t.Fatalf("evicted: %v with %d of %d gone", ok, l.o.evicted, len(l.o.events))
	} else if ok {
		l.o.lose(len(l.o.events) - l.o.evicted - 1)
	}
}

func (l *lockstep) deliver() {
	n := l.stream(viewed)
	s := l.o.streams[n]
	taken, err := l.core.Deliver(n, 0)
	if s.view == nil {
		if !errors.Is(err, spec.ReasonNoView) {
			l.t.Fatalf("deliver without a view: %v", err)
		}
		return
	}
	floor, _ := l.o.floor(n)
	switch {
	case s.at < floor:
		if !errors.Is(err, session.ErrOvertaken) {
			l.t.Fatalf("a view at %d with the floor at %d: %v", s.at, floor, err)
		}
		l.seen["overtaken"]++
		l.leave(s)
	case s.at == uint64(len(s.events)):
		if taken.OK || err != nil {
			l.t.Fatalf("a view at the head takes %+v, %v", taken, err)
		}
	default:
		ev := s.events[s.at]
		last := s.finished && ev.ordinal == uint64(len(s.events))
		if !taken.OK || err != nil || string(taken.Event.Payload) != ev.payload || taken.Event.Seq != ev.seq || taken.Last != last {
			l.t.Fatalf("a view at %d takes %v %q last %v, %v, want %+v", s.at, taken.Event.Position, taken.Event.Payload, taken.Last, err, ev)
		}
		s.at = ev.ordinal
		s.handed = max(s.handed, s.at)
		l.seen["delivered"]++
		if last {
			l.seen["delivered to the end"]++
			l.leave(s)
		}
	}
}

// leave says that the stream's view has ended.
func (l *lockstep) leave(s *oracleStream) {
	l.old = append(l.old, s.view)
	s.view = nil
	l.o.forget()
}

func (l *lockstep) end(how func(uint64, int64) error) {
	n := l.stream(viewed)
	s := l.o.streams[n]
	err := how(n, 0)
	if s.view == nil {
		if !errors.Is(err, spec.ReasonNoView) {
			l.t.Fatalf("ending no view: %v", err)
		}
		return
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.leave(s)
}

// attach resumes without a cursor.
func (l *lockstep) attach() {
	s := l.o.streams[0]
	floor, _ := l.o.floor(0)
	start := max(s.handed, floor)
	d, v, err := l.core.Resume(session.Request{}, 0)
	if l.capped(s, d, err) {
		return
	}
	if err != nil || d.Verdict != spec.VerdictAttach || d.Position.Ordinal != start || d.Skipped != start-s.handed {
		l.t.Fatalf("attach: %+v, %v, want to begin after %d with %d skipped", d, err, start, start-s.handed)
	}
	if d.Skipped > 0 {
		l.seen["skipped"]++
	}
	l.begin(s, v, start)
}

// capped reports whether the view would be one too many, and checks that it
// was refused.
func (l *lockstep) capped(s *oracleStream, d session.Decision, err error) bool {
	views := 0
	for _, other := range l.o.streams {
		if other.view != nil {
			views++
		}
	}
	if views < l.cfg.Views || s.view != nil {
		return false
	}
	if d.Reason != spec.ReasonTooManyViews || !errors.Is(err, spec.ReasonTooManyViews) {
		l.t.Fatalf("view number %d: %+v, %v", views+1, d, err)
	}
	l.seen["views capped"]++
	return true
}

func (l *lockstep) begin(s *oracleStream, v *session.ViewState, at uint64) {
	if s.view != nil {
		l.seen["superseded"]++
		l.leave(s)
	}
	s.view, s.at = v, at
}

// resume presents a cursor: one that was issued, or one that is near to it.
func (l *lockstep) resume() {
	n := uint64(rapid.IntRange(0, len(l.o.streams)).Draw(l.t, "cursor's stream"))
	var seq, ordinal uint64
	if n < uint64(len(l.o.streams)) {
		ordinal = uint64(rapid.IntRange(0, len(l.o.streams[n].events)).Draw(l.t, "ordinal"))
		if ordinal > 0 {
			seq = l.o.streams[n].events[ordinal-1].seq
		}
	}
	if rapid.IntRange(0, 3).Draw(l.t, "wrong") == 0 {
		wrong := rapid.SampledFrom([]uint64{1, 2, 1000, math.MaxUint64})
		seq += wrong.Draw(l.t, "seq off by")
		if rapid.Bool().Draw(l.t, "ordinal off too") || ordinal == 0 {
			ordinal += wrong.Draw(l.t, "ordinal off by")
		}
	}
	id := spec.EventID{Tag: l.core.Tag(), Seq: seq, Stream: n, Ordinal: ordinal}
	before := l.core.Snapshot()
	d, v, err := l.core.Resume(session.Request{Cursors: []string{id.String()}}, 0)
	verdict, reason := l.o.decide(seq, n, ordinal)
	if !id.Valid() {
		verdict, reason = spec.VerdictRefuse, spec.ReasonCursorMalformed
	}
	if verdict == spec.VerdictReattach && l.capped(l.o.streams[n], d, err) {
		return
	}
	if d.Verdict != verdict || d.Reason != reason || (v != nil) != (verdict == spec.VerdictReattach) {
		l.t.Fatalf("cursor %v: %+v, %v, want %v %s", id, d, err, verdict, reason)
	}
	l.seen[verdict.String()+string(reason)]++
	switch verdict {
	case spec.VerdictRefuse:
		if !errors.Is(err, reason) || l.core.Snapshot() != before {
			l.t.Fatalf("a refusal (%v) changed something", err)
		}
	case spec.VerdictComplete:
		if s := l.o.streams[n]; s.view != nil {
			l.seen["complete superseded"]++
			l.leave(s)
		}
	case spec.VerdictReattach:
		l.begin(l.o.streams[n], v, ordinal)
	}
}

// check compares what can be seen of both.
func (l *lockstep) check() {
	live := 0
	for n, s := range l.o.streams {
		info := l.core.Stream(uint64(n))
		if (info.State == spec.Forgotten) != s.forgotten {
			l.t.Fatalf("stream %d is %v, forgotten: %v", n, info.State, s.forgotten)
		}
		if s.forgotten {
			continue
		}
		live++
		floor, floorSeq := l.o.floor(uint64(n))
		if info.Floor.Ordinal != floor || info.Floor.Seq != floorSeq || info.Head.Ordinal != uint64(len(s.events)) ||
			info.Handed.Ordinal != s.handed || info.View != s.view || info.View != nil && info.View.At.Ordinal != s.at {
			l.t.Fatalf("stream %d is %+v, want floor %d, head %d, handed %d, view %v at %d", n, info, floor, len(s.events), s.handed, s.view, s.at)
		}
	}
	if got := len(l.core.Streams()); got != live || got > l.cfg.Streams {
		l.t.Fatalf("%d records, want %d, at most %d", got, live, l.cfg.Streams)
	}
	for _, v := range l.old {
		if taken, err := l.core.DeliverTo(v, 0); taken.OK || err == nil {
			l.t.Fatalf("a view that has ended (%v) takes %+v", v.End, taken)
		} else if err == io.EOF && v.End != session.EndDelivered {
			l.t.Fatalf("a view that is %v says EOF", v.End)
		}
	}
	l.old = l.old[:0]
}

func TestCoreInLockstepWithAnOracle(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		cfg := session.DefaultConfig()
		cfg.Window.Events = rapid.IntRange(1, 12).Draw(t, "window")
		cfg.Streams, cfg.Requests, cfg.Views = 7, 4, 3
		l := &lockstep{t: t, core: session.NewCore(cfg), cfg: cfg, seen: seen}
		if err := l.core.Initialize(session.SessionID{7}, nil, false, false); err != nil {
			t.Fatal(err)
		}
		l.o.streams = []*oracleStream{{}}
		actions := []func(){
			l.open, l.attach, l.resume, l.resume, l.resume, l.evict,
			func() { l.emit(false) }, func() { l.emit(false) }, func() { l.emit(false) }, func() { l.emit(true) }, func() { l.emit(true) },
			l.deliver, l.deliver, l.deliver, l.deliver,
			func() { l.end(l.core.Break) }, func() { l.end(l.core.EndView) },
			func() { l.core = l.core.Clone(); l.adopt() },
		}
		for range 150 {
			actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]()
			l.check()
		}
	})
	t.Log(seen)
	for _, sometimes := range []string{
		"delivered", "delivered to the end", "overtaken", "superseded", "skipped", "emit refused",
		"requests capped", "views capped", "record gave way", "reattach", "complete", "complete superseded",
		"refusecursor_malformed", "refusecursor_unissued", "refusecursor_evicted", "refusecursor_ahead",
	} {
		if seen[sometimes] < 3 {
			t.Errorf("%q was reached %d times", sometimes, seen[sometimes])
		}
	}
}

// adopt goes on with the clone's views.
func (l *lockstep) adopt() {
	for n, s := range l.o.streams {
		if s.view != nil {
			s.view = l.core.Stream(uint64(n)).View
		}
	}
}

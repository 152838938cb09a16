package model

import (
	"fmt"
	"slices"

	"example.com/reattach/spec"
)

// A TraceJudge replays the steps of a trace on the model as they come.
type TraceJudge struct {
	limits   Limits
	sessions map[spec.Tag]*tracedSession
	work     int
}

// NewTraceJudge returns a judge of a server with these limits.
func NewTraceJudge(l TraceLimits) *TraceJudge {
	return &TraceJudge{sessions: map[spec.Tag]*tracedSession{}, limits: Limits{
		Events: l.Events, Bytes: l.Bytes, MaxEvent: l.EventBytes, Streams: l.Streams, Views: l.Views, Requests: l.Requests}}
}

// Accept takes the next step. An error is a [*TraceError] or a
// [*TraceFormError], without the number of its line; then nothing more can be
// asked of the judge.
func (j *TraceJudge) Accept(l *TraceLine) error {
	if !l.Session.Valid() {
		return &TraceFormError{Why: fmt.Sprintf("session %.40q is no tag", string(l.Session))}
	}
	move, err := readMove(l)
	if err != nil {
		return &TraceFormError{Why: err.Error()}
	}
	s, known := j.sessions[l.Session]
	if !known {
		if len(j.sessions) >= MaxTraceSessions {
			return &TraceFormError{Why: fmt.Sprintf("more than %d sessions", MaxTraceSessions), Err: ErrTraceLimit}
		}
		s = &tracedSession{model: NewSession(l.Session, j.limits, TheRules())}
		j.sessions[l.Session] = s
	}
	j.work += (len(s.model.issued) + 8) * (len(s.model.streams) + 8)
	if j.work > MaxTraceWork {
		return &TraceFormError{Why: "too many steps of sessions that hold too much", Err: ErrTraceLimit}
	}
	if why := s.accept(move); why != "" {
		return &TraceError{Session: l.Session, N: l.N, Did: l.String(), Why: why, Allowed: s.allowed(move)}
	}
	s.model.compact()
	return nil
}

// A move is a line with its words understood.
type move struct {
	*TraceLine
	row      *spec.Row
	stream   uint64
	trigger  spec.Trigger
	from, to spec.State // to is from if it was refused
	verdict  spec.Verdict
}

// readMove understands a line's words, which must agree with the table's row.
func readMove(l *TraceLine) (m move, err error) {
	table := spec.SessionTable()
	m.TraceLine = l
	if l.Stream != nil {
		table, m.stream = spec.StreamTable(), *l.Stream
	}
	row, ok := table.Row(l.Row)
	if !ok {
		return m, fmt.Errorf("table %s has no row %.16q", table.Machine, l.Row)
	}
	m.row, m.trigger = row, row.Trigger
	if l.Trigger != row.Trigger.String() {
		return m, fmt.Errorf("row %s is about %v, not %.40q", row.ID, row.Trigger, l.Trigger)
	}
	at := slices.IndexFunc(row.From, func(s spec.State) bool { return s.String() == l.From })
	if at < 0 {
		return m, fmt.Errorf("row %s begins in %s, not in %.40q", row.ID, row.Source(), l.From)
	}
	m.from = row.From[at]
	m.to = row.Next(m.from)
	switch {
	case l.Refused != row.Forbid:
		return m, fmt.Errorf("row %s says %s, not %.40q", row.ID, row.Target(), string(l.Refused))
	case row.Forbid == "" && l.To != m.to.String():
		return m, fmt.Errorf("row %s leads to %v, not to %.40q", row.ID, m.to, l.To)
	case row.Forbid != "" && l.To != "":
		return m, fmt.Errorf("row %s refuses, and leads nowhere", row.ID)
	case l.Size < 0 || l.Bytes < 0:
		return m, fmt.Errorf("size %d of bytes %d", l.Size, l.Bytes)
	case (l.Decision != nil) != (m.trigger == spec.ClientResumes):
		return m, fmt.Errorf("a decision goes with %v, and with nothing else", spec.ClientResumes)
	case l.Stream == nil && (l.Head|l.Handed|l.View != 0 || l.Size != 0):
		return m, fmt.Errorf("numbers of a stream in a row of the session")
	}
	if l.Decision != nil {
		verdicts := spec.Verdicts()
		at := slices.IndexFunc(verdicts, func(v spec.Verdict) bool { return v.String() == l.Decision.Verdict })
		if at < 0 {
			return m, fmt.Errorf("%.16q is no verdict", l.Decision.Verdict)
		}
		m.verdict = verdicts[at]
	}
	return m, nil
}

// A tracedSession is one session of a trace: the model, as far as the trace has
// been accepted, and what must come next.
type tracedSession struct {
	model *Session
	prior *Session // before the step in hand, if that is a free one
	n     uint64   // of the last step

	// A step of the session moves streams too, and each of those moves is a step
	// of its own that comes right behind it. The model has made them already.
	due   []dueMove
	since TraceLine // the numbers that they must show: those of the first one

	// Streams that the model has forgotten for want of anything retained, each of
	// which must be told before anything else happens.
	retiring map[uint64]StreamView

	// The seq of an event whose size is not known yet: the answer that ends a call
	// whose work was cancelled. What the window holds at the next step tells it.
	unsized uint64
}

// A dueMove is a move of a stream that must come.
type dueMove struct {
	trigger  spec.Trigger
	stream   uint64
	from, to spec.State
	before   StreamView // of the stream
}

func (d dueMove) String() string {
	return fmt.Sprintf("%v of stream %d in %v, to %v", d.trigger, d.stream, d.from, d.to)
}

// accept takes one step, or says why it is not allowed.
func (s *tracedSession) accept(m move) (why string) {
	if m.N != s.n+1 {
		return fmt.Sprintf("its number is %d, and the one before it in this session was %d", m.N, s.n)
	}
	s.prior = nil
	if len(s.due) > 0 {
		why = s.acceptDue(m)
	} else {
		why = s.acceptFree(m)
	}
	if why == "" {
		s.n = m.N
	}
	return why
}

// acceptDue takes the next of the moves that must come.
func (s *tracedSession) acceptDue(m move) string {
	d := s.due[0]
	switch {
	case m.Stream == nil || m.trigger != d.trigger || m.stream != d.stream || m.from != d.from || m.to != d.to || m.Refused != "":
		return "something else must come first"
	case m.Seq != s.since.Seq || m.Evicted != s.since.Evicted || m.Bytes != s.since.Bytes:
		return fmt.Sprintf("the session stands at seq %d, evicted %d, bytes %d, and nothing of that has changed",
			s.since.Seq, s.since.Evicted, s.since.Bytes)
	}
	if why := sameStream(m, d.before); why != "" {
		return why
	}
	s.due = s.due[1:]
	return ""
}

// sameStream compares the numbers of a stream.
func sameStream(m move, v StreamView) string {
	if m.Head != v.Head.Ordinal || m.Handed != v.Handed || m.View != v.Position {
		return fmt.Sprintf("the stream stands at head %d, handed %d, view %d, not %d, %d, %d",
			v.Head.Ordinal, v.Handed, v.Position, m.Head, m.Handed, m.View)
	}
	return ""
}

// acceptFree takes a step that no other one made necessary, but for those that
// eviction did.
func (s *tracedSession) acceptFree(m move) string {
	if why := s.evictTo(m); why != "" {
		return why
	}
	if len(s.retiring) > 0 {
		v, retires := s.retiring[m.stream]
		if m.Stream == nil || m.trigger != spec.RetentionEnds || m.Refused != "" || !retires {
			return "a stream of which nothing is retained must be forgotten first"
		}
		delete(s.retiring, m.stream)
		return sameStream(m, v)
	}
	s.prior = s.model.Clone()
	if m.Stream == nil {
		return s.moveSession(m)
	}
	return s.moveStream(m)
}

// evictTo makes the model's window hold what the trace says that the session's
// holds, as far as that is possible and not more than is allowed.
func (s *tracedSession) evictTo(m move) string {
	if m.Seq != s.model.lastSeq {
		return fmt.Sprintf("the newest seq is %d, not %d", s.model.lastSeq, m.Seq)
	}
	if m.Evicted > m.Seq {
		return fmt.Sprintf("evicted up to %d, and only %d were issued", m.Evicted, m.Seq)
	}
	if !s.model.serves() {
		if m.Evicted != m.Seq || m.Bytes != 0 {
			return "a session that is over retains nothing"
		}
		return ""
	}
	if why := s.sizeTo(m); why != "" {
		return why
	}
	before := s.streamsNow()
	for s.model.evictedUpTo() < m.Evicted {
		s.model.EvictOldest()
	}
	s.retire(before)
	if least := s.model.evictedUpTo(); m.Evicted < least {
		return fmt.Sprintf("evicted up to %d only, and up to %d it must be: the window is bounded", m.Evicted, least)
	}
	if holds := s.model.load().Bytes; m.Bytes != holds {
		return fmt.Sprintf("the window retains %d bytes, not %d", holds, m.Bytes)
	}
	return ""
}

// sizeTo finds out the size that was not known.
func (s *tracedSession) sizeTo(m move) string {
	seq := s.unsized
	s.unsized = 0
	if seq == 0 || seq <= m.Evicted {
		return ""
	}
	others := 0
	for _, ev := range s.model.issued {
		if !ev.evicted && ev.seq > m.Evicted && ev.seq != seq {
			others += ev.size
		}
	}
	size := m.Bytes - others
	if size < 0 || !Fits(size, s.model.limits) {
		return fmt.Sprintf("an answer of %d bytes, which does not fit", size)
	}
	s.model.issued[len(s.model.issued)-1].size = size
	before := s.streamsNow()
	for s.model.rules.Overflows(s.model.load(), s.model.limits) {
		s.model.EvictOldest()
	}
	s.retire(before)
	return ""
}

// retire notes which streams the model has forgotten meanwhile, but for those
// of which another move must tell it.
func (s *tracedSession) retire(before map[uint64]StreamView) {
	for n, v := range before {
		_, there := s.model.streams[n]
		if there || slices.ContainsFunc(s.due, func(d dueMove) bool { return d.stream == n && d.to == spec.Forgotten }) {
			continue
		}
		if s.retiring == nil {
			s.retiring = map[uint64]StreamView{}
		}
		v.Position = 0 // a view is no more
		s.retiring[n] = v
	}
}

// evictedUpTo is the newest seq of which all up to it are evicted.
func (s *Session) evictedUpTo() uint64 {
	for _, ev := range s.issued {
		if !ev.evicted {
			return ev.seq - 1
		}
	}
	return s.lastSeq
}

// compact drops events that no rule will ask for again: those that are evicted
// and are not their stream's floor. So a long trace costs what its window holds.
func (s *Session) compact() {
	if len(s.issued) < 2*(len(s.streams)+32) || !s.issued[len(s.issued)/2].evicted {
		return
	}
	floors := map[uint64]uint64{}
	for n := range s.streams {
		floors[n] = s.floor(n).seq
	}
	s.issued = slices.DeleteFunc(s.issued, func(ev issued) bool { return ev.evicted && floors[ev.stream] != ev.seq })
}

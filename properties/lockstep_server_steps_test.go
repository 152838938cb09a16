package properties

import (
	"fmt"
	"math"
	"strings"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/window"
	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// A serverSetting is what a run is about: limits, and where numbers begin.
type serverSetting struct {
	Sessions                 int
	Events, Bytes, MaxEvent  int
	Age, DetachBudget        int64
	Streams, Views, Requests int
	Start                    uint64
}

func drawServerSetting(d dice) serverSetting {
	return serverSetting{
		Sessions:     1 + d(5),
		Events:       oneOf(d, 1, 2, 3, 5, 8, 13, 64, 256, 1024),
		Bytes:        oneOf(d, 2, 40, 300, 4096, 1<<20),
		MaxEvent:     oneOf(d, 1, 16, 64, 512),
		Age:          oneOf[int64](d, 1, 20, 300, 1<<30),
		DetachBudget: oneOf[int64](d, 10, 100, 1000),
		Streams:      oneOf(d, 2, 3, 9, 12, 16, 64),
		Views:        oneOf(d, 1, 2, 4, 64, 64),
		Requests:     oneOf(d, 1, 3, 8, 64, 64),
		Start:        oneOf[uint64](d, 0, 0, 0, 1<<32-9, 1<<63-20, 1<<63+5, math.MaxUint64-25, math.MaxUint64-4),
	}
}

// A serverStep is one thing that happens. Session and Stream choose among what
// there is when it happens.
type serverStep struct {
	Do      string
	Session int
	Stream  int // below 80: one with a record; below 92: one that had a number; else one without
	Size    int // below 100
	Wait    int64
	Cursor  string
	Attempt string
	Pick    int
}

var serverMoves = []share[string]{
	{"emit", 300}, {"deliver", 260}, {"resume", 200}, {"answer", 60}, {"call", 70}, {"break", 60}, {"wait", 30}, {"evict oldest", 30},
	{"evict due", 20}, {"end view", 15}, {"overtake", 8}, {"stall", 8}, {"end views", 3}, {"late", 30}, {"elapse", 10}, {"tick", 25}, {"open", 15}, {"notify", 8},
	{"end retention", 10}, {"cap records", 10}, {"end stream", 6}, {"initialize", 40}, {"terminate", 5}, {"expire", 8}, {"drain", 5},
}

var cursorKinds = []share[string]{
	{"handed", 22}, {"good", 12}, {"none", 14}, {"head", 6}, {"floor", 5}, {"zero", 5}, {"evicted", 4}, {"ahead by 1", 2}, {"ahead by 1000", 2},
	{"ahead by max", 2}, {"foreign", 4}, {"of nobody", 2}, {"stolen seq", 4}, {"wrong ordinal", 3}, {"ordinal ahead", 2}, {"seq ahead", 2}, {"never opened", 3},
	{"malformed", 4}, {"empty", 2}, {"two", 3}, {"forged floor", 2},
}

// attemptKinds are about a client's numbers: the next one, and what a second
// holder of its record, a delayed request, or nobody's client would send (R10).
var attemptKinds = []share[string]{
	{"none", 60}, {"next", 20}, {"same", 5}, {"older", 6}, {"older holder", 2}, {"next holder", 2}, {"malformed", 3}, {"two", 2},
}

func drawServerStep(d dice) serverStep {
	return serverStep{
		Do: pick(d, serverMoves), Session: d(60), Stream: d(100), Size: d(100), Cursor: pick(d, cursorKinds), Attempt: pick(d, attemptKinds), Pick: d(1 << 16),
		Wait: pick(d, []share[int64]{{0, 60}, {1, 20}, {3, 10}, {25, 5}, {150, 2}, {2000, 1}, {-2, 3}, {-60, 1}}),
	}
}

// A serverWorld is the sessions of one run.
type serverWorld struct {
	cfg        *session.Config
	limits     model.Limits
	start      uint64
	pairs      []*serverPair
	gone       []*serverPair // ended ones that were replaced
	now        int64
	born       uint16
	emitted    int
	hits       hits
	fault      serverFault
	ledgerOnly bool // the ledger judges alone
}

func newServerWorld(s serverSetting, h hits) *serverWorld {
	w := &serverWorld{start: s.Start, now: 1000, hits: h}
	w.cfg = &session.Config{
		Machines: fsm.DefaultServer(),
		Window:   window.Limits{Events: s.Events, Bytes: s.Bytes, MaxEvent: s.MaxEvent, Age: s.Age},
		Streams:  s.Streams, Views: s.Views, Requests: s.Requests, DetachBudget: s.DetachBudget,
	}
	w.cfg.Unknown = func(c session.LostCall) []byte { return lostAnswer(c.Stream, w.cfg.Window.MaxPayload()) }
	w.cfg.Observe = func(o session.Observation) {
		if o.Refused == nil {
			h["row "+o.Step.Row.ID]++
		} else {
			h["row "+o.Refused.Row]++
		}
	}
	w.limits = model.Limits{Events: s.Events, Bytes: s.Bytes, Age: s.Age, MaxEvent: s.MaxEvent,
		Streams: s.Streams, Views: s.Views, Requests: s.Requests}
	for range s.Sessions {
		w.pairs = append(w.pairs, w.newPair())
	}
	return w
}

func (w *serverWorld) newPair() *serverPair {
	w.born++
	return newServerPair(w, w.born)
}

// run takes the steps, and returns the first disagreement.
func (w *serverWorld) run(steps []serverStep) error {
	for i, p := range w.pairs {
		if i > 0 && i == len(w.pairs)-1 {
			continue // one begins absent
		}
		if err := p.initialize(false, false); err != nil {
			return err
		}
	}
	for i, s := range steps {
		p := w.pairs[s.Session%len(w.pairs)]
		w.now += s.Wait
		w.hits.when(s.Wait < 0, "the clock stepped back")
		w.hits.hit("move %s", s.Do)
		err := w.take(p, s)
		if err == nil {
			err = p.check()
		}
		for _, other := range w.pairs {
			if err == nil && (i%32 == 0 || i == len(steps)-1) {
				err = other.checkAll()
			}
		}
		if err != nil {
			return fmt.Errorf("%w\nstep %d at %d, limits %+v, of:%s", err, i, w.now, w.limits, script(steps, i))
		}
	}
	return nil
}

// take takes one step, whatever the state.
func (w *serverWorld) take(p *serverPair, s serverStep) error {
	n, now := p.streamFor(s), w.now
	switch s.Do {
	case "emit", "answer":
		return p.emit(n, w.payload(s), now, s.Do == "answer")
	case "deliver":
		return p.deliver(n, now)
	case "late":
		return p.late(n, s.Pick, now)
	case "resume":
		return p.resume(p.attempts(s.Attempt, s.Pick), p.cursors(s.Cursor, n, s.Pick), now)
	case "call":
		return p.call()
	case "open":
		return p.open(n, s.Pick%2 == 0, s.Pick%3 == 0)
	case "break":
		return p.both("Break", now, func() error { return p.core.Break(n, now) }, func() spec.Reason { return p.twin.Break(n, now) })
	case "end view":
		return p.both("EndView", now, func() error { return p.core.EndView(n, now) }, func() spec.Reason { return p.twin.EndView(n, now) })
	case "overtake":
		return p.both("Overtake", now, func() error { return p.core.Overtake(n, now) }, func() spec.Reason { return p.twin.Overtake(n, now) })
	case "stall":
		return p.both("Stall", now, func() error { return p.core.Stall(n, now) }, func() spec.Reason { return p.twin.Stall(n, now) })
	case "end views":
		return p.both("EndViews", now, func() error { return p.core.EndViews(now) }, func() spec.Reason {
			for _, st := range p.twin.Observe().Streams {
				p.twin.EndView(st.Number, now)
			}
			return ""
		})
	case "elapse":
		return p.elapse(n, now)
	case "tick":
		return p.tick(now)
	case "wait": // time passes, and nobody notices yet
		return nil
	case "evict due":
		return p.sweep(now)
	case "evict oldest":
		return p.evictOldest()
	case "end retention":
		return p.both("EndRetention", now, func() error { return p.core.EndRetention(n) }, func() spec.Reason { return p.twin.EndRetention(n) })
	case "cap records":
		return p.both("CapRecords", now, func() error { return p.core.CapRecords(n) }, func() spec.Reason { return p.twin.CapRecords(n) })
	case "end stream": // of a session that goes on: never its standalone stream
		n = max(n, 1)
		return p.both("EndStream", now, func() error { return p.core.EndStream(n) }, func() spec.Reason { return p.twin.EndStream(n) })
	case "notify":
		return p.both("Notify", now, p.core.Notify, p.twin.Notify)
	case "drain":
		return p.both("Drain", now, func() error { return p.core.Drain(now) }, func() spec.Reason { return p.twin.Drain(now) })
	case "terminate":
		return p.both("Terminate", now, p.core.Terminate, p.twin.Terminate)
	case "expire":
		inUse := s.Pick%4 == 0
		busy := p.core.Busy() // views and running calls keep it alive (R9b)
		return p.both("Expire", now, func() error { return p.core.Expire(inUse) }, func() spec.Reason { return p.twin.Expire(inUse || busy) })
	case "initialize":
		if st := p.core.State(); (st == spec.Expired || st == spec.Terminated || st == spec.Draining) && s.Pick%3 > 0 {
			// A new session takes its place; the other one stays as it is.
			w.gone = append(w.gone, p)
			p = w.newPair()
			w.pairs[s.Session%len(w.pairs)] = p
		}
		return p.initialize(s.Pick%5 == 0, s.Pick%7 == 0)
	}
	panic("reattach: BUG: nobody said how to " + s.Do)
}

// payload makes an event unlike every other, of a size around the limits.
func (w *serverWorld) payload(s serverStep) []byte {
	limit, size := w.cfg.Window.MaxPayload(), s.Size%24
	switch {
	case s.Size >= 97:
		size = w.cfg.Window.Bytes + s.Pick%2
	case s.Size >= 94:
		size = w.cfg.Window.MaxEvent + 1
	case s.Size >= 88:
		size = limit
	case s.Size >= 80:
		size = s.Pick % (limit + 1)
	case size > limit:
		size = s.Pick % (limit + 1)
	}
	w.emitted++
	b := make([]byte, min(size, 1<<12))
	for i := range b {
		b[i] = byte(w.emitted>>(8*(i%3))) + byte(i)
	}
	return b
}

// streamFor chooses a stream by number.
func (p *serverPair) streamFor(s serverStep) uint64 {
	next := p.core.NextStream()
	records := p.core.Streams()
	var apt []uint64 // those for which the step is meant
	for _, r := range records {
		switch s.Do {
		case "deliver", "break", "end view", "overtake", "stall":
			if r.View != nil {
				apt = append(apt, r.Number)
			}
		case "emit", "answer":
			if r.State == spec.Detached || r.State == spec.Attached {
				apt = append(apt, r.Number)
			}
		}
	}
	switch {
	case s.Stream < 65 && len(apt) > 0:
		return apt[s.Stream%len(apt)]
	case s.Stream < 80 && len(records) > 0:
		return records[s.Stream%len(records)].Number
	case s.Stream < 92 && next > 0:
		return uint64(s.Pick) % next
	}
	return next + uint64(s.Stream%2*s.Pick)
}

// cursors makes the cursors of a request, from the ledger alone.
func (p *serverPair) cursors(kind string, n uint64, by int) []string {
	b := p.book
	p.world.hits.hit("cursor %s", kind)
	page, text := b.streams[n], func(id spec.EventID) []string { return []string{id.String()} }
	if page == nil {
		page = &page0
	}
	somewhere := page.base + uint64(by)%(page.head()-page.base+1)
	back := page.head() - min(page.head()-page.base, uint64(by%6))
	good := b.id(page, somewhere)
	switch kind {
	case "none":
		return nil
	case "empty":
		return []string{""}
	case "two":
		return []string{good.String(), b.id(page, page.head()).String()}
	case "malformed":
		return []string{malformed(good, by)}
	case "good":
		return text(b.id(page, back))
	case "head":
		return text(b.id(page, page.head()))
	case "handed":
		return text(b.id(page, max(page.at, page.base)))
	case "floor", "forged floor":
		floor := p.core.Stream(n).Floor
		if kind == "forged floor" {
			floor.Seq ^= 1
		}
		return text(spec.EventID{Tag: b.tag, Seq: floor.Seq, Stream: n, Ordinal: floor.Ordinal})
	case "zero":
		return text(spec.PositionZero(b.tag, n))
	case "evicted":
		floor := p.core.Stream(n).Floor.Ordinal
		return text(b.id(page, floor-min(floor-min(floor, page.base), 1+uint64(by%4))))
	case "ahead by 1", "ahead by 1000":
		more := uint64(1)
		if kind == "ahead by 1000" {
			more = 1000
		}
		return text(spec.EventID{Tag: b.tag, Seq: b.seq + more, Stream: n, Ordinal: page.head() + more})
	case "ahead by max":
		return text(spec.EventID{Tag: b.tag, Seq: math.MaxUint64, Stream: n, Ordinal: math.MaxUint64})
	case "ordinal ahead": // the seq was issued
		return text(spec.EventID{Tag: b.tag, Seq: max(b.seq, 1), Stream: n, Ordinal: page.head() + 1 + uint64(by%3)})
	case "seq ahead": // the ordinal was issued
		return text(spec.EventID{Tag: b.tag, Seq: b.seq + 1 + uint64(by%3), Stream: n, Ordinal: max(page.head(), 1)})
	case "foreign", "of nobody":
		good.Tag = spec.TagOf(kind, "")
		others := append(append([]*serverPair(nil), p.world.gone...), p.world.pairs...)
		if other := others[by%len(others)]; kind == "foreign" && other != p {
			good.Tag = other.book.tag
			if theirs := other.book.streams[n]; theirs != nil {
				good = other.book.id(theirs, theirs.base+uint64(by)%(theirs.head()-theirs.base+1))
			}
		}
		return text(good)
	case "stolen seq": // issued on another stream of this session, or not at all
		for _, m := range b.numbers {
			if theirs := b.streams[m]; m != n && len(theirs.events) > 0 && good.Ordinal > 0 {
				good.Seq = theirs.events[len(theirs.events)-1].seq
				if by%2 == 0 {
					break
				}
			}
		}
		return text(good)
	case "wrong ordinal":
		if good.Ordinal > 1 && by%2 == 0 {
			good.Ordinal--
		} else if good.Ordinal > 0 {
			good.Ordinal++
		}
		return text(good)
	case "never opened":
		return text(spec.EventID{Tag: b.tag, Seq: good.Seq, Stream: oneFrom(by, p.core.NextStream(), p.core.NextStream()+7, math.MaxUint64), Ordinal: good.Ordinal})
	}
	panic("reattach: BUG: nobody said what a cursor is that is " + kind)
}

// attempts makes the attempts of a request.
func (p *serverPair) attempts(kind string, by int) []string {
	p.world.hits.hit("attempt %s", kind)
	a := p.attempt
	switch kind {
	case "", "none":
		return nil
	case "next":
		p.attempt.Counter++
		a = p.attempt
	case "next holder":
		p.attempt = spec.Attempt{Generation: a.Generation + 1}
		a = p.attempt
	case "older":
		a.Counter -= min(a.Counter, 1+uint64(by%3))
	case "older holder":
		a.Generation -= min(a.Generation, 1)
		a.Counter += uint64(by % 3)
	case "two":
		return []string{"1.1", "1.1"}
	case "malformed":
		return []string{oneFrom(by, "", "1", "0.0", "01.1", "1.1.1", "-1.2", "1.18446744073709551616", " 1.1")}
	}
	if a.IsZero() {
		return nil
	}
	return []string{a.String()}
}

var page0 page // of a stream that was never opened

func oneFrom[T any](by int, values ...T) T { return values[by%len(values)] }

// malformed spoils the text of an event id, or never was one.
func malformed(id spec.EventID, by int) string {
	text := id.String()
	return oneFrom(by,
		"nonsense", " "+text, text+" ", text+":0", text[:len(text)-1]+"-1", strings.ToUpper(text), strings.Replace(text, ":", "::", 1),
		strings.Replace(text, ":", ":0", 1), strings.Replace(text, ":", ":+", 1), text[1:], "x"+text[1:], text+"0000000000000000000000",
		string(id.Tag)+":18446744073709551616:0:1", string(id.Tag)+":0:0:1", string(id.Tag)+":1:0:0", strings.Repeat("9", 200), text+"\x00", ":::", "０")
}

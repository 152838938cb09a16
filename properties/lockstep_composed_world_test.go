package properties

import (
	"fmt"
	"slices"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A composedWorld is one server with its sessions, several clients, and the
// network between them. Server cores step beside the model, as everywhere in
// this suite; what the clients apply is judged by ledgers alone.
type composedWorld struct {
	*serverWorld
	serving map[string]*serverPair   // by session id; a restart empties it
	byTag   map[spec.Tag]*serverPair // every one there ever was
	calls   map[callPlace]calling    // which call a stream of a session belongs to
	parties []*party
	wires   []*wire
	fault   composedFault
	emits   int
	healing bool
}

type callPlace struct {
	tag    spec.Tag
	stream uint64
}

// Calling is a call as the server knows it.
type calling struct {
	who *party
	id  client.StreamID
}

// A wire is one request and the answer to it. The request may reach the server
// late, also after its client has given it up; any suffix of the answer may be
// lost; that it broke the server notices when a step says so.
type wire struct {
	who    *party
	life   int
	ask    client.Action
	asked  bool // the request has reached the server, or never will
	at     *serverPair
	view   *session.ViewState // what the server opened for it
	frames []frame            // on their way to the client
	cut    bool               // what the server writes from now on is lost
	closed bool               // the client has closed it
	done   bool               // the server has written the last of it
}

// A frame is one thing that an answer consists of.
type frame struct {
	kind      string // opened, accepted, event, ended, broken, completed, refused
	position  string
	sessionID string
	event     client.Event
	reason    spec.Reason
}

func (w *wire) write(f frame) {
	if !w.cut && !w.closed {
		w.frames = append(w.frames, f)
	}
	if f.kind != "accepted" && f.kind != "event" {
		w.done = true
	}
}

func newComposedWorld(s serverSetting, parties int, h hits) *composedWorld {
	s.Sessions, s.Start = 0, 0
	s.MaxEvent, s.Bytes = max(s.MaxEvent, 64), max(s.Bytes, 300)
	w := &composedWorld{serverWorld: newServerWorld(s, h), serving: map[string]*serverPair{}, byTag: map[spec.Tag]*serverPair{}, calls: map[callPlace]calling{}}
	for i := range parties {
		w.parties = append(w.parties, newParty(w, i))
	}
	return w
}

// serve lets a request reach the server.
func (w *composedWorld) serve(at *wire) error {
	at.asked = true
	w.hits.when(at.closed || at.life != at.who.life, "a request arrived after its client gave it up")
	if at.ask.Do == spec.SendInitialize {
		p := w.newPair()
		if err := p.initialize(false, false); err != nil {
			return err
		}
		w.serving[p.id.Text()], w.byTag[p.book.tag] = p, p
		at.write(frame{kind: "opened", sessionID: p.id.Text(), position: spec.PositionZero(p.book.tag, 0).String()})
		return nil
	}
	p := w.serving[at.ask.Session.ID]
	if p == nil {
		w.hits.hit("session is gone: unknown")
		at.write(frame{kind: "refused", reason: spec.ReasonSessionUnknown})
		return nil
	}
	at.at = p
	switch at.ask.Do {
	case spec.SendDelete:
		return p.both("Terminate", w.now, p.core.Terminate, p.twin.Terminate)
	case spec.SendPost:
		return w.serveCall(p, at)
	}
	return w.serveResumption(p, at)
}

func (w *composedWorld) serveCall(p *serverPair, at *wire) error {
	if err := p.call(); err != nil {
		return err
	}
	if p.refusal != "" {
		at.write(frame{kind: "refused", reason: p.refusal})
		return nil
	}
	at.view = p.view
	w.calls[callPlace{p.book.tag, at.view.Stream}] = calling{at.who, at.ask.Stream}
	if at.who.executed[at.ask.Stream]++; at.who.executed[at.ask.Stream] > 1 {
		return fmt.Errorf("books: call %v ran %d times", at.ask.Stream, at.who.executed[at.ask.Stream])
	}
	w.accept(p, at, spec.PositionZero(p.book.tag, at.view.Stream))
	return nil
}

func (w *composedWorld) serveResumption(p *serverPair, at *wire) error {
	var cursors []string
	if at.ask.Cursor != "" {
		cursors = []string{at.ask.Cursor}
	}
	id, err := spec.ParseEventID(at.ask.Cursor)
	if err != nil || id.Tag != p.book.tag {
		return fmt.Errorf("books: session %s is asked to resume at %q: a cursor of another one", p.book.tag, at.ask.Cursor)
	}
	older := p.core.Stream(id.Stream).View
	if err := p.resume(nil, cursors, w.now); err != nil {
		return err
	}
	switch d := p.decision; d.Verdict {
	case spec.VerdictRefuse:
		w.hits.hit("resumption refused: %s", d.Reason)
		at.write(frame{kind: "refused", reason: d.Reason})
	case spec.VerdictComplete:
		w.hits.hit("resumption complete")
		at.write(frame{kind: "completed", sessionID: p.id.Text()})
	default:
		w.hits.hit("resumption accepted")
		w.hits.when(p.core.Stream(id.Stream).Floor.Ordinal > 0, "resumption accepted on a stream that has lost events")
		w.hits.when(older != nil, "superseded by a newer request")
		w.hits.when(older != nil && (at.closed || at.life != at.who.life), "superseded by a late request of an abandoned connection")
		at.view = p.view
		w.accept(p, at, d.Position)
	}
	return nil
}

func (w *composedWorld) accept(p *serverPair, at *wire, position spec.EventID) {
	at.write(frame{kind: "accepted", sessionID: p.id.Text(), position: position.String()})
}

// pump lets the view of a wire take its next event.
func (w *composedWorld) pump(at *wire) error {
	p, v := at.at, at.view
	if p == nil || v == nil || at.done {
		return nil
	}
	if v.End != session.StillOpen { // its view is over: it writes nothing more (R10)
		if _, err := p.core.DeliverTo(v, w.now); err == nil {
			return fmt.Errorf("ledger: a view of stream %d that was %v took something", v.Stream, v.End)
		}
		kind := "ended"
		if v.End == session.EndSuperseded || v.End == session.EndBroken {
			kind = "broken"
		}
		w.hits.hit("an answer was over: %v", v.End)
		at.write(frame{kind: kind})
		return nil
	}
	if err := p.deliver(v.Stream, w.now); err != nil {
		return err
	}
	got := p.taken
	if !got.OK {
		return nil
	}
	ev := client.Event{HasID: true, Payload: slices.Clone(got.Event.Payload), Answer: got.Last}
	ev.ID = spec.EventID{Tag: p.book.tag, Seq: got.Event.Seq, Stream: got.Event.Stream, Ordinal: got.Event.Ordinal}.String()
	w.hits.when(at.cut || at.closed, "an event was handed over and lost on the way")
	at.write(frame{kind: "event", event: ev})
	return nil
}

// cutOff loses any suffix of what is on its way, and all that is still to come.
func (w *composedWorld) cutOff(at *wire, keep int, clean bool) {
	if at.cut || at.closed {
		return
	}
	keep %= len(at.frames) + 1
	w.hits.when(keep < len(at.frames), "frames were lost")
	w.hits.when(!at.asked, "cut before the request arrived")
	at.frames = append(at.frames[:keep:keep], frame{kind: map[bool]string{true: "ended", false: "broken"}[clean && keep > 0]})
	at.cut = true
}

// notice lets the server find out that nobody reads an answer any more.
func (w *composedWorld) notice(at *wire) error {
	if at.view == nil || at.view.End != session.StillOpen || !at.cut && !at.closed && at.life == at.who.life {
		return nil
	}
	w.hits.hit("the server noticed a cut")
	n := at.view.Stream
	return at.at.both("Break", w.now, func() error { return at.at.core.Break(n, w.now) }, func() spec.Reason { return at.at.twin.Break(n, w.now) })
}

// emit lets the application say something on a stream of a session.
func (w *composedWorld) emit(p *serverPair, n uint64, last bool) error {
	w.emits++
	return p.emit(n, fmt.Appendf(nil, "%d said on %d", w.emits, n), w.now, last && n != 0)
}

// restart: the server's process ends, and with it every session it had.
func (w *composedWorld) restart() error {
	for id, p := range w.serving {
		if err := p.both("Expire", w.now, func() error { return p.core.Terminate() }, p.twin.Terminate); err != nil {
			return err
		}
		delete(w.serving, id)
	}
	for _, at := range w.wires {
		if at.asked && !at.done {
			w.cutOff(at, len(at.frames), false)
			at.done = true
		}
	}
	return nil
}

package properties

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"example.com/reattach/impl/session"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// coreSystem is a real session core as a system of a Window graph:
//
//	seq, window      the window's Seq, Len and All
//	next             NextStream
//	st, view         the stream's State and the ordinal of View.At
//	floor, head      the stream's Floor and Head
//	handed           the ordinal of Handed
//
// The system's key is the core's Snapshot.
func coreSystem(g *graph.Graph) graph.System[*session.Core] {
	cfg := session.DefaultConfig()
	cfg.Window.Events = scopeOf(g, "Window")
	cfg.Streams = scopeOf(g, "Records")
	streams := uint64(scopeOf(g, "MaxStream") + 1)
	return graph.System[*session.Core]{
		Start: func() *session.Core {
			c := session.NewCore(cfg)
			if err := c.Initialize(session.SessionID{1}, nil, false, false); err != nil {
				panic("reattach: BUG: " + err.Error())
			}
			return c
		},
		Clone:    (*session.Core).Clone,
		Ask:      askCore,
		Abstract: func(c *session.Core) any { return coreSight(c, streams) },
		Key:      func(c *session.Core) string { return string(c.Snapshot()) },
	}
}

func coreSight(c *session.Core, streams uint64) sight {
	w := c.Window()
	s := sight{Seq: w.Seq(), Next: c.NextStream(), Window: [][]uint64{}}
	for seq := w.Seq() - uint64(w.Len()) + 1; seq <= w.Seq(); seq++ {
		s.Window = append(s.Window, []uint64{seq})
	}
	for ev := range w.All() {
		at := ev.Seq - (w.Seq() - uint64(w.Len()) + 1)
		s.Window[at] = []uint64{ev.Seq, ev.Stream, ev.Ordinal}
	}
	for n := range streams {
		info := c.Stream(n)
		word, attached := stateWord(info.State)
		of := streamSight{St: word, Floor: [2]uint64{info.Floor.Seq, info.Floor.Ordinal}, Head: [2]uint64{info.Head.Seq, info.Head.Ordinal},
			Handed: info.Handed.Ordinal, View: "none"}
		switch {
		case attached != (info.View != nil):
			of.View = fmt.Sprintf("%v with view %v", info.State, info.View)
		case attached:
			of.View = info.View.At.Ordinal
		}
		s.Streams = append(s.Streams, of)
	}
	return s
}

// payloadOf is what the event with this seq says.
func payloadOf(seq uint64) []byte { return fmt.Appendf(nil, "event %d", seq) }

// askCore makes one request. Beside the reply it checks what a reply does not
// say: the bytes of an event, the data of a refusal, and that a view that ended
// takes nothing more and says how it ended.
func askCore(c *session.Core, r graph.Request) (any, error) {
	w := want(r)
	switch w.Action {
	case "Call":
		v, err := c.Call(nil)
		if err != nil {
			return map[string]any{"why": whyOf(reasonFrom(err)), "s": 0}, nil
		}
		return map[string]any{"why": "ok", "s": v.Stream}, nil
	case "OpenStream":
		_, err := c.OpenStream(w.stream, w.Params["view"].(bool), nil)
		return whyOf(reasonFrom(err)), nil
	case "Emit":
		e, err := c.Emit(w.stream, payloadOf(c.Window().Seq()+1), 0)
		return emission(reasonFrom(err), e.ID.Seq, e.ID.Ordinal, uint64(e.Evicted), e.Lag), nil
	case "Answer":
		e, err := c.Answer(w.stream, payloadOf(c.Window().Seq()+1), 0)
		return emission(reasonFrom(err), e.ID.Seq, e.ID.Ordinal, uint64(e.Evicted), e.Lag), nil
	case "EndView":
		return endsView(c, w.stream, session.ErrViewEnded, c.EndView)
	case "Break":
		return endsView(c, w.stream, session.ErrBroken, c.Break)
	case "Cut":
		return endsView(c, w.stream, session.ErrOvertaken, c.Overtake)
	case "Attach":
		return attachCore(c)
	case "Resume":
		return resumeCore(c, w)
	case "Deliver":
		return deliverCore(c, w.stream)
	case "EvictOldest":
		if c.EvictOldest() {
			return "ok", nil
		}
		return "nothing", nil
	case "ElapseDetach":
		return whyOf(reasonFrom(c.ElapseDetach(w.stream, 0))), nil
	case "CapRecords":
		return whyOf(reasonFrom(c.CapRecords(w.stream))), nil
	}
	return nil, fmt.Errorf("nobody said what %s is here: add it to askCore", w.Action)
}

// endsView fires a trigger that takes the stream's view away.
func endsView(c *session.Core, stream uint64, says error, end func(uint64, int64) error) (any, error) {
	v := c.Stream(stream).View
	err := end(stream, 0)
	if err == nil {
		return "ok", isOver(c, v, says)
	}
	return whyOf(reasonFrom(err)), nil
}

// isOver checks that a view that has ended takes nothing more, changes nothing
// and says how it ended (R10).
func isOver(c *session.Core, v *session.ViewState, says error) error {
	before := c.Snapshot()
	taken, err := c.DeliverTo(v, 0)
	if taken.OK || !errors.Is(err, says) || c.Snapshot() != before {
		return fmt.Errorf("the view that ended takes %v and says %v, want nothing and %v", taken, err, says)
	}
	return nil
}

// supersedes checks the stream's older view after a request was granted.
func supersedes(c *session.Core, older *session.ViewState) error {
	if older == nil {
		return nil
	}
	return isOver(c, older, session.ErrSuperseded)
}

func attachCore(c *session.Core) (any, error) {
	older := c.Stream(0).View
	d, v, err := c.Resume(session.Request{}, 0)
	if err != nil || d.Verdict != spec.VerdictAttach || v == nil {
		return map[string]any{"why": whyOf(d.Reason)}, nil
	}
	if v.Start.Seq != d.Position.Seq || v.Start.Ordinal != d.Position.Ordinal || v.Skipped != d.Skipped || d.Position.Tag != c.Tag() {
		return nil, fmt.Errorf("the view begins at %v and skips %d, announced are %v and %d", v.Start, v.Skipped, d.Position, d.Skipped)
	}
	return map[string]any{"seq": d.Position.Seq, "n": d.Position.Ordinal, "skipped": d.Skipped}, supersedes(c, older)
}

func resumeCore(c *session.Core, w wanted) (reply any, err error) {
	sent, id := w.cursors(c.Tag())
	for _, texts := range sent {
		one, err := resumeCoreWith(c, texts, id)
		if err != nil {
			return nil, fmt.Errorf("cursor %q: %w", texts, err)
		}
		if reply != nil && graph.Canonical(one) != graph.Canonical(reply) {
			return nil, fmt.Errorf("cursor %q is answered with %v, one that is as wrong with %v", texts, one, reply)
		}
		reply = one
	}
	return reply, nil
}

func resumeCoreWith(c *session.Core, texts []string, id spec.EventID) (any, error) {
	of := c.Stream(id.Stream)
	d, v, err := c.Resume(session.Request{Cursors: texts}, 0)
	reply := map[string]any{"why": d.Verdict.String(), "at": d.Position.Ordinal}
	switch d.Verdict {
	case spec.VerdictReattach:
		if err != nil || v == nil || d.Position != id || v.Start.Seq != id.Seq || v.Start.Ordinal != id.Ordinal {
			return reply, fmt.Errorf("position %v, view %v, error %v", d.Position, v, err)
		}
		return reply, supersedes(c, of.View)
	case spec.VerdictComplete:
		if err != nil || v != nil || d.Position != id {
			return reply, fmt.Errorf("position %v, view %v, error %v", d.Position, v, err)
		}
		return reply, supersedes(c, of.View)
	case spec.VerdictRefuse:
		reply["why"] = string(d.Reason)
		if v != nil || d.Position.Valid() || reasonFrom(err) != d.Reason || d.Cursor != id {
			return reply, fmt.Errorf("refused with %+v, view %v, error %v", d, v, err)
		}
		known := d.Head.Valid()
		if known && (d.Floor.Seq != of.Floor.Seq || d.Floor.Ordinal != of.Floor.Ordinal || d.Head.Seq != of.Head.Seq || d.Head.Ordinal != of.Head.Ordinal) {
			return reply, fmt.Errorf("refused with floor %v and head %v, the stream's are %v and %v", d.Floor, d.Head, of.Floor, of.Head)
		}
	}
	return reply, nil
}

func deliverCore(c *session.Core, stream uint64) (any, error) {
	v := c.Stream(stream).View
	taken, err := c.Deliver(stream, 0)
	var over *session.ViewOverError
	switch {
	case errors.As(err, &over) && over.End == session.EndOvertaken:
		return delivery("overtaken", 0, 0, false), isOver(c, v, session.ErrOvertaken)
	case err != nil:
		return delivery(whyOf(reasonFrom(err)), 0, 0, false), nil
	case !taken.OK:
		return delivery("nothing", 0, 0, false), nil
	}
	ev := taken.Event
	cancelled := string(ev.Payload) == session.UnknownText && taken.Last
	if !bytes.Equal(ev.Payload, payloadOf(ev.Seq)) && !cancelled {
		return nil, fmt.Errorf("event %v says %q", ev.Position, ev.Payload)
	}
	reply := delivery("ok", ev.Seq, ev.Ordinal, taken.Last)
	if taken.Last {
		return reply, isOver(c, v, io.EOF)
	}
	return reply, nil
}

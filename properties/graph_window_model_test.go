package properties

import (
	"fmt"
	"strconv"

	"example.com/reattach/model"
	"example.com/reattach/properties/graph"
	"example.com/reattach/spec"
)

// modelSystem is the reference model of a session as a system of a Window
// graph. What the graph shows is Observe, and for the seqs of what is retained
// Standing. The system's key is all of that and the size of what is retained.
func modelSystem(g *graph.Graph, rules model.Rules) graph.System[*model.Session] {
	limits := model.Limits{Events: scopeOf(g, "Window"), Streams: scopeOf(g, "Records")}
	streams := uint64(scopeOf(g, "MaxStream") + 1)
	return graph.System[*model.Session]{
		Start: func() *model.Session {
			s := model.NewSession(spec.TagOf("the session", ""), limits, rules)
			if r := s.Initialize(false, false); r != "" {
				panic("reattach: BUG: " + string(r))
			}
			return s
		},
		Clone:    (*model.Session).Clone,
		Ask:      askModel,
		Abstract: func(s *model.Session) any { return modelSight(s, streams) },
		Key:      func(s *model.Session) string { return modelKey(s, streams) },
	}
}

func modelSight(s *model.Session, streams uint64) sight {
	o := s.Observe()
	first := o.LastSeq - uint64(o.Retained) + 1
	seen := sight{Seq: o.LastSeq, Next: o.NextStream, Window: make([][]uint64, o.Retained), Streams: make([]streamSight, streams)}
	for i := range seen.Window {
		seen.Window[i] = []uint64{first + uint64(i)}
	}
	for n := range seen.Streams {
		word, _ := stateWord(s.StateOf(uint64(n)))
		seen.Streams[n] = streamSight{St: word, View: "none"}
	}
	for _, of := range o.Streams {
		at := &seen.Streams[of.Number]
		at.Floor, at.Head, at.Handed = [2]uint64{of.Floor.Seq, of.Floor.Ordinal}, [2]uint64{of.Head.Seq, of.Head.Ordinal}, of.Handed
		if _, attached := stateWord(of.State); attached {
			at.View = of.Position
		}
		for n := of.Floor.Ordinal + 1; n <= of.Head.Ordinal; n++ {
			seq := s.Standing(model.Presents(spec.EventID{Tag: s.Tag(), Seq: 1, Stream: of.Number, Ordinal: n})).SeqHere
			if seq < first || seq > o.LastSeq {
				panic(fmt.Sprintf("reattach: BUG: the model retains seq %d, outside %d to %d", seq, first, o.LastSeq))
			}
			seen.Window[seq-first] = []uint64{seq, of.Number, n}
		}
	}
	return seen
}

// modelKey is modelSight as a text, made without encoding/json: it is asked for
// after every label.
func modelKey(s *model.Session, streams uint64) string {
	seen := modelSight(s, streams)
	key := make([]byte, 0, 128)
	add := func(n uint64) { key = append(strconv.AppendUint(key, n, 10), ' ') }
	add(seen.Seq)
	add(seen.Next)
	add(uint64(s.Observe().Bytes))
	for _, ev := range seen.Window {
		for _, n := range ev {
			add(n)
		}
		key = append(key, ';')
	}
	for _, of := range seen.Streams {
		key = append(key, of.St...)
		for _, n := range [...]uint64{of.Floor[0], of.Floor[1], of.Head[0], of.Head[1], of.Handed} {
			add(n)
		}
		if at, ok := of.View.(uint64); ok {
			add(at)
		}
		key = append(key, ';')
	}
	return string(key)
}

// askModel makes one request.
func askModel(s *model.Session, r graph.Request) (any, error) {
	w := want(r)
	switch w.Action {
	case "Call":
		n, r := s.Call()
		return map[string]any{"why": whyOf(r), "s": n}, nil
	case "OpenStream":
		return whyOf(s.OpenStream(w.stream, w.Params["view"].(bool))), nil
	case "Emit":
		e, r := s.Emit(w.stream, 1, 0)
		return emission(r, e.ID.Seq, e.ID.Ordinal, uint64(len(e.Evicted)), e.Lag), nil
	case "Answer":
		e, r := s.Answer(w.stream, 1, 0)
		return emission(r, e.ID.Seq, e.ID.Ordinal, uint64(len(e.Evicted)), e.Lag), nil
	case "EndView":
		return whyOf(s.EndView(w.stream, 0)), nil
	case "Break":
		return whyOf(s.Break(w.stream, 0)), nil
	case "Cut":
		return whyOf(s.Overtake(w.stream, 0)), nil
	case "Attach":
		_, attached := stateWord(s.StateOf(0))
		r := s.Resume(0)
		if r.Superseded != attached {
			return nil, fmt.Errorf("an older view is there: %v, superseded: %v", attached, r.Superseded)
		}
		if r.Verdict != spec.VerdictAttach {
			return map[string]any{"why": whyOf(r.Reason)}, nil
		}
		return map[string]any{"seq": r.Position.Seq, "n": r.Position.Ordinal, "skipped": r.Skipped}, nil
	case "Resume":
		return resumeModel(s, w)
	case "Deliver":
		return deliverModel(s, w.stream), nil
	case "EvictOldest":
		if s.EvictOldest() {
			return "ok", nil
		}
		return "nothing", nil
	case "ElapseDetach":
		return whyOf(s.ElapseDetach(w.stream, 1, 0)), nil
	case "CapRecords":
		return whyOf(s.CapRecords(w.stream)), nil
	}
	return nil, fmt.Errorf("nobody said what %s is here: add it to askModel", w.Action)
}

func resumeModel(s *model.Session, w wanted) (reply any, err error) {
	sent, id := w.cursors(s.Tag())
	for _, texts := range sent {
		_, attached := stateWord(s.StateOf(id.Stream))
		r := s.Resume(0, texts...)
		one := map[string]any{"why": r.Verdict.String(), "at": r.Position.Ordinal}
		if r.Verdict == spec.VerdictRefuse {
			one["why"] = string(r.Reason)
		} else if r.Position != id || r.Superseded != attached {
			return nil, fmt.Errorf("cursor %q is granted at %v, an older view is there: %v, superseded: %v", texts, r.Position, attached, r.Superseded)
		}
		if reply != nil && graph.Canonical(one) != graph.Canonical(reply) {
			return nil, fmt.Errorf("cursor %q is answered with %v, one that is as wrong with %v", texts, one, reply)
		}
		reply = one
	}
	return reply, nil
}

// deliverModel takes the next event; of a view that is overtaken the model says
// so, and leaves it to the caller to cut it.
func deliverModel(s *model.Session, stream uint64) any {
	t, r := s.Deliver(stream, 0)
	switch {
	case r != "":
		return delivery(string(r), 0, 0, false)
	case t.Overtaken:
		return delivery(whyOrOvertaken(s.Overtake(stream, 0)), 0, 0, false)
	case !t.OK:
		return delivery("nothing", 0, 0, false)
	}
	return delivery("ok", t.ID.Seq, t.ID.Ordinal, t.Last)
}

func whyOrOvertaken(r spec.Reason) string {
	if r != "" {
		return string(r)
	}
	return "overtaken"
}

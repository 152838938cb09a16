package properties

import (
	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// The scripted server: it says what is right, mostly, and else anything.

// tag is the session's, as its server would put it into event ids.
func (p *clientPair) tag() spec.Tag { return p.record.Tag }

// at returns the position that a stream stands at, if it has one.
func at(st client.StreamSnapshot) (spec.EventID, bool) {
	id, err := spec.ParseEventID(st.Cursor)
	return id, err == nil
}

// fresh returns a stream number that the server never used in this session.
func (p *clientPair) fresh() uint64 {
	p.numbers++
	return p.numbers
}

// position is what an answer to a request for a view announces.
func (p *clientPair) position(st client.StreamSnapshot, s clientStep) string {
	here, positioned := at(st)
	if !positioned {
		here = spec.PositionZero(p.tag(), 0)
		if st.ID.Request != 0 {
			here.Stream = p.fresh()
		} else if s.Pick%3 == 0 {
			here.Seq, here.Ordinal = 5, 2 // a fresh attach begins anywhere (R7)
		}
	}
	switch s.Kind {
	case "none":
		return ""
	case "one back":
		if here.Ordinal > 1 {
			here.Seq, here.Ordinal = here.Seq-1, here.Ordinal-1
		} else {
			here.Stream++
		}
	case "one ahead":
		here.Seq, here.Ordinal = here.Seq+1, here.Ordinal+1
		if !positioned && st.ID.Request == 0 {
			here.Stream = 1
		}
	case "of another stream":
		here.Stream = uint64(s.Pick) % (p.numbers + 1) // also one that another call had
	case "of nobody":
		here.Tag = spec.TagOf("nobody", "")
	case "nonsense":
		return "nonsense"
	}
	return here.String()
}

// event is what arrives on a view.
func (p *clientPair) event(st client.StreamSnapshot, s clientStep) client.Event {
	here, positioned := at(st)
	switch {
	case positioned:
	case st.High.Valid() && s.Pick%4 > 0: // its server goes on where it was
		here = st.High
	default:
		here = spec.PositionZero(p.tag(), 0)
		if st.ID.Request != 0 {
			here.Stream = p.fresh()
		}
	}
	ev := client.Event{HasID: true, Payload: []byte("event"), Answer: (s.Kind == "answer" || s.Kind == "unsure answer") && st.ID.Request != 0}
	if s.Kind == "unsure answer" {
		ev.Means, ev.Reason = client.MeansUnknown, spec.ReasonKeyUnknown
	}
	id := here
	id.Ordinal, id.Seq = here.Ordinal+1, here.Seq+1+uint64(s.Pick%3)
	switch s.Kind {
	case "repeated":
		id = here
	case "earlier":
		if id = here; id.Ordinal > 1 {
			id.Ordinal, id.Seq = id.Ordinal-1, id.Seq-1
		}
	case "skipped":
		id.Ordinal++
		id.Seq++
	case "stale seq":
		if id.Seq = here.Seq; id.Seq == 0 {
			id.Ordinal = 0
		}
	case "of another stream":
		id.Stream = uint64(s.Pick) % (p.numbers + 2)
	case "of nobody":
		id.Tag = spec.TagOf("nobody", "")
	case "late beginning":
		id.Ordinal, id.Seq = 7, id.Seq+7
	case "seen number":
		if !positioned && p.numbers > 1 {
			id.Stream = 1 + uint64(s.Pick)%p.numbers
		}
	case "position":
		ev.Payload, id = nil, here
	case "another position":
		ev.Payload = nil
	case "nonsense":
		ev.ID = "nonsense"
		if !p.record.Announced && !st.High.Valid() && !positioned {
			ev.ID = "" // ids of others are not the model's business
		}
		return ev
	case "without id":
		ev.HasID = false
		return ev
	case "cleared":
		ev.Payload = nil
		return ev
	case "retry":
		return client.Event{HasRetry: true}
	}
	ev.ID = id.String()
	return ev
}

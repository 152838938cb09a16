package main

import (
	"fmt"
	"sync"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/sse"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// ours is the registry, as a server has it: events are emitted on a stream of
// each session, with everything that emitting does.
type ours struct {
	registry *session.Registry
	sessions []*session.Session
	names    []string          // the ids, once somebody wants to know: they are the clients' to keep
	streams  []*session.Stream // by handle; nil: by id
}

func openOurs(byHandle bool) func(int) (store, error) {
	return func(sessions int) (store, error) {
		r, err := session.NewRegistry(session.Options{Sessions: sessions + 1, SubjectSessions: sessions + 1})
		if err != nil {
			return nil, err
		}
		o := &ours{registry: r, sessions: make([]*session.Session, 0, sessions)}
		for range sessions {
			s, err := r.Open("", nil)
			if err != nil {
				return nil, err
			}
			o.sessions = append(o.sessions, s)
			if byHandle {
				o.streams = append(o.streams, s.Standalone())
			}
		}
		return o, nil
	}
}

func (o *ours) append(i int, payload []byte) {
	var err error
	if o.streams != nil {
		_, err = o.streams[i].Emit(payload)
	} else if o.names == nil {
		for _, s := range o.sessions {
			o.names = append(o.names, s.ID())
		}
		o.append(i, payload)
	} else if s, ok := o.registry.Find("", o.names[i]); ok {
		_, err = s.Emit(0, payload)
	} else {
		panic("a session is gone")
	}
	if err != nil {
		panic(err)
	}
}

// reader resumes at a cursor, as a GET does, and encodes what follows straight
// into a wire buffer: decision, view and all.
func (o *ours) reader(_, n int, _ bool) (func() int, error) {
	e, err := o.sessions[0].Standalone().Emit(event())
	if err != nil {
		return nil, err
	}
	cursor := e.ID
	cursor.Seq -= uint64(n)
	cursor.Ordinal -= uint64(n)
	request := session.Request{Cursors: []string{cursor.String()}}
	wire := newWire()
	return func() int {
		view, _, err := o.sessions[0].Resume(request)
		if err != nil {
			panic(err)
		}
		read, err := view.Take(func(d session.Delivery) bool {
			wire.event(d.ID, d.Payload)
			return true
		})
		if err != nil {
			panic(err)
		}
		wire.reset()
		_ = view.Break()
		return read
	}, nil
}

func (o *ours) close() { o.registry.Close() }

// A wire is a buffer of framed events.
type wire struct{ buf, id []byte }

func newWire() *wire {
	return &wire{buf: make([]byte, 0, windowEvents*(eventBytes+128)), id: make([]byte, 0, 96)}
}

func (w *wire) event(id spec.EventID, payload []byte) {
	w.id, _ = id.AppendText(w.id[:0])
	w.buf, _ = sse.AppendEvent(w.buf, w.id, "", payload)
}

func (w *wire) reset() { w.buf = w.buf[:0] }

// oursWindow is the window alone, under a lock, as the core keeps it: for the
// rows that read, where a peer has no views either.
type oursWindow struct {
	rings []struct {
		mu sync.Mutex
		w  window.Window
	}
}

func openWindow(sessions int) (store, error) {
	o := &oursWindow{}
	o.rings = make([]struct {
		mu sync.Mutex
		w  window.Window
	}, sessions)
	for i := range o.rings {
		o.rings[i].w = window.New(nil)
		o.rings[i].w.Open(0)
	}
	return o, nil
}

func (o *oursWindow) append(i int, payload []byte) {
	r := &o.rings[i]
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, _, err := r.w.Append(0, payload, coarseNow.Load()/1e6); err != nil {
		panic(err)
	}
}

func (o *oursWindow) reader(total, n int, encoded bool) (func() int, error) {
	r := &o.rings[0]
	cursor := window.Position{Seq: uint64(total - n), Ordinal: uint64(total - n)}
	if s := r.w.Classify(cursor); !s.Good() {
		return nil, fmt.Errorf("the cursor is %v", s)
	}
	tag, wire := spec.TagOf("session", ""), newWire()
	return func() (read int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		for ev := range r.w.After(cursor) {
			if read++; encoded {
				wire.event(spec.EventID{Tag: tag, Seq: ev.Seq, Ordinal: ev.Ordinal}, ev.Payload)
			}
		}
		wire.reset()
		return read
	}, nil
}

func (o *oursWindow) close() {}

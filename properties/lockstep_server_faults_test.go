package properties

import (
	"slices"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A serverFault is a mistake planted between the suite and the core, to show
// that the suite notices. The zero value is none.
type serverFault struct {
	name    string
	harmful bool                                                             // a client would apply something twice, or never: the ledger alone notices
	ask     func(p *serverPair, cursors []string) []string                   // what reaches the core
	decided func(p *serverPair, cursors []string, d *session.Decision)       // what the core is said to have decided
	taken   func(p *serverPair, stream uint64, t *session.Taken)             // what the view is said to have taken
	late    func(p *serverPair, stream uint64, t *session.Taken, err *error) // and one that is over
	due     func(now int64) int64                                            // when the core evicts
}

// cursorOf returns the cursor of a request that names an event of this session,
// and its stream in the ledger.
func cursorOf(p *serverPair, cursors []string) (id spec.EventID, page *page, ok bool) {
	if len(cursors) != 1 {
		return id, nil, false
	}
	id, err := spec.ParseEventID(cursors[0])
	page = p.book.streams[id.Stream]
	return id, page, err == nil && id.Tag == p.book.tag && page != nil
}

// instead lets another cursor reach the core, and says that it was this one.
func instead(change func(p *serverPair, id spec.EventID, at *page) (spec.EventID, bool)) serverFault {
	var asked, reached string
	return serverFault{
		ask: func(p *serverPair, cursors []string) []string {
			asked, reached = "", ""
			if id, page, ok := cursorOf(p, cursors); ok {
				if other, ok := change(p, id, page); ok && other != id {
					asked, reached = id.String(), other.String()
					return []string{reached}
				}
			}
			return cursors
		},
		decided: func(p *serverPair, cursors []string, d *session.Decision) {
			if asked != "" && d.Verdict != spec.VerdictRefuse {
				d.Position, _ = spec.ParseEventID(asked)
			}
		},
	}
}

func named(name string, harmful bool, f serverFault) serverFault {
	f.name, f.harmful = name, harmful
	return f
}

// serverFaults are the mistakes of the incidents, and some of our own.
func serverFaults() []serverFault {
	return []serverFault{
		named("replay begins with the cursor itself", true, instead(func(p *serverPair, id spec.EventID, at *page) (spec.EventID, bool) {
			return p.book.id(at, id.Ordinal-1), id.Ordinal > at.base && id.Ordinal <= at.head() && p.book.id(at, id.Ordinal) == id
		})),
		named("replay begins one too late", true, instead(func(p *serverPair, id spec.EventID, at *page) (spec.EventID, bool) {
			return p.book.id(at, id.Ordinal+1), id.Ordinal >= at.base && id.Ordinal < at.head() && p.book.id(at, id.Ordinal) == id
		})),
		named("an evicted cursor is clamped to the floor", true, instead(func(p *serverPair, id spec.EventID, _ *page) (spec.EventID, bool) {
			floor := p.core.Stream(id.Stream).Floor
			return spec.EventID{Tag: id.Tag, Seq: floor.Seq, Stream: id.Stream, Ordinal: floor.Ordinal}, id.Ordinal < floor.Ordinal
		})),
		named("a cursor ahead is taken for the head", true, instead(func(p *serverPair, id spec.EventID, at *page) (spec.EventID, bool) {
			return p.book.id(at, at.head()), id.Ordinal > at.head()
		})),
		named("another stream's seq is accepted", true, instead(func(p *serverPair, id spec.EventID, at *page) (spec.EventID, bool) {
			return p.book.id(at, id.Ordinal), id.Ordinal > at.base && id.Ordinal <= at.head()
		})),
		named("another session's cursor is accepted", true, serverFault{
			ask: func(p *serverPair, cursors []string) []string {
				if len(cursors) != 1 {
					return cursors
				}
				id, err := spec.ParseEventID(cursors[0])
				page := p.book.streams[id.Stream]
				if err != nil || id.Tag == p.book.tag || page == nil || id.Ordinal > page.head() || id.Ordinal < page.base {
					return cursors
				}
				return []string{p.book.id(page, id.Ordinal).String()}
			},
		}),
		named("a malformed cursor is a fresh attach", false, serverFault{
			ask: func(p *serverPair, cursors []string) []string {
				if len(cursors) == 1 {
					if _, err := spec.ParseEventID(cursors[0]); err != nil {
						return nil
					}
				}
				return cursors
			},
		}),
		named("a view skips an event", true, serverFault{
			taken: func(p *serverPair, n uint64, t *session.Taken) {
				if t.OK && !t.Last && t.Event.Ordinal%5 == 3 {
					if next, ok := p.core.Window().Next(t.Event.Position); ok {
						t.Event = next
					}
				}
			},
		}),
		named("a view takes an event twice", true, serverFault{
			taken: func(p *serverPair, n uint64, t *session.Taken) {
				if page := p.book.streams[n]; page != nil && page.at > page.base && !t.OK {
					for ev := range p.core.Window().All() {
						if ev.Stream == n && ev.Ordinal == page.at {
							t.OK, t.Event = true, ev
						}
					}
				}
			},
		}),
		named("the bytes are another event's", true, serverFault{
			taken: func(p *serverPair, n uint64, t *session.Taken) {
				for ev := range p.core.Window().All() {
					if t.OK && ev.Seq != t.Event.Seq && len(ev.Payload) == len(t.Event.Payload) && len(ev.Payload) > 0 {
						t.Event.Payload = slices.Clone(ev.Payload)
						break
					}
				}
			},
		}),
		named("a superseded view still writes", true, serverFault{
			late: func(p *serverPair, n uint64, t *session.Taken, err *error) {
				for ev := range p.core.Window().All() {
					if ev.Stream == n {
						t.OK, t.Event, *err = true, ev, nil
					}
				}
			},
		}),
		named("events live one unit too long", false, serverFault{due: func(now int64) int64 { return now - 1 }}),
	}
}

// Given a core with a mistake planted before it, when the steps of the lockstep
// are taken, then the suite fails; for mistakes that would do harm also where
// the ledger judges without the model. A check that cannot fail is none.
func TestServerLockstepNotices(t *testing.T) {
	if noticed(serverFault{}, false) || noticed(serverFault{}, true) {
		t.Fatal("the lockstep notices a mistake where none is planted")
	}
	for _, f := range serverFaults() {
		t.Run(f.name, func(t *testing.T) {
			if !noticed(f, false) {
				t.Error("the lockstep does not notice")
			}
			if f.harmful && !noticed(f, true) {
				t.Error("the ledger alone does not notice")
			}
		})
	}
}

func noticed(f serverFault, ledgerOnly bool) bool {
	for seed := range uint64(20) {
		d := seeded(seed)
		setting := drawServerSetting(d)
		setting.Start = 0
		steps := make([]serverStep, 300)
		for i := range steps {
			steps[i] = drawServerStep(d)
		}
		w := newServerWorld(setting, hits{})
		w.fault, w.ledgerOnly = f, ledgerOnly
		if w.run(steps) != nil {
			return true
		}
	}
	return false
}

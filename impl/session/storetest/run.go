package storetest

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A Harness is how the suite gets at a store. All its stores are about the same
// sessions; the suite uses keys of its own.
type Harness struct {
	// Open returns the store as the next process finds it, after a crash: what
	// was opened before is not used any more. The first one is empty.
	Open func(t testing.TB) session.Store

	// Beside returns what another instance has while the one that was opened last
	// is still in use; nil: the store is one process's at a time.
	Beside func(t testing.TB) session.Store

	// Lose returns the store as the next process finds it after what was
	// acknowledged last was lost, at least the newest entry of each session: after
	// a restore from a copy, or a failover. Nil: the store claims never to lose.
	Lose func(t testing.TB) session.Store
}

// A Check is one promise of [session.Store], and what tells whether it is kept.
type Check struct {
	Name  string
	check func(*run) error
}

// Checks lists what Run checks, in the order of the promises.
func Checks() []Check { return checks }

var checks = []Check{
	{"an append is conditional on the seq", conditionalOnSeq},
	{"an append is conditional on the hold", conditionalOnHold},
	{"what fails changes nothing", failureChangesNothing},
	{"what is acknowledged is durable", durable},
	{"what was lost changes the generation", lossIsTold},
	{"a take ends the terms before it", takeEndsTerms},
	{"a read knows what was acknowledged", linearizable},
	{"an end stays", endStays},
	{"another subject finds nothing", anotherSubject},
	{"what is given is copied", copies},
}

// Run checks a store, each promise with sessions of its own. open is called
// anew for each.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Fails(t, open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Fails says how the store breaks this promise, or nil.
func (c Check) Fails(t testing.TB, h Harness) (err error) {
	r := &run{TB: t, h: h, name: c.Name}
	r.store = h.Open(t)
	return c.check(r)
}

// run is one check at work.
type run struct {
	testing.TB
	h     Harness
	name  string
	store session.Store
	keys  int
}

// A life is a session that the suite leads: its store beside the image that it
// has to have.
type life struct {
	*run
	key   session.Key
	hold  session.Hold
	image session.Image
}

const owner = "its subject"

// begin begins a session.
func (r *run) begin() (*life, error) {
	r.keys++
	sum := sha256.Sum256(fmt.Append(nil, r.name, r.keys))
	now := time.Now().UnixMilli()
	l := &life{run: r, key: session.KeyOf(session.SessionID(sum[:16])), image: session.NewImage(owner, now)}
	var err error
	if l.hold, err = r.store.Begin(l.key, owner, now); err != nil {
		return nil, fmt.Errorf("Begin of a new session: %w", err)
	}
	return l, nil
}

// lived begins a session and leads it through everything that an entry can be,
// but for its end: stream 1 is answered, stream 2 has an event, one event is
// evicted.
func (r *run) lived() (*life, error) {
	l, err := r.begin()
	if err != nil {
		return nil, err
	}
	for _, e := range []session.Entry{
		{Kind: session.DescribesSession, Data: []byte("a note")},
		{Kind: session.OpensStream, Stream: 1, Data: []byte("call 1")},
		{Kind: session.AppendsEvent, Stream: 0, Ordinal: 1, Data: []byte("evicted")},
		{Kind: session.AppendsEvent, Seq: 1, Stream: 1, Ordinal: 1, Data: []byte{0, 0xff, '\n'}},
		{Kind: session.OpensStream, Seq: 2, Stream: 2, Data: []byte("call 2")},
		{Kind: session.AppendsEvent, Seq: 2, Stream: 2, Ordinal: 1},
		{Kind: session.GrantsView, Seq: 3, Stream: 2, Attempt: spec.Attempt{Generation: 1, Counter: 7}},
		{Kind: session.AppendsEvent, Seq: 3, Evicted: 1, Stream: 1, Ordinal: 2, Last: true, Data: []byte("answered")},
	} {
		if err := l.append(e); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// append appends what must be taken.
func (l *life) append(e session.Entry) error {
	e.At = l.image.At + 1
	if err := l.store.Append(l.key, l.hold, e); err != nil {
		return fmt.Errorf("Append of %v at seq %d, which presumes what is so: %w", e.Kind, e.Seq, err)
	}
	return l.image.Apply(e)
}

// next is the event that may come next, on the standalone stream.
func (l *life) next() session.Entry {
	e := session.Entry{Kind: session.AppendsEvent, Seq: l.image.Seq, Ordinal: 1, Data: []byte("next")}
	for _, s := range l.image.Streams {
		if s.Number == 0 {
			e.Ordinal = s.Head.Ordinal + 1
		}
	}
	return e
}

package session

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// index finds a session by its id, without a lock: a request that names a
// session waits for nobody who opens or buries another one. It is 64 shards, by
// the last bits of the id; each is a table of places that are probed in a row.
//
// Why a reader that has no lock finds what is there:
//
//	(1) a session never moves within a table, and its place is set once
//	(2) the place of one that is gone is not free: it says gone, so that those
//	    behind it are still found, and is not used again in this table
//	(3) a table that is too full is not changed any more: a new one, without
//	    what is gone, takes its place. Who still reads the old one sees what
//	    there was when it began
//	(4) at most 3/4 of a table are in use, so a probe ends at a free place
//
// A reader may find a session that is being buried. That is nothing new: it
// locks the session, and one that has ended refuses everything (R6).
//
// Ids are random, so their bits are as good as a hash. The factor is a secret
// of this index: where two ids collide, and so how long a look-up takes, says
// nothing about the ids.
type index struct {
	factor uint64
	shards [indexShards]shard
}

const (
	indexShards = 64
	firstPlaces = 8
)

// shard holds the sessions whose ids end in the same six bits, and keeps its
// distance from its neighbours' cache lines.
type shard struct {
	table atomic.Pointer[places]
	mu    sync.Mutex // of those who change it
	live  int        // sessions
	used  int        // places that are not free
	_     [96]byte
}

// places are a power of two.
type places []atomic.Pointer[Session]

// gone is in the place of a session that was removed.
var gone = new(Session)

func newIndex() *index {
	random := newSessionID()
	x := &index{factor: random.key().first | 1}
	for i := range x.shards {
		x.shards[i].table.Store(&places{})
	}
	return x
}

func (x *index) shard(id idKey) *shard { return &x.shards[id.last%indexShards] }

// place returns where in a table of so many places an id belongs.
func (x *index) place(id idKey, n int) int {
	return int(id.first * x.factor >> (bits.LeadingZeros64(uint64(n)) + 1))
}

// find returns the session of an id, or nil.
func (x *index) find(id idKey) *Session {
	s, _ := x.search(*x.shard(id).table.Load(), id)
	return s
}

// search returns the session of an id and its place in the table, or nil and
// the free place at which it would be.
func (x *index) search(table places, id idKey) (*Session, int) {
	if len(table) == 0 {
		return nil, 0
	}
	for i := x.place(id, len(table)); ; i++ {
		i &= len(table) - 1
		s := table[i].Load()
		if s == nil || s.core.id.key() == id && s != gone {
			return s, i
		}
	}
}

// add puts in a session whose id is in no place.
func (x *index) add(s *Session) {
	sh := x.shard(s.core.id.key())
	sh.mu.Lock()
	defer sh.mu.Unlock()
	table := *sh.table.Load()
	if 4*(sh.used+1) > 3*len(table) {
		table = x.rebuilt(sh, table)
	}
	_, i := x.search(table, s.core.id.key())
	table[i].Store(s)
	sh.live++
	sh.used++
}

// rebuilt gives the shard a new table, with room for half as many again.
func (x *index) rebuilt(sh *shard, old places) places {
	n := firstPlaces
	for 2*n < 4*(sh.live+1) {
		n *= 2
	}
	table := make(places, n)
	for from := range old {
		if s := old[from].Load(); s != nil && s != gone {
			_, i := x.search(table, s.core.id.key())
			table[i].Store(s)
		}
	}
	sh.used = sh.live
	sh.table.Store(&table)
	return table
}

// remove takes a session out, if it is there.
func (x *index) remove(id idKey) {
	sh := x.shard(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	table := *sh.table.Load()
	s, i := x.search(table, id)
	if s == nil {
		return
	}
	table[i].Store(gone)
	if sh.live--; sh.live == 0 { // nobody is behind anybody
		sh.used = 0
		sh.table.Store(&places{})
	} else if len(table) > firstPlaces && 8*sh.live < len(table) {
		x.rebuilt(sh, table)
	}
}

// all returns the sessions of a shard that are there now.
func (sh *shard) all() []*Session {
	var all []*Session
	table := *sh.table.Load()
	for i := range table {
		if s := table[i].Load(); s != nil && s != gone {
			all = append(all, s)
		}
	}
	return all
}

package model

import "hash/maphash"

// A graph is the set of states found so far, each with the state that it was
// first reached from. A state's id is the order in which it was found, so that
// a breadth-first frontier is a range of ids.
type graph struct {
	chunks [][]State // states by id, in chunks that never move
	parent []uint32
	slots  []slot // open addressing; its length is a power of two
	seed   maphash.Seed
}

// A slot holds the id of a state plus one, and some bits of its hash; id 0
// marks an empty slot.
type slot struct{ id, hash uint32 }

const (
	chunkBits = 12
	chunkLen  = 1 << chunkBits
)

func newGraph() *graph {
	return &graph{slots: make([]slot, 1<<14), seed: maphash.MakeSeed()}
}

func (g *graph) len() int { return len(g.parent) }

// at returns the state of an id. The pointer stays good.
func (g *graph) at(id uint32) *State { return &g.chunks[id>>chunkBits][id&(chunkLen-1)] }

func (g *graph) hash(s *State) uint64 { return maphash.Comparable(g.seed, *s) }

// find returns the slot of a state: its own, or the empty one where it belongs.
func (g *graph) find(s *State, hash uint64) *slot {
	mask := uint64(len(g.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		at := &g.slots[i]
		if at.id == 0 || at.hash == uint32(hash>>32) && *g.at(at.id - 1) == *s {
			return at
		}
	}
}

// add puts a state into the set and reports whether it is new.
func (g *graph) add(s *State, hash uint64, parent uint32) bool {
	at := g.find(s, hash)
	if at.id != 0 {
		return false
	}
	id := len(g.parent)
	if id>>chunkBits == len(g.chunks) {
		g.chunks = append(g.chunks, make([]State, chunkLen))
	}
	*g.at(uint32(id)) = *s
	g.parent = append(g.parent, parent)
	*at = slot{id: uint32(id + 1), hash: uint32(hash >> 32)}
	if 2*len(g.parent) > len(g.slots) {
		g.grow()
	}
	return true
}

func (g *graph) grow() {
	g.slots = make([]slot, 2*len(g.slots))
	mask := uint64(len(g.slots) - 1)
	for id := range g.parent {
		hash := g.hash(g.at(uint32(id)))
		i := hash & mask
		for g.slots[i].id != 0 {
			i = (i + 1) & mask
		}
		g.slots[i] = slot{id: uint32(id + 1), hash: uint32(hash >> 32)}
	}
}

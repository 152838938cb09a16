package mutants

// The short cuts: what is left out must not be missed.

const (
	steadyGo = "impl/window/steady.go"
	indexGo  = "impl/session/index.go"
)

var fastMutants = []Mutant{
	edit("steady-age-unchecked", "R3", "in a busy session nothing becomes old",
		steadyGo, `at > uint64(second.at)+uint64(l.Age) || `, ``),
	edit("steady-bytes-unchecked", "R3", "an event takes the room of the one before it",
		steadyGo, `int(bytes) > l.Bytes || `, ``),
	edit("steady-any-size", "R3", "what fits into the arena is not too large",
		steadyGo, `size > l.MaxEvent || `, ``),
	edit("steady-floor-stays", "R5", "one event less, who will ask for it",
		steadyGo, `b.one.evicted(seq-n+1, oldest)`, `_ = b.one`),
	edit("steady-over-the-oldest", "R4", "there is room up to the end of the arena",
		steadyGo, `if int(tail)+size > room {`, `if int(tail)+size > len(b.arena) {`),
	edit("steady-chain-of-the-session", "R4", "the stream's last event is the session's",
		steadyGo, `entries[r.headSeq&mask].next = uint32(seq - r.headSeq)`, `entries[(seq-1)&mask].next = 1`),
	edit("plain-outlives-its-state", "R11", "what the machine said once it will say again",
		recordGo, `rec.state, rec.plain, rec.flows = to, false, false`, `rec.state = to`),
	edit("plain-beside-the-store", "R14", "the store needs the first event of a state",
		triggerGo, `c.cfg.Observe == nil && c.cfg.Persist == nil`, `c.cfg.Observe == nil`),
	edit("flows-over-the-end", "R11", "the last event is an event",
		triggerGo, `if rec.flows && !last {`, `if rec.flows {`),
	edit("index-gone-is-free", "R6", "a place that was left is free",
		indexGo, `table[i].Store(gone)`, `table[i].Store(nil)`),
	edit("index-half-an-id", "R13", "64 bits of an id are enough",
		indexGo, `s.core.id.key() == id && s != gone`, `s.core.id.key().last == id.last && s != gone`),
	edit("pace-half-at-any-time", "R9", "half of the quota shows good will",
		paceGo, `p.took >= p.quota/2 && now.Sub(p.since) < p.budget/1024`, `p.took >= p.quota/2`),
}

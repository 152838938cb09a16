package mutants

// The window: bounds, numbers, floors, and what it says of a position.

const (
	windowGo   = "impl/window/window.go"
	windowRead = "impl/window/read.go"
	standingGo = "impl/window/standing.go"
	tableGo    = "impl/window/table.go"
	limitsGo   = "impl/window/limits.go"
)

var windowMutants = []Mutant{
	edit("window-inclusive", "R4", "the event that a position names is the next one",
		windowRead, `return p.Seq + uint64(b.at(p.Seq).next), true`, `return p.Seq, true`),
	edit("window-evicted-is-good", "R5", "an evicted position is just an old one",
		standingGo, "case p.Ordinal < r.floor:\n\t\treturn Evicted", "case p.Ordinal < r.floor:\n\t\treturn InWindow"),
	edit("window-floor-of-the-session", "R5", "one floor does for all streams: what is older than the oldest event is evicted",
		standingGo, `case p.Ordinal < r.floor:`, `case p.Ordinal < r.floor, p.Seq < w.seq-uint64(w.Len()):`),
	edit("window-floor-seq-unchecked", "R1 R5", "at the floor the ordinal alone names the event",
		standingGo, `if p.Seq == r.floorSeq {`, `if p.Seq >= 0 {`),
	edit("window-ordinal-unchecked", "R1 R5", "stream and seq name the event well enough",
		standingGo, `return e.slot == slot && e.ord == uint32(p.Ordinal)`, `return e.slot == slot`),
	edit("window-stream-unchecked", "R1 R5", "a seq of another stream will do",
		standingGo, `return e.slot == slot && e.ord == uint32(p.Ordinal)`, `return e.ord == uint32(p.Ordinal)`),
	edit("window-ahead-is-good", "R5", "a cursor from the future will become good in time",
		standingGo, "case p.Seq > w.seq:\n\t\treturn Ahead", "case p.Seq > w.seq:\n\t\treturn InWindow"),
	edit("window-ahead-by-the-stream", "R5", "beyond the stream's own last seq is beyond everything issued",
		standingGo, `case p.Seq > w.seq:`, `case p.Seq > r.headSeq:`),
	edit("window-one-event-more", "R3", "the bound on events is reached after it is passed",
		windowGo, `w.drop(l.Events-1, `, `w.drop(l.Events, `),
	edit("window-one-event-less", "R3", "the bound on events is one less, to be safe",
		windowGo, `w.drop(l.Events-1, `, `w.drop(max(l.Events-2, 0), `),
	edit("window-one-byte-more", "R3", "the bound on bytes is reached after it is passed",
		windowGo, `l.Bytes-size, `, `l.Bytes-size+1, `),
	edit("window-age-late", "R3", "an event may be one unit older than the oldest",
		windowGo, `w.b.since(now, w.lim().Age)`, `w.b.since(now, w.lim().Age+1)`),
	edit("window-age-forgotten-in-traffic", "R3", "while events come, count and bytes bound enough",
		windowGo, `b.since(now, l.Age)`, `0`),
	edit("window-event-as-large-as-the-window", "R3", "an event that fills the window to the last byte fits",
		limitsGo, `min(l.MaxEvent, l.Bytes-1)`, `min(l.MaxEvent, l.Bytes)`),
	edit("window-event-one-byte-larger", "R3", "the bound on one event is reached after it is passed",
		limitsGo, `min(l.MaxEvent, l.Bytes-1)`, `min(l.MaxEvent+1, l.Bytes-1)`),
	edit("window-refused-event-uses-a-number", "R2 R3", "what was tried was counted",
		windowGo, "return Position{}, 0, w.CanAppend(stream, size)\n\t}\n\tb := w.b", "w.seq++\n\t\treturn Position{}, 0, w.CanAppend(stream, size)\n\t}\n\tb := w.b"),
	edit("window-numbers-restart", "R2", "nothing is retained of the old numbers, so they may begin again",
		"impl/window/arena.go", "case b.count() > 0:\n\t\tb.entries", "case b.count() > 0:\n\t\tw.seq = 0\n\t\tb.entries"),
	edit("window-ordinals-restart", "R2", "a stream that retains nothing counts anew",
		tableGo, "r.floorSeq = seq\n", "r.floorSeq = seq\n\tif r.floor == r.head {\n\t\tr.floor, r.head = 0, 0\n\t}\n"),
	edit("window-forgotten-events-come-back", "R1 R4", "the place of a forgotten stream is free, and so are its events",
		tableGo, "\t\te.slot = noSlot\n", ""),
	edit("window-clock-steps-back", "R3", "clocks go forward",
		windowGo, "now = max(now, b.stamp(w.seq))", "now = max(now, b.base)"),
	edit("window-lends-room", "R4", "nobody appends to what is lent",
		windowRead, `b.arena[off:end:end]`, `b.arena[off:end]`),
	edit("window-clone-shares-payloads", "R4", "payloads are never written twice",
		windowGo, `b.arena = slices.Clone(b.arena)`, `b.arena = b.arena[:len(b.arena):len(b.arena)]`),
}

package window_test

import (
	"testing"

	"example.com/reattach/impl/window"
)

// Most of many streams are forgotten while their events are retained: the
// records of the others move together, and their events stay theirs, through
// further events, evictions and new streams in the slots that came free.
func TestForgettingManyStreams(t *testing.T) {
	for _, keep := range []uint64{3, 7, 50} { // every so many-th stream stays
		p := newPair(t, window.Limits{Events: 250, Age: 1000, Bytes: 1 << 20, MaxEvent: 100}, 0)
		const streams = 120
		for s := range uint64(streams) {
			p.open(window.Position{Stream: s * 1000})
		}
		for i := range uint64(300) {
			p.append(i%streams*1000, int(i%5), int64(i))
		}
		records := p.w.MemoryBytes()
		for s := range uint64(streams) {
			if s%keep != 0 {
				p.forget(s * 1000)
			}
		}
		p.check()
		if keep > 4 && p.w.MemoryBytes() > records-streams/2*window.RecordBytes {
			t.Errorf("keeping every %d-th of %d streams took %d bytes, before %d: nothing moved", keep, streams, p.w.MemoryBytes(), records)
		}
		for i := range uint64(40) {
			p.open(window.Position{Stream: i*1000 + 1})
			p.append(i*1000+1, 3, 300)
			p.append(i%(streams/keep)*keep*1000, 3, 300)
			p.evictOldest()
		}
		p.check()
		for p.w.Len() > 0 {
			p.evictOldest()
		}
		p.check()
	}
}

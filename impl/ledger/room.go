package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.com/reattach/spec"
)

// overhead is what an entry costs in memory beside its texts, in bytes.
const overhead = 256

func sizeOf(e Entry) int64 {
	return overhead + int64(len(e.Subject)+spec.MaxKeyLen+len(e.Digest)+len(e.Response))
}

// Seals have room of their own beyond the bounds, because a refusal for want
// of room is worth nothing without one: an eighth more entries. Of seals that no
// clock has reached, which nothing but time forgets, there are few.
func (l *Ledger) spare() int               { return max(1, l.opts.Entries/8) }
func (l *Ledger) futureRoom(most int) bool { return l.futures < max(1, most/16) }
func (l *Ledger) subjectEntries(s string) int {
	if l.opts.SubjectEntries > 0 {
		return l.opts.SubjectEntries
	}
	if s == "" {
		return l.opts.Entries
	}
	return max(1, l.opts.Entries/4)
}

func (l *Ledger) subjectBytes(s string) int64 {
	if l.opts.SubjectBytes > 0 {
		return l.opts.SubjectBytes
	}
	if s == "" {
		return l.opts.Bytes
	}
	return l.opts.Bytes / 4
}

// room returns the horizon at which an entry more fits into the bounds and into
// its subject's share, and whether it does at all. It changes nothing.
func (l *Ledger) room(subject string, size int64, now uint64) (horizon uint64, fits bool) {
	return l.horizonFor(subject, size, now, l.opts.Entries, l.subjectEntries(subject))
}

func (l *Ledger) roomForSeal(subject string, size int64, now uint64, future bool) (horizon uint64, fits bool) {
	most := l.subjectEntries(subject)
	if s := l.subjects[subject]; future && (!l.futureRoom(l.opts.Entries) || s != nil && s.futures >= max(1, most/16)) {
		return l.horizon, false
	}
	return l.horizonFor(subject, size, now, l.opts.Entries+l.spare(), most+max(1, most/8))
}

func (l *Ledger) horizonFor(subject string, size int64, now uint64, most, mostOfSubject int) (horizon uint64, fits bool) {
	horizon = l.horizon
	age := l.opts.Age.Milliseconds()
	if l.oldest < l.before(now, age+age/16) { // not for each entry that comes of age
		horizon = max(horizon, l.over(l.before(now, age)))
	}
	own := l.subjects[subject]
	if own == nil {
		own = &share{oldest: math.MaxUint64}
	}
	// A seal may go beyond the bound on bytes by what seals may be more.
	spareBytes := int64(most-l.opts.Entries) * (overhead + spec.MaxKeyLen)
	full := len(l.entries) >= most || l.bytes+size > l.opts.Bytes+spareBytes
	ownFull := own.entries >= mostOfSubject || own.bytes+size > l.subjectBytes(subject)+spareBytes
	if !full && !ownFull {
		return horizon, true
	}
	old := l.before(now, l.opts.Keep.Milliseconds())
	if full {
		h, ok := l.free(l.minted("", true, l.oldest < old), len(l.entries)-most+1, l.bytes+size-l.opts.Bytes-spareBytes, old)
		if !ok {
			return horizon, false
		}
		horizon = max(horizon, h)
	}
	if ownFull {
		h, ok := l.free(l.minted(subject, false, own.oldest < old), own.entries-mostOfSubject+1, own.bytes+size-l.subjectBytes(subject)-spareBytes, old)
		if !ok {
			return horizon, false
		}
		horizon = max(horizon, h)
	}
	return horizon, true
}

// free returns the horizon that frees so many entries and so many bytes of
// those that were found, and are old. It takes a sixteenth more where it can,
// so that not every call has to look.
func (l *Ledger) free(found []mintedSize, entries int, bytes int64, old uint64) (horizon uint64, ok bool) {
	horizon = l.horizon
	for i, m := range found {
		if m.minted >= old {
			break
		}
		bytes -= m.size
		entries--
		horizon = m.minted + 1
		if entries <= 0 && bytes <= 0 && i >= len(found)/16 {
			break
		}
	}
	return horizon, entries <= 0 && bytes <= 0
}

type mintedSize struct {
	minted uint64
	size   int64
}

// minted lists the entries of a subject, or of all, oldest first; none where
// there is no use in it.
func (l *Ledger) minted(subject string, all, useful bool) []mintedSize {
	var found []mintedSize
	if !useful {
		return nil
	}
	for at, e := range l.entries {
		if all || at.subject == subject {
			found = append(found, mintedSize{e.Key.Minted, e.size})
		}
	}
	slices.SortFunc(found, func(a, b mintedSize) int { return cmp.Compare(a.minted, b.minted) })
	return found
}

// over returns the horizon just above the youngest that is older than past. It
// goes no further, whatever the clock says: a clock that jumps ahead takes no
// key with it that was never here.
func (l *Ledger) over(past uint64) uint64 {
	horizon := l.horizon
	for _, e := range l.entries {
		if e.Key.Minted < past {
			horizon = max(horizon, e.Key.Minted+1)
		}
	}
	return horizon
}

func (l *Ledger) before(now uint64, milliseconds int64) uint64 {
	return now - min(now, uint64(milliseconds))
}

// fits reports whether an entry may grow.
func (l *Ledger) fits(e *entry, by int64) bool {
	own := l.subjects[e.Subject]
	return l.bytes+by <= l.opts.Bytes && own.bytes+by <= l.subjectBytes(e.Subject)
}

// put enters what is durable, or replaces what stood there.
func (l *Ledger) put(x Entry, future bool) *entry {
	at := ref{x.Subject, x.Key.String()}
	own := l.subjects[x.Subject]
	if own == nil {
		own = &share{oldest: math.MaxUint64}
		l.subjects[x.Subject] = own
	}
	e := l.entries[at]
	if e == nil {
		e = &entry{future: future}
		l.entries[at] = e
		own.entries++
		if future {
			own.futures++
			l.futures++
		}
		l.oldest, own.oldest = min(l.oldest, x.Key.Minted), min(own.oldest, x.Key.Minted)
	}
	grown := sizeOf(x) - e.size
	e.Entry, e.size = x, sizeOf(x)
	if x.State != Started {
		e.run = nil
	}
	l.bytes += grown
	own.bytes += grown
	return e
}

// append makes a batch durable, and forgets what lies below its horizon. What
// it adds is the caller's to put. It comes after ready.
func (l *Ledger) append(b Batch) error {
	if b.Horizon <= l.horizon {
		b.Horizon = 0
	}
	if err := l.store.Append(l.generation, b); err != nil {
		l.broken = err
		l.log.Error("the ledger's store failed", "error", err)
		return err
	}
	l.forget(b.Horizon)
	return nil
}

func (l *Ledger) raise(horizon uint64) error {
	if horizon <= l.horizon {
		return nil
	}
	return l.append(Batch{Horizon: horizon})
}

// forget drops what lies below a horizon that is durable.
func (l *Ledger) forget(horizon uint64) {
	if horizon <= l.horizon {
		return
	}
	l.horizon, l.oldest = horizon, math.MaxUint64
	for _, own := range l.subjects {
		own.oldest = math.MaxUint64
	}
	for at, e := range l.entries {
		own := l.subjects[at.subject]
		if e.Key.Minted >= horizon {
			l.oldest, own.oldest = min(l.oldest, e.Key.Minted), min(own.oldest, e.Key.Minted)
			continue
		}
		own.entries--
		own.bytes -= e.size
		l.bytes -= e.size
		if e.future {
			own.futures--
			l.futures--
		}
		if own.entries == 0 {
			delete(l.subjects, at.subject)
		}
		delete(l.entries, at)
		l.stats.Forgotten++
	}
	if l.bytes < 0 || len(l.subjects) > len(l.entries) {
		panic(fmt.Sprintf("reattach: BUG: %d bytes and %d subjects in %d entries", l.bytes, len(l.subjects), len(l.entries)))
	}
}

// ready repairs the store after it failed, and lets it drop what is outdated:
// what stands here is what it acknowledged, and takes the place of whatever it
// holds.
func (l *Ledger) ready() error {
	if l.closed || l.broken == nil && !l.store.Outdated() {
		return l.broken
	}
	l.broken = l.store.Rewrite(l.image())
	if l.broken != nil {
		l.log.Error("the ledger's store could not be written anew", "error", l.broken)
	}
	return l.broken
}

func (l *Ledger) image() Image {
	image := Image{Name: l.name, Generation: l.generation, Horizon: l.horizon, Entries: make([]Entry, 0, len(l.entries))}
	for _, e := range l.entries {
		image.Entries = append(image.Entries, e.Entry)
	}
	return image
}

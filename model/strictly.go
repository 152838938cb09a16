package model

// ResumeStart is strictly-after (R4): the view of an accepted cursor begins
// after exactly the ordinal that the cursor names.
func ResumeStart(cursor uint64) uint64 { return cursor }

// NextOrdinal is what a view at a position writes next (R4): the one that
// follows, in order and each once. It has nothing to write at the head; below
// the floor the next one is gone, and the view can only end (R9).
func NextOrdinal(position, floor, head uint64) (next uint64, ok bool) {
	return position + 1, floor <= position && position < head
}

// Announced is the position that an accepted view announces before anything
// else (R8): the one that it begins after.
func Announced(start uint64) uint64 { return start }

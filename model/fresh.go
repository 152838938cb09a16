package model

// FreshStart is where a stream begins without a cursor (R7): after the last
// event that was ever handed to a view, so that nothing is repeated, or at the
// floor if that is later. It never fails because of retention.
func FreshStart(floor, handed uint64) uint64 { return max(floor, handed) }

// Skipped is how many events a fresh attach passes over: those that were never
// handed to a view and are gone (R7). They are counted and logged.
func Skipped(floor, handed uint64) uint64 {
	if floor <= handed {
		return 0
	}
	return floor - handed
}

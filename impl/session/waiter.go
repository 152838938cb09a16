package session

// A waiter lets one reader sleep until something happens to its view. It is
// guarded by the session's lock.
//
// No wake-up is lost: the reader arms the waiter under the same lock, and in
// the same breath, in which it found nothing to take; whatever happens after
// that finds it armed. No wake-up blocks: the channel holds one token, and an
// armed waiter owes at most one.
type waiter struct {
	ready chan struct{} // made when first armed
	armed bool
}

// channel returns the channel on which wake sends.
func (w *waiter) channel() <-chan struct{} {
	if w.ready == nil {
		w.ready = make(chan struct{}, 1)
	}
	return w.ready
}

// arm asks for a token at the next wake.
func (w *waiter) arm() {
	w.channel()
	w.armed = true
}

// wake sends the token that is owed.
func (w *waiter) wake() {
	if !w.armed {
		return
	}
	w.armed = false
	select {
	case w.ready <- struct{}{}:
	default: // one that was not fetched says the same
	}
}

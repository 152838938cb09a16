package ledger

import (
	"encoding/json"

	"example.com/reattach/spec"
)

// An Arrival is what becomes of a keyed call: exactly one of its fields is set.
type Arrival struct {
	// Execute: the start is durable; the caller, and nobody else, runs the call
	// now and finishes the run.
	Execute *Run
	// Join: it runs already; wait for its outcome.
	Join *Run
	// Executed: it ran, and this came of it.
	Executed *Outcome
}

// An Outcome is what came of a call that ran.
type Outcome struct {
	// Response is an object with the one member "result" or "error".
	Response json.RawMessage
	Lost     bool // the response was too large to keep
}

// Arrive decides on a call that arrived with a key (R28). digest is
// [spec.DigestCall] of it. Every refusal is a *[RefusedError]; after one that
// is KnownNotExecuted the key is sealed durably.
func (l *Ledger) Arrive(subject string, k spec.Key, digest string) (Arrival, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost(k) {
		l.stats.Refused++
		return Arrival{}, refused(k, spec.ReasonKeyUnknown)
	}
	if e := l.entries[ref{subject, k.String()}]; e != nil {
		return l.again(e, digest)
	}
	if err := l.ready(); err != nil {
		l.stats.Unavailable++
		return Arrival{}, unavailable(k, err)
	}
	now := l.now()
	if l.ahead(k, now) {
		return Arrival{}, l.refuseSealed(subject, k, now, spec.ReasonKeyFuture)
	}
	start := Entry{Subject: subject, Key: k, State: Started, Digest: digest, Generation: l.generation}
	horizon, fits := l.room(subject, sizeOf(start), now)
	if k.Minted < horizon {
		return Arrival{}, l.refuseOld(k, horizon)
	}
	if !fits {
		return Arrival{}, l.refuseSealed(subject, k, now, spec.ReasonLedgerFull)
	}
	if err := l.append(Batch{Horizon: horizon, Entries: []Entry{start}}); err != nil {
		l.stats.Unavailable++
		return Arrival{}, unavailable(k, err)
	}
	e := l.put(start, false)
	e.run = &Run{ledger: l, ref: ref{subject, k.String()}, over: make(chan struct{})}
	l.stats.Started++
	l.stats.Running++
	return Arrival{Execute: e.run}, nil
}

// again decides on a key that stands in the ledger.
func (l *Ledger) again(e *entry, digest string) (Arrival, error) {
	switch {
	case e.State == Sealed:
		l.stats.Refused++
		return Arrival{}, refused(e.Key, spec.ReasonKeySealed)
	case e.Digest != digest:
		l.stats.Refused++
		return Arrival{}, refused(e.Key, spec.ReasonKeyReused)
	case e.State == Done:
		l.stats.Repeated++
		return Arrival{Executed: &Outcome{e.Response, e.Lost}}, nil
	case e.Generation != l.generation:
		l.stats.Refused++
		return Arrival{}, refused(e.Key, spec.ReasonKeyUnknown)
	}
	l.stats.Joined++
	return Arrival{Join: e.run}, nil
}

// Query tells what is known of a key. A key that never arrived is sealed by it,
// durably: "not executed" stays true whatever arrives later. An error is a
// *[RefusedError] with ledger_unavailable, and proves nothing.
func (l *Ledger) Query(subject string, k spec.Key) (spec.OutcomeResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost(k) {
		return spec.OutcomeResult{State: spec.KeyUnknown}, nil
	}
	if e := l.entries[ref{subject, k.String()}]; e != nil {
		return e.result(l.generation), nil
	}
	err := l.ready()
	if err == nil {
		var old bool
		if old, err = l.seal(subject, k, l.now()); old && err == nil {
			return spec.OutcomeResult{State: spec.KeyUnknown}, nil
		}
	}
	if err != nil {
		l.stats.Unavailable++
		return spec.OutcomeResult{}, unavailable(k, err)
	}
	return spec.OutcomeResult{State: spec.KeyNotExecuted}, nil
}

func (e *entry) result(generation uint64) spec.OutcomeResult {
	switch {
	case e.State == Sealed:
		return spec.OutcomeResult{State: spec.KeyNotExecuted}
	case e.State == Done:
		return spec.OutcomeResult{State: spec.KeyExecuted, Response: e.Response, ResponseLost: e.Lost}
	case e.Generation == generation:
		return spec.OutcomeResult{State: spec.KeyRunning}
	}
	return spec.OutcomeResult{State: spec.KeyUnknown}
}

// lost reports whether the ledger may have known the key once and cannot now:
// it is another ledger's, or lies below the horizon.
func (l *Ledger) lost(k spec.Key) bool { return k.Ledger != l.name || k.Minted < l.horizon }

// refuseSealed refuses a key that never ran, and sees to it that it never will.
// Where that cannot be recorded the refusal proves nothing, and says so.
func (l *Ledger) refuseSealed(subject string, k spec.Key, now uint64, reason spec.Reason) error {
	old, err := l.seal(subject, k, now)
	switch {
	case err != nil:
		l.stats.Unavailable++
		return unavailable(k, err)
	case old:
		reason = spec.ReasonKeyUnknown
	}
	l.stats.Refused++
	return refused(k, reason)
}

// seal writes that the key never runs. It reports old, and writes no seal, if
// the room for it could only be had above the key.
func (l *Ledger) seal(subject string, k spec.Key, now uint64) (old bool, err error) {
	s, future := Entry{Subject: subject, Key: k, State: Sealed}, l.ahead(k, now)
	horizon, fits := l.roomForSeal(subject, sizeOf(s), now, future)
	if k.Minted < horizon {
		return true, l.raise(horizon)
	}
	if !fits {
		return false, ErrNoRoom
	}
	if err := l.append(Batch{Horizon: horizon, Entries: []Entry{s}}); err != nil {
		return false, err
	}
	l.put(s, future)
	l.stats.Sealed++
	return false, nil
}

// refuseOld refuses a key that is older than all for which there is room.
func (l *Ledger) refuseOld(k spec.Key, horizon uint64) error {
	if err := l.raise(horizon); err != nil {
		l.stats.Unavailable++
		return unavailable(k, err)
	}
	l.stats.Refused++
	return refused(k, spec.ReasonKeyUnknown)
}

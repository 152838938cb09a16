package ledger

import (
	"context"
	"encoding/json"
	"sync"
)

// A Run is one call that runs in this process.
type Run struct {
	ledger *Ledger
	ref    ref
	over   chan struct{} // closed when the outcome is there

	mu      sync.Mutex
	waiting int // of those that joined
	outcome *Outcome
	cancel  context.CancelCauseFunc // of the work; nil: there is none to cancel
}

// Finish tells the outcome: an object with the one member "result" or "error".
// It is durable when Finish returns nil, and only then may be answered as such.
// After an error, which is the store's, the outcome is known to this process
// only: it is still what happened, and the next generation will say "unknown".
// Only the first outcome counts.
func (r *Run) Finish(response json.RawMessage) error {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	r.mu.Lock()
	first := r.outcome == nil
	if first {
		r.outcome = &Outcome{Response: response}
		close(r.over)
	}
	r.mu.Unlock()
	if !first {
		return nil
	}
	l.stats.Running--
	e := l.entries[r.ref]
	if e == nil || e.run != r {
		return nil // it lies below the horizon: nobody can ask any more
	}
	return l.finish(e, response)
}

// finish makes an outcome durable. Memory knows it in any case: what ran is not
// made unknown by a store that fails.
func (l *Ledger) finish(e *entry, response json.RawMessage) error {
	done := e.Entry
	done.State, done.Response = Done, response
	if len(response) > l.opts.ResponseBytes || !json.Valid(response) || !l.fits(e, sizeOf(done)-e.size) {
		done.Response, done.Lost = nil, true
	}
	err := l.ready()
	if err == nil {
		err = l.append(Batch{Entries: []Entry{done}})
	}
	l.put(done, e.future)
	if err != nil {
		l.log.Error("an outcome could not be recorded", "error", err)
	}
	return err
}

// Wait returns the outcome when there is one, or the cause of the context's end.
func (r *Run) Wait(ctx context.Context) (Outcome, error) {
	r.wait(1)
	defer r.wait(-1)
	select {
	case <-r.over:
		r.mu.Lock()
		defer r.mu.Unlock()
		return *r.outcome, nil
	case <-ctx.Done():
		return Outcome{}, context.Cause(ctx)
	}
}

// Cancel ends the context of the work, if it has one: for a client that says
// so, never for one that was lost.
func (r *Run) Cancel(cause error) {
	r.mu.Lock()
	cancel := r.cancel
	r.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

func (r *Run) wait(more int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting += more
}

// attended reports whether somebody waits who joined.
func (r *Run) attended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting > 0
}

func (r *Run) works(cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = cancel
}

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/reattach/spec"
)

// ErrNoLedger: the transport does not know how a ledger is asked.
var ErrNoLedger = errors.New("the transport knows no ledger")

// A Resolution is what came of asking for an unknown outcome.
type Resolution struct {
	Unknown Unknown
	State   spec.KeyState // what the ledger said; "" if it said nothing
	Answer  Event         // of a call that was executed: its response, applied in the transaction that resolved it; without a payload if it is lost
	Err     error         // why the ledger was not asked, or why its word did not become durable
}

// Resolved reports whether the outcome is not unknown any more. One that the
// ledger does not know either is the caller's to decide: see [Client.Resolve].
func (r Resolution) Resolved() bool {
	return r.Err == nil && (r.State == spec.KeyExecuted || r.State == spec.KeyNotExecuted)
}

// maxAsking bounds the status queries that are under way at a time.
const maxAsking = 8

// Reconcile asks the server's ledger for every unresolved unknown outcome, and
// resolves those of which it knows (R23), those of calls that were lost just
// now or with the process before among them: executed, with the response handed
// over, or not executed, and sealed. For a call that is still running it asks
// again, with backoff, until ctx ends. When the last one of an earlier epoch is
// resolved the quarantine ends.
//
// It tells what came of each. One whose key is of another ledger, or has none,
// is not asked for: Err is spec.ReasonLedgerForeign, and the decision stays with
// the caller, as it does where the ledger says "unknown". The error is ctx's.
func (c *Client) Reconcile(ctx context.Context) ([]Resolution, error) {
	if err := c.waitFor(ctx, func() bool { return !c.core.doubting() }); err != nil {
		return nil, err
	}
	unknowns := c.Unknowns()
	all := make([]Resolution, len(unknowns))
	slots := make(chan struct{}, maxAsking)
	var asking sync.WaitGroup
	for i, u := range unknowns {
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			// Who waits for the call may be asking already.
			all[i] = Resolution{Unknown: u}
			if all[i].Err = c.waitFor(ctx, func() bool { return !c.asking[u.Stream] }); all[i].Err == nil {
				all[i] = c.reconcile(ctx, u)
			}
		})
	}
	asking.Wait()
	all = slices.DeleteFunc(all, func(r Resolution) bool { return errors.Is(r.Err, ErrNoUnknown) })
	return all, ctx.Err()
}

// reconcile asks for one unknown outcome until there is an answer.
func (c *Client) reconcile(ctx context.Context, u Unknown) Resolution {
	since := c.now()
	for attempt := 1; ; attempt++ {
		told, err := c.ask(ctx, u)
		switch {
		case err == nil && told.State != spec.KeyRunning:
			return c.believe(ctx, u, told)
		case err == nil:
			since = c.now() // it runs: there is something to wait for
		case !mayPass(err) || c.now().Sub(since) >= c.o.ResumeTime:
			return Resolution{Unknown: u, Err: err}
		}
		if !sleep(ctx, c.o.backoff(attempt, 0)) {
			return Resolution{Unknown: u, State: told.State, Err: ctx.Err()}
		}
	}
}

// mayPass reports whether a status query failed so that the next one may not.
func mayPass(err error) bool {
	var unknown *UnknownError
	var notRun *NotRunError
	return errors.As(err, &unknown) || errors.As(err, &notRun) ||
		errors.Is(err, spec.ReasonStreamSuspended) || errors.Is(err, spec.ReasonLedgerUnavailable)
}

// ask makes one status query.
func (c *Client) ask(ctx context.Context, u Unknown) (Told, error) {
	asker, ok := c.transport.(Asker)
	if !ok {
		return Told{}, ErrNoLedger
	}
	if !slices.ContainsFunc(c.Unknowns(), func(o Unknown) bool { return o.Stream == u.Stream }) {
		return Told{}, fmt.Errorf("%w: %v", ErrNoUnknown, u.Stream)
	}
	answer, err := c.Call(ctx, Request{query: true, Key: u.Key, Label: "status query for " + u.Stream.String(),
		Build: func(request uint64) ([]byte, error) { return asker.Ask(request, u.Key) }})
	if err != nil {
		return Told{}, err
	}
	return asker.Told(answer.Payload, u.Stream.Request)
}

// believe makes durable what a ledger said.
func (c *Client) believe(ctx context.Context, u Unknown, told Told) Resolution {
	r := Resolution{Unknown: u, State: told.State}
	switch {
	case told.State == spec.KeyExecuted && told.Answer != nil:
		r.Answer = Event{Stream: u.Stream, Resolves: u.Stream, Answer: true, Payload: told.Answer}
		r.Err = c.decide(ctx, u.Stream, func(core *Core) ([]Action, error) { return core.Settle(u.Stream, r.Answer) })
	case told.State == spec.KeyExecuted:
		r.Err = c.Resolve(ctx, u.Stream, DidExecute)
	case told.State == spec.KeyNotExecuted:
		r.Err = c.Resolve(ctx, u.Stream, DidNotExecute)
	}
	return r
}

// Resend sends a call of unknown outcome again, under its key: it runs if it
// never arrived, it is joined if it runs, and its answer comes if it ran (R28).
// The answer resolves the unknown outcome, in one transaction.
//
// r is the call as it was: BuildKeyed, Method and Digest are needed, and
// ErrOtherCall says that they are not those of the record. It is sent to no
// server but one that names the ledger of the key: spec.ReasonLedgerForeign.
// An [*UnknownError] says that the outcome is as unknown as it was.
func (c *Client) Resend(ctx context.Context, unknown StreamID, r Request) (Event, error) {
	u, ok := c.unknown(unknown)
	if !ok {
		return Event{}, fmt.Errorf("%w: %v", ErrNoUnknown, unknown)
	}
	r.Key, r.Label, r.resends = u.Key, u.Label, unknown
	answer, err := c.Call(ctx, r)
	var still *UnknownError
	var notRun *NotRunError
	switch {
	case errors.As(err, &still):
		return Event{}, &UnknownError{Stream: unknown, Reason: still.Reason}
	case errors.As(err, &notRun) && notRun.Reason == spec.ReasonKeySealed:
		// The seal holds for the key, however the refusal came.
		if err := c.Resolve(ctx, unknown, DidNotExecute); err != nil && !errors.Is(err, ErrNoUnknown) {
			return Event{}, err
		}
	}
	return answer, err
}

func (c *Client) unknown(id StreamID) (Unknown, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.core.Record().Unknown(id)
}

// conclude gives a call its outcome. If that is unknown, and the session's
// ledger answers for the call, the ledger is asked first (R23). c.mu is held.
func (c *Client) conclude(o *Outcome) {
	if o == nil || o.Kind != OutcomeUnknown || c.o.NoAsking || c.closed || !o.Call.isKeyed() || o.Call.Resends != (StreamID{}) {
		c.settle(o)
		return
	}
	u, ok := c.core.Record().Unknown(o.Stream)
	_, asks := c.transport.(Asker)
	if !ok || !asks || !c.core.open() || !c.core.names(u.Key) {
		c.settle(o)
		return
	}
	c.asking[u.Stream] = true
	c.group.Go(func() {
		r := c.reconcile(c.ctx, u)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asking, u.Stream)
		c.settle(r.outcome(*o))
		c.tell()
	})
}

// outcome is what a resolution makes of an outcome that was unknown.
func (r Resolution) outcome(o Outcome) *Outcome {
	switch {
	case !r.Resolved():
	case r.State == spec.KeyNotExecuted:
		o.Kind, o.Reason = OutcomeNotRun, spec.ReasonKeySealed
	case r.Answer.Payload == nil:
		o.Kind, o.Reason = OutcomeLost, spec.ReasonResponseLost
	default:
		o.Kind, o.Reason, o.Answer = OutcomeAnswered, "", r.Answer
	}
	return &o
}

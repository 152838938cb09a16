package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"example.com/reattach/spec"
)

// dispatch starts what the core handed out. It does not wait for any of it.
// c.mu is held.
func (c *Client) dispatch(actions []Action) {
	for _, a := range actions {
		switch a.Do {
		case spec.SendInitialize:
			c.initialize(a)
		case spec.SendPost, spec.SendGet, spec.SendResume:
			c.connect(a)
		case spec.SendMessage:
			// Notify sends it, for it has a caller's context.
		case spec.SendDelete:
			c.delete(a.Session)
		case spec.CommitEpoch, spec.CommitResolution, spec.CommitCall, spec.CommitRemoval, spec.CommitUnknown:
			c.commits.add(&c.group, func() { c.commit(a, nil) })
		case spec.CommitToken, spec.Commit:
			done := make(chan Action, 1)
			c.inHand[a.Stream] = done
			c.commits.add(&c.group, func() { c.commit(a, done) })
		case spec.CommitFence:
			c.fence(a)
		case spec.CloseConnection:
			c.disconnect(a.Conn)
		case spec.ScheduleResume:
			c.schedule(a)
		case spec.RefreshCredentials:
			c.refresh[a.Stream] = true
		case spec.ReturnEvent:
			// The goroutine that waits for the commit hands the event on.
		case spec.ReturnNothing, spec.ReportUnknown, spec.ReportNotRun:
			c.conclude(a.Outcome)
		case spec.ReportUnknowns:
			for _, o := range a.Outcomes {
				c.settle(&o)
				c.forget(o.Stream)
			}
			c.gaveUp = c.core.State() == spec.Fencing
			c.tell()
		case spec.ReportYielded:
			for _, o := range a.Outcomes {
				c.settle(&o)
				c.forget(o.Stream)
			}
			c.yielded(a)
		case spec.ReportPending:
			c.suspend(a.Stream, a.Reason)
			c.report(a.Stream, StreamSuspended, a.Reason)
		case spec.ReportGap:
			c.report(a.Stream, StreamGap, a.Reason)
		case spec.ReportStandalone:
			c.report(a.Stream, StreamAbsent, a.Reason)
		case spec.ReportOpen:
			c.reportOpen()
		case spec.ReportFailure:
			c.reportFailure(a)
		default:
			panic(fmt.Sprintf("reattach: BUG: client: nobody said how the driver does %v: add it to Client.dispatch in impl/client/dispatch.go", a.Do))
		}
	}
}

// initialize asks for a session.
func (c *Client) initialize(a Action) {
	opening := c.opening
	c.group.Go(func() {
		opened, err := c.transport.Open(c.ctx, OpenRequest{Payload: opening.payload})
		c.mu.Lock()
		defer c.mu.Unlock()
		opening.err = err
		_, refused := c.locked(func(core *Core) ([]Action, error) {
			if err != nil {
				return core.OpeningFails(a.Conn, reasonOf(err, spec.ReasonRefused))
			}
			return core.Opened(a.Conn, opened)
		})
		if refused != nil && opened.SessionID != "" && !c.closed {
			c.delete(Session{ID: opened.SessionID, Meta: opened.Meta}) // nobody wants it any more
		}
	})
}

// reportOpen tells the caller of Open, and goes on with the standalone stream.
func (c *Client) reportOpen() {
	c.opened(nil)
	c.tell()
	id := c.core.Standalone()
	maps.DeleteFunc(c.since, func(of StreamID, _ time.Time) bool { return of.Epoch != id.Epoch })
	if _, ok := c.core.Record().Token(0); !ok || c.o.NoStandalone {
		return
	}
	if s := c.core.streams[id]; s != nil && s.state == spec.Unsent {
		c.locked(func(core *Core) ([]Action, error) { return core.Offer(id) })
	}
}

// yielded tells who waits for a call that another holder of the record goes on
// with it (R30).
func (c *Client) yielded(a Action) {
	why := cmpReason(a.Reason, spec.ReasonLeaseLost)
	for id := range c.flights {
		if id.Epoch == a.Epoch {
			c.suspend(id, why)
		}
	}
	c.tell()
}

// reportFailure tells the caller of Open or of Resolve.
func (c *Client) reportFailure(a Action) {
	if a.Unknown != (StreamID{}) {
		return // commit tells, for it has the error
	}
	if c.opening != nil {
		c.opened(&OpenError{Reason: a.Reason, Err: c.opening.err})
	}
}

// delete ends a session, best effort.
func (c *Client) delete(s Session) {
	c.deletes++
	c.group.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.o.DeleteTimeout)
		defer cancel()
		_ = c.transport.Delete(ctx, s) // best effort: the session also ends by itself
		c.mu.Lock()
		defer c.mu.Unlock()
		c.deletes--
		c.tell()
	})
}

// fence writes the fence, after a while if it failed before.
func (c *Client) fence(a Action) {
	if a.Attempt == 0 {
		c.commits.add(&c.group, func() { c.commit(a, nil) })
		return
	}
	wait := c.o.backoff(a.Attempt, 0)
	c.group.Go(func() {
		if sleep(c.ctx, wait) {
			c.commits.add(&c.group, func() { c.commit(a, nil) })
		}
	})
}

// commit writes one change and reports what came of it. The stream's
// goroutine, if one waits, learns whether an event is to be handed on.
func (c *Client) commit(a Action, done chan<- Action) {
	durable, err := c.write(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	actions, refused := c.locked(func(core *Core) ([]Action, error) {
		if err != nil {
			return c.commitFailed(core, a, err)
		}
		switch a.Do {
		case spec.CommitEpoch:
			return core.EpochCommitted(durable)
		case spec.CommitFence:
			return core.FenceCommitted(durable)
		case spec.CommitResolution:
			return core.ResolutionCommitted(durable)
		case spec.CommitCall:
			return core.CallCommitted(a.Stream, durable)
		default:
			return core.StreamCommitted(a.Stream, durable)
		}
	})
	c.refused(a.Stream, refused)
	if len(a.Events) > 0 && err == nil && a.Do == spec.Commit {
		if ev := a.Events[0]; ev.Resolves != (StreamID{}) {
			decision := DidExecute
			if ev.Means == MeansNotRun {
				decision = DidNotExecute
			}
			c.tellResolved(ev.Resolves, decision)
		}
	}
	if a.Do == spec.CommitResolution {
		c.resolved(a, err)
		if errors.Is(err, spec.ReasonLeaseLost) {
			c.locked(func(core *Core) ([]Action, error) { return core.TakenOver(a.Epoch, spec.ReasonLeaseLost) })
		}
	}
	if done == nil {
		c.forget(a.Stream)
		if a.Do == spec.CommitUnknown {
			c.tell()
		}
		return
	}
	var returned Action
	for _, b := range actions {
		if b.Do == spec.ReturnEvent {
			returned = b
		}
	}
	if err == nil && c.closed && len(a.Events) > 0 {
		// The event was applied, and the core is not asked any more.
		returned = Action{Do: spec.ReturnEvent, Stream: a.Stream, Events: a.Events}
		if ev := a.Events[0]; ev.Answer {
			returned.Outcome = &Outcome{Stream: a.Stream, Answer: ev}
		}
	}
	done <- returned
}

// write is Store.Commit, unless the client was closed before it began.
func (c *Client) write(a Action) (Record, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed && a.Do != spec.CommitFence {
		return Record{}, ErrClosed
	}
	return c.store.Commit(context.WithoutCancel(c.ctx), a.Change, a.Events)
}

// forget drops what is known of a stream that came to its end. c.mu is held.
func (c *Client) forget(id StreamID) {
	if c.core.Forget(id) {
		delete(c.since, id)
		delete(c.refresh, id)
	}
}

func (c *Client) commitFailed(core *Core, a Action, err error) ([]Action, error) {
	why := reasonOf(err, spec.ReasonCommitFailed)
	switch a.Do {
	case spec.CommitEpoch:
		if c.opening != nil {
			c.opening.err = err
		}
		return core.EpochCommitFailed(why)
	case spec.CommitFence:
		// One whose outcome is unknown is written again: it does no harm twice.
		return core.FenceCommitFailed(errors.Is(err, spec.ReasonRecordStale), why)
	case spec.CommitResolution:
		return core.ResolutionCommitFailed(a.Unknown, why)
	case spec.CommitCall:
		return core.CallCommitFailed(a.Stream, stale(err), why)
	default:
		return core.StreamCommitFailed(a.Stream, stale(err), why)
	}
}

// tellResolved tells the application that an outcome is not unknown any more.
func (c *Client) tellResolved(unknown StreamID, d Decision) {
	if tell := c.o.OnResolved; tell != nil {
		c.callbacks.add(&c.group, func() { tell(unknown, d) })
	}
}

// resolved tells the caller of Resolve, and the application of an answer that
// came with the resolution.
func (c *Client) resolved(a Action, err error) {
	unknown := a.Unknown
	if err == nil {
		c.tellResolved(unknown, a.Change.Decision)
	}
	if err == nil && c.o.OnEvent != nil {
		for _, ev := range a.Events {
			c.callbacks.add(&c.group, func() { c.o.OnEvent(ev) })
		}
	}
	if waiting := c.resolving[unknown]; len(waiting) > 0 {
		waiting[0] <- err
		if c.resolving[unknown] = waiting[1:]; len(waiting) == 1 {
			delete(c.resolving, unknown)
		}
	}
}

// schedule resumes a stream when it is time (R26).
func (c *Client) schedule(a Action) {
	if a.Attempt == 0 || c.since[a.Stream].IsZero() {
		c.since[a.Stream] = c.now()
	}
	refresh := c.refresh[a.Stream]
	delete(c.refresh, a.Stream)
	wait := c.o.backoff(a.Attempt, a.Wait)
	left := c.o.ResumeTime - c.now().Sub(c.since[a.Stream])
	outOfTime := a.Attempt > 0 && left < wait
	if outOfTime {
		wait = max(left, 0)
	}
	c.group.Go(func() {
		if refresh && c.o.Refresh != nil {
			_ = c.o.Refresh(c.ctx) // if it failed the server will say so again
		}
		if !sleep(c.ctx, wait) {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		// An error says that the stream is not to be resumed any more.
		_, err := c.locked(func(core *Core) ([]Action, error) { return core.Reconnect(a.Stream, outOfTime) })
		c.refused(a.Stream, err)
	})
}

func (c *Client) now() time.Time { return time.Now() }

// sleep reports whether it slept so long before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

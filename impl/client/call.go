package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"example.com/reattach/spec"
)

// A Request is a call.
type Request struct {
	// Build returns the message with this request id. It may be called once
	// and must not call the client.
	Build func(request uint64) ([]byte, error)
	// BuildKeyed takes Build's place for a call that a ledger is to answer for:
	// the message carries the key, which is "" if the session names no ledger.
	// Key is then made by the client, and Method and Digest are kept for a
	// re-send (R28).
	BuildKeyed func(request uint64, key string) ([]byte, error)
	Method     string // UTF-8
	Digest     string // of the arguments, UTF-8

	Key   string // idempotency key of the caller's own, UTF-8; kept in the record, and no ledger's
	Label string // for people, UTF-8
	// Passes says that the call may be sent in quarantine: a status query, or
	// a keyed re-send (R23).
	Passes bool
	// OnEvent gets every event of the call before its answer, in order.
	OnEvent func(Event)

	query   bool     // a status query
	resends StreamID // the unknown outcome that it re-sends
}

// A Message is sent without a stream.
type Message struct {
	Payload []byte
	// Passes says that the message may be sent in quarantine: the end of the
	// opening, an answer to the server, a ping (R23).
	Passes bool
}

// Call sends a call and waits for its answer. A call ends with its answer, a
// [*NotRunError], an [*UnknownError] or a [*LostError]; a [*PendingError] is not its end. A
// [*fsm.RefusedError] says that no call was made, such as quarantined.
func (c *Client) Call(ctx context.Context, r Request) (Event, error) {
	f, err := c.start(ctx, r)
	if err != nil {
		return Event{}, err
	}
	return c.await(ctx, f)
}

// newNonce makes a key one that no other client ever made.
func newNonce() string {
	var random [spec.NonceLen / 2]byte
	rand.Read(random[:]) // it never fails
	return hex.EncodeToString(random[:])
}

// start records a call and sends it.
func (c *Client) start(ctx context.Context, r Request) (*flight, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(r.Key) || !utf8.ValidString(r.Label) || !utf8.ValidString(r.Method) || !utf8.ValidString(r.Digest) {
		return nil, errors.New("client: key, label, method and digest of a call must be UTF-8")
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	var id StreamID
	call := Call{Key: r.Key, Label: r.Label, Method: r.Method, Digest: r.Digest, Query: r.query, Resends: r.resends}
	err := c.do(func(core *Core) (actions []Action, err error) {
		if ledger := core.Record().Ledger; r.BuildKeyed != nil && call.Key == "" && ledger != "" {
			call.Key = spec.Key{Ledger: ledger, Minted: uint64(max(0, c.now().UnixMilli())), Nonce: newNonce()}.String()
		}
		id, actions, err = core.Call(call, r.Passes)
		return actions, err
	})
	if err != nil {
		return nil, err
	}
	var payload []byte
	if r.BuildKeyed != nil {
		payload, err = r.BuildKeyed(id.Request, call.Key)
	} else {
		payload, err = r.Build(id.Request)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forget(id)
		return nil, fmt.Errorf("client: building call %v: %w", id, err)
	}
	f := newFlight(id, r.OnEvent)
	err = c.do(func(core *Core) ([]Action, error) {
		actions, err := core.Send(id, payload)
		if err == nil {
			c.flights[id] = f
		}
		return actions, err
	})
	if errors.Is(err, ErrNoStream) { // its epoch ended while it was being built
		err = &NotRunError{Stream: id, Reason: spec.ReasonEpochAbandoned}
	}
	return f, err
}

// Events is Call as an iterator: every event of the call, the answer last. It
// ends with the error that Call would return, if that is not nil. When the
// loop is left early the call goes on by itself.
func (c *Client) Events(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		events, left := make(chan Event), ctx.Done()
		r.OnEvent = func(ev Event) {
			select {
			case events <- ev:
			case <-left:
			case <-c.ctx.Done():
			}
		}
		f, err := c.start(ctx, r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		type result struct {
			answer Event
			err    error
		}
		done := make(chan result, 1)
		go func() {
			answer, err := c.await(ctx, f)
			done <- result{answer, err}
		}()
		for {
			select {
			case ev := <-events:
				if !yield(ev, nil) {
					return
				}
			case end := <-done:
				yield(end.answer, end.err)
				return
			}
		}
	}
}

// Notify sends a message that is not a call, and returns when the server took
// it. A 404 to it ends the epoch (R22).
func (c *Client) Notify(ctx context.Context, m Message) error {
	c.mu.Lock()
	actions, err := c.locked(func(core *Core) ([]Action, error) { return core.Notify(m.Payload, m.Passes) })
	c.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	for _, a := range actions {
		if a.Do != spec.SendMessage {
			continue
		}
		resp, err := c.transport.Post(ctx, PostRequest{Session: a.Session, Payload: a.Payload})
		if err != nil {
			return fmt.Errorf("client: message: %w", err)
		}
		if resp.Events != nil {
			resp.Events.Close()
		}
		refusal := Refusal{Status: resp.Status, Reason: resp.Reason}
		var why spec.Reason
		switch {
		case resp.SessionID != "" && resp.SessionID != a.Session.ID:
			why = spec.ReasonSessionChanged
		case resp.Kind == ResponseRefused && refusal.castsDoubt():
			why = refusal.reason()
		}
		if why != "" {
			c.do(func(core *Core) ([]Action, error) { return core.Contradict(a.Epoch, why) })
			return &RefusalError{Status: resp.Status, Reason: why}
		}
		if resp.Kind == ResponseRefused {
			return &RefusalError{Status: resp.Status, Reason: refusal.reason()}
		}
	}
	return nil
}

// Listen asks for the standalone stream without a cursor, where the server
// announced no position of it, or after it was lost.
func (c *Client) Listen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.do(func(core *Core) ([]Action, error) {
		id := core.Standalone()
		c.forget(id)
		return core.Listen(id)
	})
}

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/spec"
)

// Many calls at once over a network that cuts, refuses for now and sometimes
// loses the session, with a store whose writes fail, and a restart in the
// middle. Whatever happens each call's events are applied in order and once,
// and each call ends typed.
//
// It found that the connection after a failed commit could wait, for ever, for
// the transaction of the connection before.
func TestManyCallsOverABadNetwork(t *testing.T) {
	const calls, lines = 12, 6
	var mu sync.Mutex
	ends := map[string]int{}
	for seed := range uint64(60) {
		story(t, func(t *testing.T, ctx context.Context) {
			r := rand.New(rand.NewPCG(seed, 3))
			chance := func(n int) bool {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n) == 0
			}
			said := make([]string, lines)
			for i := range said {
				said[i] = fmt.Sprint("line ", i+1)
			}
			s := &server{handle: says(said...)}
			s.cut = func(_ int, events []Event) (int, error) {
				switch {
				case chance(3):
					return len(events), io.EOF
				case chance(2):
					return min(len(events), 1), io.EOF
				default:
					return len(events) / 2, errCut
				}
			}
			s.before = func(_ context.Context, cursor string, post bool) (Response, error, bool) {
				switch {
				case post:
					return Response{}, nil, false
				case seed%20 == 7: // never again: every interrupted stream is suspended
					return Response{Status: 503}, nil, true
				case chance(4):
					return Response{Status: 503}, nil, true
				case chance(6):
					return Response{}, errCut, true
				case seed%3 == 0 && chance(30):
					s.end()
				}
				return Response{}, nil, false
			}
			store := &bad{chance: chance, applied: map[StreamID][]string{}}
			o := Options{NoStandalone: true}
			c := dial(t, s, store, o)
			var wait sync.WaitGroup
			end := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				ends[what]++
			}
			told := func(answer Event, err error) {
				var unknown *UnknownError
				var pending *PendingError
				var notRun *NotRunError
				switch {
				case err == nil && string(answer.Payload) == said[lines-1]:
					end("answered")
				case errors.As(err, &unknown):
					end("unknown")
				case errors.As(err, &pending):
					end("pending: " + string(reasonOf(err, "closed")))
				case errors.As(err, &notRun), errors.Is(err, spec.ReasonEpochAbandoned):
					end("not run")
				default:
					t.Errorf("seed %d: a call ended with %q, %v", seed, answer.Payload, err)
				}
			}
			for range calls {
				wait.Go(func() { told(c.Call(ctx, Request{Build: build("call")})) })
			}
			if seed%2 == 0 {
				time.Sleep(300 * time.Millisecond)
				c.Close()
				c = dial(t, s, store, o)
				for _, id := range c.Recovered().Pending {
					wait.Go(func() { told(c.Await(ctx, id)) })
				}
			}
			wait.Wait()
			c.Close()
			synctest.Wait()
			for id, got := range store.applied {
				if !slices.Equal(got, said[:min(len(got), lines)]) {
					t.Errorf("seed %d: call %v applied %v", seed, id, got)
				}
			}
		})
	}
	for _, what := range []string{"answered", "unknown", "not run", "pending: stream_suspended", "pending: closed"} {
		if ends[what] == 0 {
			t.Errorf("%s: not once among %v", what, ends)
		}
	}
}

// bad is a store whose writes sometimes fail, and which applies events in the
// same transaction, as a database does.
type bad struct {
	MemoryStore
	chance  func(int) bool
	applied map[StreamID][]string
}

func (b *bad) Commit(ctx context.Context, ch Change, events []Event) (Record, error) {
	if ch.Kind != BeginEpoch && ch.Kind != TakeLease && b.chance(15) {
		return Record{}, errors.New("disk full")
	}
	r, err := b.MemoryStore.Commit(ctx, ch, events)
	if err == nil {
		for _, ev := range events {
			b.applied[ev.Stream] = append(b.applied[ev.Stream], string(ev.Payload))
		}
	}
	return r, err
}

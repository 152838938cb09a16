package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// The crowd of clients that never come back: as many as in the incident, a
// window of the default size, and several windows of traffic.
const (
	crowd       = 200
	crowdWindow = 256
	crowdRounds = 4 // of one window each
	crowdPad    = 128
	crowdEvent  = crowdPad + 128 // bytes of an event, its frame included
	crowdBudget = time.Second

	// crowdBound is what a bounded server may use: sessions × window × the
	// size of an event, and for each session half as much again and 32 KiB for
	// what else belongs to it; and what any process of this kind has.
	crowdBound = crowd*(crowdWindow*crowdEvent*3/2+32<<10) + processRest

	// processRest is more than all that is in use when no session lives.
	processRest = 8 << 20
)

// playNeverBack: clients open a session, call, and are gone at the first
// event, ten at a time. The tools go on, a window's worth of events in each
// round, and memory is looked at between two rounds. Then they wait for
// something, as tools do, and every budget passes.
func playNeverBack(ctx context.Context, s *stage) error {
	r := newRounds(crowdRounds, crowd)
	end := make(chan struct{}) // of the story
	defer close(end)
	b, err := s.serve(serverSetup{window: crowdWindow, budget: crowdBudget, tool: func(stop context.Context, c toolCall) {
		s.ledger.didExecute(c.key)
		s.note(c, crowdPad)
		for round := range crowdRounds {
			wait(stop, r.begin[round])
			for i := 0; i < crowdWindow && stop.Err() == nil; i++ {
				s.note(c, crowdPad)
			}
			r.over[round].Done()
		}
		if !wait(stop, end) {
			s.app.broken(toldAbandoned, "work_cancelled")
		}
	}})
	if err != nil {
		return err
	}
	s.net.switchTo(b.addr)
	const batch = 10
	for i := 0; i < crowd; i += batch {
		if err := s.comeAndGo(ctx, i, batch); err != nil {
			return err
		}
	}
	for round := range crowdRounds {
		close(r.begin[round])
		r.over[round].Wait()
		s.say("%s in use after %d events of each call", size(s.memory.sample()), (round+1)*crowdWindow)
	}
	s.untilNothingFalls(ctx)
	return ctx.Err()
}

// untilNothingFalls looks at memory for two budgets, and longer while it is
// falling, but no longer than it takes to fall below what may be left.
func (s *stage) untilNothingFalls(ctx context.Context) {
	start, top := time.Now(), s.memory.sample()
	for before := top; ctx.Err() == nil; {
		sleep(ctx, crowdBudget/8)
		now := s.memory.sample()
		s.tell("%s in use %d ms after the last event", size(now), time.Since(start).Milliseconds())
		if now < processRest || time.Since(start) > 2*crowdBudget && now > before-before/20 {
			return
		}
		before = now
	}
}

// comeAndGo plays n of the clients that never come back. While they go the
// network is down, so that nothing they might still want to say gets through.
func (s *stage) comeAndGo(ctx context.Context, from, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var calls sync.WaitGroup
	clients := make([]caller, n)
	for i := range clients {
		c, _, err := s.dial(ctx)
		if err != nil {
			return err
		}
		clients[i] = c
		calls.Go(func() { c.Call(ctx, fmt.Sprintf("write-%d", from+i+1)) })
	}
	for _, app := range s.apps[from:] {
		if err := s.until(ctx, "every client has its first event", app.hasAny); err != nil {
			return err
		}
	}
	s.net.goDown()
	defer s.net.goUp()
	for _, app := range s.apps[from:] {
		app.leave()
	}
	cancel()
	calls.Wait()
	for _, c := range clients {
		c.Close()
	}
	return nil
}

// rounds let a number of tools work in step.
type rounds struct {
	begin []chan struct{}
	over  []sync.WaitGroup
}

func newRounds(n, tools int) *rounds {
	r := &rounds{over: make([]sync.WaitGroup, n)}
	for i := range n {
		r.begin = append(r.begin, make(chan struct{}))
		r.over[i].Add(tools)
	}
	return r
}

// sleep waits for d or for the end of the context.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

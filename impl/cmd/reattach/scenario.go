package main

import (
	"context"
	"fmt"

	"example.com/reattach/properties/naive"
)

// A scenario is one incident as a story that can be played with any pair.
type scenario struct {
	name    string // at most 10 characters: a column of the table
	story   string // what happens
	shows   string // the corruption that it exists to show
	server  naive.ServerFault
	client  naive.ClientFault
	play    func(context.Context, *stage) error
	corrupt func(Result) bool // whether that corruption happened
}

// scenarios lists every scenario in the order in which they are played.
func scenarios() []*scenario {
	return []*scenario{
		{
			name:   "dropped",
			story:  "the connection drops while a tool reports, and again behind its result",
			shows:  "a tool result is applied twice",
			server: naive.ReplayInclusive | naive.KeepEverything, client: naive.AppendBlindly,
			play:    playDropped,
			corrupt: func(r Result) bool { return r.Duplicates > 0 },
		},
		{
			name:   "expired",
			story:  "the client returns with a cursor that is older than the window",
			shows:  "the history is applied again from its start",
			server: naive.ReplayFromStart | naive.KeepEverything, client: naive.AppendBlindly,
			play:    playExpired,
			corrupt: func(r Result) bool { return r.Duplicates > 0 },
		},
		{
			name:   "never-back",
			story:  fmt.Sprintf("%d clients go away in the middle of a call and never come back", crowd),
			shows:  "memory grows with all that was ever emitted",
			server: naive.KeepEverything, client: naive.AppendBlindly,
			play: playNeverBack,
			corrupt: func(r Result) bool {
				return r.PeakBytes > crowdBound || r.keptBytes > processRest
			},
		},
		{
			name:   "deploy",
			story:  "a rolling deploy puts a server behind the address that has never seen the session",
			shows:  "another session's events are merged and the call runs twice",
			server: naive.MintOnResume | naive.KeepEverything,
			client: naive.TrustStatus | naive.AppendBlindly | naive.RetryPOST,
			play:   playDeploy,
			corrupt: func(r Result) bool {
				return r.Merged > 0 && r.Executions > 1
			},
		},
		{
			name:   "gone",
			story:  "as deploy, but the new server says 404 as it should",
			shows:  "404 becomes a new session and the call runs twice",
			server: naive.KeepEverything, client: naive.RenewOn404 | naive.AppendBlindly,
			play: playDeploy,
			corrupt: func(r Result) bool {
				return r.Merged > 0 && r.Executions > 1
			},
		},
		{
			name:   "truncated",
			story:  "the connection breaks in the middle of an event",
			shows:  "the event that was cut is lost and nobody is told",
			server: naive.KeepEverything, client: naive.TokenFirst | naive.AppendBlindly,
			play:    playTruncated,
			corrupt: func(r Result) bool { return r.LostSilently > 0 },
		},
	}
}

func scenarioNamed(name string) (*scenario, bool) {
	for _, sc := range scenarios() {
		if sc.name == name {
			return sc, true
		}
	}
	return nil, false
}

// first returns the mark of the nth event of the first session.
func first(n int) mark { return mark{session: 1, n: n} }

// playDropped: a tool reports twice, the connection drops, it reports once
// more and returns its result; the connection drops again right behind the
// result, before the end of the response.
func playDropped(ctx context.Context, s *stage) error {
	dropped := s.net.cutAt(cut{at: first(2)})
	s.net.cutAt(cut{at: first(4), reset: true})
	return s.run(ctx, serverSetup{tool: func(stop context.Context, c toolCall) {
		s.ledger.didExecute(c.key)
		s.note(c, 64)
		s.note(c, 64)
		if wait(stop, dropped) {
			s.say("the connection dropped behind event 2")
		}
		s.note(c, 64)
		s.answer(c)
	}})
}

// playExpired: while the client is away the tool emits more than the window
// retains, so its cursor is good for nothing when it returns.
func playExpired(ctx context.Context, s *stage) error {
	const window, more = 8, 12
	dropped := s.net.cutAt(cut{at: first(3), hold: true, reset: true})
	return s.run(ctx, serverSetup{window: window, tool: func(stop context.Context, c toolCall) {
		s.ledger.didExecute(c.key)
		for range 3 {
			s.note(c, 64)
		}
		wait(stop, dropped)
		for range more {
			s.note(c, 64)
		}
		s.say("%d events while the client was away, the window holds %d", more, window)
		s.answer(c) // before the client is back: it ends the session when it is refused
		s.net.release()
	}})
}

// playTruncated: the second event stops arriving in its middle.
func playTruncated(ctx context.Context, s *stage) error {
	cutInside := s.net.cutAt(cut{at: first(2), inside: true})
	return s.run(ctx, serverSetup{tool: func(stop context.Context, c toolCall) {
		s.ledger.didExecute(c.key)
		s.note(c, 64)
		s.note(c, 64)
		if wait(stop, cutInside) {
			s.say("the connection broke inside event 2")
		}
		s.note(c, 64)
		s.answer(c)
	}})
}

// playDeploy: two servers behind one address. The session and a running call
// are on the first, which is drained: its streams end cleanly. Whatever comes
// next reaches the second, which greets every session that begins there.
func playDeploy(ctx context.Context, s *stage) error {
	work := func(stop context.Context, c toolCall) {
		s.ledger.didExecute(c.key)
		s.note(c, 64)
		s.note(c, 64)
		if c.session == s.ledger.firstSession() {
			<-stop.Done() // its process ends before the work does
			return
		}
		s.answer(c)
	}
	before, err := s.serve(serverSetup{instance: "before", tool: work})
	if err != nil {
		return err
	}
	after, err := s.serve(serverSetup{instance: "after", tool: work, greeting: func(session string, emit func(any)) {
		m := s.ledger.mint(session)
		s.ledger.didEmit(m)
		emit(toolNote{Data: notice{Mark: m.String()}, Level: "info"})
	}})
	if err != nil {
		return err
	}
	s.net.switchTo(before.addr)
	c, app, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	called := make(chan error, 1)
	go func() { called <- c.Call(ctx, "write-1") }()
	if err := s.until(ctx, "event 2 is applied", func() bool { return app.has(first(2)) }); err != nil {
		return err
	}
	s.say("the first server is drained, the second takes the address")
	s.net.switchTo(after.addr)
	before.Drain()
	if err := <-called; err != nil {
		return err
	}
	// The application goes on with its work, in whatever session it is now.
	err = c.Call(ctx, "write-2")
	s.settle(ctx) // the greeting comes on a stream of its own
	return err
}

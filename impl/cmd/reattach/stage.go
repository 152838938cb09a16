package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// A stage is where one scenario is played with one pair: a network, servers
// behind it, and a ledger beside it.
type stage struct {
	pair     pair
	scenario *scenario
	net      *network
	ledger   *ledger
	memory   *memory
	app      *application // of the scenario's client
	apps     []*application
	tell     func(format string, args ...any) // progress
	closers  []func()
}

// say tells of a moment of the story, at which memory is looked at too.
func (s *stage) say(format string, args ...any) {
	s.memory.sample()
	s.tell(format, args...)
}

// A backend is a server that listens.
type backend struct {
	server
	addr string
}

// serve starts a server of the pair; it does not move the address to it.
func (s *stage) serve(setup serverSetup) (*backend, error) {
	setup.faults = s.scenario.server
	srv, err := s.pair.server(setup)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		srv.Close()
		return nil, err
	}
	hs := &http.Server{Handler: srv}
	go hs.Serve(l)
	s.closers = append(s.closers, func() { srv.Close(); hs.Close() })
	return &backend{server: srv, addr: l.Addr().String()}, nil
}

// dial returns a client of the pair for an application of its own. The first
// one's application is the stage's.
func (s *stage) dial(ctx context.Context) (caller, *application, error) {
	app := newApplication(s.ledger)
	if s.app == nil {
		s.app = app
	}
	s.apps = append(s.apps, app)
	c, err := s.pair.client(clientSetup{url: s.net.url(), app: app, faults: s.scenario.client})
	if err != nil {
		return nil, nil, err
	}
	if err := c.Open(ctx); err != nil {
		c.Close()
		return nil, nil, fmt.Errorf("opening a session: %w", err)
	}
	return c, app, nil
}

// run plays the usual story: one server, one client, one call.
func (s *stage) run(ctx context.Context, setup serverSetup) error {
	b, err := s.serve(setup)
	if err != nil {
		return err
	}
	s.net.switchTo(b.addr)
	c, _, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(ctx, "write-1")
}

// note emits the next event of a call, of about size bytes, and enters it.
func (s *stage) note(c toolCall, size int) error {
	m := s.ledger.mint(c.session)
	err := c.emit("notifications/message", toolNote{
		Data:  notice{Mark: m.String(), Key: c.key, Pad: strings.Repeat("x", size)},
		Level: "info",
	})
	if err == nil {
		s.ledger.didEmit(m)
	}
	return err
}

// answer answers a call and enters that.
func (s *stage) answer(c toolCall) {
	m := s.ledger.mint(c.session)
	err := c.answer(toolResult{
		Structured: notice{Mark: m.String(), Key: c.key},
		Content:    []any{map[string]string{"type": "text", "text": "written"}},
	})
	if err == nil {
		s.ledger.didEmit(m)
	}
}

// until waits for something to be true in the ledger.
func (s *stage) until(ctx context.Context, what string, holds func() bool) error {
	for {
		s.ledger.mu.Lock()
		ok, changed := holds(), s.ledger.changed
		s.ledger.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
}

// settle waits until the applications have all that was emitted for them. What
// is on its way when a story ends is not lost yet; what has not come after a
// generous time is.
func (s *stage) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s.until(ctx, "nothing is missing", func() bool { return s.ledger.counted(s.apps...).lost == 0 })
}

// wait waits for a moment of the story; false means that the work was
// cancelled first.
func wait(stop context.Context, moment <-chan struct{}) bool {
	select {
	case <-moment:
		return true
	case <-stop.Done():
		return false
	}
}

// playTimeout is the time one scenario may take with one pair. It is there so
// that a defect ends in a report.
const playTimeout = 30 * time.Second

// play plays a scenario with a pair and says what it did.
func play(ctx context.Context, sc *scenario, p pair, tell func(string, ...any)) (r Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, playTimeout)
	defer cancel()
	s := &stage{pair: p, scenario: sc, ledger: newLedger(), tell: tell, memory: &memory{}}
	if s.net, err = newNetwork(); err != nil {
		return Result{}, err
	}
	err = sc.play(ctx, s)
	kept := s.memory.sample()
	s.net.Close()
	for _, end := range s.closers {
		end()
	}
	if err != nil {
		return Result{}, fmt.Errorf("scenario %s, %s pair: %w", sc.name, p.name, err)
	}
	if s.app == nil {
		return Result{}, errors.New("reattach: BUG: a scenario without an application")
	}
	c := s.ledger.count(s.apps...)
	r = Result{
		Scenario: sc.name, Pair: p.name, Shows: sc.shows, Told: s.app.hasBeenTold(),
		Emitted: c.emitted, Applied: c.applied, Duplicates: c.duplicates, LostSilently: c.lost,
		Merged: c.merged, Executions: c.executions, PeakBytes: s.memory.highest(), keptBytes: kept,
	}
	r.Corrupt = sc.corrupt(r)
	return r, nil
}

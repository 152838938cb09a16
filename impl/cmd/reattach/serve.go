package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
	outcomes "example.com/reattach/impl/ledger"
	"example.com/reattach/properties/interop"
	"example.com/reattach/spec"
)

const serveUsage = `Usage: reattach serve [flags]

Serves MCP over Streamable HTTP with a handful of telling tools, to try a client
by hand:

  slow      tells its progress step by step
  counter   counts how often it ran
  burst     tells a lot at once
  closer    closes its own stream, and answers later
  forget    closes its own stream and outruns the window: the cursor is gone
  silent    never answers

The address of the endpoint is printed when it can be used. With -cut a proxy
breaks event streams on their way to the client; the same seed breaks the same
places if the client does the same. Interrupt it to shut it down: running calls
may finish, streams end so that clients come back.

Exit status: 0 after a shutdown; 1 if it cannot serve; 2 for a mistake in the
arguments.
`

// servePath is where the endpoint is.
const servePath = "/mcp"

// serveGrace is how long running calls may take to finish at the shutdown.
const serveGrace = 3 * time.Second

func runServe(ctx context.Context, args []string, out, diag io.Writer) int {
	flags := newFlags("serve", serveUsage, diag)
	var s serving
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8080", "listen on this `address`; port 0 is any that is free")
	flags.IntVar(&s.events, "events", spec.DefaultWindowEvents, "keep this many events for a session")
	flags.DurationVar(&s.age, "age", spec.DefaultWindowAge, "keep an event for this long")
	flags.IntVar(&s.sessions, "sessions", spec.DefaultSessions, "serve at most this many sessions")
	flags.DurationVar(&s.detach, "detach", spec.DefaultDetachBudget, "a call without a reader ends after this long")
	file := flags.String("ledger", "", "remember in this `file` which calls ran, so that a client of ours can ask, also after a restart")
	miss := flags.String("miss", string(interop.MissConflict), fmt.Sprintf("how a cursor that is gone is answered, one of %v", interop.Misses()))
	flags.Uint64Var(&s.seed, "cut", 0, "break streams by this `seed`; 0 breaks none")
	level := flags.String("log", "", "tell what happens on stderr, from this `level` on: debug, info, warn or error")
	flags.BoolVar(&s.conformance, "conformance", false, "serve what the public conformance suite calls instead")
	if code, done := parse(flags, args); done {
		return code
	}
	s.miss, s.out = interop.Miss(*miss), out
	if *level != "" {
		var l slog.Level
		if err := l.UnmarshalText([]byte(*level)); err != nil {
			return misused(flags, "no level is called %q; there are debug, info, warn and error", *level)
		}
		s.logger = slog.New(slog.NewTextHandler(diag, &slog.HandlerOptions{Level: l}))
	}
	if *file != "" {
		var err error
		if s.ledger, err = outcomes.New(outcomes.OpenFile(*file), outcomes.Options{}); err != nil {
			fmt.Fprintf(diag, "reattach serve: the ledger %s: %v\n", *file, err)
			return exitFailed
		}
		defer s.ledger.Close()
	}
	handler, err := s.handler()
	if err != nil {
		return misused(flags, "%v", err)
	}
	defer handler.Close()
	if err := s.serve(ctx, handler); err != nil {
		fmt.Fprintf(diag, "reattach serve: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// serving is what the flags of serve say.
type serving struct {
	addr             string
	events, sessions int
	age, detach      time.Duration
	miss             interop.Miss
	seed             uint64
	conformance      bool
	logger           *slog.Logger
	ledger           *outcomes.Ledger // nil: none
	out              io.Writer
}

// handler returns what is served. An error is a mistake in the flags.
func (s *serving) handler() (*gosdk.Handler, error) {
	o := gosdk.Options{Ledger: s.ledger}
	o.HTTP.Logger = s.logger
	o.HTTP.Session.WindowEvents = s.events
	o.HTTP.Session.WindowAge = s.age
	o.HTTP.Session.DetachBudget = s.detach
	o.HTTP.Session.Sessions, o.HTTP.Session.SubjectSessions = s.sessions, s.sessions // there is one subject
	if err := s.miss.Apply(&o); err != nil {
		return nil, err
	}
	return interop.NewHandler(s.server(), o)
}

func (s *serving) server() *mcp.Server {
	if s.conformance {
		return interop.Everything()
	}
	return interop.NewToolbox(s.events).Server
}

// What a request may take until its body begins. Bodies have their own budget
// (streamhttp.Options.ReadBudget); answers, which are streams, have none.
const (
	serveHeaderTime  = 10 * time.Second
	serveHeaderBytes = 64 << 10
	serveIdleTime    = 2 * time.Minute // a connection between two requests
)

// newServer returns a server that cuts slow headers and refuses long ones.
func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: serveHeaderTime, MaxHeaderBytes: serveHeaderBytes, IdleTimeout: serveIdleTime}
}

// serve serves until the context ends.
func (s *serving) serve(ctx context.Context, handler *gosdk.Handler) error {
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("%w\nanother address is given with -addr; 127.0.0.1:0 takes any port that is free", err)
	}
	url := "http://" + listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle(servePath, handler)
	servers := []*http.Server{newServer(mux)}
	listeners := []net.Listener{listener}
	if s.seed != 0 {
		wire, err := interop.NewWire(url, s.seed)
		if err != nil {
			return err
		}
		host, _, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return err
		}
		front, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return err
		}
		servers, listeners = append(servers, newServer(wire)), append(listeners, front)
		url = "http://" + front.Addr().String()
	}
	failed := make(chan error, len(servers))
	for i, server := range servers {
		go func() { failed <- server.Serve(listeners[i]) }()
	}
	fmt.Fprintf(s.out, "serving MCP at %s%s\n", url, servePath)
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = s.shutDown(handler, servers)
	}
	for _, server := range servers {
		server.Close()
	}
	return err
}

// shutDown lets running calls finish, for a while (R12).
func (s *serving) shutDown(handler *gosdk.Handler, servers []*http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), serveGrace)
	defer cancel()
	err := handler.Drain(ctx)
	handler.Close()
	for _, server := range servers {
		server.Shutdown(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(s.out, "calls that took longer than %v were given up\n", serveGrace)
		return nil
	}
	return err
}

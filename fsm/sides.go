package fsm

import (
	"fmt"
	"sync"

	"example.com/reattach/spec"
)

// A Server is the pair of machines of the serving side.
type Server struct {
	Session *Machine // durable
	Stream  *Machine // ephemeral, one per logical stream
}

// A Client is the pair of machines of the reading side.
type Client struct {
	Epoch  *Machine // durable
	Stream *Machine // ephemeral, one per logical stream
}

// NewServer makes the pair of two tables, which may be edited ones.
func NewServer(session, stream spec.Table) (*Server, error) {
	durable, ephemeral, err := pair(session, stream, spec.SessionTable(), spec.StreamTable())
	if err != nil {
		return nil, err
	}
	return &Server{Session: durable, Stream: ephemeral}, nil
}

// NewClient makes the pair of two tables, which may be edited ones.
func NewClient(epoch, stream spec.Table) (*Client, error) {
	durable, ephemeral, err := pair(epoch, stream, spec.EpochTable(), spec.ClientStreamTable())
	if err != nil {
		return nil, err
	}
	return &Client{Epoch: durable, Stream: ephemeral}, nil
}

// DefaultServer returns the pair of the tables as they stand in package spec.
func DefaultServer() *Server { return defaultServer() }

// DefaultClient returns the pair of the tables as they stand in package spec.
func DefaultClient() *Client { return defaultClient() }

// Built once, when first asked for: machines are immutable and shared.
var (
	defaultServer = sync.OnceValue(func() *Server {
		return &Server{Session: Must(spec.SessionTable()), Stream: Must(spec.StreamTable())}
	})
	defaultClient = sync.OnceValue(func() *Client {
		return &Client{Epoch: Must(spec.EpochTable()), Stream: Must(spec.ClientStreamTable())}
	})
)

// pair makes two machines and sees to it that each table is at its place.
func pair(durable, ephemeral, wantDurable, wantEphemeral spec.Table) (d, e *Machine, err error) {
	for _, t := range [...]struct{ got, want spec.Table }{{durable, wantDurable}, {ephemeral, wantEphemeral}} {
		if t.got.Machine != t.want.Machine {
			return nil, nil, fmt.Errorf("fsm: a %s table was given where the %s table belongs", t.got.Machine, t.want.Machine)
		}
	}
	if d, err = New(durable); err != nil {
		return nil, nil, err
	}
	e, err = New(ephemeral)
	return d, e, err
}

package gosdk

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/spec"
)

// ConnectAny connects c as c.Connect(ctx, t, o) does, and to servers that open
// no session as well, which [ClientTransport] refuses: there is nothing that
// could be resumed. They are served by the SDK's own transport with its
// resumption turned off, and sessionless is true: a call whose connection is
// lost there ends with an error, is not sent again, and nobody knows whether it
// ran. Apply, Store and Options of t do nothing there, nor do its Headers.
//
// With a session it returns when the standalone stream is open, or after a
// second: servers of others drop what they send on it before that.
func ConnectAny(ctx context.Context, c *mcp.Client, t *ClientTransport, o *mcp.ClientSessionOptions) (session *mcp.ClientSession, sessionless bool, err error) {
	session, err = c.Connect(ctx, t, o)
	if err == nil {
		t.awaitStandalone(ctx, time.Second)
	}
	if !errors.Is(err, spec.ReasonSessionMissing) {
		return session, false, err
	}
	session, err = c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint:             t.Endpoint,
		HTTPClient:           t.HTTPClient,
		MaxRetries:           -1,
		DisableStandaloneSSE: t.DisableStandaloneSSE,
	}, o)
	return session, err == nil, err
}

// awaitStandalone waits while the standalone stream is being asked for.
func (t *ClientTransport) awaitStandalone(ctx context.Context, atMost time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for t.asking() && ctx.Err() == nil {
		select {
		case <-time.After(5 * time.Millisecond): // nothing tells that a stream was opened
		case <-ctx.Done():
		}
	}
}

// asking reports whether the standalone stream was asked for and not answered.
func (t *ClientTransport) asking() bool {
	for _, stream := range t.Driver().Snapshot().Streams {
		if stream.ID.Request == 0 {
			return stream.State == spec.Requested || stream.State == spec.Resuming
		}
	}
	return false
}

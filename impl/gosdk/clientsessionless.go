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
		t.listen(ctx, time.Second)
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

// listen asks for the standalone stream, unless that was done, and waits until
// it is answered.
func (t *ClientTransport) listen(ctx context.Context, atMost time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	if t.standalone() == spec.Unsent && !t.DisableStandaloneSSE {
		t.Driver().Listen(ctx) // a refusal says that there is nothing to ask for
	}
	for state := t.standalone(); state == spec.Requested || state == spec.Resuming; state = t.standalone() {
		select {
		case <-time.After(5 * time.Millisecond): // nothing tells that a stream was opened
		case <-ctx.Done():
			return
		}
	}
}

// standalone returns the state of the standalone stream: Unsent if nobody has
// asked for it.
func (t *ClientTransport) standalone() spec.State {
	for _, stream := range t.Driver().Snapshot().Streams {
		if stream.ID.Request == 0 {
			return stream.State
		}
	}
	return spec.Unsent
}

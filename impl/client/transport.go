package client

import (
	"context"
	"time"

	"example.com/reattach/spec"
)

// An Asker is a [Transport] that knows how a ledger is asked (R23, R28). Where
// the transport is none there is no [Client.Reconcile].
type Asker interface {
	// Ask returns the status query for a key, with a request id of its own.
	Ask(request uint64, key string) ([]byte, error)
	// Told reads the answer to a status query. request is the id of the call
	// that was asked for, under which its response is handed over. An error that
	// wraps spec.ReasonLedgerUnavailable says that it is worth asking again.
	Told(answer []byte, request uint64) (Told, error)
}

// Told is what a ledger says of a key.
type Told struct {
	State  spec.KeyState
	Answer []byte // the call's response as a message; nil unless it was executed, and if it is lost
}

// A Transport carries requests to one server. It holds no state of a session:
// every request says whose it is, in a [Session]. It never sends a request
// twice, never follows a redirect (R25), and decides nothing.
//
// The end of a request's context ends everything of the request: the wait for
// its answer, and the reading of its events.
type Transport interface {
	// Open asks for a session. An error, or an answer without a session id, is
	// a failed opening.
	Open(ctx context.Context, r OpenRequest) (Opened, error)
	// Post sends one message. An error that wraps ErrNotSent says that the
	// request never left this process; any other one that the connection broke
	// before an answer came.
	Post(ctx context.Context, r PostRequest) (Response, error)
	// Get asks for a view, with a cursor or without; errors as those of Post.
	Get(ctx context.Context, r GetRequest) (Response, error)
	// Delete ends a session, best effort.
	Delete(ctx context.Context, s Session) error
}

// An OpenRequest asks for a session.
type OpenRequest struct{ Payload []byte }

// A PostRequest carries one message.
type PostRequest struct {
	Session Session
	Request uint64 // the call's request id; 0 for a message that is not a call
	Key     string // of the call
	Payload []byte
}

// A GetRequest asks for a view.
type GetRequest struct {
	Session Session
	Request uint64       // of the call whose stream it is; 0 for the standalone stream
	Cursor  string       // "": the standalone stream, without a cursor
	Attempt spec.Attempt // which request of its client it is; zero: not numbered (R10)
}

// A Response is the answer to a Post or a Get.
type Response struct {
	Kind       ResponseKind
	Status     int
	SessionID  string        // "" if the answer names none
	Position   string        // the announced position, "" if there is none
	Reason     spec.Reason   // of a typed refusal, else ""
	Sealed     bool          // the refusal says that the call's key is sealed
	RetryAfter time.Duration // of a refusal that may pass
	Event      Event         // of ResponseOnce
	Events     EventReader   // of ResponseStream
}

// The statuses that mean more than their class to a client (R22, R26). They are
// spelled here because no core package knows net/http.
const (
	statusUnauthorized    = 401
	statusNotFound        = 404
	statusRequestTimeout  = 408
	statusTooEarly        = 425
	statusTooManyRequests = 429
)

// A ResponseKind sorts the answers.
type ResponseKind uint8

const (
	ResponseRefused  ResponseKind = iota // whatever is none of the others
	ResponseStream                       // 200 and an event stream
	ResponseOnce                         // 200 and a single message
	ResponseTaken                        // 202: the message was taken
	ResponseComplete                     // 204: nothing was missed, nothing will come
)

// An EventReader reads the events of one connection. Its payloads are not
// changed afterwards.
type EventReader interface {
	// Next returns the next event that arrived whole. io.EOF is a clean end
	// between two events; any other error an end anywhere else (R24), also if
	// the line was silent for three keep-alive intervals (R15), which only a
	// transport can tell. A comment may be returned as an Event without
	// anything: it shows that bytes arrive.
	Next() (Event, error)
	// Close ends the connection. It may be called at any time.
	Close() error
}

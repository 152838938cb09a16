package gosdk

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// CodeNoAnswer is the JSON-RPC code of a [*CallError]: the transport, not the
// server, says what became of the call.
const CodeNoAnswer = -32011

// The words of CallData.Outcome.
const (
	OutcomeUnknown = "unknown" // it may have run: see Unknowns and Resolve of the driver (R23)
	OutcomeNotRun  = "not_run" // it did not run, and this is known (R23)
	OutcomePending = "pending" // it goes on: see ClientTransport.Await (R26)
	OutcomeRefused = "refused" // no call was made, such as in quarantine
)

// CallData is the data of the JSON-RPC error in a [*CallError].
type CallData struct {
	Outcome string      `json:"outcome"`
	Reason  spec.Reason `json:"reason,omitempty"`
	Call    string      `json:"call,omitempty"` // epoch and request id, as client.StreamID writes them
}

// A CallError ends a call that has no answer, for the one caller who waits for
// it. errors.As finds in it the driver's own error (*client.UnknownError,
// *client.NotRunError, *client.PendingError, *fsm.RefusedError) and a
// *jsonrpc.Error with [CallData]; errors.Is finds the reason, and
// [mcp.ErrSessionMissing] if the session is gone.
type CallError struct {
	Call client.StreamID // zero if none was made
	Data CallData
	Err  error // the driver's
	gone bool
}

func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns what the error is to errors.Is and errors.As.
func (e *CallError) Unwrap() []error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		panic("reattach: BUG: texts that are not JSON: " + err.Error())
	}
	all := []error{&jsonrpc.Error{Code: CodeNoAnswer, Message: e.Err.Error(), Data: data}, e.Err}
	if e.gone {
		all = append(all, mcp.ErrSessionMissing)
	}
	return all
}

// callError says what the driver's error means for a call.
func (c *clientConn) callError(id client.StreamID, err error) *CallError {
	e := &CallError{Call: id, Err: err, Data: CallData{Outcome: OutcomeRefused}, gone: !c.alive()}
	var unknown *client.UnknownError
	var notRun *client.NotRunError
	var pending *client.PendingError
	var why spec.Reason
	if errors.As(err, &why) {
		e.Data.Reason = why
	}
	switch {
	case errors.As(err, &unknown):
		e.Call, e.Data.Outcome = unknown.Stream, OutcomeUnknown
	case errors.As(err, &notRun):
		e.Call, e.Data.Outcome, e.Data.Reason = notRun.Stream, OutcomeNotRun, notRun.Reason
	case errors.As(err, &pending):
		e.Call, e.Data.Outcome = pending.Stream, OutcomePending
	}
	if e.Call != (client.StreamID{}) {
		e.Data.Call = e.Call.String()
	}
	return e
}

// A SessionError says that the session is lost, or was ended. It wraps
// [mcp.ErrSessionMissing] and the reason.
type SessionError struct{ Reason spec.Reason }

func (e *SessionError) Error() string {
	return fmt.Sprintf("%v: the epoch ended: %s", mcp.ErrSessionMissing, string(e.Reason))
}

// Unwrap returns the SDK's error and the reason.
func (e *SessionError) Unwrap() []error { return []error{mcp.ErrSessionMissing, e.Reason} }

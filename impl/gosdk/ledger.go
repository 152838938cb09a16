package gosdk

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// LedgerMiddleware puts a ledger in front of the tools of a server that keeps
// the SDK's own handler (server.AddReceivingMiddleware). A server behind
// [NewStreamableHTTPHandler] sets [Options].Ledger instead, and has all of it.
//
// A tools/call with a key runs once: its start is durable before the tool runs,
// its outcome before it is answered; a second one joins or gets the outcome; and
// the answer to initialize names the ledger (R28). A key is of the token's user.
//
// What the SDK does not let a middleware do, and so is missing:
//
//   - reattach/outcome: the SDK refuses methods that it does not know before any
//     middleware sees them. A client learns an outcome by sending the call again
//     with its key, which is executed if it never came; it cannot ask without
//     that, and nothing is sealed by asking.
//   - the client's own cancellation: it looks as the end of the session does, so
//     that neither ends a tool that the ledger answers for. It ends when nobody
//     came for it for the ledger's Orphan.
//   - calls other than tools/call, and ids, which the SDK reads before.
func LedgerMiddleware(l *ledger.Ledger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			call, ok := r.(*mcp.CallToolRequest)
			if !ok || call.Params == nil {
				return named(l)(next(ctx, method, r))
			}
			value, keyed := call.Params.GetMeta()[spec.MetaKey]
			if !keyed {
				return next(ctx, method, r)
			}
			text, _ := value.(string) // what is no text is no key
			return keyedCall(ctx, l, call, text, func(ctx context.Context) (mcp.Result, error) { return next(ctx, method, r) })
		}
	}
}

// named adds the ledger's name to an answer to initialize.
func named(l *ledger.Ledger) func(mcp.Result, error) (mcp.Result, error) {
	return func(result mcp.Result, err error) (mcp.Result, error) {
		opened, ok := result.(*mcp.InitializeResult)
		if !ok || err != nil || opened == nil {
			return result, err
		}
		changed := *opened
		capabilities := mcp.ServerCapabilities{}
		if opened.Capabilities != nil {
			capabilities = *opened.Capabilities
		}
		experimental := map[string]any{spec.CapabilityName: spec.LedgerCapability{Ledger: l.Name()}}
		for name, value := range capabilities.Experimental {
			if name != spec.CapabilityName {
				experimental[name] = value
			}
		}
		capabilities.Experimental = experimental
		changed.Capabilities = &capabilities
		return &changed, nil
	}
}

func keyedCall(ctx context.Context, l *ledger.Ledger, call *mcp.CallToolRequest, text string, next func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	k, err := spec.ParseKey(text)
	if err != nil {
		return nil, ledgerRefusal(&ledger.RefusedError{Reason: spec.ReasonKeyMalformed})
	}
	subject := ""
	if extra := call.GetExtra(); extra != nil && extra.TokenInfo != nil {
		subject = extra.TokenInfo.UserID
	}
	params := *call.Params
	params.Meta = nil
	arguments, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	a, err := l.Arrive(subject, k, spec.DigestCall("tools/call", arguments))
	switch {
	case err != nil:
		return nil, ledgerRefusal(err)
	case a.Executed != nil:
		return repeated(*a.Executed, k)
	case a.Join != nil:
		o, err := a.Join.Wait(ctx)
		if err != nil {
			return nil, err
		}
		return repeated(o, k)
	}
	return executed(ctx, a.Execute, next)
}

// executed runs the tool, and tells the ledger what came of it, a panic too.
func executed(ctx context.Context, run *ledger.Run, next func(context.Context) (mcp.Result, error)) (result mcp.Result, err error) {
	work, end := run.Detach(ctx)
	defer end()
	err = errors.New("the tool panicked")
	defer func() { _ = run.Finish(outcomeOf(result, err)) }() // the ledger's log tells of a store that failed
	result, err = next(work)
	return result, err
}

// outcomeOf is a response as the ledger keeps it.
func outcomeOf(result mcp.Result, err error) json.RawMessage {
	var text []byte
	if err == nil {
		if text, err = json.Marshal(struct {
			Result mcp.Result `json:"result"`
		}{result}); err == nil {
			return text
		}
	}
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		wire = &jsonrpc.Error{Code: streamhttp.CodeInternal, Message: err.Error()}
	}
	text, _ = json.Marshal(struct { // what is not JSON is kept as lost
		Error *jsonrpc.Error `json:"error"`
	}{wire})
	return text
}

func repeated(o ledger.Outcome, k spec.Key) (mcp.Result, error) {
	var response struct {
		Result *mcp.CallToolResult `json:"result"`
		Error  *jsonrpc.Error      `json:"error"`
	}
	switch err := json.Unmarshal(o.Response, &response); {
	case o.Lost, err != nil:
		return nil, ledgerRefusal(&ledger.RefusedError{Reason: spec.ReasonResponseLost, Key: k.String()})
	case response.Error != nil:
		return nil, response.Error
	}
	return response.Result, nil
}

// ledgerRefusal is a refusal as it goes on the wire.
func ledgerRefusal(err error) error {
	var r *ledger.RefusedError
	if !errors.As(err, &r) {
		return err
	}
	data, _ := json.Marshal(spec.LedgerRefusal{Reason: r.Reason, Key: r.Key}) // texts
	return &jsonrpc.Error{Code: spec.CodeLedger, Message: "the ledger refuses: " + string(r.Reason), Data: data}
}
